//! Edits of many entries in one walk. The walk copies each shared node on its paths once and changes unshared nodes in
//! place.
//!
//! This file computes no digests. Every function takes the node to edit by value and returns the edited node, so an
//! error leaves nothing half edited: the nodes are dropped.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-1 to TRI-3 in trie/mod.rs.
//! - EDT-1: the keys of an edit are strictly ascending, so the keys below one child follow each other.
//!
//! # Format
//! None, because nothing here is stored.

use triomphe::Arc;

use super::build;
use super::entry::Entry;
use super::node::{Branch, Child, Kind, position_in};
use super::stored::{NodeSource, ensure_loaded};
use crate::digest::KeyPath;
use crate::error::Result;

/// A function for [`super::Trie::updated`]: gets the index of a key and its entry, and returns its new entry.
pub type ChangeEntry<'a> = dyn FnMut(usize, Option<&Entry>) -> Result<Option<Entry>> + 'a;

/// An edit of the entries at some keys.
pub(super) struct Edit<'a> {
    source: &'a dyn NodeSource,
    change: &'a mut ChangeEntry<'a>,
    /// The number of entries that the edit has added so far, minus those that it has removed.
    added: i64,
}

/// A part of the keys of an edit.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    keys: &'a [KeyPath],
    /// The number of the first of these keys in the edit.
    first: usize,
}

impl<'a> Keys<'a> {
    pub(super) fn all(keys: &'a [KeyPath]) -> Self {
        debug_assert!(keys.is_sorted_by(|one, next| one < next), "EDT-1");
        Self { keys, first: 0 }
    }

    /// Iterates the keys by the digit that they have at `level`.
    fn by_digit(self, level: usize) -> impl Iterator<Item = (usize, Self)> {
        let mut first = self.first;
        let groups = self
            .keys
            .chunk_by(move |one, next| one.nibble(level) == next.nibble(level));
        groups.map(move |keys| {
            let group = Self { keys, first };
            first += keys.len();
            (keys[0].nibble(level), group)
        })
    }
}

/// The children of a branch under edit, with their digits as bits.
struct Slots {
    bitmap: u16,
    children: Vec<Child>,
}

impl Slots {
    /// Returns the position of the child at a digit, and whether there is one.
    fn position(&self, nibble: usize) -> (usize, bool) {
        position_in(self.bitmap, nibble)
    }

    /// Returns the node of these children: a branch, the only leaf, or `None` (TRI-1).
    fn into_node(self, count: u64) -> Option<Child> {
        if self.is_branch() {
            let children = self.children.into_boxed_slice();
            return Some(Child::branch(Arc::new(Branch::new(self.bitmap, count, children))));
        }
        self.children.into_iter().next()
    }

    fn is_branch(&self) -> bool {
        match &self.children[..] {
            [] => false,
            [only] => only.is_branch(),
            _ => true,
        }
    }
}

impl<'a> Edit<'a> {
    pub(super) fn new(source: &'a dyn NodeSource, change: &'a mut ChangeEntry<'a>) -> Self {
        Self {
            source,
            change,
            added: 0,
        }
    }

    /// Edits the entries at `keys` in the node `child` at `level`. Returns the new node, or `None` if no entry is left.
    /// The recursion is at most as deep as the trie.
    pub(super) fn node(
        &mut self,
        child: Option<Child>,
        level: usize,
        keys: Keys<'_>,
    ) -> Result<Option<Child>> {
        let Some(mut child) = child else {
            return self.entries(level, keys);
        };
        if let Some(branch) = child.take_branch() {
            return self.branch(branch, level, keys);
        }
        let Kind::Leaf(&old) = child.get() else {
            unreachable!("a child is either a branch or a leaf")
        };
        if keys.keys == [old.key] {
            let new = (self.change)(keys.first, Some(&old))?;
            self.added -= i64::from(new.is_none());
            return Ok(new.map(|new| {
                child.replace_leaf(new);
                child
            }));
        }
        // The leaf is edited as the only child of a branch.
        let before = self.added;
        let mut slots = Slots {
            bitmap: 1 << old.key.nibble(level),
            children: vec![child],
        };
        self.children(&mut slots, level, keys)?;
        Ok(slots.into_node(self.count(1, before)))
    }

    /// Returns the node of the entries that the edit adds at `keys`, where the trie has no entry.
    fn entries(&mut self, level: usize, keys: Keys<'_>) -> Result<Option<Child>> {
        let mut entries = Vec::new();
        for index in keys.first..keys.first + keys.keys.len() {
            entries.extend((self.change)(index, None)?);
        }
        self.added += entries.len().cast_signed() as i64;
        Ok((!entries.is_empty()).then(|| build::node(&entries, level)))
    }

    fn branch(&mut self, mut shared: Arc<Branch>, level: usize, keys: Keys<'_>) -> Result<Option<Child>> {
        ensure_loaded(&mut shared, level, self.source)?;
        let (bitmap, count, before) = (shared.bitmap(), shared.count(), self.added);
        let digits = keys.by_digit(level);
        let new = digits
            .filter(|(nibble, _)| !position_in(bitmap, *nibble).1)
            .count();
        // INVARIANT TRI-3: takes the children out of an unshared branch, and copies the children of a shared one.
        let mut children = match Arc::get_mut(&mut shared) {
            Some(branch) => std::mem::take(branch.slots_mut()).into_vec(),
            None => shared.copied_children(new),
        };
        children.reserve_exact(new);
        let mut slots = Slots { bitmap, children };
        self.children(&mut slots, level, keys)?;
        let count = self.count(count, before);
        match Arc::get_mut(&mut shared) {
            Some(branch) if slots.is_branch() => {
                branch.replace(slots.bitmap, count, slots.children.into_boxed_slice());
                Ok(Some(Child::branch(shared)))
            }
            _ => Ok(slots.into_node(count)),
        }
    }

    /// Edits the entries at `keys` below the children of a branch.
    fn children(&mut self, slots: &mut Slots, level: usize, keys: Keys<'_>) -> Result<()> {
        // First touches the nodes of all paths, so that the processor loads them at the same time.
        for (nibble, _) in keys.by_digit(level) {
            if let (position, true) = slots.position(nibble) {
                slots.children[position].touch();
            }
        }
        for (nibble, group) in keys.by_digit(level) {
            let (position, present) = slots.position(nibble);
            let before = present.then(|| slots.children[position].take());
            match self.node(before, level + 1, group)? {
                Some(child) if present => slots.children[position] = child,
                Some(child) => {
                    slots.children.insert(position, child);
                    slots.bitmap |= 1 << nibble;
                }
                None if present => {
                    slots.children.remove(position);
                    slots.bitmap &= !(1 << nibble);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Returns the number of entries of a node that had `count` entries when the edit had added `before`.
    fn count(&self, count: u64, before: i64) -> u64 {
        count.wrapping_add_signed(self.added - before)
    }
}
