//! Checkpoints: files with the data of the log up to a position, so that opening a store reads only the log after that
//! position.
//!
//! A checkpoint contains the nodes of the head's state and of some past states, the locators of records by digest, the
//! commits and the references. It is a chain of files: each file contains what is new since the files on which it builds.
//! A checkpoint is derived: a user may delete the files at any time, and a reader that finds damage in a file reads the
//! log instead. A reader maps the files into memory and checks each block at its first access, so opening does not read
//! whole files.
//!
//! A new file absorbs the newest files that are not larger than it: it contains their rows and nodes, and builds on the
//! files before them. So there are few files, and each row is written few times.
//!
//! # Layer
//! Layer 4. Handles tries and digests. Accesses neither the catalog nor the records of the log.
//!
//! # Invariants
//! - CKP-1: every read returns the written bytes, or an error with the code `CheckpointDamaged`.
//! - CKP-2: if writing a checkpoint fails, the existing checkpoints stay unchanged.
//!
//! # After a crash
//! See docs/durability.md. Readers use only files with a final name.
//!
//! # Format
//! docs/format.md, "Checkpoint".

mod absorb;
mod blocks;
mod chain;
mod check;
mod files;
mod header;
mod part;
mod rows;
mod writer;

use std::sync::Arc;

use crate::digest::HashAlgorithm;
use crate::disk::{Access, Disk};
use crate::error::{Cause, Error, ErrorKind, Finding, Result};
use crate::log::Position;
use files::{list, of_error, remove_files};

pub(crate) use absorb::{absorbed, is_newest, plan};
pub(crate) use chain::Checkpoint;
pub(crate) use check::{check, reaches_outside, starts_outside};
pub(crate) use files::CheckpointFile;
pub(crate) use header::LogId;
pub(crate) use rows::{ChildRow, CommitRow, DigestRow, FirstWritten, StateRow, bisect, prefix_of};
pub(crate) use writer::{Around, Contents, Progress, State, append, make, write};

use part::Part;

/// Information about a checkpoint from its header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointInfo {
    /// The path of the checkpoint file, relative to the store.
    pub file: String,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The last batch of the log that the checkpoint covers; `None` if the header cannot be read.
    pub batch: Option<u64>,
    /// The number of commits in the checkpoint; `None` if the header cannot be read.
    pub commits: Option<u64>,
    /// The reason why the store cannot use the checkpoint; `None` if it is usable.
    pub unusable: Option<Cause>,
}

/// Reads the header of every checkpoint, newest first. If `log` is given, marks checkpoints of another log as unusable.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn infos(disk: &dyn Disk, log: Option<LogId>) -> Result<Vec<CheckpointInfo>> {
    let info = |file: CheckpointFile| {
        let there = disk.open(&file.name, Access::Read);
        let opened = if file.is_finished {
            open_chain(disk, &file, true).map_err(|error| error.cause())
        } else {
            Err(Cause::Unfinished)
        };
        let found = opened.as_ref().ok();
        let other = found
            .zip(log)
            .and_then(|(found, log)| check::other_log(found, log));
        CheckpointInfo {
            bytes: there.and_then(|file| file.length()).unwrap_or_default(),
            file: file.name,
            batch: found.map(|found| found.position().batch),
            commits: found.map(|found| found.commits().len()),
            unusable: other.map(|finding| finding.damage.cause).or(opened.err()),
        }
    };
    Ok(list(disk)?.into_iter().rev().map(info).collect())
}

/// The maximal number of attempts to open a checkpoint whose files another process replaces.
const OPENINGS: u32 = 8;

/// Opens the newest usable checkpoint of a log. Also returns findings about newer, unusable checkpoints.
///
/// # Errors
/// `Io` if the folder cannot be listed. An unusable file is not an error, but a finding.
pub(crate) fn open_newest(
    disk: &dyn Disk,
    log: LogId,
    map: bool,
) -> Result<(Option<Checkpoint>, Vec<Finding>)> {
    let mut listed = list(disk)?;
    for _ in 1..OPENINGS {
        let found = open_listed(disk, &listed, log, map);
        if found.0.is_some() || listed.is_empty() {
            return Ok(found);
        }
        let again = list(disk)?;
        if again == listed {
            return Ok(found);
        }
        listed = again;
    }
    Ok(open_listed(disk, &listed, log, map))
}

fn open_listed(
    disk: &dyn Disk,
    files: &[CheckpointFile],
    log: LogId,
    map: bool,
) -> (Option<Checkpoint>, Vec<Finding>) {
    let mut findings = Vec::new();
    for file in files.iter().rev().filter(|file| file.is_finished) {
        match open_chain(disk, file, map) {
            Ok(checkpoint) => match check::other_log(&checkpoint, log) {
                None => return (Some(checkpoint), findings),
                Some(found) => findings.push(found),
            },
            // The file is gone, because another process has written newer checkpoints and removed this file.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => findings.push(of_error(&file.name, 0, &error)),
        }
    }
    (None, findings)
}

/// Opens a file with the files on which it builds.
///
/// # Errors
/// `NotFound` if the file does not exist; `Corrupt` if one of the files is damaged or missing (CKC-1); `Io`.
fn open_chain(disk: &dyn Disk, file: &CheckpointFile, map: bool) -> Result<Checkpoint> {
    let newest = Part::open(disk, &file.name, map)?;
    let mut parts = Vec::with_capacity(newest.header().links.len() + 1);
    for link in &newest.header().links {
        let name = files::file_name(link.number);
        let part = Part::open(disk, &name, map).map_err(|error| match error.kind() {
            ErrorKind::NotFound => files::damaged(&file.name, 0, Cause::ChainBroken),
            _ => error,
        })?;
        if part.header().link() != *link || part.header().log != newest.header().log {
            return Err(files::damaged(&file.name, 0, Cause::ChainBroken));
        }
        parts.push(Arc::new(part));
    }
    parts.push(Arc::new(newest));
    Checkpoint::of(parts).ok_or_else(|| Error::internal("a checkpoint without a file"))
}

/// Returns the positions in the undamaged headers of checkpoints. The log was durable up to such a position when the
/// checkpoint was written.
///
/// # Errors
/// `Io` if the folder cannot be listed, or if a writer cannot read a header: its position may be needed to distinguish
/// damage from a torn tail. To a reader (`reads_only`), an unreadable file is a missing one.
pub(crate) fn positions(disk: &dyn Disk, log: LogId, reads_only: bool) -> Result<Vec<Position>> {
    let mut positions = Vec::new();
    for file in list(disk)?.into_iter().filter(|file| file.is_finished) {
        match part::end_of(disk, &file.name) {
            Ok((found, position)) if found == log => positions.push(position),
            Err(error) if reads_only && error.is_unreadable() => {}
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            _ => {}
        }
    }
    Ok(positions)
}

/// Opens every readable checkpoint of a store, newest first, including checkpoints of other epochs. The states and
/// commit digests in a checkpoint are valid in every epoch, but locators are valid only in the checkpoint's epoch. A
/// checkpoint may lack files, so some of its states may not be readable.
///
/// # Errors
/// `Io` if the folder cannot be listed.
pub(crate) fn open_any(
    disk: &dyn Disk,
    instance: Option<[u8; 16]>,
    hash: HashAlgorithm,
) -> Result<Vec<Checkpoint>> {
    let files = list(disk)?.into_iter().filter(|file| file.is_finished);
    let opened = files.filter_map(|file| Part::open(disk, &file.name, false).ok());
    let is_of = |found: LogId| found.hash == hash && instance.is_none_or(|known| known == found.instance);
    let parts: Vec<_> = opened
        .filter(|part| is_of(part.header().log))
        .map(Arc::new)
        .collect();
    let link_to = |part: &Part| part.header().link();
    let is_built_on = |part: &Arc<Part>| {
        parts
            .iter()
            .any(|one| one.header().links.contains(&link_to(part)))
    };
    let chain = |newest: &Arc<Part>| {
        let links = newest.header().links.iter();
        let found = links.filter_map(|link| parts.iter().find(|part| link_to(part) == *link));
        Checkpoint::of(found.chain([newest]).cloned().collect())
    };
    let newest = parts.iter().rev().filter(|part| !is_built_on(part));
    Ok(newest.filter_map(chain).collect())
}

/// Removes all checkpoint files, including unfinished files. Returns the number of removed files.
///
/// # Errors
/// `Io` if a checkpoint cannot be removed; the call still removes the other checkpoints.
///
/// # Durability
/// When the call returns, the removal is durable.
pub(crate) fn remove_all(disk: &dyn Disk) -> Result<usize> {
    remove_files(disk, &list(disk)?)
}

/// Removes checkpoints of earlier epochs, which an interrupted rewrite left. If there are any, also removes all
/// unfinished files. Returns the number of removed files.
///
/// # Errors
/// `Io` if a checkpoint cannot be read or removed; the call still removes the other checkpoints.
///
/// # Durability
/// When the call returns, the removal is durable.
pub(crate) fn remove_outdated(disk: &dyn Disk, log: LogId) -> Result<usize> {
    let mut failed = Ok(());
    let mut is_outdated = |file: &CheckpointFile| match part::end_of(disk, &file.name) {
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
    // Also removes every unfinished file, because its epoch is unknown. If another process is still writing the file,
    // that process must start again, which only costs time.
    files.extend(outdated);
    remove_files(disk, &files).and_then(|count| failed.map(|()| count))
}

#[cfg(test)]
mod tests;
