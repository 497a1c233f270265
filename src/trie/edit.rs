//! Insertion and removal. An edit copies the shared nodes on its path and changes unshared nodes in place.
//!
//! This file computes no digests. Each function edits the nodes below a slot. The slot contains a child afterwards,
//! even after an error. Counts and cached digests change only after every edit below has succeeded.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-1 to TRI-3 in trie/mod.rs.
//!
//! # Format
//! None, because nothing here is stored.

use triomphe::Arc;

use super::entry::Entry;
use super::node::{Branch, Child, Kind, parting};
use super::stored::NodeSource;
use super::stored::ensure_loaded;
use crate::digest::KeyPath;
use crate::error::Result;

/// Puts `entry` below `slot`, which is at `level`. Returns the entry that `entry` replaced. The recursion is at most as
/// deep as the trie.
pub(super) fn insert(
    slot: &mut Child,
    level: usize,
    entry: Entry,
    source: &dyn NodeSource,
) -> Result<Option<Entry>> {
    if let Some(mut branch) = slot.take_branch() {
        let result = insert_into_branch(&mut branch, level, entry, source);
        *slot = Child::branch(branch);
        return result;
    }
    let Kind::Leaf(&old) = slot.get() else {
        unreachable!("a child is either a branch or a leaf")
    };
    if old.key == entry.key {
        slot.replace_leaf(entry);
        return Ok(Some(old));
    }
    *slot = split(slot.clone(), &old, entry, level);
    Ok(None)
}

fn insert_into_branch(
    shared: &mut Arc<Branch>,
    level: usize,
    entry: Entry,
    source: &dyn NodeSource,
) -> Result<Option<Entry>> {
    ensure_loaded(shared, level, source)?;
    let nibble = entry.key.nibble(level);
    let (position, present) = shared.position(nibble);
    if present {
        let branch = Arc::make_mut(shared);
        let old = insert(&mut branch.slots_mut()[position], level + 1, entry, source)?;
        if old.is_none() {
            branch.set_count(branch.count() + 1);
        }
        // INVARIANT TRI-2: if the digest stays the same, every digest above stays valid.
        if old.is_none_or(|old| old.digest != entry.digest) {
            branch.clear_digest();
        }
        return Ok(old);
    }
    let leaf = Child::leaf(Arc::new(entry));
    match Arc::get_mut(shared) {
        Some(branch) => {
            branch.add(nibble, leaf);
            branch.set_count(branch.count() + 1);
            branch.clear_digest();
        }
        None => *shared = Arc::new(shared.with_child(nibble, leaf)),
    }
    Ok(None)
}

/// Replaces a leaf by the branches that two leaves need: one at the level where their keys differ, and a branch with a
/// single child at each level above that level.
fn split(old: Child, old_entry: &Entry, new: Entry, level: usize) -> Child {
    let parting = parting(old_entry, &new, level);
    let (old_nibble, new_nibble) = (old_entry.key.nibble(parting), new.key.nibble(parting));
    let leaf = Child::leaf(Arc::new(new));
    let pair = if old_nibble < new_nibble {
        [old, leaf]
    } else {
        [leaf, old]
    };
    let bitmap = 1 << old_nibble | 1 << new_nibble;
    let mut child = Child::branch(Arc::new(Branch::new(bitmap, 2, Box::new(pair))));
    for above in (level..parting).rev() {
        let bitmap = 1 << new.key.nibble(above);
        child = Child::branch(Arc::new(Branch::new(bitmap, 2, Box::new([child]))));
    }
    child
}

/// Removes the entry at `key`, which must exist, from below the branch in `slot`. The recursion is at most as deep as
/// the trie.
pub(super) fn remove(slot: &mut Child, level: usize, key: &KeyPath, source: &dyn NodeSource) -> Result<()> {
    let mut shared = slot.take_branch().expect("only a branch has nodes below it");
    let result = remove_from_branch(&mut shared, level, key, source);
    // INVARIANT TRI-1: a branch with only one leaf below it is replaced by that leaf. The branches below it were
    // replaced already, so the leaf is its only child.
    *slot = match shared.slots() {
        [only] if !only.is_branch() => only.clone(),
        _ => Child::branch(shared),
    };
    result
}

fn remove_from_branch(
    shared: &mut Arc<Branch>,
    level: usize,
    key: &KeyPath,
    source: &dyn NodeSource,
) -> Result<()> {
    ensure_loaded(shared, level, source)?;
    let nibble = key.nibble(level);
    let branch = Arc::make_mut(shared);
    let (position, present) = branch.position(nibble);
    debug_assert!(present);
    let child = &mut branch.slots_mut()[position];
    if child.is_branch() {
        remove(child, level + 1, key, source)?;
    } else {
        branch.cut(nibble);
    }
    branch.set_count(branch.count() - 1);
    branch.clear_digest();
    Ok(())
}
