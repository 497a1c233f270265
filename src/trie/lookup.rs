//! Looks up many keys at once, so that their walks wait for memory at the same time.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! - LKP-1: looking up keys together finds what [`super::Trie::get`] finds for each.
//!
//! # Format
//! None, because nothing here is stored.

use super::entry::LEVELS;
use super::node::Child;
use super::{Entry, NodeSource};
use crate::digest::KeyPath;
use crate::error::Result;

/// The number of keys that [`get_together`] looks up at once. A processor waits for about as many lines of memory at the
/// same time.
pub(super) const KEYS_TOGETHER: usize = 16;

/// Looks up at most [`KEYS_TOGETHER`] keys below `top`, level by level. Appends their entries to `entries`.
pub(super) fn get_together(
    top: Option<&Child>,
    keys: &[KeyPath],
    source: &dyn NodeSource,
    entries: &mut Vec<Option<Entry>>,
) -> Result<()> {
    let mut ends = [top; KEYS_TOGETHER];
    let mut branches_left = true;
    for level in 0..=LEVELS {
        if !branches_left {
            break;
        }
        branches_left = false;
        for (end, key) in ends.iter_mut().zip(keys) {
            let Some(child) = *end else { continue };
            if let Some(branch) = child.branch(level, source)? {
                *end = branch.child(key.nibble(level));
                branches_left = true;
            }
        }
        // All nodes of the next level are touched before one of them is used.
        ends.iter().flatten().for_each(|child| child.touch());
    }
    for (end, key) in ends.iter().zip(keys) {
        let entry = end.and_then(Child::entry).filter(|entry| entry.key == *key);
        entries.push(entry.copied());
    }
    Ok(())
}
