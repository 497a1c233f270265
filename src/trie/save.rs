//! Copies tries into a storage, where each node is written once.
//!
//! The saver takes nodes from memory, or loads them one path at a time from their storage. Copying a trie that is
//! completely stored keeps no node in memory.
//!
//! # Layer
//! Layer 3. Part of trie/. Produces bytes; the caller decides where to write them.
//!
//! # Invariants
//! - SAV-1: the saver writes a node only if neither it nor the kept storage has a node with that digest at that place of
//!   the trie. So saving a trie costs its changes since the kept trie.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::collections::HashMap;

use super::Trie;
use super::digest::{NodeHasher, child_digest};
use super::node::{Child, Kind};
use super::stored::{
    BRANCH, ENTRY_BYTES, LEAF, NodeSource, StoredBranch, StoredNode, branches_below, put_entry,
};
use crate::digest::{DIGEST_LEN, DigestHash};
use crate::error::{Error, Result};

/// The number of bytes of a branch before its slots.
const HEAD_BYTES: usize = 6;

/// A storage that stays, and a trie in it. The saver refers to its nodes instead of writing them again.
pub struct Kept<'a> {
    /// Loads the nodes of the storage.
    pub source: &'a dyn NodeSource,
    /// The top node of the trie.
    pub top: StoredNode,
    /// Returns whether the storage contains a node.
    pub holds: &'a dyn Fn(&StoredNode) -> bool,
}

/// Copies tries into one storage, where each node is written once.
pub struct Saver<'a> {
    source: &'a dyn NodeSource,
    /// Writes the bytes of a node and returns their place.
    write: &'a mut dyn FnMut(&[u8]) -> Result<u64>,
    hasher: NodeHasher,
    kept: Option<Kept<'a>>,
    /// The places of the written branches, by digest.
    written: HashMap<[u8; DIGEST_LEN], u64, DigestHash>,
}

impl<'a> Saver<'a> {
    /// Makes a saver that reads stored nodes from `source` and writes each node through `write`, which returns the
    /// place of the node.
    pub fn new(source: &'a dyn NodeSource, write: &'a mut dyn FnMut(&[u8]) -> Result<u64>) -> Self {
        Self {
            source,
            write,
            hasher: NodeHasher::of(source),
            kept: None,
            written: HashMap::default(),
        }
    }

    /// Refers to the nodes of a storage that stays, instead of writing them again.
    #[must_use]
    pub fn beside(mut self, kept: Kept<'a>) -> Self {
        self.kept = Some(kept);
        self
    }

    /// Writes the nodes of `trie` that no storage has yet, children first. Returns the handle for
    /// [`Trie::from_stored`]. Verifies every node that it loads to write it.
    ///
    /// # Errors
    /// The error of the writer, if a node cannot be written. `Corrupt`, or the error of the source, if a stored node
    /// cannot be loaded.
    pub fn save(&mut self, trie: &Trie) -> Result<StoredNode> {
        let Some(top) = &trie.top else {
            return Ok(StoredNode {
                digest: self.hasher.empty(),
                count: 0,
                place: 0,
            });
        };
        let old = self.kept.as_ref().map(|kept| kept.top);
        let Some(entry) = top.entry() else {
            return self.child(top, old, 0);
        };
        let mut bytes = vec![LEAF];
        put_entry(&mut bytes, entry);
        Ok(StoredNode {
            digest: self.hasher.leaf(&entry.key, &entry.digest),
            count: 1,
            place: (self.write)(&bytes)?,
        })
    }

    /// Writes the branch of a child. `old` is the node of the kept trie at the same position.
    fn child(&mut self, child: &Child, old: Option<StoredNode>, level: usize) -> Result<StoredNode> {
        let stored = match child.get() {
            Kind::Stored(stored) => Some(stored),
            _ => None,
        };
        let holds = |node: &StoredNode| self.kept.as_ref().is_some_and(|kept| (kept.holds)(node));
        if let Some(node) = stored.map(StoredBranch::node).filter(holds) {
            return Ok(node);
        }
        let digest = child_digest(child, level, self.hasher, self.source)?;
        if let Some(old) = old.filter(|old| old.digest == digest) {
            return Ok(old);
        }
        let place = match (self.written.get(&digest), stored) {
            (Some(&place), _) => place,
            (None, None) => self.branch(child, old, level)?,
            (None, Some(stored)) => match stored.loaded() {
                Some(loaded) => self.branch(loaded, old, level)?,
                None => {
                    let loaded = stored.load_apart(level, self.source)?;
                    self.branch(&loaded, old, level)?
                }
            },
        };
        self.written.insert(digest, place);
        Ok(StoredNode {
            digest,
            count: child.count(),
            place,
        })
    }

    /// Writes a branch in memory, after the nodes below it.
    fn branch(&mut self, child: &Child, old: Option<StoredNode>, level: usize) -> Result<u64> {
        let Kind::Branch(branch) = child.get() else {
            return Err(Error::internal("a saver writes only branches in memory"));
        };
        let old = match (&self.kept, old.filter(|old| old.count > 1)) {
            (Some(kept), Some(old)) => branches_below(&old, level, kept.source)?,
            _ => [None; 16],
        };
        branch.touch_children();
        let mut leaves = 0_u16;
        let mut body = Vec::with_capacity(branch.slots().len() * ENTRY_BYTES);
        for (digit, child) in branch.digits() {
            match child.entry() {
                Some(entry) => {
                    leaves |= 1 << digit;
                    put_entry(&mut body, entry);
                }
                None => {
                    let node = self.child(child, old[digit], level + 1)?;
                    body.extend_from_slice(&node.digest);
                    body.extend_from_slice(&node.count.to_le_bytes());
                    body.extend_from_slice(&node.place.to_le_bytes());
                }
            }
        }
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
        bytes.extend_from_slice(&[BRANCH, level as u8]);
        bytes.extend_from_slice(&branch.bitmap().to_le_bytes());
        bytes.extend_from_slice(&leaves.to_le_bytes());
        bytes.append(&mut body);
        (self.write)(&bytes)
    }
}
