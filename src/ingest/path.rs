//! Paths of files as ids of documents.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure: does not use the disk.

use unicode_normalization::UnicodeNormalization;

use super::text::shown;
use crate::error::{Error, Result};
use crate::object::Id;

/// Returns the path that identifies a file as a document. It is relative to the folder `current` if the file is below
/// that folder, else absolute. Every form of a path gives the same result. Symlinks are not resolved.
pub fn document_path(current: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        normal_path(path)
    } else {
        normal_path(&format!("{current}/{path}"))
    };
    let current = normal_path(current);
    match whole.strip_prefix(current.trim_end_matches('/')) {
        Some("") => String::new(),
        Some(below) if below.starts_with('/') => below[1..].to_owned(),
        _ => whole,
    }
}

/// Returns a path with `/` between the parts, without `./`, and without each `x/../`.
fn normal_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// Returns the id of the document at `path`.
pub(super) fn document_id(path: &str) -> Result<Id> {
    let normal: String = normal_path(path).nfc().collect();
    if matches!(normal.rsplit('/').next(), None | Some("" | "..")) {
        return Err(Error::invalid(format!(
            "`{}` does not name a file",
            path.escape_debug()
        )));
    }
    Id::new(&normal).map_err(|error| {
        error
            .context(format!(
                "the path `{}` cannot be the id of a document",
                shown(path)
            ))
            .with_hint(
                "the path of a document becomes its id, which has at most 256 bytes: run the command in a folder closer to the file, or rename the file",
            )
    })
}
