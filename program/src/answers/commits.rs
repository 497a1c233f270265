//! The answers of verbs that commit.
//!
//! # Layer
//! Layer 8, part of answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use treering::inspect::digest::to_hex;
use treering::inspect::engine::Reversing;
use treering::upkeep::{ErasedRecord, ErasedReport, GcReport};
use treering::{
    Change, CommitDigest, CommitInfo, Committed, Error, ErrorCode, Memory, ObjectDigest, Result, Revision,
    Root, View, Writer,
};
use treering::{ChangeCounts, Id};

/// The number of objects that a verb created, updated, left unchanged or removed.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Tally {
    /// The number of objects in the state after the verb.
    pub(crate) objects: u64,
    pub(crate) created: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    pub(crate) removed: u64,
}

/// The answer of `put` for one object.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Put {
    pub(crate) id: String,
    pub(crate) digest: Option<ObjectDigest>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `put --jsonl`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PutLines {
    #[serde(flatten)]
    pub(crate) tally: Tally,
    /// The number of objects whose version was newer than the line that replaced it: the line has an earlier version of this
    /// store, or the object changed after the file was written.
    pub(crate) newer_replaced: u64,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `ingest`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ingested {
    #[serde(flatten)]
    pub(crate) tally: Tally,
    /// The objects without a parent of each document.
    pub(crate) roots: Vec<String>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
    pub(crate) documents: usize,
    /// Stored documents whose files are missing, and which `--prune` did not select.
    pub(crate) missing: Vec<String>,
    /// Documents that `--prune` removed.
    pub(crate) pruned: Vec<String>,
    /// Documents whose files were renamed or moved. Their objects moved with them.
    pub(crate) renamed: Vec<Renamed>,
    /// Files that `--skip-bad` skipped.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Paths below the given folders that were not read.
    pub(crate) left_out: PassedOver,
    /// Documents of which a part was skipped, or kept as text only.
    pub(crate) parts_skipped: Vec<SkippedParts>,
    /// The number of objects that are stored with the attribute `flags`.
    pub(crate) flagged: u64,
    /// The number of objects with markers in place of secrets.
    pub(crate) redacted: u64,
    /// The texts that the scan stopped, each as `PATH:LINE`. Their objects are stored without content.
    pub(crate) withheld: Vec<String>,
    /// The names of the quarantined changes, one for each withheld text.
    pub(crate) held: Vec<String>,
}

/// A document whose file was renamed or moved.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Renamed {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Paths that `ingest` did not read.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct PassedOver {
    /// Hidden names, links and special files, each with the reason.
    pub(crate) paths: Vec<String>,
    /// The number of files with another ending, by the ending. The ending is empty for a name without one.
    pub(crate) endings: BTreeMap<String, u64>,
}

/// A document of which `ingest` skipped a part.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SkippedParts {
    pub(crate) path: String,
    /// The number of lines that cannot be read.
    pub(crate) bad: u64,
    /// The first of these lines.
    pub(crate) bad_lines: Vec<BadLine>,
    /// The number of lines that are no messages, by their type.
    pub(crate) other: BTreeMap<String, u64>,
    /// The number of copies of messages.
    pub(crate) copies: u64,
    /// The reason why the front matter is kept as text.
    pub(crate) front_matter: Option<String>,
}

/// A line of a transcript that cannot be read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BadLine {
    pub(crate) line: u64,
    pub(crate) message: String,
}

/// A file that `ingest --skip-bad` skipped.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SkippedFile {
    pub(crate) path: String,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// The answer of `remove`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Removed {
    pub(crate) removed: u64,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// A commit and its changes, as the answer of `rollback`, `restore`, `undo` and `redo`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    pub(crate) root: Root,
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    /// The operation. Null if the store was already in the requested state.
    pub(crate) op: Option<String>,
    /// The commit whose state a rollback restored, whose changes an undo reversed, or whose changes a redo repeated.
    pub(crate) target: Option<CommitDigest>,
}

impl Moved {
    /// Returns a commit with its changes. If the verb made no commit, returns the head without changes.
    pub(crate) fn of(memory: &Memory, committed: &Committed) -> Result<Self> {
        let info = &committed.commit;
        let moved = committed.changed.then_some(&info.commit);
        Ok(Self {
            root: info.commit.root,
            commit: info.digest,
            seq: info.commit.seq,
            counts: counts(memory, committed)?,
            op: moved.map(|commit| commit.op.as_str().to_owned()),
            target: moved.and_then(|commit| commit.target),
        })
    }
}

/// Returns the numbers of objects that a verb added, changed and removed. Returns zeros if the verb made no commit.
pub(crate) fn counts(memory: &Memory, committed: &Committed) -> Result<ChangeCounts> {
    if committed.changed {
        memory.commit_counts(&committed.commit)
    } else {
        Ok(ChangeCounts::default())
    }
}

/// The answer of `rollback --dry-run`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RollbackPreview {
    /// The root of the state after the rollback.
    pub(crate) root: Root,
    /// The current head.
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    /// The commit whose state the rollback would restore.
    pub(crate) target: CommitDigest,
    pub(crate) dry_run: bool,
    /// The option without which the rollback would be refused.
    pub(crate) needs: Option<&'static str>,
    /// The commits of other lanes that the rollback would reverse.
    pub(crate) other_lanes: Vec<String>,
}

impl RollbackPreview {
    /// Returns what a rollback to `target` would do, the target, and the error with which the rollback would be refused.
    pub(crate) fn of(
        memory: &Memory,
        target: &Revision,
        all: bool,
        writer: &Writer,
    ) -> Result<(Self, CommitInfo, Option<Error>)> {
        let rollback = |all| {
            let rollback = memory.rollback(target);
            let rollback = if all { rollback.across_lanes() } else { rollback };
            rollback.preview(writer)
        };
        let ((target, counts), refused) = match rollback(all) {
            Err(refused) if refused.code() == ErrorCode::OtherLanes => (rollback(true)?, Some(refused)),
            previewed => (previewed?, None),
        };
        let head = memory.view().commit();
        let preview = Self {
            root: target.commit.root,
            commit: head.digest,
            seq: head.commit.seq,
            counts,
            target: target.digest,
            dry_run: true,
            needs: refused.as_ref().map(|_| "--all"),
            other_lanes: refused.iter().flat_map(Error::ids).cloned().collect(),
        };
        Ok((preview, target, refused))
    }
}

/// The answer of `undo --dry-run` and `redo --dry-run`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReversalPreview {
    pub(crate) op: &'static str,
    /// The current head.
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    /// The commit that undo would reverse or redo would repeat.
    pub(crate) target: CommitDigest,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    pub(crate) changes: Vec<Change>,
    pub(crate) dry_run: bool,
}

impl ReversalPreview {
    /// Returns what an undo or redo would do to the state of `head`.
    pub(crate) fn of(op: &'static str, head: &View, reversing: &Reversing) -> Self {
        let sides = |change: &Change| (change.old.is_some(), change.new.is_some());
        Self {
            op,
            commit: head.commit().digest,
            seq: head.commit().commit.seq,
            target: reversing.target.digest,
            counts: ChangeCounts::of(reversing.changes.iter().map(sides)),
            changes: reversing.changes.clone(),
            dry_run: true,
        }
    }
}

/// The answer of `restore --dry-run`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestorePreview {
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    pub(crate) ids: Vec<String>,
    pub(crate) dry_run: bool,
}

/// The answer of `gc`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Collected {
    #[serde(flatten)]
    pub(crate) report: GcReport,
    pub(crate) dry_run: bool,
}

/// The records that `erase` removes, and the ids of the affected objects.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasedParts {
    /// The number of versions among the records. If the records contain no version, the number of all records.
    pub(crate) erased: u64,
    pub(crate) bytes: u64,
    pub(crate) holders: Vec<String>,
    pub(crate) unlinked: Vec<String>,
    pub(crate) digests: Vec<String>,
    pub(crate) records: Vec<ErasedRecord>,
}

impl From<&ErasedReport> for ErasedParts {
    fn from(report: &ErasedReport) -> Self {
        let ids = |ids: &[Id]| ids.iter().map(Id::to_string).collect();
        let records = report.records.clone();
        Self {
            erased: match report.versions() {
                0 => records.len() as u64,
                versions => versions,
            },
            bytes: report.bytes(),
            holders: ids(&report.holders),
            unlinked: ids(&report.unlinked),
            digests: records.iter().map(|record| to_hex(&record.digest)).collect(),
            records,
        }
    }
}

/// The answer of `erase`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Erased {
    #[serde(flatten)]
    pub(crate) parts: ErasedParts,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `erase` without `--yes`, or with `--dry-run`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasePreview {
    #[serde(flatten)]
    pub(crate) parts: ErasedParts,
    pub(crate) dry_run: bool,
    /// The option without which the erasure would be refused, with the reason.
    pub(crate) needs: Option<String>,
}
