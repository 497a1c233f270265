//! The policy by which a host reviews drafts before their commit.
//!
//! # Layer
//! Layer 5.

use crate::object::NewObject;

use super::Draft;

/// The answer of a [`WritePolicy`] to a draft.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PolicyVerdict {
    /// Commit the draft as it is.
    Accept,
    /// Commit the draft with these objects, which replace its staged versions of the same ids.
    Replace(Vec<NewObject>),
    /// Commit nothing, and return the reason to the writer.
    Refuse(String),
    /// Commit nothing, but keep the draft under `rejected/` for a person to review.
    Quarantine(String),
}

/// Rules that every draft of a handle must pass before it is committed, for example a secret scanner or an agent's
/// policy. Rollback, undo and redo are exempt, because the policy has already reviewed the states to which they return.
pub trait WritePolicy: Send + Sync {
    /// Reviews all changes of a draft once, before the commit takes the store's lock.
    fn review(&self, draft: &Draft) -> PolicyVerdict;
}
