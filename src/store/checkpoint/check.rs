//! Verifies a whole checkpoint file: its blocks, the order of its rows, and every node of its states.
//!
//! # Layer
//! Layer 4. Part of checkpoint/. Does not compare the checkpoint with the log.

use std::sync::Arc;

use super::chain::Checkpoint;
use super::files::{damaged, list, of_error};
use super::header::{Header, LogId, Section};
use super::open_chain;
use super::part::{Part, REFERENCE_HEAD_BYTES};
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Rows, StateRow, prefix_of};
use super::writer::Progress;
use crate::digest::KeyPath;
use crate::disk::Disk;
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Finding, Result, Severity};
use crate::log::{Fixed, Locator, Log};
use crate::store::commits::Gap;
use crate::threads::processors;
use crate::trie::{StoredNode, Verified, check_stored};

/// Verifies every checkpoint file of a store, and reports unfinished files.
///
/// # Errors
/// `Io` if the folder cannot be listed, and the errors of `progress`. Damage is not an error, but a finding.
pub(crate) fn check(disk: &dyn Disk, log: LogId, progress: &mut Progress<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let files = list(disk)?;
    // Each file contains only what is new, so a node that an older file contains was verified with that file.
    let mut verified = Verified::default();
    let newest = files.iter().rposition(|file| file.is_finished);
    let mut is_damaged = false;
    for (index, file) in files.into_iter().enumerate() {
        if !file.is_finished {
            findings.push(Finding::new(Severity::Harmless, &file.name, 0, Cause::Unfinished));
            continue;
        }
        match open_chain(disk, &file, true) {
            Ok(chain) => {
                findings.extend(other_log(&chain, log));
                // Damage of an older file must not hide damage of this one.
                let verified = (!is_damaged || Some(index) == newest).then_some(&mut verified);
                let found = check_content(&chain, verified, progress)?;
                is_damaged |= !found.is_empty();
                findings.extend(found);
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

/// Reads a new file back. Checks that the file is undamaged and has the expected header. `onto` are the files on which
/// it builds; they are not checked again.
///
/// # Errors
/// `Corrupt` if the file differs; `Io`, and the errors of `progress`.
pub(super) fn verify_file(
    disk: &dyn Disk,
    name: &str,
    header: &Header,
    onto: &[Arc<Part>],
    progress: &mut Progress<'_>,
) -> Result<()> {
    let part = Arc::new(Part::open(disk, name, true)?);
    if part.header() != header {
        return Err(damaged(name, 0, Cause::OtherHeader));
    }
    let parts = onto.iter().cloned().chain([Arc::clone(&part)]);
    let Some(chain) = Checkpoint::of(parts.collect()) else {
        return Ok(());
    };
    let mut found = check_part(&part, progress)?;
    found.extend(
        check_states(&part)
            .and_then(|tops| check_new_nodes(&chain, &tops))
            .err()
            .map(|error| {
                let nodes = part.header().extent(Section::Nodes).offset;
                of_error(name, nodes, &error)
            }),
    );
    match found.into_iter().next() {
        None => Ok(()),
        Some(found) => {
            let Damage { offset, cause, .. } = found.damage;
            Err(damaged(name, offset.unwrap_or_default(), cause))
        }
    }
}

/// Checks the newest file of a checkpoint, and the nodes of its states: those that were not `verified` before, or only
/// those in the newest file.
fn check_content(
    chain: &Checkpoint,
    verified: Option<&mut Verified>,
    progress: &mut Progress<'_>,
) -> Result<Vec<Finding>> {
    let part = chain.newest();
    let mut findings = check_part(part, progress)?;
    let causes = findings.iter().map(|found| &found.damage.cause);
    let is_readable = |cause: &Cause| !matches!(cause, Cause::BlockChecksums { .. } | Cause::TableChecksum);
    if causes.into_iter().all(is_readable) {
        let checked = check_states(part).and_then(|tops| match verified {
            Some(verified) => check_stored(&tops, chain, &|_| false, verified, processors()),
            None => check_new_nodes(chain, &tops),
        });
        // The check of an earlier file reports the damage of that file.
        let is_own = |error: &Error| error.damage().is_none_or(|damage| damage.file == part.name());
        let nodes = part.header().extent(Section::Nodes).offset;
        let error = checked.err().filter(is_own);
        findings.extend(error.map(|error| of_error(part.name(), nodes, &error)));
    }
    Ok(findings)
}

/// Checks all blocks of a file. If all blocks are undamaged, also checks the rows.
fn check_part(one: &Part, progress: &mut Progress<'_>) -> Result<Vec<Finding>> {
    match one.blocks().check_all(progress) {
        Ok(None) => {}
        Ok(Some((offset, bytes))) => {
            let cause = Cause::BlockChecksums { bytes };
            return Ok(vec![Finding::new(Severity::Derived, one.name(), offset, cause)]);
        }
        Err(error) if error.code() == ErrorCode::CheckpointDamaged => {
            return Ok(vec![of_error(one.name(), 0, &error)]);
        }
        Err(error) => return Err(error),
    }
    let digests = |section| rising::<DigestRow, _>(one.rows(section), |row| *row);
    let checked = [
        (Section::Objects, digests(Section::Objects)),
        (Section::Texts, digests(Section::Texts)),
        (Section::Commits, check_commits(one)),
        (Section::CommitsByDigest, check_index(one, false)),
        (Section::CommitsByRoot, check_index(one, true)),
        (
            Section::FirstWritten,
            rising(one.rows(Section::FirstWritten), |row: &FirstWritten| row.key),
        ),
        (
            Section::Replaced,
            rising(one.rows(Section::Replaced), |key: &KeyPath| *key),
        ),
        (
            Section::Children,
            rising(one.rows(Section::Children), |row: &ChildRow| *row),
        ),
        (
            Section::Gaps,
            rising(one.rows(Section::Gaps), |gap: &Gap| gap.first),
        ),
        (Section::References, check_references(one)),
        (Section::Lines, one.lines().map(drop)),
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

fn commits(one: &Part) -> Rows<'_, CommitRow> {
    one.rows(Section::Commits)
}

/// Checks that the seqs, batches and times of commits rise, and that the history tree is valid.
fn check_commits(one: &Part) -> Result<()> {
    rising(commits(one), |row| row.seq)?;
    rising(commits(one), |row| row.batch)?;
    rising(commits(one), |row| row.time)?;
    one.history().map(drop)
}

/// Checks that the index of commits, by digest or by root, contains exactly the commits of the file.
fn check_index(one: &Part, by_root: bool) -> Result<()> {
    let index: Rows<'_, DigestRow> = one.rows(if by_root {
        Section::CommitsByRoot
    } else {
        Section::CommitsByDigest
    });
    let mut expected = Vec::new();
    for (row, value) in commits(one).iter().zip(one.header().commits_before..) {
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
fn check_references(one: &Part) -> Result<()> {
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

/// Checks that the root of every state in the file equals the root in its commit. Returns the top nodes of the states.
fn check_states(one: &Part) -> Result<Vec<StoredNode>> {
    let states: Rows<'_, StateRow> = one.rows(Section::States);
    rising(states, |state| state.seq)?;
    let mut tops = Vec::new();
    for state in states.iter() {
        let state = state?;
        let commit = commits(one).find(&state.seq, |row| row.seq)?;
        if commit.map(|commit| commit.root) != Some(state.root) {
            return Err(states.damaged(Cause::StateMismatch { seq: state.seq }));
        }
        tops.push(state.top());
    }
    Ok(tops)
}

/// Checks that every node of the newest file below `tops` has the digest that its parent node contains.
fn check_new_nodes(chain: &Checkpoint, tops: &[StoredNode]) -> Result<()> {
    let newest = chain.newest();
    let is_known = |node: &StoredNode| newest.node_offset(node.place).is_none();
    let tops: Vec<_> = tops
        .iter()
        .filter(|top| top.count == 0 || !is_known(top))
        .copied()
        .collect();
    check_stored(&tops, chain, &is_known, &mut Verified::default(), processors())
}
