//! Lists, names and removes the files in the folder of checkpoints, and builds the errors for damaged files.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.

use std::io;

use crate::disk::{Disk, if_there, is_not_regular};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Finding, OrIo as _, Result, Severity};

/// The folder that contains the checkpoints.
pub(super) const FOLDER: &str = "checkpoint";

/// A file in the folder of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointFile {
    /// The path of the file, relative to the store.
    pub(crate) name: String,
    pub(crate) number: u64,
    /// Whether the file has its final name.
    pub(crate) is_finished: bool,
}

/// Returns the error for damage in a checkpoint.
pub(super) fn damaged(name: &str, offset: u64, cause: Cause) -> Error {
    Error::damaged(Damage::new(name, offset, cause))
        .with_code(ErrorCode::CheckpointDamaged)
        .with_hint("a checkpoint contains only derived data: remove it, and Treering reads the log instead")
}

/// Converts an error about a checkpoint to a finding. Uses `offset` if the error contains no offset.
pub(super) fn of_error(name: &str, offset: u64, error: &Error) -> Finding {
    let place = error.damage().and_then(|damage| damage.offset);
    Finding::new(Severity::Derived, name, place.unwrap_or(offset), error.cause())
}

pub(super) fn file_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.ckpt")
}

/// Returns the checkpoint files of a store, including unfinished files, oldest first. Ignores other files in the
/// folder.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(super) fn list(disk: &dyn Disk) -> Result<Vec<CheckpointFile>> {
    let names = if_there(disk.list(FOLDER)).or_io(format_args!("cannot list {FOLDER}"))?;
    let file_of = |file: String| {
        let finished = file.strip_suffix(".tmp").unwrap_or(&file);
        let number = finished.strip_suffix(".ckpt")?.parse().ok()?;
        (file_name(number) == format!("{FOLDER}/{finished}")).then(|| CheckpointFile {
            number,
            is_finished: finished == file,
            name: format!("{FOLDER}/{file}"),
        })
    };
    let mut files: Vec<_> = names.into_iter().flatten().filter_map(file_of).collect();
    files.sort_by_key(|file| file.number);
    Ok(files)
}

pub(super) fn next_number(files: &[CheckpointFile]) -> Result<u64> {
    let newest = files.last().map_or(0, |file| file.number);
    newest
        .checked_add(1)
        .ok_or_else(|| Error::new(ErrorKind::Io, "the checkpoints have used all file numbers"))
}

pub(super) fn remove_files(disk: &dyn Disk, files: &[CheckpointFile]) -> Result<usize> {
    let (mut removed, mut failed) = (0, Ok(()));
    for file in files.iter().rev() {
        match disk.remove(&file.name) {
            Ok(()) => removed += 1,
            // Ignores a missing file, and a path that is not a regular file.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_not_regular(&error) => {}
            Err(error) => failed = Err(Error::io(format!("cannot remove {}", file.name), error)),
        }
    }
    if !files.is_empty() {
        disk.sync_dir(FOLDER)
            .or_io(format_args!("cannot sync {FOLDER}"))?;
    }
    failed.map(|()| removed)
}

/// Removes the files that are older than file `newest`, except the files in `stay`, on which it builds, and the
/// unfinished file `busy`. Removes no finished file if there is a newer one, because that file may build on it. Ignores
/// failures, because the next call tries again.
pub(super) fn remove_old(disk: &dyn Disk, newest: u64, stay: &[u64], busy: Option<u64>) {
    let files = list(disk).unwrap_or_default();
    let is_newest = !files.iter().any(|file| file.is_finished && file.number > newest);
    let is_old = |file: &&CheckpointFile| {
        let is_in_use = if file.is_finished {
            !is_newest || stay.contains(&file.number)
        } else {
            busy == Some(file.number)
        };
        file.number < newest && !is_in_use
    };
    // A file builds on files with lower numbers. So after a crash, no file remains without the files on which it builds.
    for file in files.iter().rev().filter(is_old) {
        drop(disk.remove(&file.name));
    }
    drop(disk.sync_dir(FOLDER));
}
