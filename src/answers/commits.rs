//! Commits, as the verbs that make them answer with them.
//!
//! # Layer
//! L8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::digest::{CommitDigest, ObjectDigest, Root, to_hex};
use crate::engine::{CommitInfo, Committed, ErasedKind, ErasedReport, GcReport, Memory, Staged};
use crate::error::Result;
use crate::object::Id;
use crate::store::ChangeCounts;

/// What a verb did to objects, by how they were before.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
pub(crate) struct Tally {
    /// The objects of the store afterwards.
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
    #[serde(skip)]
    pub(crate) staged: Staged,
    /// Whether there is a new commit.
    #[serde(skip)]
    pub(crate) changed: bool,
}

/// The answer of `put --jsonl`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PutLines {
    #[serde(flatten)]
    pub(crate) tally: Tally,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `ingest`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ingested {
    #[serde(flatten)]
    pub(crate) tally: Tally,
    /// The top objects of each document.
    pub(crate) roots: Vec<String>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
    pub(crate) documents: usize,
    /// Documents that stay although their files are gone.
    pub(crate) missing: Vec<String>,
    /// Documents that `--prune` removed.
    pub(crate) pruned: Vec<String>,
    /// Files that `--skip-bad` left out.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Whether there is a new commit.
    #[serde(skip)]
    pub(crate) changed: bool,
}

/// A file that `ingest --skip-bad` left out.
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

/// A commit and what it changed, as `rollback`, `restore`, `undo` and `redo` answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    pub(crate) root: Root,
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    /// What was done; null where the state is that one already.
    pub(crate) op: Option<String>,
    /// The commit that a rollback, undo or redo is about.
    pub(crate) target: Option<CommitDigest>,
}

impl Moved {
    /// What a commit changed; the head and no change where there is no new commit.
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

/// How much a verb changed: nothing if it made no commit.
pub(crate) fn counts(memory: &Memory, committed: &Committed) -> Result<ChangeCounts> {
    if committed.changed {
        memory.commit_counts(&committed.commit)
    } else {
        Ok(ChangeCounts::default())
    }
}

/// What `rollback --dry-run` would do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RollbackPreview {
    /// The root that the state would have.
    pub(crate) root: Root,
    /// The head.
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    /// The commit whose state would come back.
    pub(crate) target: CommitDigest,
    pub(crate) dry_run: bool,
    /// The option without which the rollback is refused.
    pub(crate) needs: Option<&'static str>,
    /// The commits of other lanes that it would reverse.
    pub(crate) other_lanes: Vec<String>,
    /// The number of the target.
    #[serde(skip)]
    pub(crate) target_seq: u64,
    /// Why it is refused without that option.
    #[serde(skip)]
    pub(crate) refusal: Option<String>,
}

/// What `restore --dry-run` would do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestorePreview {
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    pub(crate) ids: Vec<String>,
    pub(crate) dry_run: bool,
    /// A word for what would happen to each id.
    #[serde(skip)]
    pub(crate) kinds: Vec<&'static str>,
}

/// The answer of `gc`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Collected {
    #[serde(flatten)]
    pub(crate) report: GcReport,
    pub(crate) dry_run: bool,
}

/// Something that `erase` takes out of every file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasedRecord {
    pub(crate) kind: ErasedKind,
    pub(crate) digest: String,
    pub(crate) id: Option<String>,
    pub(crate) bytes: u64,
}

/// What `erase` takes out, and where it was.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasedParts {
    /// The versions among the records; where there are none, all records.
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
        let records = report.records.iter().map(|record| ErasedRecord {
            kind: record.kind,
            digest: to_hex(&record.digest),
            id: record.id.clone(),
            bytes: record.bytes,
        });
        let records: Vec<_> = records.collect();
        Self {
            erased: match report.versions() {
                0 => records.len() as u64,
                versions => versions,
            },
            bytes: report.bytes(),
            holders: ids(&report.holders),
            unlinked: ids(&report.unlinked),
            digests: records.iter().map(|record| record.digest.clone()).collect(),
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

/// What `erase` would take out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErasePreview {
    #[serde(flatten)]
    pub(crate) parts: ErasedParts,
    pub(crate) dry_run: bool,
    /// The option that this would need, and why.
    pub(crate) needs: Option<String>,
}
