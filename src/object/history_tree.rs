//! The history tree: one digest over all first-parent ancestors of a commit, oldest first.
//!
//! The tree has the shape of RFC 6962. The tree stores only the peaks, which are the roots of its perfect subtrees: at
//! most one for each bit of its size. Appending a commit needs only these roots.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! - HIS-1: the tree has one peak for each bit that is set in its size, the largest subtree first.
//!
//! # Format
//! docs/format.md, "Commit", the history tree.

use crate::digest::{CommitDigest, DIGEST_LEN, Domain, HashSuite, HistoryRoot};

type Node = [u8; DIGEST_LEN];

/// The history tree of a sequence of commits. The tree stores only the roots of its perfect subtrees, so a clone is
/// cheap.
#[derive(Clone, Debug)]
pub struct HistoryTree {
    suite: HashSuite,
    size: u64,
    peaks: Vec<Node>,
}

impl HistoryTree {
    /// Makes an empty tree.
    pub fn new(suite: HashSuite) -> Self {
        Self {
            suite,
            size: 0,
            peaks: Vec::new(),
        }
    }

    /// Restores the tree of `size` commits from its [`Self::peaks`]. Returns `None` if the number of peaks does not
    /// match the size.
    pub fn from_peaks(suite: HashSuite, size: u64, peaks: Vec<[u8; DIGEST_LEN]>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { suite, size, peaks })
    }

    /// Appends the next commit of the first-parent chain.
    pub fn append(&mut self, commit: &CommitDigest) {
        let (suite, size) = (self.suite, self.size);
        let leaf = suite.hash_fixed(Domain::HistoryLeaf, &[commit.as_bytes()]);
        append_leaf(&mut self.peaks, size, leaf, |left, right| {
            node(suite, left, right)
        });
        self.size += 1;
    }

    /// Returns the head of the tree: the `history_root` of the next commit.
    pub fn root(&self) -> HistoryRoot {
        let root = root_of(&self.peaks, |left, right| node(self.suite, left, right));
        HistoryRoot::from_bytes(root.unwrap_or_else(|| self.suite.hash_fixed(Domain::HistoryNode, &[])))
    }

    /// Returns the number of commits in the tree: the `seq` of the next commit.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the roots of the perfect subtrees, the largest first: the input of [`Self::from_peaks`].
    pub fn peaks(&self) -> &[[u8; DIGEST_LEN]] {
        &self.peaks
    }
}

fn node(suite: HashSuite, left: &Node, right: &Node) -> Node {
    suite.hash_fixed(Domain::HistoryNode, &[left, right])
}

/// Adds a leaf to the peaks of a tree of `size` leaves. `node` computes the digest of two subtrees.
pub(crate) fn append_leaf(peaks: &mut Vec<Node>, size: u64, leaf: Node, node: impl Fn(&Node, &Node) -> Node) {
    // Each trailing 1 bit of the size represents a peak as large as the subtree to add. The subtree to add becomes the
    // right sibling of the peak.
    let grown = (0..size.trailing_ones()).fold(leaf, |right, _| {
        let left = peaks.pop().expect("HIS-1: one peak for each bit set in the size");
        node(&left, &right)
    });
    peaks.push(grown);
}

/// Returns the root over the peaks. Returns `None` for an empty tree.
pub(crate) fn root_of(peaks: &[Node], node: impl Fn(&Node, &Node) -> Node) -> Option<Node> {
    let mut peaks = peaks.iter().rev();
    let smallest = *peaks.next()?;
    Some(peaks.fold(smallest, |right, left| node(left, &right)))
}

#[cfg(test)]
mod tests;
