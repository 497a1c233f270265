//! Insertion and removal: copying the path that others share, editing in place what nobody shares.
//!
//! Nothing is hashed here. Each function takes a slot, edits what is below it and leaves a child in it, also
//! when it fails; counts and cached digests change only after everything below has succeeded.
//!
//! # Layer
//! L3. Part of trie/.
//!
//! # Invariants
//! TRI-1 to TRI-3; see trie/mod.rs.
//!
//! # Format
//! None.

use triomphe::Arc;

use super::node::{Branch, Child, Kind, parting};
use super::stored::ensure_loaded;
use super::{Entry, NodeSource};
use crate::digest::KeyPath;
use crate::error::Result;

/// Puts `entry` below `slot`, which is at `level`, and returns the entry that it replaced. Recurses to at
/// most the depth of the trie.
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
        unreachable!("a child that is no branch is a leaf")
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
        // INVARIANT TRI-2: an equal digest leaves every digest above as it is.
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

/// The branches that two leaves need where one of them stood: one at the level where they part, and one
/// with a single child at each level above it.
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

/// Removes the entry at `key`, which is there, from below the branch in `slot`. Recurses to at most the
/// depth of the trie.
pub(super) fn remove(slot: &mut Child, level: usize, key: &KeyPath, source: &dyn NodeSource) -> Result<()> {
    let mut shared = slot.take_branch().expect("only a branch has something below it");
    let result = remove_from_branch(&mut shared, level, key, source);
    // INVARIANT TRI-1: a branch of which one leaf is left gives way to that leaf. What is below has given
    // way already, so the leaf is its only child.
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
