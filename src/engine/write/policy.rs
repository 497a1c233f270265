//! The policy by which a host reviews drafts before they are committed.
//!
//! # Layer
//! L5.

use crate::object::NewObject;

use super::draft::Draft;

/// The answer of a [`WritePolicy`] to a draft.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// Commit it as it is.
    Accept,
    /// Put these objects too, over what the draft says of their ids, then commit it.
    Replace(Vec<NewObject>),
    /// Commit nothing; the reason is for the writer.
    Refuse(String),
    /// Commit nothing, but keep the draft under `rejected/` for a person to look at.
    Quarantine(String),
}

/// Rules that every draft of a handle passes before it is committed: scanners and agent layers hang in here.
/// Rollback, undo and redo bring back what was committed and are not reviewed again.
pub trait WritePolicy: Send + Sync {
    /// Looks at everything a commit would change, once, before the store's lock is taken.
    fn review(&self, draft: &Draft) -> Verdict;
}
