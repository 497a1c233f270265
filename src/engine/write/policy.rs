//! The policy by which a host reviews drafts before they are committed.
//!
//! # Layer
//! L5.

use crate::object::NewObject;

use super::draft::Draft;

/// The answer of a [`WritePolicy`] to a draft.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PolicyVerdict {
    /// Commit it as it is.
    Accept,
    /// Commit the draft with these objects put over its own versions of their ids.
    Replace(Vec<NewObject>),
    /// Commit nothing; the reason is for the writer.
    Refuse(String),
    /// Commit nothing, but keep the draft under `rejected/` for a person to review.
    Quarantine(String),
}

/// Rules that every draft of a handle must pass before it is committed, such as those of scanners and agent layers.
/// Rollback, undo and redo restore committed states, which are not reviewed again.
pub trait WritePolicy: Send + Sync {
    /// Reviews everything that a commit would change, once, before the store's lock is taken.
    fn review(&self, draft: &Draft) -> PolicyVerdict;
}
