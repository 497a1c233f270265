//! Commits, as the verbs that make them answer with them.
//!
//! # Layer
//! L8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::digest::{CommitDigest, Root};
use crate::engine::{Committed, Memory};
use crate::error::Result;
use crate::store::ChangeCounts;

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
