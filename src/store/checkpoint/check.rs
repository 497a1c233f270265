//! Verification of a whole checkpoint from its file: its blocks, the order of its rows, and every node of its states.
//!
//! # Layer
//! L4. Part of checkpoint/. Does not compare with the log.

use super::header::{Header, LogId, Section};
use super::reader::{Checkpoint, REFERENCE_HEAD_BYTES};
use super::rows::{CommitRow, DigestRow, Rows, prefix_of};
use super::writer::Progress;
use super::{FOLDER, damaged, list};
use crate::digest::DIGEST_LEN;
use crate::disk::{Disk, is_of_other_kind};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{Finding, Severity};
use crate::threads::processors;
use crate::trie::check_stored;

/// The finding for a file without its final name.
pub(super) const UNFINISHED: &str = "an unfinished checkpoint, left by a crash or still being written";

/// The finding for a file of a later epoch than the log: a rewrite publishes the log first.
pub(crate) const OF_LATER_LOG: &str =
    "it was made from a later state of this log: an older copy of the log was restored";

/// Verifies every checkpoint of a store, and lists leftover files.
///
/// # Errors
/// `Io` if the folder cannot be listed, and the error of `progress`. Damage is a finding, not an error.
pub(crate) fn check(disk: &dyn Disk, log: LogId, progress: &mut Progress<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if disk.list(FOLDER).is_err_and(|error| is_of_other_kind(&error)) {
        let message = "it is not a folder, so no checkpoint can be made: remove it";
        findings.push(Finding::new(Severity::Derived, FOLDER, 0, message));
    }
    for file in list(disk)? {
        if !file.is_finished {
            findings.push(Finding::new(Severity::Harmless, &file.name, 0, UNFINISHED));
            continue;
        }
        match Checkpoint::open(disk, &file.name, true) {
            Ok(checkpoint) => {
                findings.extend(other_log(&checkpoint, log));
                check_content(&checkpoint, &mut findings, progress)?;
            }
            // Another process has written newer ones.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => findings.push(Finding::new(Severity::Derived, &file.name, 0, error.message())),
        }
    }
    Ok(findings)
}

/// Returns why a valid checkpoint does not belong to a log.
pub(super) fn other_log(checkpoint: &Checkpoint, log: LogId) -> Option<Finding> {
    let found = checkpoint.log();
    let (severity, message) = if found == log {
        return None;
    } else if (found.instance, found.hash) != (log.instance, log.hash) {
        (Severity::Derived, "it was made from another log")
    } else if found.epoch > log.epoch {
        (Severity::Unsure, OF_LATER_LOG)
    } else {
        (Severity::Harmless, "it was made before the log was rewritten")
    };
    Some(Finding::new(severity, checkpoint.name(), 0, message))
}

/// Reads a new file back, and verifies that it is whole and has this header.
///
/// # Errors
/// `Corrupt` if it is not; `Io`, and the error of `progress`.
pub(super) fn verify_file(
    disk: &dyn Disk,
    name: &str,
    header: &Header,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let checkpoint = Checkpoint::open(disk, name, true)?;
    if checkpoint.header() != header {
        return Err(damaged(name, 0, "its header differs from the written one"));
    }
    let mut findings = Vec::new();
    check_content(&checkpoint, &mut findings, progress)?;
    match findings.first() {
        None => Ok(()),
        Some(found) => Err(damaged(name, found.offset, &found.message)),
    }
}

/// Checks all blocks of the file and, if they are whole, their content.
fn check_content(
    checkpoint: &Checkpoint,
    findings: &mut Vec<Finding>,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut is_whole = true;
    let mut visit = |offset: u64, bytes: u64| {
        is_whole = false;
        let message = format!("{bytes} bytes do not match their checksums");
        findings.push(Finding::new(
            Severity::Derived,
            checkpoint.name(),
            offset,
            &message,
        ));
    };
    checkpoint.blocks().check_all(&mut visit, progress)?;
    if !is_whole {
        return Ok(());
    }
    for (section, check) in CHECKS {
        if let Err(error) = check(checkpoint) {
            let offset = checkpoint.header().extent(section).offset;
            findings.push(Finding::new(
                Severity::Derived,
                checkpoint.name(),
                offset,
                error.message(),
            ));
        }
    }
    Ok(())
}

/// The rule for the content of a section with whole blocks.
type Check = fn(&Checkpoint) -> Result<()>;

const CHECKS: [(Section, Check); 10] = [
    (Section::Nodes, check_states),
    (Section::Objects, |checkpoint| rising(checkpoint.objects().iter())),
    (Section::Texts, |checkpoint| rising(checkpoint.texts().iter())),
    (Section::Commits, check_commits),
    (Section::CommitsByDigest, |checkpoint| {
        check_index(checkpoint, checkpoint.commits_by_digest(), |row| {
            row.digest.as_bytes()
        })
    }),
    (Section::CommitsByRoot, |checkpoint| {
        check_index(checkpoint, checkpoint.commits_by_root(), |row| {
            row.root.as_bytes()
        })
    }),
    (Section::FirstWritten, |checkpoint| {
        rising(checkpoint.first_written_rows().iter().map(|row| Ok(row?.key)))
    }),
    (Section::Children, |checkpoint| {
        rising(checkpoint.child_rows().iter())
    }),
    (Section::Gaps, |checkpoint| {
        rising(checkpoint.gaps().iter().map(|gap| Ok(gap?.first)))
    }),
    (Section::References, check_references),
];

/// CKR-1: every key is unique.
fn rising<K: Ord>(keys: impl Iterator<Item = Result<K>>) -> Result<()> {
    let mut last = None;
    for key in keys {
        let key = Some(key?);
        if last.is_some() && last >= key {
            return Err(contradiction("its rows are out of order"));
        }
        last = key;
    }
    Ok(())
}

fn contradiction(what: &str) -> Error {
    Error::corrupt(what).with_code(ErrorCode::CheckpointDamaged)
}

/// Checks that numbers, batches and times of commits rise, and that the history tree is valid.
fn check_commits(checkpoint: &Checkpoint) -> Result<()> {
    let rows = || checkpoint.commits().iter();
    rising(rows().map(|row| Ok(row?.seq)))?;
    rising(rows().map(|row| Ok(row?.batch)))?;
    rising(rows().map(|row| Ok(row?.time)))?;
    checkpoint.history().map(drop)
}

/// Checks that the index finds exactly the commits, by digest or root.
fn check_index(
    checkpoint: &Checkpoint,
    index: Rows<'_, DigestRow>,
    digest: fn(&CommitRow) -> &[u8; DIGEST_LEN],
) -> Result<()> {
    let commits = checkpoint.commits();
    rising(index.iter())?;
    // The index has as many rows as there are commits, and all rows are different and right. So every commit has one.
    let mut is_right = index.len() == commits.len();
    for row in index.iter() {
        let row = row?;
        let commit = commits.get(row.value)?;
        is_right &= commit.is_some_and(|commit| prefix_of(digest(&commit)) == row.prefix);
    }
    if is_right {
        return Ok(());
    }
    Err(contradiction("its rows do not match the commits"))
}

/// Checks that the references fill their section.
fn check_references(checkpoint: &Checkpoint) -> Result<()> {
    let mut bytes = 0;
    for reference in checkpoint.references() {
        bytes += (REFERENCE_HEAD_BYTES + reference?.1.len()) as u64;
    }
    if bytes == checkpoint.header().extent(Section::References).length {
        return Ok(());
    }
    Err(contradiction("its references do not fill their section"))
}

/// Checks that every state has the root of its commit, and every node the digest in its parent.
fn check_states(checkpoint: &Checkpoint) -> Result<()> {
    rising(checkpoint.states().iter().map(|state| Ok(state?.seq)))?;
    let mut tops = Vec::new();
    for state in checkpoint.states().iter() {
        let state = state?;
        let commit = checkpoint.commit(state.seq)?;
        if commit.map(|commit| commit.root) != Some(state.root) {
            let what = format!(
                "the state of commit {} has another root than the commit",
                state.seq
            );
            return Err(contradiction(&what));
        }
        tops.push(state.top());
    }
    check_stored(&tops, checkpoint, processors())
}
