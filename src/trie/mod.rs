//! The state: a persistent, canonical, 16-way Merkle hash trie from key paths to object digests.
//!
//! A [`Trie`] is a value: cloning one is O(1), and an edit copies only the nodes on its path that another
//! clone still shares, so a snapshot is a clone that nobody edits. One map has one shape and therefore one
//! root, whatever the order of the edits that led to it. A child of a branch may be *stored*: then only its
//! digest, count and place are in memory, and a [`NodeSource`] delivers its bytes when it is first touched.
//! The trie knows no disk, clock or lock, and never sees an id or an object.
//!
//! A trie is at most 64 levels deep (a key path has 64 times four bits), so editing, hashing and dropping
//! recurse at most 64 frames deep; iteration and diff keep a stack of their own.
//!
//! # Layer
//! L3. Knows digests and the shape of the trie; not what an entry's `place` and `created` mean.
//!
//! # Invariants
//! - TRI-1: a branch has two or more leaves below it; a branch with one child has a branch as its child.
//! - TRI-2: a cached digest is the digest of the node as it is; every edit that changes it clears it.
//! - TRI-3: a node that two tries share is never edited.
//! - TRI-4: a stored node is used only after its digest and count came out as its parent says.
//!
//! # Format
//! docs/format.md, "The state trie"; docs/proofs.md for proofs and for nodes in storage.

mod build;
mod check;
mod diff;
mod digest;
mod edit;
mod inspect;
mod node;
mod proof;
mod save;
mod stored;
mod verify;
mod walk;

use std::fmt;

use triomphe::Arc;

use crate::digest::{HashSuite, KeyPath, Root};
use crate::error::{Error, Result};

pub(crate) use check::check_stored;
pub use diff::{Change, Diff};
pub use inspect::{ChildNode, Node, NodeKind};
pub use proof::{Proof, ProofLevel, Terminal};
pub use save::Saver;
pub use stored::{NoSource, NodeSource, StoredNode, stored_digest};
pub use verify::{ProofError, Proven, verify_proof};
pub use walk::Iter;

use digest::NodeHasher;
use node::Child;

/// Levels of the trie: the digits of four bits in a key path.
const LEVELS: usize = 64;

/// One entry of the state, as the trie holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where the entry is: the digest of its id.
    pub key: KeyPath,
    /// The digest of the object's canonical bytes (or of a subtree, for [`Shape::Subtree`]).
    pub digest: [u8; 32],
    /// Carried along for the caller, in no digest: where the object's record is.
    pub place: u64,
    /// Carried along for the caller, in no digest: when the id was first written, in microseconds.
    pub created: i64,
}

/// Which digests a trie has, so that a trie over children can never pass as a state.
///
/// A trie is meant to be used with one shape and one hash. Asking for a root of another kind is answered
/// correctly, without the help of the digests cached before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// The state of a store: contexts `leaf` and `branch`.
    #[default]
    State,
    /// The children that a subtree digest covers: contexts `subtree leaf` and `subtree branch`.
    Subtree,
}

/// A persistent map from key paths to [`Entry`]s with a Merkle root.
#[derive(Clone, Default)]
pub struct Trie {
    top: Option<Child>,
}

impl Trie {
    /// The empty trie.
    pub fn new() -> Self {
        Self::default()
    }

    /// The trie of `entries`, in any order; of entries with one key the last one counts. Several times as fast
    /// as inserting them one by one, and what it makes lies in the order of the key paths.
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        Self {
            top: build::build(entries),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> u64 {
        self.top.as_ref().map_or(0, Child::count)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// Whether both are the very same nodes in memory; if not, they may still be equal.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.top, &other.top) {
            (None, None) => true,
            (Some(one), Some(two)) => one.is_same(two),
            _ => false,
        }
    }

    /// The entry at `key`.
    ///
    /// # Errors
    /// `Corrupt`, or what `source` reports, if a stored node cannot be loaded.
    pub fn get(&self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<Entry>> {
        Ok(self.leaf(key, source)?.filter(|entry| entry.key == *key).copied())
    }

    /// The entry whose key starts with `prefix`. Of keys that share so much, which a hash does not make, it is one of
    /// them or none.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_by_prefix(&self, prefix: &[u8; 16], source: &dyn NodeSource) -> Result<Option<Entry>> {
        let mut key = [0; 32];
        key[..16].copy_from_slice(prefix);
        let leaf = self.leaf(&KeyPath::from_bytes(key), source)?;
        Ok(leaf
            .filter(|entry| entry.key.as_bytes().starts_with(prefix))
            .copied())
    }

    /// Puts `entry` in the place of the entry with its key, and returns that one.
    ///
    /// If the digests are equal, only `place` and `created` are replaced and every cached digest stays. After
    /// an error the trie is as it was.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn insert(&mut self, entry: Entry, source: &dyn NodeSource) -> Result<Option<Entry>> {
        let Some(top) = &mut self.top else {
            self.top = Some(Child::leaf(Arc::new(entry)));
            return Ok(None);
        };
        edit::insert(top, 0, entry, source)
    }

    /// Removes the entry at `key` and returns it. After an error the trie is as it was.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn remove(&mut self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<Entry>> {
        // Looking first spares copying a shared path for a key that is not there.
        let Some(entry) = self.get(key, source)? else {
            return Ok(None);
        };
        match &mut self.top {
            Some(top) if top.is_branch() => edit::remove(top, 0, key, source)?,
            _ => self.top = None,
        }
        Ok(Some(entry))
    }

    /// The digest of the whole map. Only nodes changed since the last call are hashed.
    ///
    /// # Errors
    /// As [`Self::get`]; a stored node is loaded only if its digest is known for another hash or shape.
    pub fn root(&self, suite: HashSuite, shape: Shape, source: &dyn NodeSource) -> Result<Root> {
        let hasher = NodeHasher::new(suite, shape);
        let digest = match &self.top {
            Some(top) => digest::child_digest(top, 0, hasher, source)?,
            None => hasher.empty(),
        };
        Ok(Root::from_bytes(digest))
    }

    /// All entries in the order of their key paths.
    pub fn iter<S: NodeSource>(&self, source: S) -> Iter<S> {
        Iter::new(self.top.clone(), source)
    }

    /// What changed from this trie to `newer`, in the order of the key paths.
    ///
    /// Parts that both share in memory, or whose cached digests are equal, are not visited. A change of
    /// `place` or `created` alone is none.
    pub fn diff<'a>(&self, newer: &Self, source: &'a dyn NodeSource) -> Diff<'a> {
        Diff::new(self.top.as_ref(), newer.top.as_ref(), source)
    }

    /// Proves what this state holds at `key`, or that it holds nothing there.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn prove(&self, key: &KeyPath, suite: HashSuite, source: &dyn NodeSource) -> Result<Proof> {
        proof::prove(self.top.as_ref(), key, suite, source)
    }

    /// The trie that a [`Saver`] wrote. Its nodes are loaded when they are first touched; a trie of fewer
    /// than two entries is loaded at once.
    ///
    /// # Errors
    /// `Corrupt`, or what `source` reports.
    pub fn from_stored(stored: StoredNode, source: &dyn NodeSource) -> Result<Self> {
        Ok(Self {
            top: stored::restore(stored, source)?,
        })
    }

    /// The only leaf that can have `key`, if the path of `key` ends at a leaf.
    fn leaf(&self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<&Entry>> {
        let Some(mut child) = self.top.as_ref() else {
            return Ok(None);
        };
        for level in 0..=LEVELS {
            let branch = match child.get() {
                node::Kind::Leaf(entry) => return Ok(Some(entry)),
                node::Kind::Branch(branch) => branch,
            };
            child = match branch.loaded(level, source)?.child(key.nibble(level)) {
                Some(next) => next,
                None => return Ok(None),
            };
        }
        Err(Error::internal("a trie has a branch below its last level"))
    }
}

impl fmt::Debug for Trie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trie({} entries)", self.len())
    }
}

#[cfg(test)]
mod tests;
