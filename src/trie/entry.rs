//! One entry of a trie, and the limits and shapes of tries.
//!
//! # Layer
//! Layer 3, inside `trie`.

use crate::digest::KeyPath;

/// The number of levels of the trie: a key path has this many digits of four bits.
pub(super) const LEVELS: usize = 64;

/// One entry of the state in the trie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The position of the entry: the key path of its id.
    pub key: KeyPath,
    /// The digest of the object's canonical bytes (or of a subtree, for [`Shape::Subtree`]).
    pub digest: [u8; 32],
    /// The place of the object's record. The place is stored for the caller; no digest covers it.
    pub place: u64,
    /// The time of the first write of the id, in microseconds. The time is stored for the caller; no digest covers it.
    pub created: i64,
}

/// The kind of digests in a trie. Each shape hashes with other contexts, so a trie over children is never mistaken for
/// a state.
///
/// Use only one shape and one hash for all roots of a trie, because a node caches only one digest. A root in another
/// shape or hash is correct too, but slow, because it cannot use the cached digests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// The state of a store, with the contexts `leaf` and `branch`.
    #[default]
    State,
    /// The children that a subtree digest covers, with the contexts `subtree leaf` and `subtree branch`.
    Subtree,
}
