//! The state: a persistent, canonical, 16-way Merkle hash trie from key paths to object digests.
//!
//! A [`Trie`] is a value. Cloning a trie takes constant time. An edit copies only those nodes on its path that another
//! clone shares. A snapshot is a clone that is never edited. A map always has the same shape and root, whatever the
//! order of its edits.
//!
//! A child of a branch may be *stored*: memory then has only its digest, count and place. A [`NodeSource`] loads the
//! bytes of the child at the first access. The trie uses no disk, clock or lock, and never sees an id or an object.
//!
//! A trie is at most 64 levels deep, because a key path has 64 digits of four bits. Editing, hashing and dropping
//! recurse at most 64 frames deep. Iteration and diff use their own stack.
//!
//! # Layer
//! Layer 3. Knows digests and the shape of the trie, but not the meaning of `place` and `created` in an entry.
//!
//! # Invariants
//! - TRI-1: a branch has two or more leaves below it. If it has only one child, that child is a branch.
//! - TRI-2: a cached digest is the digest of its node, because every edit of the node clears it.
//! - TRI-3: a node that two tries share is never edited.
//! - TRI-4: a stored node is used only after its digest and count match the digest and count in its parent.
//!
//! # Format
//! docs/format.md, "The state trie"; docs/proofs.md for proofs and for nodes in storage.

mod build;
mod check;
mod diff;
mod digest;
mod edit;
mod entry;
mod inspect;
mod lookup;
mod node;
mod parts;
mod pointer;
mod proof;
mod save;
mod stored;
mod verify;
mod walk;

use std::fmt;

use crate::digest::{HashSuite, KeyPath, Root};
use crate::error::{Error, Result};

pub(crate) use check::{Verified, check_stored};
pub use diff::{Change, Diff};
pub use edit::ChangeEntry;
pub use entry::{Entry, Shape};
pub use inspect::{ChildNode, Node, NodeKind};
pub(crate) use parts::{PARTS, PartDigest, PartDigests, roots_of};
pub use proof::{Proof, ProofLevel, Terminal};
pub use save::{Kept, Saver};
pub use stored::{NoSource, NodeSource, StoredNode, stored_digest};
pub use verify::{ProofError, Proven, verify_proof};
pub use walk::Iter;

use digest::NodeHasher;
use entry::LEVELS;
use node::{Child, Kind};

/// What a trie has below a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Below {
    /// No entry.
    Nothing,
    /// One entry.
    One(Entry),
    /// Two entries or more.
    Several,
}

/// A persistent map from key paths to [`Entry`]s with a Merkle root.
#[derive(Clone, Default)]
pub struct Trie {
    top: Option<Child>,
}

impl Trie {
    /// Returns the empty trie.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds the trie of `entries`, in any order. If several entries have the same key, the last entry is kept. This
    /// is several times as fast as inserting them one by one, and allocates the nodes in the order of the key paths.
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        Self {
            top: build::build(entries),
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> u64 {
        self.top.as_ref().map_or(0, Child::count)
    }

    /// Returns whether the trie is empty.
    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// Returns the entry at `key`.
    ///
    /// # Errors
    /// `Corrupt`, or the error of `source`, if a stored node cannot be loaded.
    pub fn get(&self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<Entry>> {
        Ok(self.leaf(key, source)?.filter(|entry| entry.key == *key).copied())
    }

    /// Returns the entry whose key starts with `prefix`. If several keys start with `prefix`, which is improbable for a
    /// hash, returns one of them or `None`.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn get_by_prefix(&self, prefix: &[u8; 16], source: &dyn NodeSource) -> Result<Option<Entry>> {
        let mut key = [0; 32];
        key[..16].copy_from_slice(prefix);
        let leaf = self.leaf(&KeyPath::from_bytes(key), source)?;
        Ok(leaf
            .filter(|entry| entry.key.as_bytes().starts_with(prefix))
            .copied())
    }

    /// Returns what the trie has below the first `levels` digits of `prefix`.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn below(&self, prefix: &KeyPath, levels: usize, source: &dyn NodeSource) -> Result<Below> {
        let Some(mut child) = self.top.as_ref() else {
            return Ok(Below::Nothing);
        };
        for level in 0..levels {
            if let Some(entry) = child.entry() {
                let is_below = (level..levels).all(|level| entry.key.nibble(level) == prefix.nibble(level));
                return Ok(if is_below {
                    Below::One(*entry)
                } else {
                    Below::Nothing
                });
            }
            let branch = child.branch(level, source)?;
            child = match branch.and_then(|branch| branch.child(prefix.nibble(level))) {
                Some(next) => next,
                None => return Ok(Below::Nothing),
            };
        }
        Ok(child.entry().map_or(Below::Several, |entry| Below::One(*entry)))
    }

    /// Visits the entries below the deepest node on the path to `key` that has at least `least` of them. Leaves out what is
    /// not in memory.
    pub(crate) fn around(&self, key: &KeyPath, least: u64, visit: &mut dyn FnMut(&Entry)) {
        let (mut child, mut level) = (self.top.as_ref(), 0);
        while let Some(branch) = child.and_then(Child::loaded_branch)
            && let Some(next) = branch
                .child(key.nibble(level))
                .filter(|next| next.count() >= least)
        {
            (child, level) = (Some(next), level + 1);
        }
        if let Some(child) = child {
            child.visit_in_memory(visit);
        }
    }

    /// Returns whether both are one trie: the same entries at the same places.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.top, &other.top) {
            (Some(top), Some(other)) => top.is_same(other),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns the entries at `keys`, in their order. The walks to several keys go level by level together, so that they
    /// wait for memory at the same time. This is several times as fast as one [`Self::get`] after the other.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn get_all(&self, keys: &[KeyPath], source: &dyn NodeSource) -> Result<Vec<Option<Entry>>> {
        let mut entries = Vec::with_capacity(keys.len());
        for together in keys.chunks(lookup::KEYS_TOGETHER) {
            lookup::get_together(self.top.as_ref(), together, source, &mut entries)?;
        }
        Ok(entries)
    }

    /// Returns the trie with other entries at `keys`, which are strictly ascending. `change` gets the index of each key
    /// and the entry at that key, and returns the new entry with the same key, or `None` to have none.
    ///
    /// One walk serves all keys, so an edit of many keys costs much less than as many edits of one key. Nodes that no
    /// other trie shares are changed in place.
    ///
    /// # Errors
    /// The errors of [`Self::get`] and of `change`.
    pub fn updated(
        self,
        keys: &[KeyPath],
        source: &dyn NodeSource,
        change: &mut ChangeEntry<'_>,
    ) -> Result<Self> {
        if keys.is_empty() {
            return Ok(self);
        }
        let top = edit::Edit::new(source, change).node(self.top, 0, edit::Keys::all(keys))?;
        Ok(Self { top })
    }

    /// Inserts `entry`. Returns the replaced entry, which has the same key. An error leaves the trie unchanged.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn insert(&mut self, entry: Entry, source: &dyn NodeSource) -> Result<Option<Entry>> {
        self.replace(entry.key, Some(entry), source)
    }

    /// Removes the entry at `key` and returns it. An error leaves the trie unchanged.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn remove(&mut self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<Entry>> {
        // Looks up the entry first, because a removal would copy a shared path even for an absent key.
        match self.get(key, source)? {
            Some(_) => self.replace(*key, None, source),
            None => Ok(None),
        }
    }

    fn replace(
        &mut self,
        key: KeyPath,
        new: Option<Entry>,
        source: &dyn NodeSource,
    ) -> Result<Option<Entry>> {
        let mut replaced = None;
        *self = self.clone().updated(&[key], source, &mut |_, old| {
            replaced = old.copied();
            Ok(new)
        })?;
        Ok(replaced)
    }

    /// Returns the digest of the whole map. Hashes only the nodes that changed since the last call.
    ///
    /// # Errors
    /// As [`Self::get`]. A stored node is loaded only if its known digest has another hash or shape.
    pub fn root(&self, suite: HashSuite, shape: Shape, source: &dyn NodeSource) -> Result<Root> {
        let hasher = NodeHasher::new(suite, shape);
        let digest = match &self.top {
            Some(top) => digest::child_digest(top, 0, hasher, source)?,
            None => hasher.empty(),
        };
        Ok(Root::from_bytes(digest))
    }

    /// Takes over the digests of the branches that `other` has, too, so that [`Self::root`] does not compute them again.
    /// Visits only what was edited since the last root, and loads no node.
    pub(crate) fn take_digests(&self, other: &Self, suite: HashSuite, shape: Shape) {
        if let (Some(top), Some(other)) = (&self.top, &other.top) {
            digest::take_digests(top, other, NodeHasher::new(suite, shape).kind());
        }
    }

    /// Iterates all entries in the order of their key paths.
    pub fn iter<S: NodeSource>(&self, source: S) -> Iter<S> {
        Iter::new(self.top.clone(), source)
    }

    /// Iterates the changes from this trie to `newer`, in the order of the key paths.
    ///
    /// Skips shared nodes and nodes with equal cached digests. If only `place` or `created` changed, the entry counts
    /// as unchanged.
    pub fn diff<'a>(&'a self, newer: &'a Self, source: &'a dyn NodeSource) -> Diff<'a> {
        Diff::new(self.top.as_ref(), newer.top.as_ref(), source)
    }

    /// Returns a proof that this state has an object at `key`, or that this state has no object there.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn prove(&self, key: &KeyPath, suite: HashSuite, source: &dyn NodeSource) -> Result<Proof> {
        proof::prove(self.top.as_ref(), key, suite, source)
    }

    /// Opens a trie that a [`Saver`] wrote. Each node is loaded at its first access. A trie of fewer than two entries
    /// is loaded at once.
    ///
    /// # Errors
    /// `Corrupt` if the node is damaged, or the error of `source`.
    pub fn from_stored(stored: StoredNode, source: &dyn NodeSource) -> Result<Self> {
        Ok(Self {
            top: stored::restore(stored, source)?,
        })
    }

    /// Returns the leaf at the end of the path of `key`, which may have another key. Returns `None` if the path does
    /// not end at a leaf.
    fn leaf(&self, key: &KeyPath, source: &dyn NodeSource) -> Result<Option<&Entry>> {
        let Some(mut child) = self.top.as_ref() else {
            return Ok(None);
        };
        for level in 0..=LEVELS {
            let branch = match child.get() {
                Kind::Leaf(entry) => return Ok(Some(entry)),
                Kind::Branch(branch) => Some(branch),
                Kind::Stored(_) => child.branch(level, source)?,
            };
            child = match branch.and_then(|branch| branch.child(key.nibble(level))) {
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
