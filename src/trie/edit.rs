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

use super::build;
use super::entry::Entry;
use super::node::{Child, Children};
use super::stored::NodeSource;
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
        let Some(child) = child else {
            return self.entries(level, keys);
        };
        let Some(&old) = child.entry() else {
            return self.branch(child, level, keys);
        };
        if keys.keys == [old.key] {
            let new = (self.change)(keys.first, Some(&old))?;
            self.added -= i64::from(new.is_none());
            return Ok(new.map(|new| child.with_entry(new)));
        }
        // The leaf is edited as the only child of a branch.
        let mut children = Children::default();
        children.put(old.key.nibble(level), Some(child));
        self.children(children, 1, level, keys)
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

    fn branch(&mut self, branch: Child, level: usize, keys: Keys<'_>) -> Result<Option<Child>> {
        let branch = branch.in_memory(level, self.source)?;
        let count = branch.count();
        // INVARIANT TRI-3: takes the children out of an unshared branch, and copies the children of a shared one.
        let children = Children::of(branch).expect("a branch in memory has children");
        self.children(children, count, level, keys)
    }

    /// Edits the entries at `keys` below the children of a branch with `count` entries. Returns the new node.
    fn children(
        &mut self,
        mut children: Children,
        count: u64,
        level: usize,
        keys: Keys<'_>,
    ) -> Result<Option<Child>> {
        let before = self.added;
        // First touches the nodes of all paths, so that the processor loads them at the same time.
        for (digit, _) in keys.by_digit(level) {
            children.child(digit).inspect(|child| child.touch());
        }
        for (digit, group) in keys.by_digit(level) {
            let child = children.take(digit);
            let child = self.node(child, level + 1, group)?;
            children.put(digit, child);
        }
        Ok(children.into_node(count.wrapping_add_signed(self.added - before)))
    }
}
