//! How the memory tool shows files: numbered lines, a list with sizes, and the limit on an answer.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::recall::tokens;
use crate::serve::operations::printable;

/// The folder that holds every file.
pub(super) const TOP: &str = "/memories";

/// Returns the lines of a text behind their numbers.
pub(super) fn numbered(text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines
        .map(|(number, line)| format!("{number:>6}\t{}", printable(line)))
        .collect()
}

/// Returns the list of the files and folders below `path`, two levels deep, with their sizes. `files` are the sizes of the files.
pub(super) fn listing(path: &str, rest: &str, files: &BTreeMap<String, usize>) -> String {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::from([(rest.to_owned(), 0)]);
    let skipped = if rest.is_empty() {
        0
    } else {
        rest.split('/').count()
    };
    for (name, size) in files {
        let parts: Vec<&str> = name.split('/').collect();
        let own = parts.get(skipped..).unwrap_or_default();
        if own
            .iter()
            .any(|part| part.starts_with('.') || *part == "node_modules")
        {
            continue;
        }
        for depth in 0..=own.len().min(2) {
            *sizes.entry(parts[..skipped + depth].join("/")).or_default() += *size;
        }
    }
    let shown = printable(path.trim_end_matches('/'));
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items and node_modules:"
    );
    for (name, size) in sizes {
        let name = if name.is_empty() {
            TOP.to_owned()
        } else {
            format!("{TOP}/{name}")
        };
        let _ = write!(text, "\n{}\t{}", human(size), printable(&name));
    }
    text
}

/// Formats a number of bytes as `du -h` does.
fn human(bytes: usize) -> String {
    let kibibytes = bytes as f64 / 1024.0;
    if kibibytes < 1.0 {
        format!("{bytes}B")
    } else if kibibytes < 1024.0 {
        format!("{kibibytes:.1}K")
    } else {
        format!("{:.1}M", kibibytes / 1024.0)
    }
}

/// Cuts a text at the caller's limit (SRV-2).
pub(super) fn within(text: &str, tokens_max: usize) -> String {
    if tokens(text) <= tokens_max {
        return text.to_owned();
    }
    let note = "\n(shortened to the limit of tokens: view_range shows other lines)";
    let room = tokens_max.saturating_mul(4).saturating_sub(note.len());
    text.chars().take(room).chain(note.chars()).collect()
}
