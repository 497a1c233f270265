//! A draft that waits in a group of commits, and the answer to its caller.
//!
//! # Layer
//! L5.

use std::sync::Arc;

use crate::error::Result;
use crate::threads::Mutex;

use super::draft::Draft;
use crate::engine::read::view::CommitInfo;

/// The result of a call that writes.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The new commit, or the head if nothing changed.
    pub commit: CommitInfo,
    /// Whether there is a new commit.
    pub changed: bool,
}

/// One caller's draft in a group of commits.
pub(crate) struct Request {
    pub(crate) draft: Draft,
    pub(crate) op: String,
    pub(crate) answer: Arc<Answer>,
}

pub(crate) type Answer = Mutex<Option<Result<Committed>>>;
