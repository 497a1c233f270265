//! Builds a trie from many entries at once: sorts them, then creates each node in its final size.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-1 in trie/mod.rs.
//!
//! # Format
//! None, because nothing here is stored.

use super::entry::Entry;
use super::node::{Child, Children};

/// Returns the top of the trie of `entries`. If several entries have the same key, the last entry is kept.
pub(super) fn build(mut entries: Vec<Entry>) -> Option<Child> {
    // The sort is stable, so the last of several entries with equal keys stays last.
    entries.sort_by_key(|entry| entry.key);
    entries.dedup_by(|later, kept| {
        let same = later.key == kept.key;
        if same {
            *kept = *later;
        }
        same
    });
    if entries.is_empty() {
        None
    } else {
        Some(node(&entries, 0))
    }
}

/// Returns the node for one or more entries. The keys of the entries are strictly ascending and share all digits above
/// `level`. The recursion is at most as deep as the trie.
pub(super) fn node(entries: &[Entry], level: usize) -> Child {
    if let [only] = entries {
        return Child::leaf(*only);
    }
    let digit = |entry: &Entry| entry.key.nibble(level);
    let mut children = Children::default();
    for group in entries.chunk_by(|one, two| digit(one) == digit(two)) {
        children.put(digit(&group[0]), Some(node(group, level + 1)));
    }
    children.into_branch(entries.len() as u64)
}
