//! Verifies stored tries completely: checks every node once, on several threads. Hashes many nodes together.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! - CHE-1: the result does not depend on the number of threads. Of several damaged nodes, the check reports the node
//!   with the lowest first digit.
//! - CHE-2: the nodes below a node are verified only after the node itself, which has their digests.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::collections::HashSet;

use super::digest::NodeHasher;
use super::entry::Shape;
use super::stored::{NodeSource, Slot, StoredNode, compare, read_whole, restore};
use crate::digest::{DIGEST_LEN, Domain, HashBatch};
use crate::error::Result;
use crate::threads::beside;

/// The number of entries that justify one more thread.
const ENTRIES_A_THREAD: u64 = 1 << 14;
/// The number of nodes that are hashed together.
const NODES_TOGETHER: usize = 256;

/// The children of the top nodes, grouped by the first digit of their key paths.
type ByDigit = [Vec<StoredNode>; 16];

/// Returns whether a node below the tops is known to be valid, so that neither it nor the nodes below it are verified.
type IsKnown<'a> = dyn Fn(&StoredNode) -> bool + Sync + 'a;

/// The places and digests of verified nodes.
type Met = HashSet<(u64, [u8; DIGEST_LEN])>;

/// The nodes that were verified, together with all nodes below them. So the tries of several checks are verified once.
#[derive(Default)]
pub(crate) struct Verified {
    tops: Met,
    by_digit: [Met; 16],
}

/// Verifies every node below `tops`, except below nodes that `is_known` or that were `verified` before, on at most
/// `threads` threads. Keeps no node in memory.
///
/// # Errors
/// `Corrupt`, or the error of the source, if a node cannot be loaded or does not match the digest and count in its
/// parent.
pub(crate) fn check_stored(
    tops: &[StoredNode],
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    verified: &mut Verified,
    threads: usize,
) -> Result<()> {
    let checked = check_tops(tops, source, is_known, verified, threads);
    // After an error, nodes below the nodes that were met may be unverified.
    checked.inspect_err(|_| *verified = Verified::default())
}

fn check_tops(
    tops: &[StoredNode],
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    verified: &mut Verified,
    threads: usize,
) -> Result<()> {
    let mut by_digit = ByDigit::default();
    let mut entries = 0;
    let mut hashes = Hashes::of(source);
    for top in tops {
        if top.count < 2 {
            restore(*top, source)?;
        } else if verified.tops.insert((top.place, top.digest)) {
            entries += top.count;
            for (digit, node) in hashes.verify(&[*top], 0, source)? {
                by_digit[digit].push(node);
            }
        }
    }
    check_digits(
        &by_digit,
        source,
        is_known,
        &mut verified.by_digit,
        threads.min((entries / ENTRIES_A_THREAD) as usize + 1),
    )
}

fn check_digits(
    digits: &[Vec<StoredNode>],
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    met: &mut [Met],
    threads: usize,
) -> Result<()> {
    if threads > 1 && digits.len() > 1 {
        let (low, high) = digits.split_at(digits.len() / 2);
        let (met_low, met_high) = met.split_at_mut(low.len());
        let (low, high) = beside(
            || check_digits(low, source, is_known, met_low, threads / 2),
            || check_digits(high, source, is_known, met_high, threads - threads / 2),
        );
        // CHE-1: an error in the lower digits takes precedence, so the result does not depend on the number of threads.
        return low.and(high);
    }
    let mut hashes = Hashes::of(source);
    for (nodes, met) in digits.iter().zip(met) {
        check_below(nodes.clone(), source, is_known, met, &mut hashes)?;
    }
    Ok(())
}

/// Verifies the nodes, which are at level 1, and all branches below them. Verifies the nodes of one level in groups,
/// each with everything below it before the next group, so that few nodes wait.
fn check_below(
    nodes: Vec<StoredNode>,
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    met: &mut Met,
    hashes: &mut Hashes,
) -> Result<()> {
    let mut waiting = vec![(1, nodes)];
    while let Some((level, mut nodes)) = waiting.pop() {
        let later = nodes.split_off(nodes.len().min(NODES_TOGETHER));
        if !later.is_empty() {
            waiting.push((level, later));
        }
        nodes.retain(|node| !is_known(node) && met.insert((node.place, node.digest)));
        // INVARIANT CHE-2: the nodes below a node are verified only after the node itself, which has their digests.
        let below = hashes.verify(&nodes, level, source)?;
        if !below.is_empty() {
            waiting.push((level + 1, below.into_iter().map(|(_, node)| node).collect()));
        }
    }
    Ok(())
}

/// The digests that are computed together.
struct Hashes {
    leaves: HashBatch,
    branches: HashBatch,
}

/// A branch whose digest is not computed yet.
struct Unhashed {
    bitmap: u16,
    count: u64,
    /// The digests of the child branches. `None` for a leaf.
    children: Vec<Option<[u8; DIGEST_LEN]>>,
}

impl Hashes {
    fn of(source: &dyn NodeSource) -> Self {
        let (leaf, branch) = match source.shape() {
            Shape::State => (Domain::Leaf, Domain::Branch),
            Shape::Subtree => (Domain::SubtreeLeaf, Domain::SubtreeBranch),
        };
        Self {
            leaves: HashBatch::new(source.suite(), leaf),
            branches: HashBatch::new(source.suite(), branch),
        }
    }

    /// Loads branches of one level, and verifies them. Returns the branches directly below them with their digits.
    fn verify(
        &mut self,
        nodes: &[StoredNode],
        level: usize,
        source: &dyn NodeSource,
    ) -> Result<Vec<(usize, StoredNode)>> {
        let (mut below, mut unhashed) = (Vec::new(), Vec::with_capacity(nodes.len()));
        for node in nodes {
            let mut children = Vec::with_capacity(16);
            let read = read_whole(node, level, &source.load(node)?, &mut |digit, slot| match slot {
                Slot::Leaf(entry) => {
                    self.leaves.push_fixed(&[entry.key.as_bytes(), &entry.digest]);
                    children.push(None);
                }
                Slot::Branch(node) => {
                    children.push(Some(node.digest));
                    below.push((digit, node));
                }
            })?;
            unhashed.push(Unhashed {
                bitmap: read.bitmap,
                count: read.count,
                children,
            });
        }
        let (mut leaves, mut digests) = (Vec::new(), Vec::new());
        self.leaves.finish(&mut leaves);
        let mut leaves = leaves.into_iter();
        for branch in &unhashed {
            let children = branch.children.iter();
            let children = children.filter_map(|child| child.or_else(|| leaves.next()));
            let children: Vec<_> = children.collect();
            let header = NodeHasher::header(level, branch.bitmap, branch.count);
            self.branches.push_fixed(&[&header, children.as_flattened()]);
        }
        self.branches.finish(&mut digests);
        for ((node, branch), digest) in nodes.iter().zip(&unhashed).zip(&digests) {
            compare(node, digest, branch.count)?;
        }
        Ok(below)
    }
}
