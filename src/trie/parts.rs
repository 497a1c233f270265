//! Divides a trie by the first digit of the key paths, so that several threads edit and hash it at the same time.
//!
//! A part of a trie is a trie of its own, with the entries of one first digit. The parts have the same nodes below the
//! top, so the root follows from the digests of up to sixteen parts.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! - PRT-1: the parts of a trie, joined, are the trie. The root of the digests of the parts is the root of the trie.
//!
//! # Format
//! docs/format.md, "The state trie".

use super::Trie;
use super::digest::{Gathered, NodeHasher, child_digest};
use super::entry::Shape;
use super::node::{Child, Children};
use super::stored::NodeSource;
use crate::digest::{DIGEST_LEN, Domain, HashBatch, HashSuite, Root};
use crate::error::{Error, Result};

/// The number of parts of a trie.
pub(crate) const PARTS: usize = 16;

/// The digest and the number of entries of each part of a trie. `None` if no entry has the digit.
pub(crate) type PartDigests = [Option<PartDigest>; PARTS];

/// The digest of a part of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartDigest {
    digest: [u8; DIGEST_LEN],
    count: u64,
}

impl Trie {
    /// Returns the trie of the entries whose key paths begin with `digit`.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn part(&self, digit: usize, source: &dyn NodeSource) -> Result<Self> {
        let Some(top) = &self.top else {
            return Ok(Self::new());
        };
        let child = match top.branch(0, source)? {
            Some(branch) => branch.child(digit),
            None => Some(top).filter(|top| top.entry().is_some_and(|leaf| leaf.key.nibble(0) == digit)),
        };
        let mut children = Children::default();
        children.put(digit, child.cloned());
        Ok(Self::of(children))
    }

    /// Joins the parts of a trie, which are in the order of their digits.
    ///
    /// # Errors
    /// `Internal` if a part has entries of several digits. The errors of [`Self::get`].
    pub(crate) fn joined(parts: &[Self; PARTS], source: &dyn NodeSource) -> Result<Self> {
        let mut children = Children::default();
        for (digit, part) in parts.iter().enumerate() {
            children.put(digit, part.below_top(source)?);
        }
        Ok(Self::of(children))
    }

    /// Returns the digest of a part.
    ///
    /// # Errors
    /// The errors of [`Self::joined`].
    pub(crate) fn part_digest(
        &self,
        suite: HashSuite,
        source: &dyn NodeSource,
    ) -> Result<Option<PartDigest>> {
        let hasher = NodeHasher::new(suite, Shape::State);
        let Some(child) = self.below_top(source)? else {
            return Ok(None);
        };
        Ok(Some(PartDigest {
            digest: child_digest(&child, 1, hasher, source)?,
            count: child.count(),
        }))
    }

    /// Returns the trie whose top has these children.
    fn of(children: Children) -> Self {
        let count = children.count();
        Self {
            top: children.into_node(count),
        }
    }

    /// Returns the only node below the top of a part, or the leaf that is its top.
    fn below_top(&self, source: &dyn NodeSource) -> Result<Option<Child>> {
        let Some(top) = &self.top else {
            return Ok(None);
        };
        match top.branch(0, source)? {
            None => Ok(Some(top.clone())),
            Some(branch) => match branch.slots() {
                [only] => Ok(Some(only.clone())),
                _ => Err(Error::internal("a part of a trie has entries of several digits")),
            },
        }
    }
}

/// Returns the root of each trie from the digests of its parts (PRT-1). Hashes the tops of many tries together.
pub(crate) fn roots_of(tries: &[PartDigests], suite: HashSuite) -> Vec<Root> {
    let hasher = NodeHasher::new(suite, Shape::State);
    let (mut tops, mut digests) = (HashBatch::new(suite, Domain::Branch), Vec::new());
    let mut roots = Vec::with_capacity(tries.len());
    for parts in tries {
        let known = || parts.iter().flatten();
        let count = known().map(|part| part.count).sum();
        roots.push(match count {
            0 => Some(hasher.empty()),
            1 => known().next().map(|part| part.digest),
            _ => None,
        });
        if count > 1 {
            let (mut bitmap, mut children) = (0, Gathered::new());
            for (digit, part) in parts.iter().enumerate() {
                if let Some(part) = part {
                    bitmap |= 1 << digit;
                    children.push(part.digest);
                }
            }
            let header = NodeHasher::header(0, bitmap, count);
            tops.push_fixed(&[&header, children.as_slice().as_flattened()]);
        }
    }
    tops.finish(&mut digests);
    let mut digests = digests.into_iter();
    let root = |known: Option<[u8; DIGEST_LEN]>| {
        Root::from_bytes(known.or_else(|| digests.next()).unwrap_or_default())
    };
    roots.into_iter().map(root).collect()
}
