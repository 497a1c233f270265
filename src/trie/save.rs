//! Copying tries into a storage: every node once, whatever shares it.
//!
//! Nodes come from memory or, one path at a time, from the storage that holds them so far: copying a trie that is
//! wholly stored leaves nothing of it in memory.
//!
//! # Layer
//! L3. Part of trie/. Writes bytes, and does not know where.
//!
//! # Invariants
//! - SAV-1: a node is known again by its address only if it lives as long as the [`Saver`]; what was loaded for
//!   the copy alone is known by its old place.
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

/// Bytes of a branch before what is on its digits.
const HEAD_BYTES: usize = 6;

/// Copies tries into one storage, so that the nodes which they share are written once.
pub struct Saver<'a> {
    source: &'a dyn NodeSource,
    /// Is given the bytes of a node and returns their place.
    write: &'a mut dyn FnMut(&[u8]) -> Result<u64>,
    hasher: NodeHasher,
    /// New places of nodes that were stored, by old place and digest.
    by_place: HashMap<(u64, [u8; DIGEST_LEN]), u64>,
    /// New places of nodes in memory that have several owners.
    by_address: HashMap<usize, u64>,
}

impl<'a> Saver<'a> {
    /// Copies nodes through `write`, which is given the bytes of one and returns their place; those that are
    /// stored are read from `source`.
    pub fn new(source: &'a dyn NodeSource, write: &'a mut dyn FnMut(&[u8]) -> Result<u64>) -> Self {
        Self {
            source,
            write,
            hasher: NodeHasher::of(source),
            by_place: HashMap::new(),
            by_address: HashMap::new(),
        }
    }

    /// Writes every node of `trie` that was not written yet, children first, and returns what stands for the
    /// whole trie in [`Trie::from_stored`]. Every node that was stored is verified.
    ///
    /// # Errors
    /// What the writer reports; `Corrupt`, or what the source reports, if a stored node cannot be loaded.
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
        // A node of one owner is met once, unless its trie is given again.
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

    /// Writes a branch that may be met again, and lives as long as the tries given to [`Self::save`] (SAV-1).
    fn shared(&mut self, branch: &Branch, level: usize) -> Result<u64> {
        let address = ptr::from_ref(branch).addr();
        if let Some(&place) = self.by_address.get(&address) {
            return Ok(place);
        }
        let place = self.branch(branch, level)?;
        self.by_address.insert(address, place);
        Ok(place)
    }

    /// Writes a branch that is in memory, after what is below it.
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
