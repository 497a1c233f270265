//! Checkpoints: files that spare reading the log, each whole and enough by itself.
//!
//! A checkpoint covers the log up to a position: the nodes of the head's state and of some past ones, the places of records by
//! digest, the commits and the references. It is derived: it may be deleted at any time, and a reader that meets damage in one
//! reads the log instead. The two newest are kept. A file is mapped and checked block by block as it is touched, so opening one
//! does not read it.
//!
//! # Layer
//! L4. Stands alone: knows tries and digests, and neither the catalog nor the records that places lead to.
//!
//! # Invariants
//! - CKP-1: every read returns the bytes that were written, or an error with the code [`ErrorCode::CheckpointDamaged`].
//! - CKP-2: a failure to write a checkpoint leaves those that were there as they were.
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
use crate::disk::{Access, Disk, is_not_regular};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Finding, Result, Severity};
use crate::log::Position;

pub(crate) use check::check;
pub(crate) use header::LogId;
pub(crate) use reader::Checkpoint;
pub(crate) use rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Gap, Rows, StateRow, prefix_of};
pub(crate) use writer::{Contents, Progress, Source, State, write};

/// The folder of checkpoints.
pub(crate) const FOLDER: &str = "checkpoint";
/// How many are kept.
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

/// The error of damage in a checkpoint.
fn damaged(name: &str, offset: u64, cause: Cause) -> Error {
    Error::damaged(Damage::new(name, offset, cause))
        .with_code(ErrorCode::CheckpointDamaged)
        .with_hint("a checkpoint is derived: remove it, and the log is read instead")
}

/// The cause of the damage that an error carries.
fn cause_of(error: &Error) -> Cause {
    match error.damage() {
        Some(damage) => damage.cause.clone(),
        None => Cause::Contradiction(error.message().to_owned()),
    }
}

/// The finding of an error about a checkpoint, at `offset` if the error has no place.
fn of_error(name: &str, offset: u64, error: &Error) -> Finding {
    let place = error.damage().and_then(|damage| damage.offset);
    Finding::new(Severity::Derived, name, place.unwrap_or(offset), cause_of(error))
}

fn file_name(number: u64) -> String {
    format!("{FOLDER}/{number:08}.ckpt")
}

/// The number of a finished checkpoint's name.
fn file_number(name: &str) -> Option<u64> {
    let digits = name
        .strip_prefix(FOLDER)?
        .strip_prefix('/')?
        .strip_suffix(".ckpt")?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// The checkpoints of a store, finished or not, the oldest first. Other files in the folder are left out.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn list(disk: &dyn Disk) -> Result<Vec<CheckpointFile>> {
    let names = match disk.list(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
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

/// The header of a checkpoint, or the cause why it cannot be used.
pub(crate) struct Standing {
    pub(crate) file: CheckpointFile,
    /// Its length.
    pub(crate) bytes: u64,
    /// How far it covers the log, and how many commits of it it holds; `None` if the header cannot be read.
    pub(crate) covers: Option<(Position, u64)>,
    /// Why it is not used.
    pub(crate) unusable: Option<Cause>,
}

/// Reads the header of every checkpoint, the newest first. `log` is the log that they should be of, if known.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn standings(disk: &dyn Disk, log: Option<LogId>) -> Result<Vec<Standing>> {
    let look = |file: CheckpointFile| {
        let opened = disk.open(&file.name, Access::Read);
        let bytes = opened.and_then(|file| file.length()).unwrap_or_default();
        if !file.is_finished {
            let unusable = Some(Cause::Unfinished);
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
                (Some(covers), other.map(|finding| finding.damage.cause))
            }
            Err(error) => (None, Some(cause_of(&error))),
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

/// Opens the newest usable checkpoint of a log; returns findings about newer ones.
///
/// # Errors
/// `Io` if the folder cannot be listed. A file that cannot be used is no error but a finding.
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
            // Another process wrote newer ones meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => findings.push(of_error(&file.name, 0, &error)),
        }
    }
    Ok((None, findings))
}

/// Behind which batches a log was durable when its checkpoints were made, as far as their headers are whole.
///
/// # Errors
/// `Io` if the folder cannot be listed or a header not be read: it may be needed to tell damage from a torn tail.
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

/// Opens every checkpoint of a store that can be opened, of whatever epoch, the newest first: their states and the digests
/// of their commits hold in all of them, while places do not.
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

/// Removes all checkpoints, finished or not; returns how many files.
///
/// # Errors
/// `Io` if one cannot be removed; the others are removed all the same.
///
/// # Durability
/// When this returns, they are gone for good.
pub(crate) fn remove_all(disk: &dyn Disk) -> Result<usize> {
    remove_files(disk, &list(disk)?)
}

/// Removes what a rewrite of the log that was cut off left of checkpoints of the log before, and with them all that are
/// not finished: how many files.
///
/// # Errors
/// `Io` if one cannot be read or removed; the others are removed all the same.
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
    // An unfinished one does not name its log; its writer, if any, loses only time.
    files.extend(outdated);
    remove_files(disk, &files).and_then(|count| failed.map(|()| count))
}

fn remove_files(disk: &dyn Disk, files: &[CheckpointFile]) -> Result<usize> {
    let (mut removed, mut failed) = (0, Ok(()));
    for file in files {
        match disk.remove(&file.name) {
            Ok(()) => removed += 1,
            // A folder under the name of a checkpoint holds none.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_not_regular(&error) => {}
            Err(error) => failed = Err(Error::io(format!("cannot remove {}", file.name), error)),
        }
    }
    if !files.is_empty() {
        let syncing = |error| Error::io(format!("cannot sync {FOLDER}"), error);
        disk.sync_dir(FOLDER).map_err(syncing)?;
    }
    failed.map(|()| removed)
}

/// Removes the checkpoints that `newest` makes superfluous. Failures are left for the next one.
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
