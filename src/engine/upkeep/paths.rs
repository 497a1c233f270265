//! Finds the paths of a store with the wrong file type.
//!
//! # Layer
//! Layer 5.

use crate::disk::{Access, Disk, is_not_regular};
use crate::error::Error;
use crate::log;

use super::derived_files as derived;

/// The folders of a store. The first folder is the top folder.
const FOLDERS: [&str; 4] = ["", log::LOG_FOLDER, "checkpoint", derived::FOLDER];

/// The files in the top folder of a store.
const FILES: [&str; 5] = [
    "format",
    "manifest",
    "live",
    log::LOCK_NAME,
    log::COMPACTION_LOCK_NAME,
];

/// Returns an error for each path of the store with the wrong file type: a path that must be a regular file but is not,
/// or a path that must be a folder but is not.
pub(super) fn not_regular(disk: &dyn Disk) -> Vec<Error> {
    let mut refused = Vec::new();
    for folder in FOLDERS {
        let path = |name: String| [folder, &name].join("/").trim_start_matches('/').to_owned();
        let names = disk.list(folder).map_err(|error| refused.push(error));
        let names = names.unwrap_or_default().into_iter().map(path);
        let opened = names
            .filter(|name| is_store_file(name))
            .map(|name| disk.open(&name, Access::Read));
        refused.extend(opened.filter_map(Result::err));
    }
    refused.retain(is_not_regular);
    let error = |error| Error::io("cannot open a path of the store", error);
    refused.into_iter().map(error).collect()
}

/// Returns whether a store may have a file of this name.
fn is_store_file(name: &str) -> bool {
    let finished = name.strip_suffix(".tmp").unwrap_or(name);
    let extension = finished.rsplit_once('.').map(|(_, extension)| extension);
    match finished.split_once('/') {
        None => FILES.contains(&finished),
        Some((log::LOG_FOLDER, file)) => extension == Some("seg") || file.starts_with("rewrite-"),
        Some(("checkpoint", _)) => extension == Some("ckpt"),
        Some((folder, _)) => folder == derived::FOLDER,
    }
}
