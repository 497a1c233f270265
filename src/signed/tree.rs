//! The tree of RFC 6962 over the digests of commits, and its proofs.
//!
//! # Layer
//! Layer 6, inside `signed`.

use super::note::NoteError;
use crate::digest::{CommitDigest, DIGEST_LEN, sha256};
use crate::object::{append_leaf, root_of};

/// The root of a tree, or of a part of it.
pub type TreeRoot = [u8; DIGEST_LEN];

/// The tree over the digests of the first commits of a line, oldest first.
#[derive(Clone, Debug, Default)]
pub struct CommitTree {
    leaves: Vec<TreeRoot>,
    /// The roots of the perfect subtrees, the largest first.
    peaks: Vec<TreeRoot>,
}

impl CommitTree {
    /// Appends the digest of the next commit.
    pub fn append(&mut self, commit: &CommitDigest) {
        let (size, leaf) = (self.size(), leaf_of(commit));
        append_leaf(&mut self.peaks, size, leaf, node);
        self.leaves.push(leaf);
    }

    /// Returns the number of commits.
    pub fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// Returns the root over all commits.
    pub fn root(&self) -> TreeRoot {
        root_of(&self.peaks, node).unwrap_or_else(|| sha256(&[]))
    }

    /// Returns the root over the first `size` commits. Returns `None` if the tree has fewer.
    pub fn root_at(&self, size: u64) -> Option<TreeRoot> {
        if size == self.size() {
            return Some(self.root());
        }
        self.first(size).map(subtree)
    }

    /// Returns the proof that the tree of `size` commits begins with the tree of `old` commits. Returns `None` if
    /// either is larger than this tree, or `old` is larger than `size`.
    pub fn consistency(&self, old: u64, size: u64) -> Option<Vec<TreeRoot>> {
        let leaves = self.first(size).filter(|_| old <= size)?;
        let mut proof = Vec::new();
        if old > 0 {
            prove_prefix(leaves, old as usize, true, &mut proof);
        }
        Some(proof)
    }

    /// Returns the proof that the tree of `size` commits has the commit `index`. Returns `None` if it has not.
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<TreeRoot>> {
        let leaves = self.first(size).filter(|_| index < size)?;
        let mut proof = Vec::new();
        prove_leaf(leaves, index as usize, &mut proof);
        Some(proof)
    }

    fn first(&self, size: u64) -> Option<&[TreeRoot]> {
        self.leaves.get(..usize::try_from(size).ok()?)
    }
}

fn leaf_of(commit: &CommitDigest) -> TreeRoot {
    let mut bytes = [0; 1 + DIGEST_LEN];
    bytes[1..].copy_from_slice(commit.as_bytes());
    sha256(&bytes)
}

fn node(left: &TreeRoot, right: &TreeRoot) -> TreeRoot {
    let mut bytes = [1; 1 + 2 * DIGEST_LEN];
    bytes[1..=DIGEST_LEN].copy_from_slice(left);
    bytes[1 + DIGEST_LEN..].copy_from_slice(right);
    sha256(&bytes)
}

/// Splits at the largest power of two below the number of leaves, of which there are at least two.
fn split(leaves: &[TreeRoot]) -> (&[TreeRoot], &[TreeRoot]) {
    leaves.split_at(1 << (leaves.len() - 1).ilog2())
}

fn subtree(leaves: &[TreeRoot]) -> TreeRoot {
    match leaves {
        [] => sha256(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = split(leaves);
            node(&subtree(left), &subtree(right))
        }
    }
}

/// `SUBPROOF` of RFC 6962, 2.1.2. `is_known` is whether the verifier knows the root of these leaves if all are old.
fn prove_prefix(leaves: &[TreeRoot], old: usize, is_known: bool, proof: &mut Vec<TreeRoot>) {
    if old == leaves.len() {
        proof.extend((!is_known).then(|| subtree(leaves)));
        return;
    }
    let (left, right) = split(leaves);
    let other = if let Some(old) = old.checked_sub(left.len()).filter(|old| *old > 0) {
        prove_prefix(right, old, false, proof);
        left
    } else {
        prove_prefix(left, old, is_known, proof);
        right
    };
    proof.push(subtree(other));
}

/// `PATH` of RFC 6962, 2.1.1.
fn prove_leaf(leaves: &[TreeRoot], index: usize, proof: &mut Vec<TreeRoot>) {
    if leaves.len() < 2 {
        return;
    }
    let (left, right) = split(leaves);
    let other = if let Some(index) = index.checked_sub(left.len()) {
        prove_leaf(right, index, proof);
        left
    } else {
        prove_leaf(left, index, proof);
        right
    };
    proof.push(subtree(other));
}

/// Checks a proof that the tree of `new` commits begins with the tree of `old` commits (RFC 9162, 2.1.4.2).
///
/// # Errors
/// [`NoteError::Proof`].
pub fn verify_consistency(
    old: (u64, &TreeRoot),
    new: (u64, &TreeRoot),
    proof: &[TreeRoot],
) -> Result<(), NoteError> {
    let holds = match (old.0, new.0) {
        // Every tree begins with the empty one, so a proof of that says nothing.
        (0, size) => size == 0 && proof.is_empty() && [old.1, new.1] == [&sha256(&[]); 2],
        (old_size, size) if old_size == size => proof.is_empty() && old.1 == new.1,
        (old_size, size) if old_size > size => false,
        _ => climbs(old, new, proof).unwrap_or(false),
    };
    if holds { Ok(()) } else { Err(NoteError::Proof) }
}

/// Computes both roots from the proof, and compares them. Returns `None` if the proof has too few digests.
fn climbs(old: (u64, &TreeRoot), new: (u64, &TreeRoot), proof: &[TreeRoot]) -> Option<bool> {
    let (first, rest) = if old.0.is_power_of_two() {
        (old.1, proof)
    } else {
        proof.split_first()?
    };
    let skipped = (old.0 - 1).trailing_ones();
    let (mut at, mut last) = ((old.0 - 1) >> skipped, (new.0 - 1) >> skipped);
    let (mut old_root, mut new_root) = (*first, *first);
    for sibling in rest {
        if last == 0 {
            return Some(false);
        }
        if at & 1 == 1 || at == last {
            (old_root, new_root) = (node(sibling, &old_root), node(sibling, &new_root));
            (at, last) = skip(at, last);
        } else {
            new_root = node(&new_root, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    Some(last == 0 && old_root == *old.1 && new_root == *new.1)
}

/// Skips the levels at which the last node has no sibling.
fn skip(at: u64, last: u64) -> (u64, u64) {
    let levels = if at == 0 { 0 } else { at.trailing_zeros() };
    (at >> levels, last >> levels)
}

/// Checks a proof that the tree of `size` commits with this root has `commit` at `index`.
///
/// # Errors
/// [`NoteError::Proof`].
pub fn verify_inclusion(
    (index, commit): (u64, &CommitDigest),
    tree: (u64, &TreeRoot),
    proof: &[TreeRoot],
) -> Result<(), NoteError> {
    let holds = has_leaf(tree, (index, leaf_of(commit)), proof);
    if holds { Ok(()) } else { Err(NoteError::Proof) }
}

/// RFC 9162, 2.1.3.2.
fn has_leaf((size, root): (u64, &TreeRoot), (index, leaf): (u64, TreeRoot), proof: &[TreeRoot]) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut found) = (index, size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            found = node(sibling, &found);
            (at, last) = skip(at, last);
        } else {
            found = node(&found, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && found == *root
}

#[cfg(test)]
mod tests;
