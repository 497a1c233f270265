//! Finds the repository of a linked git worktree, from the files of git alone.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - PRJ-3: a folder belongs to a repository only if the repository itself names the folder as its worktree. So a file
//!   `.git` that somebody put into a folder claims nothing.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest file of git that is read, in bytes. Each holds one path.
const PATH_BYTES_MAX: u64 = 8 << 10;

/// Returns the top folder of the repository to which a linked worktree belongs: the main worktree, or the folder of a
/// repository without one. Returns `None` if the folder is no linked worktree.
pub(super) fn repository_of(top: &Path) -> Option<PathBuf> {
    let link = top.join(".git");
    let own = path_in(&link, Some("gitdir:"))?;
    let own = top.join(own).canonicalize().ok()?;
    // PRJ-3: the repository names the worktree back.
    let back = own.join(path_in(&own.join("gitdir"), None)?);
    let common = own
        .join(path_in(&own.join("commondir"), None)?)
        .canonicalize()
        .ok()?;
    let is_named = back.canonicalize().ok()? == link.canonicalize().ok()?;
    if !is_named || own.parent()? != common.join("worktrees") {
        return None;
    }
    let is_hidden = common.file_name()?.to_string_lossy().starts_with('.');
    Some(if is_hidden {
        common.parent()?.to_owned()
    } else {
        common
    })
}

/// Returns the path in the only line of a regular file, after `prefix`.
fn path_in(file: &Path, prefix: Option<&str>) -> Option<PathBuf> {
    // A link to the file of another worktree would name that worktree.
    if !fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(file)
        .ok()?
        .take(PATH_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    let path = text.strip_prefix(prefix.unwrap_or_default())?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}
