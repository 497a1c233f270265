//! Computes the digests of leaves and branches. A walk computes the digests that are not cached.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-2 in trie/mod.rs.
//!
//! # Format
//! docs/format.md, "The state trie".

use super::entry::Shape;
use super::node::{Child, Kind};
use super::stored::NodeSource;
use crate::digest::{DIGEST_LEN, Domain, HashAlgorithm, HashSuite, KeyPath};
use crate::error::Result;

/// The number of bytes in the header of a branch.
const HEADER_LEN: usize = 64;
/// The names and lengths of the header's fields, in the order of [`NodeHasher::header`].
pub(super) const HEADER_PARTS: [(&str, usize); 5] = [
    ("bitmap", 2),
    ("level", 2),
    ("zeros", 4),
    ("leaves", 8),
    ("zeros", 48),
];

/// The hash algorithm and the shape of a digest, as one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HashKind(u8);

impl HashKind {
    pub(super) fn new(algorithm: HashAlgorithm, shape: Shape) -> Self {
        let shape = match shape {
            Shape::State => 0,
            Shape::Subtree => 1,
        };
        Self(algorithm.tag() * 2 + shape)
    }

    /// Returns the number that a branch in memory stores for this kind. The number is 2 or more, because 0 and 1 have
    /// other meanings.
    pub(super) fn number(self) -> u8 {
        self.0
    }
}

/// Computes the digests of nodes.
#[derive(Clone, Copy)]
pub(super) struct NodeHasher {
    suite: HashSuite,
    leaf: Domain,
    branch: Domain,
    kind: HashKind,
}

impl NodeHasher {
    pub(super) fn new(suite: HashSuite, shape: Shape) -> Self {
        let (leaf, branch) = match shape {
            Shape::State => (Domain::Leaf, Domain::Branch),
            Shape::Subtree => (Domain::SubtreeLeaf, Domain::SubtreeBranch),
        };
        Self {
            suite,
            leaf,
            branch,
            kind: HashKind::new(suite.algorithm(), shape),
        }
    }

    /// Returns the hasher for the nodes of `source`.
    pub(super) fn of(source: &dyn NodeSource) -> Self {
        Self::new(source.suite(), source.shape())
    }

    pub(super) fn kind(self) -> HashKind {
        self.kind
    }

    pub(super) fn leaf(self, key: &KeyPath, digest: &[u8; DIGEST_LEN]) -> [u8; DIGEST_LEN] {
        self.suite.hash_fixed(self.leaf, &[key.as_bytes(), digest])
    }

    /// Returns the digest of a branch; `children` are the digests of its children in ascending order of their bits.
    pub(super) fn branch(
        self,
        level: usize,
        bitmap: u16,
        count: u64,
        children: &[[u8; DIGEST_LEN]],
    ) -> [u8; DIGEST_LEN] {
        debug_assert_eq!(children.len(), bitmap.count_ones() as usize);
        let header = Self::header(level, bitmap, count);
        self.suite
            .hash_fixed(self.branch, &[&header, children.as_flattened()])
    }

    /// Returns the part of a branch's preimage that precedes the digests of the children.
    pub(super) fn header(level: usize, bitmap: u16, count: u64) -> [u8; HEADER_LEN] {
        let mut header = [0_u8; HEADER_LEN];
        header[0..2].copy_from_slice(&bitmap.to_le_bytes());
        header[2..4].copy_from_slice(&(level as u16).to_le_bytes());
        header[8..16].copy_from_slice(&count.to_le_bytes());
        header
    }

    /// Returns the root of the empty trie.
    pub(super) fn empty(self) -> [u8; DIGEST_LEN] {
        self.branch(0, 0, 0, &[])
    }
}

/// The digests of up to sixteen children, in the order of their bits.
pub(super) struct Gathered {
    digests: [[u8; DIGEST_LEN]; 16],
    length: usize,
}

impl Gathered {
    pub(super) fn new() -> Self {
        Self {
            digests: [[0; DIGEST_LEN]; 16],
            length: 0,
        }
    }

    pub(super) fn push(&mut self, digest: [u8; DIGEST_LEN]) {
        self.digests[self.length] = digest;
        self.length += 1;
    }

    pub(super) fn as_slice(&self) -> &[[u8; DIGEST_LEN]] {
        &self.digests[..self.length]
    }
}

/// Returns the digest of a child at `level`, using the cached digests below it. The recursion is at most as deep as the
/// trie.
pub(super) fn child_digest(
    child: &Child,
    level: usize,
    hasher: NodeHasher,
    source: &dyn NodeSource,
) -> Result<[u8; DIGEST_LEN]> {
    let branch = match child.get() {
        Kind::Leaf(entry) => return Ok(hasher.leaf(&entry.key, &entry.digest)),
        Kind::Branch(branch) => branch,
    };
    if let Some(digest) = branch.cached_digest(hasher.kind()) {
        return Ok(digest);
    }
    let loaded = branch.loaded(level, source)?;
    // First collects the digests that are known without hashing, then computes the missing digests.
    let mut children = [Part::Below; 16];
    for (part, child) in children.iter_mut().zip(loaded.slots()) {
        *part = match child.get() {
            Kind::Leaf(entry) => Part::Leaf(entry.key, entry.digest),
            Kind::Branch(branch) => branch
                .cached_digest(hasher.kind())
                .map_or(Part::Below, Part::Known),
        };
    }
    let mut digests = Gathered::new();
    for (part, child) in children.iter().zip(loaded.slots()) {
        digests.push(match part {
            Part::Leaf(key, digest) => hasher.leaf(key, digest),
            Part::Known(digest) => *digest,
            Part::Below => child_digest(child, level + 1, hasher, source)?,
        });
    }
    let digest = hasher.branch(level, loaded.bitmap(), loaded.count(), digests.as_slice());
    branch.cache_digest(hasher.kind(), &digest);
    Ok(digest)
}

/// The digest of a child, or the input from which the digest is computed.
#[derive(Clone, Copy)]
enum Part {
    Leaf(KeyPath, [u8; DIGEST_LEN]),
    Known([u8; DIGEST_LEN]),
    Below,
}
