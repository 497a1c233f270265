//! One id that differs between two states.
//!
//! # Layer
//! Layer 5.

use crate::digest::ObjectDigest;
use crate::object::Id;

named! {
    /// The kind of difference of an id between two states.
    #[non_exhaustive]
    pub enum ChangeKind {
        /// Only the newer state has the id.
        Added => "added",
        /// The newer state has another version of the id.
        Changed => "changed",
        /// Only the older state has the id.
        Removed => "removed",
    }
}

/// One id that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The id that differs.
    pub id: Id,
    /// The version in the older state.
    pub old: Option<ObjectDigest>,
    /// The version in the newer state.
    pub new: Option<ObjectDigest>,
    /// Whether the versions were erased or lost, so only their digests are known. Then `id` is `erased:` and the key
    /// path, because the real id is unknown.
    pub erased: bool,
}

impl Change {
    /// Returns the kind of the difference.
    pub(crate) fn kind(&self) -> ChangeKind {
        match (self.old, self.new) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
        }
    }
}
