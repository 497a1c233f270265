//! Copies tries into a storage, where each shared node is written once.
//!
//! The saver takes nodes from memory, or loads them one path at a time from their storage. Copying a trie that is
//! completely stored keeps no node in memory.
//!
//! # Layer
//! Layer 3. Part of trie/. Produces bytes; the caller decides where to write them.
//!
//! # Invariants
//! - SAV-1: the [`Saver`] recognises a node by its address only if the node outlives the saver. The saver recognises a
//!   node that it loaded itself by the node's old place.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::collections::HashMap;
use std::ptr;

use super::Trie;
use super::digest::{NodeHasher, child_digest};
use super::node::{Branch, Child, Children, Kind};
use super::stored::{BRANCH, ENTRY_BYTES, LEAF, NodeSource, StoredNode, put_entry};
use crate::digest::DIGEST_LEN;
use crate::error::Result;

/// The number of bytes of a branch before its slots.
const HEAD_BYTES: usize = 6;

/// Copies tries into one storage, where each shared node is written once.
pub struct Saver<'a> {
    source: &'a dyn NodeSource,
    /// Writes the bytes of a node and returns their place.
    write: &'a mut dyn FnMut(&[u8]) -> Result<u64>,
    hasher: NodeHasher,
    /// The new places of stored nodes, by old place and digest.
    by_place: HashMap<(u64, [u8; DIGEST_LEN]), u64>,
    /// The new places of nodes in memory that have several owners, by address.
    by_address: HashMap<usize, u64>,
}

impl<'a> Saver<'a> {
    /// Makes a saver that reads stored nodes from `source` and writes each node through `write`, which returns the
    /// place of the node.
    pub fn new(source: &'a dyn NodeSource, write: &'a mut dyn FnMut(&[u8]) -> Result<u64>) -> Self {
        Self {
            source,
            write,
            hasher: NodeHasher::of(source),
            by_place: HashMap::new(),
            by_address: HashMap::new(),
        }
    }

    /// Writes the nodes of `trie` that this saver has not written before, children first. Returns the handle for
    /// [`Trie::from_stored`]. Verifies every node that it loads from storage.
    ///
    /// # Errors
    /// The error of the writer, if a node cannot be written. `Corrupt`, or the error of the source, if a stored node
    /// cannot be loaded.
    pub fn save(&mut self, trie: &'a Trie) -> Result<StoredNode> {
        let Some(top) = &trie.top else {
            return Ok(StoredNode {
                digest: self.hasher.empty(),
                count: 0,
                place: 0,
            });
        };
        self.child(top, 0)
    }

    fn child(&mut self, child: &Child, level: usize) -> Result<StoredNode> {
        let branch = match child.get() {
            Kind::Leaf(entry) => {
                let mut bytes = vec![LEAF];
                put_entry(&mut bytes, entry);
                return Ok(StoredNode {
                    digest: self.hasher.leaf(&entry.key, &entry.digest),
                    count: 1,
                    place: (self.write)(&bytes)?,
                });
            }
            Kind::Branch(branch) => branch,
        };
        if let Children::Stored(stored) = branch.children() {
            let old = stored.node();
            let known = self.by_place.get(&(old.place, old.digest));
            let place = match (known, stored.in_memory()) {
                (Some(&place), _) => place,
                (None, Some(loaded)) => self.shared(loaded, level)?,
                (None, None) => {
                    let loaded = stored.load_apart(level, self.source)?;
                    self.branch(&loaded, level)?
                }
            };
            self.by_place.insert((old.place, old.digest), place);
            return Ok(StoredNode { place, ..old });
        }
        let digest = child_digest(child, level, self.hasher, self.source)?;
        // The walk visits a node with a single owner just once, unless the caller saves the same trie again.
        let place = if level == 0 || child.is_shared() {
            self.shared(branch, level)?
        } else {
            self.branch(branch, level)?
        };
        Ok(StoredNode {
            digest,
            count: branch.count(),
            place,
        })
    }

    /// Writes a shared branch, which lives as long as the tries given to [`Self::save`] (SAV-1).
    fn shared(&mut self, branch: &Branch, level: usize) -> Result<u64> {
        let address = ptr::from_ref(branch).addr();
        if let Some(&place) = self.by_address.get(&address) {
            return Ok(place);
        }
        let place = self.branch(branch, level)?;
        self.by_address.insert(address, place);
        Ok(place)
    }

    /// Writes a branch in memory, after the nodes below it.
    fn branch(&mut self, branch: &Branch, level: usize) -> Result<u64> {
        branch.touch_children();
        let mut leaves = 0_u16;
        let mut body = Vec::with_capacity(branch.slots().len() * ENTRY_BYTES);
        for (digit, child) in branch.digits() {
            if let Kind::Leaf(entry) = child.get() {
                leaves |= 1 << digit;
                put_entry(&mut body, entry);
            } else {
                let node = self.child(child, level + 1)?;
                body.extend_from_slice(&node.digest);
                body.extend_from_slice(&node.count.to_le_bytes());
                body.extend_from_slice(&node.place.to_le_bytes());
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
