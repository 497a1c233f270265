//! The history tree: one digest over all first-parent ancestors of a commit, oldest first.
//!
//! The tree has the shape of RFC 6962. It keeps only the roots of its perfect subtrees, at most one for each bit of its
//! size. Appending needs no more.
//!
//! # Layer
//! L3, inside `object`.
//!
//! # Invariants
//! - HIS-1: there is one peak for each bit set in the size, the largest subtree first.
//!
//! # Format
//! docs/format.md, "Commit", the history tree.

use crate::digest::{CommitDigest, DIGEST_LEN, Domain, HashSuite, HistoryRoot};

type Node = [u8; DIGEST_LEN];

/// Computes the hashes of the leaves and inner nodes of a tree.
trait TreeHasher {
    fn empty(&self) -> Node;
    fn leaf(&self, data: &[u8]) -> Node;
    fn node(&self, left: &Node, right: &Node) -> Node;
}

/// An append-only tree in the shape of RFC 6962, reduced to the roots of its perfect subtrees.
#[derive(Clone, Debug)]
struct CompactRange<H> {
    hasher: H,
    size: u64,
    peaks: Vec<Node>,
}

impl<H: TreeHasher> CompactRange<H> {
    fn append(&mut self, data: &[u8]) {
        let mut node = self.hasher.leaf(data);
        // Each low bit set in the old size is a subtree as large as `node`: its left sibling.
        for _ in 0..self.size.trailing_ones() {
            let left = self
                .peaks
                .pop()
                .expect("HIS-1: one peak for each bit set in the size");
            node = self.hasher.node(&left, &node);
        }
        self.peaks.push(node);
        self.size += 1;
    }

    fn root(&self) -> Node {
        let mut peaks = self.peaks.iter().rev();
        let Some(smallest) = peaks.next() else {
            return self.hasher.empty();
        };
        peaks.fold(*smallest, |right, left| self.hasher.node(left, &right))
    }
}

#[derive(Clone, Copy, Debug)]
struct CommitHasher(HashSuite);

impl TreeHasher for CommitHasher {
    fn empty(&self) -> Node {
        self.0.hash_fixed(Domain::HistoryNode, &[])
    }

    fn leaf(&self, data: &[u8]) -> Node {
        self.0.hash_fixed(Domain::HistoryLeaf, &[data])
    }

    fn node(&self, left: &Node, right: &Node) -> Node {
        self.0.hash_fixed(Domain::HistoryNode, &[left, right])
    }
}

/// The tree over a line of commits; cheap to clone.
#[derive(Clone, Debug)]
pub struct HistoryTree(CompactRange<CommitHasher>);

impl HistoryTree {
    /// Makes the tree over no commits.
    pub fn new(suite: HashSuite) -> Self {
        Self(CompactRange {
            hasher: CommitHasher(suite),
            size: 0,
            peaks: Vec::new(),
        })
    }

    /// Restores the tree of `size` commits from its [`Self::peaks`]. Returns `None` if their number does not fit.
    pub fn from_peaks(suite: HashSuite, size: u64, peaks: Vec<[u8; DIGEST_LEN]>) -> Option<Self> {
        let fits = peaks.len() == size.count_ones() as usize;
        fits.then_some(Self(CompactRange {
            hasher: CommitHasher(suite),
            size,
            peaks,
        }))
    }

    /// Adds the next commit of the line.
    pub fn append(&mut self, commit: &CommitDigest) {
        self.0.append(commit.as_bytes());
    }

    /// Returns the head of the tree: the `history_root` of the next commit.
    pub fn root(&self) -> HistoryRoot {
        HistoryRoot::from_bytes(self.0.root())
    }

    /// Returns the number of commits in the tree: the `seq` of the next commit.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns the roots of the perfect subtrees, the largest first: the input of [`Self::from_peaks`].
    pub fn peaks(&self) -> &[[u8; DIGEST_LEN]] {
        &self.0.peaks
    }
}

#[cfg(test)]
mod tests;
