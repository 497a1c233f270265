//! Verifies a whole checkpoint file: its blocks, the order of its rows, and every node of its states.
//!
//! # Layer
//! Layer 4. Part of checkpoint/. Does not compare the checkpoint with the log.

use super::files::{damaged, list, of_error};
use super::header::{Header, LogId, Section};
use super::reader::{Checkpoint, REFERENCE_HEAD_BYTES};
use super::rows::{DigestRow, Rows, prefix_of};
use super::writer::Progress;
use crate::disk::Disk;
use crate::error::{Cause, Damage, ErrorKind, Finding, Result, Severity};
use crate::log::{Fixed, Locator, Log};
use crate::threads::processors;
use crate::trie::check_stored;

/// Verifies every checkpoint of a store, and reports unfinished files.
///
/// # Errors
/// `Io` if the folder cannot be listed, and the errors of `progress`. Damage is not an error, but a finding.
pub(crate) fn check(disk: &dyn Disk, log: LogId, progress: &mut Progress<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in list(disk)? {
        if !file.is_finished {
            findings.push(Finding::new(Severity::Harmless, &file.name, 0, Cause::Unfinished));
            continue;
        }
        match Checkpoint::open(disk, &file.name, true) {
            Ok(checkpoint) => {
                findings.extend(other_log(&checkpoint, log));
                findings.extend(check_content(&checkpoint, progress)?);
            }
            // The file is gone, because another process has written newer checkpoints and removed this file.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => findings.push(of_error(&file.name, 0, &error)),
        }
    }
    Ok(findings)
}

/// Returns a finding if a checkpoint does not belong to this log and epoch.
pub(super) fn other_log(checkpoint: &Checkpoint, log: LogId) -> Option<Finding> {
    let found = checkpoint.log();
    let (severity, cause) = if found == log {
        return None;
    } else if (found.instance, found.hash) != (log.instance, log.hash) {
        (Severity::Derived, Cause::MadeFromOtherLog)
    } else if found.epoch > log.epoch {
        (Severity::Unsure, Cause::MadeFromLaterLog)
    } else {
        (Severity::Harmless, Cause::MadeBeforeRewrite)
    };
    Some(Finding::new(severity, checkpoint.name(), 0, cause))
}

/// Returns whether the first commit of a segment has a place outside the log. A recovery moves the first batches of a
/// segment, so this finds a checkpoint of a store that did not notice a recovery. Reads one row for each segment.
///
/// # Errors
/// `Corrupt` or `Io` if a row cannot be read.
pub(crate) fn starts_outside(one: &Checkpoint, log: &Log) -> Result<bool> {
    let commits = one.commits();
    for first in log.first_batches() {
        let index = commits.count_before(|row| row.batch < first)?;
        if index < commits.len() && !log.has_place(Locator::from_u64(commits.row(index)?.place)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether any row has a place outside the log.
///
/// # Errors
/// `Corrupt` or `Io` if a row cannot be read.
pub(crate) fn reaches_outside(one: &Checkpoint, log: &Log) -> Result<bool> {
    let is_outside = |place| !log.has_place(Locator::from_u64(place));
    for of_objects in [true, false] {
        for row in one.digests(of_objects).iter() {
            if is_outside(row?.value) {
                return Ok(true);
            }
        }
    }
    for row in one.commits().iter() {
        if is_outside(row?.place) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a new file back. Checks that the file is undamaged and has the expected header.
///
/// # Errors
/// `Corrupt` if the file differs; `Io`, and the errors of `progress`.
pub(super) fn verify_file(
    disk: &dyn Disk,
    name: &str,
    header: &Header,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let checkpoint = Checkpoint::open(disk, name, true)?;
    if checkpoint.header() != header {
        return Err(damaged(name, 0, Cause::OtherHeader));
    }
    match check_content(&checkpoint, progress)?.into_iter().next() {
        None => Ok(()),
        Some(found) => {
            let Damage { offset, cause, .. } = found.damage;
            Err(damaged(name, offset.unwrap_or_default(), cause))
        }
    }
}

/// Checks all blocks of the file. If all blocks are undamaged, also checks the rows and the nodes.
fn check_content(one: &Checkpoint, progress: &mut Progress<'_>) -> Result<Vec<Finding>> {
    if let Some((offset, bytes)) = one.blocks().check_all(progress)? {
        let cause = Cause::BlockChecksums { bytes };
        return Ok(vec![Finding::new(Severity::Derived, one.name(), offset, cause)]);
    }
    let checked = [
        (Section::Nodes, check_states(one)),
        (Section::Objects, rising(one.digests(true), |row| *row)),
        (Section::Texts, rising(one.digests(false), |row| *row)),
        (Section::Commits, check_commits(one)),
        (Section::CommitsByDigest, check_index(one, false)),
        (Section::CommitsByRoot, check_index(one, true)),
        (
            Section::FirstWritten,
            rising(one.first_written_rows(), |row| row.key),
        ),
        (Section::Children, rising(one.child_rows(), |row| *row)),
        (Section::Gaps, rising(one.gaps(), |gap| gap.first)),
        (Section::References, check_references(one)),
    ];
    let findings = checked.into_iter().filter_map(|(section, checked)| {
        let offset = one.header().extent(section).offset;
        Some(of_error(one.name(), offset, &checked.err()?))
    });
    Ok(findings.collect())
}

/// Checks that the keys rise and that no key occurs twice (CKR-1).
fn rising<R: Fixed, K: PartialOrd>(rows: Rows<'_, R>, key: impl Fn(&R) -> K) -> Result<()> {
    let mut last = None;
    for row in rows.iter() {
        let key = Some(key(&row?));
        if last.is_some() && last >= key {
            return Err(rows.damaged(Cause::RowOrder));
        }
        last = key;
    }
    Ok(())
}

/// Checks that the seqs, batches and times of commits rise, and that the history tree is valid.
fn check_commits(one: &Checkpoint) -> Result<()> {
    rising(one.commits(), |row| row.seq)?;
    rising(one.commits(), |row| row.batch)?;
    rising(one.commits(), |row| row.time)?;
    one.history().map(drop)
}

/// Checks that the index of commits, by digest or by root, contains exactly the commits of the checkpoint.
fn check_index(one: &Checkpoint, by_root: bool) -> Result<()> {
    let index = one.commit_index(by_root);
    let mut expected = Vec::new();
    for (row, value) in one.commits().iter().zip(0..) {
        let prefix = prefix_of(row?.indexed(by_root));
        expected.push(DigestRow { prefix, value });
    }
    expected.sort_unstable();
    if index.iter().collect::<Result<Vec<_>>>()? == expected {
        return Ok(());
    }
    Err(index.damaged(Cause::IndexMismatch))
}

/// Checks that the references have the same total length as their section.
fn check_references(one: &Checkpoint) -> Result<()> {
    let extent = one.header().extent(Section::References);
    let references = one.references()?;
    let lengths = references
        .iter()
        .map(|(_, bytes)| REFERENCE_HEAD_BYTES + bytes.len());
    if lengths.sum::<usize>() as u64 == extent.length {
        return Ok(());
    }
    Err(damaged(one.name(), extent.offset, Cause::ReferenceSection))
}

/// Checks that the root of every state equals the root in its commit, and that every node has the digest that its
/// parent node contains.
fn check_states(one: &Checkpoint) -> Result<()> {
    rising(one.states(), |state| state.seq)?;
    let mut tops = Vec::new();
    for state in one.states().iter() {
        let state = state?;
        if one.commit(state.seq)?.map(|commit| commit.root) != Some(state.root) {
            return Err(one.states().damaged(Cause::StateMismatch { seq: state.seq }));
        }
        tops.push(state.top());
    }
    check_stored(&tops, one, processors())
}
