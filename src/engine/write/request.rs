//! A draft in the queue of a group commit, and the result for its caller.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;

use crate::error::Result;
use crate::store::CommitEntry;
use crate::threads::Mutex;

use super::Draft;
use crate::engine::read::CommitInfo;

/// The result of a call that writes.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The new commit, or the head if nothing changed.
    pub commit: CommitInfo,
    /// Whether the call made a new commit.
    pub changed: bool,
}

impl Committed {
    pub(crate) fn of(entry: &CommitEntry, changed: bool) -> Self {
        let commit = CommitInfo::of(entry);
        Self { commit, changed }
    }
}

/// One caller's draft in the queue of a group commit.
pub(crate) struct Request {
    pub(crate) draft: Draft,
    pub(crate) op: String,
    pub(crate) answer: Arc<Answer>,
}

pub(crate) type Answer = Mutex<Option<Result<Committed>>>;
