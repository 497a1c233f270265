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
use super::node::{Branch, Child, Kind};
use super::stored::NodeSource;
use crate::digest::{DIGEST_LEN, Domain, HashAlgorithm, HashBatch, HashSuite, KeyPath};
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

    /// Returns the kind with this number.
    pub(super) fn from_number(number: u8) -> Self {
        Self(number)
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

/// Returns the digest of a child at `level`, using the cached digests below it. Computes the missing digests level by
/// level from the bottom, so that the messages of many nodes are hashed together. The recursion is at most as deep as
/// the trie.
pub(super) fn child_digest(
    child: &Child,
    level: usize,
    hasher: NodeHasher,
    source: &dyn NodeSource,
) -> Result<[u8; DIGEST_LEN]> {
    if let Some(entry) = child.entry() {
        return Ok(hasher.leaf(&entry.key, &entry.digest));
    }
    if let Some(digest) = child.known_digest(hasher.kind()) {
        return Ok(digest);
    }
    let mut unknown = Unknown {
        hasher,
        source,
        levels: Vec::new(),
    };
    unknown.collect(child, level, 0)?;
    let digests = unknown.digests(level);
    Ok(digests[0])
}

/// Takes over the digests of the branches which `other` has with the same children at the same place. Visits only branches
/// without a digest, and loads none. The recursion is at most as deep as the trie.
pub(super) fn take_digests(child: &Child, other: &Child, kind: HashKind) {
    let (Kind::Branch(branch), Some(other)) = (child.get(), other.loaded_branch()) else {
        return;
    };
    if child.is_known(kind) {
        return;
    }
    if branch.bitmap() != other.bitmap() {
        for (digit, child) in branch.digits() {
            if let Some(other) = other.child(digit) {
                take_digests(child, other, kind);
            }
        }
        return;
    }
    let mut is_same = true;
    for (child, other) in branch.slots().iter().zip(other.slots()) {
        // Most children are shared.
        if !child.is_same(other) {
            take_digests(child, other, kind);
            is_same = is_same && hashes_alike(child, other, kind);
        }
    }
    if is_same && let Some(digest) = other.cached_digest(kind) {
        branch.cache_digest(kind, &digest);
    }
}

/// Returns whether two nodes at one place are known to have the same digest.
fn hashes_alike(one: &Child, other: &Child, kind: HashKind) -> bool {
    match (one.entry(), other.entry()) {
        (Some(one), Some(other)) => one.digest == other.digest && one.key == other.key,
        (None, None) => {
            let digest = one.known_digest(kind);
            digest.is_some() && digest == other.known_digest(kind)
        }
        _ => false,
    }
}

/// The branches whose digests are not cached.
struct Unknown<'a> {
    hasher: NodeHasher,
    source: &'a dyn NodeSource,
    /// The branches of each level, from left to right. So the branches below one branch follow each other.
    levels: Vec<Vec<UnknownBranch<'a>>>,
}

/// A branch whose digest is not cached.
struct UnknownBranch<'a> {
    branch: Branch<'a>,
    /// The positions of the children that are in the next level of [`Unknown`], as bits. Another thread may cache their
    /// digests meanwhile.
    below: u16,
}

/// The number of branches whose digests are computed together. The messages of their leaves fit into a processor's
/// second cache.
const BRANCHES_TOGETHER: usize = 256;

impl<'a> Unknown<'a> {
    /// Adds the branch of `child` and every branch below it whose digest is not known. `depth` is the level in `levels`.
    fn collect(&mut self, child: &'a Child, level: usize, depth: usize) -> Result<()> {
        let Some(branch) = child.branch(level, self.source)? else {
            return Ok(());
        };
        if self.levels.len() == depth {
            self.levels.push(Vec::new());
        }
        let place = self.levels[depth].len();
        let mut below = 0;
        self.levels[depth].push(UnknownBranch { branch, below });
        for (position, child) in branch.slots().iter().enumerate() {
            if !child.is_known(self.hasher.kind()) {
                below |= 1 << position;
                self.collect(child, level + 1, depth + 1)?;
            }
        }
        self.levels[depth][place].below = below;
        Ok(())
    }

    /// Computes and caches the digests of all branches. Returns the digests of the top level, which is at `level`.
    fn digests(self, level: usize) -> Vec<[u8; DIGEST_LEN]> {
        let hasher = self.hasher;
        let mut leaves = HashBatch::new(hasher.suite, hasher.leaf);
        let mut branches = HashBatch::new(hasher.suite, hasher.branch);
        let (mut below, mut of_leaves) = (Vec::new(), Vec::new());
        for (depth, unknown) in self.levels.iter().enumerate().rev() {
            let mut digests = Vec::with_capacity(unknown.len());
            let mut next_below = below.iter();
            for together in unknown.chunks(BRANCHES_TOGETHER) {
                for unknown in together {
                    push_leaves(&mut leaves, unknown.branch);
                }
                of_leaves.clear();
                leaves.finish(&mut of_leaves);
                let mut next_leaf = of_leaves.iter();
                let first = digests.len();
                for unknown in together {
                    let children = children_of(unknown, hasher.kind(), &mut next_leaf, &mut next_below);
                    let branch = unknown.branch;
                    let header = NodeHasher::header(level + depth, branch.bitmap(), branch.count());
                    branches.push_fixed(&[&header, children.as_slice().as_flattened()]);
                }
                branches.finish(&mut digests);
                for (unknown, digest) in together.iter().zip(&digests[first..]) {
                    unknown.branch.cache_digest(hasher.kind(), digest);
                }
            }
            below = digests;
        }
        below
    }
}

fn push_leaves(leaves: &mut HashBatch, branch: Branch<'_>) {
    branch.touch_children();
    for child in branch.slots() {
        if let Some(entry) = child.entry() {
            leaves.push_fixed(&[entry.key.as_bytes(), &entry.digest]);
        }
    }
}

/// Returns the digests of a branch's children. Takes the digests that are not cached from `leaves` and `below`.
fn children_of<'l, 'b>(
    branch: &UnknownBranch<'_>,
    kind: HashKind,
    leaves: &mut impl Iterator<Item = &'l [u8; DIGEST_LEN]>,
    below: &mut impl Iterator<Item = &'b [u8; DIGEST_LEN]>,
) -> Gathered {
    let mut digests = Gathered::new();
    for (position, child) in branch.branch.slots().iter().enumerate() {
        let digest = match child.get() {
            Kind::Leaf(_) => leaves.next().copied(),
            _ if branch.below & (1 << position) != 0 => below.next().copied(),
            _ => child.known_digest(kind),
        };
        digests.push(digest.expect("the walk has collected every missing digest"));
    }
    digests
}
