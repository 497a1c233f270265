//! Checkpoints: self-contained files that replace reading the log up to a position.
//!
//! A checkpoint covers the log up to a position. It holds the nodes of the head's state and of some past states, the
//! place of each digest's record, the commits and the references. It is derived, so it may be deleted at any time; a
//! reader that finds damage in it reads the log instead. The two newest are kept. A file is mapped, and each block is
//! checked at the first access, so opening one does not read it.
//!
//! # Layer
//! L4. Knows tries and digests, but neither the catalog nor the records at the places.
//!
//! # Invariants
//! - CKP-1: a read returns the written bytes, or an error with the code [`ErrorCode::CheckpointDamaged`].
//! - CKP-2: a failure to write a checkpoint leaves the older ones unchanged.
//!
//! # After a crash
//! docs/durability.md; a file counts only under its final name.
//!
//! # Format
//! docs/format.md, "Checkpoint".

mod blocks;
mod check;
mod header;
mod reader;
mod rows;
mod writer;

use std::io;

use crate::digest::HashAlgorithm;
use crate::disk::{Access, Disk, is_of_other_kind};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{Finding, Position, Severity};

pub(crate) use check::{OF_LATER_LOG, check};
pub(crate) use header::LogId;
pub(crate) use reader::Checkpoint;
pub(crate) use rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Gap, Rows, StateRow, prefix_of};
pub(crate) use writer::{Contents, Progress, Source, State, write};

/// The folder of checkpoints.
pub(crate) const FOLDER: &str = "checkpoint";
/// Number of checkpoints to keep.
const KEPT: usize = 2;

/// A file in the folder of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckpointFile {
    /// Its name in the store.
    pub(crate) name: String,
    pub(crate) number: u64,
    /// Whether it has its final name.
    pub(crate) is_finished: bool,
}

/// Makes the error for damaged bytes of a checkpoint.
fn damaged(name: &str, offset: u64, what: &str) -> Error {
    Error::corrupt(format!("{name} is damaged at byte {offset}: {what}"))
        .with_code(ErrorCode::CheckpointDamaged)
        .with_hint("it is derived: remove it, and Treering reads the log instead")
}

fn file_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.ckpt")
}

/// Returns the number in a finished checkpoint's name.
fn file_number(name: &str) -> Option<u64> {
    let digits = name
        .strip_prefix(FOLDER)?
        .strip_prefix('/')?
        .strip_suffix(".ckpt")?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// Returns whether a name, relative to the store, is that of a checkpoint, finished or not.
pub(crate) fn is_name(name: &str) -> bool {
    file_number(name.strip_suffix(".tmp").unwrap_or(name)).is_some()
}

/// Lists the checkpoints of a store, finished or not, the oldest first. Ignores other files in the folder.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn list(disk: &dyn Disk) -> Result<Vec<CheckpointFile>> {
    let names = match disk.list(FOLDER) {
        // A path that is not a folder holds no checkpoints. Treat it like their loss.
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_of_other_kind(&error) => {
            return Ok(Vec::new());
        }
        other => other.map_err(|error| Error::io(format!("cannot list {FOLDER}"), error))?,
    };
    let mut files = Vec::new();
    for file in names {
        let name = format!("{FOLDER}/{file}");
        let (finished, is_finished) = match name.strip_suffix(".tmp") {
            Some(finished) => (finished, false),
            None => (name.as_str(), true),
        };
        let Some(number) = file_number(finished) else {
            continue;
        };
        files.push(CheckpointFile {
            name,
            number,
            is_finished,
        });
    }
    files.sort_by_key(|file| file.number);
    Ok(files)
}

/// The header of a checkpoint, or the reason why it is unusable.
pub(crate) struct Standing {
    pub(crate) file: CheckpointFile,
    /// Its length.
    pub(crate) bytes: u64,
    /// The covered position of the log and the number of commits in it; `None` if the header cannot be read.
    pub(crate) covers: Option<(Position, u64)>,
    /// The reason why readers ignore it.
    pub(crate) unusable: Option<String>,
}

/// Reads the header of every checkpoint, the newest first. `log` is the expected log, if it is known.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn standings(disk: &dyn Disk, log: Option<LogId>) -> Result<Vec<Standing>> {
    let look = |file: CheckpointFile| {
        let opened = disk.open(&file.name, Access::Read);
        let bytes = opened.and_then(|file| file.length()).unwrap_or_default();
        if !file.is_finished {
            let unusable = Some(check::UNFINISHED.to_owned());
            return Standing {
                file,
                bytes,
                covers: None,
                unusable,
            };
        }
        let (covers, unusable) = match Checkpoint::open(disk, &file.name, false) {
            Ok(found) => {
                let other = log.and_then(|log| check::other_log(&found, log));
                let covers = (found.position(), found.commits().len());
                (Some(covers), other.map(|finding| finding.message))
            }
            Err(error) => (None, Some(error.message().to_owned())),
        };
        Standing {
            file,
            bytes,
            covers,
            unusable,
        }
    };
    Ok(list(disk)?.into_iter().rev().map(look).collect())
}

fn next_number(files: &[CheckpointFile]) -> Result<u64> {
    let newest = files.last().map_or(0, |file| file.number);
    newest
        .checked_add(1)
        .ok_or_else(|| Error::new(ErrorKind::Io, "the checkpoints have used up all numbers"))
}

/// Opens the newest usable checkpoint of a log, and returns why newer ones are unusable.
///
/// # Errors
/// `Io` if the folder cannot be listed. An unusable file is a finding, not an error.
pub(crate) fn open_newest(
    disk: &dyn Disk,
    log: LogId,
    map: bool,
) -> Result<(Option<Checkpoint>, Vec<Finding>)> {
    let mut findings = Vec::new();
    for file in list(disk)?.into_iter().rev().filter(|file| file.is_finished) {
        match Checkpoint::open(disk, &file.name, map) {
            Ok(checkpoint) => match check::other_log(&checkpoint, log) {
                None => return Ok((Some(checkpoint), findings)),
                Some(found) => findings.push(found),
            },
            // Another process has written newer ones.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                findings.push(Finding::new(Severity::Derived, &file.name, 0, error.message()));
            }
        }
    }
    Ok((None, findings))
}

/// Returns the positions up to which the log was durable when its checkpoints were made, from the headers that are
/// whole.
///
/// # Errors
/// `Io` if the folder cannot be listed or a header cannot be read: its position may distinguish damage from a torn
/// tail.
pub(crate) fn positions(disk: &dyn Disk, log: LogId) -> Result<Vec<Position>> {
    let mut positions = Vec::new();
    for file in list(disk)?.into_iter().filter(|file| file.is_finished) {
        match reader::end_of(disk, &file.name) {
            Ok((found, position)) if found == log => positions.push(position),
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            _ => {}
        }
    }
    Ok(positions)
}

/// Opens every readable checkpoint of a store, of any epoch, the newest first. Their states and commit digests are
/// valid in every epoch; their places are not.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn open_any(
    disk: &dyn Disk,
    instance: Option<[u8; 16]>,
    hash: HashAlgorithm,
) -> Result<Vec<Checkpoint>> {
    let files = list(disk)?.into_iter().rev().filter(|file| file.is_finished);
    let opened = files.filter_map(|file| Checkpoint::open(disk, &file.name, false).ok());
    let is_of = |found: LogId| found.hash == hash && instance.is_none_or(|known| known == found.instance);
    Ok(opened.filter(|checkpoint| is_of(checkpoint.log())).collect())
}

/// Removes all checkpoints, including unfinished ones, and returns the number of files.
///
/// # Errors
/// `Io` if one cannot be removed; the others are still removed.
///
/// # Durability
/// The removal is durable when this returns.
pub(crate) fn remove_all(disk: &dyn Disk) -> Result<usize> {
    remove_files(disk, &list(disk)?)
}

/// Removes checkpoints of the log before a rewrite that was interrupted, and with them all unfinished ones. Returns the
/// number of files.
///
/// # Errors
/// `Io` if one cannot be read or removed; the others are still removed.
///
/// # Durability
/// As [`remove_all`].
pub(crate) fn remove_outdated(disk: &dyn Disk, log: LogId) -> Result<usize> {
    let mut failed = Ok(());
    let mut is_outdated = |file: &CheckpointFile| match reader::end_of(disk, &file.name) {
        Ok((found, _)) => (found.instance, found.hash) == (log.instance, log.hash) && found.epoch < log.epoch,
        Err(error) => {
            if error.kind() == ErrorKind::Io {
                failed = Err(error);
            }
            false
        }
    };
    let (finished, mut files): (Vec<_>, Vec<_>) = list(disk)?.into_iter().partition(|file| file.is_finished);
    let outdated: Vec<_> = finished.into_iter().filter(&mut is_outdated).collect();
    if outdated.is_empty() {
        return failed.map(|()| 0);
    }
    // An unfinished file does not name its log. A process that is writing one can do without it.
    files.extend(outdated);
    remove_files(disk, &files).and_then(|count| failed.map(|()| count))
}

fn remove_files(disk: &dyn Disk, files: &[CheckpointFile]) -> Result<usize> {
    let (mut removed, mut failed) = (0, Ok(()));
    for file in files {
        match disk.remove(&file.name) {
            Ok(()) => removed += 1,
            // No process of ours made such a folder, and it holds no checkpoint.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_of_other_kind(&error) => {}
            Err(error) => failed = Err(Error::io(format!("cannot remove {}", file.name), error)),
        }
    }
    if !files.is_empty() {
        let syncing = |error| Error::io(format!("cannot sync {FOLDER}"), error);
        disk.sync_dir(FOLDER).map_err(syncing)?;
    }
    failed.map(|()| removed)
}

/// Removes the checkpoints that `newest` makes superfluous. A later checkpoint retries a failed removal.
fn remove_old(disk: &dyn Disk, newest: u64) {
    let files = list(disk).unwrap_or_default();
    let finished = files.iter().filter(|file| file.is_finished).count();
    let old = files
        .iter()
        .filter(|file| file.is_finished)
        .take(finished.saturating_sub(KEPT));
    let left = files
        .iter()
        .filter(|file| !file.is_finished && file.number < newest);
    for file in old.chain(left) {
        drop(disk.remove(&file.name));
    }
    drop(disk.sync_dir(FOLDER));
}

#[cfg(test)]
mod tests;
