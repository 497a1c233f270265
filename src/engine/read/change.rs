//! One id that differs between two states.
//!
//! # Layer
//! Layer 5.

use crate::digest::ObjectDigest;
use crate::object::Id;

named! {
    /// The kind of difference of an id between two states.
    pub enum ChangeKind {
        /// Only the newer state has the id.
        Added => "added",
        /// Both states have the id, with different versions.
        Changed => "changed",
        /// Only the older state has the id.
        Removed => "removed",
    }
}

impl ChangeKind {
    /// Returns the kind of a difference. `old` and `new` are whether the older and the newer state have the id.
    pub fn of(old: bool, new: bool) -> Self {
        match (old, new) {
            (false, _) => Self::Added,
            (true, true) => Self::Changed,
            (true, false) => Self::Removed,
        }
    }
}

/// One id that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Change {
    /// The id that differs.
    pub id: Id,
    /// The kind of the difference.
    #[cfg_attr(feature = "serde", serde(rename = "change"))]
    pub kind: ChangeKind,
    /// The version in the older state.
    pub old: Option<ObjectDigest>,
    /// The version in the newer state.
    pub new: Option<ObjectDigest>,
    /// Whether the versions were erased or lost, so only their digests are known. If so, `id` is `erased:` and the key
    /// path, because the real id is unknown.
    pub erased: bool,
}
