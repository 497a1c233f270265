//! Verifies a whole checkpoint by reading its file: its blocks, the order of its rows, and every node of its states.
//!
//! # Layer
//! Layer 4. Part of checkpoint/. Does not compare the checkpoint with the log.

use super::files::{damaged, list, of_error};
use super::header::{Header, LogId, Section};
use super::reader::{Checkpoint, REFERENCE_HEAD_BYTES};
use super::rows::{CommitRow, DigestRow, prefix_of};
use super::writer::Progress;
use crate::digest::DIGEST_LEN;
use crate::disk::Disk;
use crate::error::{Cause, Damage, Error, ErrorKind, Finding, Result, Severity};
use crate::threads::processors;
use crate::trie::check_stored;

/// Verifies every checkpoint of a store, and reports leftovers.
///
/// # Errors
/// `Io` if the folder cannot be listed, and the errors of `progress`. Damage is returned as findings.
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
                check_content(&checkpoint, &mut findings, progress)?;
            }
            // Another process has written newer checkpoints and removed this one.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => findings.push(of_error(&file.name, 0, &error)),
        }
    }
    Ok(findings)
}

/// Returns the reason why a valid checkpoint does not belong to a log.
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

/// Reads a new file back, and checks that it is undamaged and has this header.
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
    let mut findings = Vec::new();
    check_content(&checkpoint, &mut findings, progress)?;
    match findings.first() {
        None => Ok(()),
        Some(found) => {
            let Damage { offset, cause, .. } = found.damage.clone();
            Err(damaged(name, offset.unwrap_or_default(), cause))
        }
    }
}

/// Checks all blocks of the file. If they are undamaged, checks their content.
fn check_content(
    checkpoint: &Checkpoint,
    findings: &mut Vec<Finding>,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut is_whole = true;
    let mut visit = |offset: u64, bytes: u64| {
        is_whole = false;
        let cause = Cause::BlockChecksums { bytes };
        findings.push(Finding::new(Severity::Derived, checkpoint.name(), offset, cause));
    };
    checkpoint.blocks().check_all(&mut visit, progress)?;
    if !is_whole {
        return Ok(());
    }
    for (section, check) in CHECKS {
        if let Err(error) = check(checkpoint, section) {
            let offset = checkpoint.header().extent(section).offset;
            findings.push(of_error(checkpoint.name(), offset, &error));
        }
    }
    Ok(())
}

/// The check of a section whose blocks are undamaged.
type Check = fn(&Checkpoint, Section) -> Result<()>;

const CHECKS: [(Section, Check); 10] = [
    (Section::Nodes, check_states),
    (Section::Objects, |one, section| {
        rising(one, section, one.objects().iter())
    }),
    (Section::Texts, |one, section| {
        rising(one, section, one.texts().iter())
    }),
    (Section::Commits, check_commits),
    (Section::CommitsByDigest, |one, section| {
        check_index(one, section, |row| row.digest.as_bytes())
    }),
    (Section::CommitsByRoot, |one, section| {
        check_index(one, section, |row| row.root.as_bytes())
    }),
    (Section::FirstWritten, |one, section| {
        rising(
            one,
            section,
            one.first_written_rows().iter().map(|row| Ok(row?.key)),
        )
    }),
    (Section::Children, |one, section| {
        rising(one, section, one.child_rows().iter())
    }),
    (Section::Gaps, |one, section| {
        rising(one, section, one.gaps().iter().map(|gap| Ok(gap?.first)))
    }),
    (Section::References, check_references),
];

/// Returns the error for a section whose blocks are undamaged but whose rows break a rule.
fn contradiction(checkpoint: &Checkpoint, section: Section, cause: Cause) -> Error {
    let offset = checkpoint.header().extent(section).offset;
    damaged(checkpoint.name(), offset, cause)
}

/// CKR-1: keys rise strictly, so no key occurs twice.
fn rising<K: Ord>(
    checkpoint: &Checkpoint,
    section: Section,
    keys: impl Iterator<Item = Result<K>>,
) -> Result<()> {
    let mut last = None;
    for key in keys {
        let key = Some(key?);
        if last.is_some() && last >= key {
            return Err(contradiction(checkpoint, section, Cause::RowOrder));
        }
        last = key;
    }
    Ok(())
}

/// Checks that seqs, batches and times of commits rise, and that the history tree is valid.
fn check_commits(checkpoint: &Checkpoint, section: Section) -> Result<()> {
    let rows = || checkpoint.commits().iter();
    rising(checkpoint, section, rows().map(|row| Ok(row?.seq)))?;
    rising(checkpoint, section, rows().map(|row| Ok(row?.batch)))?;
    rising(checkpoint, section, rows().map(|row| Ok(row?.time)))?;
    checkpoint.history().map(drop)
}

/// Checks that the index contains exactly the commits, by digest or by root.
fn check_index(
    checkpoint: &Checkpoint,
    section: Section,
    digest: fn(&CommitRow) -> &[u8; DIGEST_LEN],
) -> Result<()> {
    let (index, commits) = (checkpoint.rows::<DigestRow>(section), checkpoint.commits());
    rising(checkpoint, section, index.iter())?;
    // The index has as many rows as there are commits. If all rows are different and correct, every commit has one.
    let mut is_right = index.len() == commits.len();
    for row in index.iter() {
        let row = row?;
        let commit = commits.get(row.value)?;
        is_right &= commit.is_some_and(|commit| prefix_of(digest(&commit)) == row.prefix);
    }
    if is_right {
        return Ok(());
    }
    Err(contradiction(checkpoint, section, Cause::IndexMismatch))
}

/// Checks that the references fill their section exactly.
fn check_references(checkpoint: &Checkpoint, section: Section) -> Result<()> {
    let mut bytes = 0;
    for reference in checkpoint.references() {
        bytes += (REFERENCE_HEAD_BYTES + reference?.1.len()) as u64;
    }
    if bytes == checkpoint.header().extent(section).length {
        return Ok(());
    }
    Err(contradiction(checkpoint, section, Cause::ReferenceSection))
}

/// Checks that every state has the root in its commit, and every node the digest in its parent.
fn check_states(checkpoint: &Checkpoint, section: Section) -> Result<()> {
    rising(
        checkpoint,
        section,
        checkpoint.states().iter().map(|state| Ok(state?.seq)),
    )?;
    let mut tops = Vec::new();
    for state in checkpoint.states().iter() {
        let state = state?;
        let commit = checkpoint.commit(state.seq)?;
        if commit.map(|commit| commit.root) != Some(state.root) {
            let cause = Cause::StateMismatch { seq: state.seq };
            return Err(contradiction(checkpoint, section, cause));
        }
        tops.push(state.top());
    }
    check_stored(&tops, checkpoint, processors())
}
