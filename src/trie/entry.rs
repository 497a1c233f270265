//! One entry of a trie, and the limits and kinds of all tries.
//!
//! # Layer
//! L3, inside `trie`.

use crate::digest::KeyPath;

/// Levels of the trie: the digits of four bits in a key path.
pub(super) const LEVELS: usize = 64;

/// One entry of the state in the trie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The position of the entry: the digest of its id.
    pub key: KeyPath,
    /// The digest of the object's canonical bytes (or of a subtree, for [`Shape::Subtree`]).
    pub digest: [u8; 32],
    /// The place of the object's record. Kept for the caller; no digest covers it.
    pub place: u64,
    /// Time of the first write of the id, in microseconds. Kept for the caller; no digest covers it.
    pub created: i64,
}

/// The kind of a trie's digests, so that a trie over children can never pass as a state.
///
/// Use one trie with one shape and one hash. A root of another kind is still correct, but its computation cannot use
/// the cached digests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// The state of a store: contexts `leaf` and `branch`.
    #[default]
    State,
    /// The children that a subtree digest covers: contexts `subtree leaf` and `subtree branch`.
    Subtree,
}
