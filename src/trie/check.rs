//! Verifies stored tries completely: checks every node once, on several threads.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! - CHE-1: the result does not depend on the number of threads. Of several damaged nodes, the check reports the node
//!   with the lowest first digit.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::collections::HashSet;

use super::stored::{NodeSource, StoredNode, restore, verify_branch};
use crate::digest::DIGEST_LEN;
use crate::error::Result;
use crate::threads::beside;

/// The number of entries that justify one more thread.
const ENTRIES_A_THREAD: u64 = 1 << 14;

/// The children of the top nodes, grouped by the first digit of their key paths.
type ByDigit = [Vec<StoredNode>; 16];

/// Returns whether a node below the tops is known to be valid, so that neither it nor the nodes below it are verified.
type IsKnown<'a> = dyn Fn(&StoredNode) -> bool + Sync + 'a;

/// Verifies every node below `tops`, except below nodes that `is_known`, on at most `threads` threads. Keeps no node in
/// memory.
///
/// # Errors
/// `Corrupt`, or the error of the source, if a node cannot be loaded or does not match the digest and count in its
/// parent.
pub(crate) fn check_stored(
    tops: &[StoredNode],
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    threads: usize,
) -> Result<()> {
    let mut by_digit = ByDigit::default();
    let mut met = HashSet::new();
    let mut entries = 0;
    for top in tops {
        if top.count < 2 {
            restore(*top, source)?;
        } else if met.insert((top.place, top.digest)) {
            entries += top.count;
            for (digit, node) in verify_branch(top, 0, source)? {
                by_digit[digit].push(node);
            }
        }
    }
    check_digits(
        &by_digit,
        source,
        is_known,
        threads.min((entries / ENTRIES_A_THREAD) as usize + 1),
    )
}

fn check_digits(
    digits: &[Vec<StoredNode>],
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    threads: usize,
) -> Result<()> {
    if threads > 1 && digits.len() > 1 {
        let (low, high) = digits.split_at(digits.len() / 2);
        let (low, high) = beside(
            || check_digits(low, source, is_known, threads / 2),
            || check_digits(high, source, is_known, threads - threads / 2),
        );
        // CHE-1: an error in the lower digits takes precedence, so the result does not depend on the number of threads.
        return low.and(high);
    }
    let mut met = HashSet::new();
    let mut nodes = digits.iter().flatten();
    nodes.try_for_each(|node| check_below(node, 1, source, is_known, &mut met))
}

/// Verifies all branches below `node`. The recursion is at most as deep as a trie, because loading refuses deeper
/// branches.
fn check_below(
    node: &StoredNode,
    level: usize,
    source: &dyn NodeSource,
    is_known: &IsKnown<'_>,
    met: &mut HashSet<(u64, [u8; DIGEST_LEN])>,
) -> Result<()> {
    if is_known(node) || !met.insert((node.place, node.digest)) {
        return Ok(());
    }
    let below = verify_branch(node, level, source)?;
    below
        .iter()
        .try_for_each(|(_, node)| check_below(node, level + 1, source, is_known, met))
}
