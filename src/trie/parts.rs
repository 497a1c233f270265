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

use triomphe::Arc;

use super::Trie;
use super::digest::{Gathered, NodeHasher, child_digest};
use super::entry::{Entry, Shape};
use super::node::{Branch, Child, Kind};
use super::stored::{NodeSource, loaded_branch};
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
        let child = match loaded_branch(top, 0, source)? {
            Some(branch) => branch.child(digit).cloned(),
            None => leaf_of(top)
                .filter(|leaf| leaf.key.nibble(0) == digit)
                .map(|_| top.clone()),
        };
        Ok(Self {
            top: child.and_then(|child| join([(digit, child)])),
        })
    }

    /// Joins the parts of a trie, which are in the order of their digits.
    ///
    /// # Errors
    /// `Internal` if a part has entries of several digits. The errors of [`Self::get`].
    pub(crate) fn joined(parts: &[Self; PARTS], source: &dyn NodeSource) -> Result<Self> {
        let mut children = Vec::new();
        for (digit, part) in parts.iter().enumerate() {
            children.extend(part.below_top(source)?.map(|child| (digit, child)));
        }
        Ok(Self { top: join(children) })
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

    /// Returns the only node below the top of a part, or the leaf that is its top.
    fn below_top(&self, source: &dyn NodeSource) -> Result<Option<Child>> {
        let Some(top) = &self.top else {
            return Ok(None);
        };
        match loaded_branch(top, 0, source)? {
            None => Ok(Some(top.clone())),
            Some(branch) => match branch.slots() {
                [only] => Ok(Some(only.clone())),
                _ => Err(Error::internal("a part of a trie has entries of several digits")),
            },
        }
    }
}

fn leaf_of(child: &Child) -> Option<&Entry> {
    match child.get() {
        Kind::Leaf(entry) => Some(entry),
        Kind::Branch(_) => None,
    }
}

/// Returns the top of the trie with these nodes at these digits (TRI-1).
fn join(children: impl IntoIterator<Item = (usize, Child)>) -> Option<Child> {
    let (mut bitmap, mut count, mut slots) = (0, 0, Vec::new());
    for (digit, child) in children {
        bitmap |= 1 << digit;
        count += child.count();
        slots.push(child);
    }
    if count < 2 {
        return slots.pop();
    }
    Some(Child::branch(Arc::new(Branch::new(
        bitmap,
        count,
        slots.into_boxed_slice(),
    ))))
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
