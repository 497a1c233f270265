//! The verifier of proofs: pure, without a trie or a store.
//!
//! The verifier has three phases. *Shape*: checks that a canonical trie can have this path for this key, so that two
//! proofs for one key and root cannot claim different shapes. *Counts*: checks that each branch claims a possible
//! number of leaves. *Digests*: computes the digests from the end of the path upward, and compares the last digest with
//! the root.
//!
//! The digest of a branch covers its count of leaves. So a proof shows how many leaves the maker of the root claimed.
//! The proof also shows that the counts of the branches on the path agree with this claim. It does not prove the number
//! of leaves below the siblings.
//!
//! # Layer
//! Layer 3. Part of trie/; uses only the proof and the node digests.
//!
//! # Invariants
//! See PRF-1 in proof.rs.
//!
//! # Format
//! docs/proofs.md, "Verification".

use std::fmt;

use super::digest::{Gathered, NodeHasher};
use super::entry::{LEVELS, Shape};
use super::proof::{Proof, ProofLevel, Terminal};
use crate::digest::{HashSuite, KeyPath, Root};

/// The statement that a valid proof proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proven {
    /// The state has the object with this digest at the key.
    Present([u8; 32]),
    /// The state has no object at the key.
    Absent,
}

/// The reason why a proof is invalid. Levels are counted from the root, which has level 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProofError {
    /// The proof uses another hash than the state.
    Algorithm,
    /// The path is too long, or has branches although the state is empty, or has no branch before an empty slot.
    Length,
    /// The branch at this level lacks the child on the key's path, or has a child where the path ends.
    Slot {
        /// The level of the branch.
        level: usize,
    },
    /// The branch at this level has more or fewer siblings than its bitmap requires.
    Siblings {
        /// The level of the branch.
        level: usize,
    },
    /// The branch at this level claims an impossible number of leaves, or a canonical trie would not have the branch.
    Count {
        /// The level of the branch.
        level: usize,
    },
    /// The leaf at the end is not on the key's path.
    Leaf,
    /// The computed digests do not lead to the root.
    Root,
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Algorithm => f.write_str("the proof uses another hash function than the state"),
            Self::Length => f.write_str("the path of the proof has an impossible length"),
            Self::Slot { level } => write!(
                f,
                "the branch at level {level} does not follow the path of the key"
            ),
            Self::Siblings { level } => write!(
                f,
                "the branch at level {level} has more or fewer siblings than its bitmap requires"
            ),
            Self::Count { level } => write!(
                f,
                "the branch at level {level} claims an impossible number of leaves"
            ),
            Self::Leaf => f.write_str("the leaf of the proof is not on the path of the key"),
            Self::Root => f.write_str("the digests of the proof do not lead to the root"),
        }
    }
}

impl std::error::Error for ProofError {}

/// Checks that `proof` holds for `key` in the state with `root`, and returns its statement.
///
/// # Errors
/// The reason why the proof is invalid for this state and key.
pub fn verify_proof(
    proof: &Proof,
    suite: HashSuite,
    root: &Root,
    key: &KeyPath,
) -> Result<Proven, ProofError> {
    if proof.algorithm != suite.algorithm() {
        return Err(ProofError::Algorithm);
    }
    check_shape(proof, key)?;
    check_counts(proof)?;
    if computed_root(proof, suite, key) != *root.as_bytes() {
        return Err(ProofError::Root);
    }
    Ok(match &proof.terminal {
        Terminal::Leaf { key: found, digest } if found == key => Proven::Present(*digest),
        _ => Proven::Absent,
    })
}

/// Checks that the path follows the key, and that each branch has as many siblings as its bitmap requires.
fn check_shape(proof: &Proof, key: &KeyPath) -> Result<(), ProofError> {
    let depth = proof.levels.len();
    let length_fits = match proof.terminal {
        Terminal::Leaf { .. } => depth <= LEVELS,
        Terminal::EmptySlot => (1..=LEVELS).contains(&depth),
        Terminal::EmptyTrie => depth == 0,
    };
    if !length_fits {
        return Err(ProofError::Length);
    }
    for (level, branch) in proof.levels.iter().enumerate() {
        let on_path = !(proof.terminal == Terminal::EmptySlot && level + 1 == depth);
        if (branch.bitmap & (1 << key.nibble(level)) != 0) != on_path {
            return Err(ProofError::Slot { level });
        }
        if branch.siblings.len() + usize::from(on_path) != branch.bitmap.count_ones() as usize {
            return Err(ProofError::Siblings { level });
        }
    }
    if let Terminal::Leaf { key: found, .. } = &proof.terminal
        && (0..depth).any(|level| found.nibble(level) != key.nibble(level))
    {
        return Err(ProofError::Leaf);
    }
    Ok(())
}

/// Checks the counts of leaves from the end of the path upward. The leaves outside the path must fit into the siblings:
/// each sibling has at least one leaf, and at most the capacity of the levels below it. A branch must have two or more
/// leaves. A branch whose only child is a leaf is refused.
fn check_counts(proof: &Proof) -> Result<(), ProofError> {
    let mut below = match proof.terminal {
        Terminal::Leaf { .. } => 1,
        Terminal::EmptySlot | Terminal::EmptyTrie => 0,
    };
    for (level, branch) in proof.levels.iter().enumerate().rev() {
        let fits = branch.count >= 2
            && branch
                .count
                .checked_sub(below)
                .is_some_and(|beside| siblings_hold(branch, level, beside));
        if !fits {
            return Err(ProofError::Count { level });
        }
        below = branch.count;
    }
    Ok(())
}

fn siblings_hold(branch: &ProofLevel, level: usize, leaves: u64) -> bool {
    let siblings = branch.siblings.len() as u64;
    // A child of a branch at `level` has 63 - level levels below it. From sixteen levels on, its capacity exceeds the
    // largest count.
    let most = match LEVELS - 1 - level {
        levels_below @ 0..16 => siblings.saturating_mul(1 << (4 * levels_below)),
        _ if siblings == 0 => 0,
        _ => u64::MAX,
    };
    (siblings..=most).contains(&leaves)
}

fn computed_root(proof: &Proof, suite: HashSuite, key: &KeyPath) -> [u8; 32] {
    let hasher = NodeHasher::new(suite, Shape::State);
    let mut below = match &proof.terminal {
        Terminal::Leaf { key, digest } => Some(hasher.leaf(key, digest)),
        Terminal::EmptySlot => None,
        Terminal::EmptyTrie => return hasher.empty(),
    };
    for (level, branch) in proof.levels.iter().enumerate().rev() {
        let on_path = key.nibble(level);
        let mut siblings = branch.siblings.iter();
        let mut children = Gathered::new();
        for digit in (0..16).filter(|digit| branch.bitmap & (1 << digit) != 0) {
            let child = if digit == on_path {
                below
            } else {
                siblings.next().copied()
            };
            // The shape check has ensured that each child has a digest.
            children.push(child.expect("PRF-1: a branch has as many digests as children"));
        }
        below = Some(hasher.branch(level, branch.bitmap, branch.count, children.as_slice()));
    }
    below.expect("a path that ends at an empty slot has a branch")
}
