//! The newest state that can be told, proven or not, and what its lost versions are replaced by.
//!
//! # Layer
//! L4. Part of salvage/.
//!
//! # Invariants
//! - SVN-1: only a version that the id had on the line of commits stands in, never one that it had before it was
//!   removed or erased.

use std::collections::{BTreeSet, HashMap};

use crate::digest::KeyPath;
use crate::error::Result;
use crate::trie::{Entry, NoSource, Trie};

use super::index::Index;

/// The newest state that can be told.
pub(super) struct Guess<'a> {
    index: &'a Index,
    state: Trie,
    /// The number of its commit.
    pub(super) seq: Option<u64>,
    /// Where the version in the state is lost: the newest whole one that the state had there before.
    earlier: HashMap<KeyPath, Entry>,
}

/// A state without the versions that are lost.
pub(super) struct Left {
    pub(super) state: Trie,
    /// What left it.
    pub(super) lost: BTreeSet<KeyPath>,
    /// What has an earlier version in it.
    pub(super) older: BTreeSet<KeyPath>,
}

impl<'a> Guess<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self {
            index,
            state: Trie::new(),
            seq: None,
            earlier: HashMap::new(),
        }
    }

    pub(super) fn state(&self) -> &Trie {
        &self.state
    }

    /// Goes on to the state that came next, as far as is known (SVN-1).
    pub(super) fn follow(&mut self, state: Trie) -> Result<()> {
        for change in self.state.diff(&state, &NoSource) {
            let change = change?;
            if !change.new.is_some_and(|new| self.is_lost(&new)) {
                self.earlier.remove(&change.key);
            } else if let Some(old) = change.old.filter(|old| self.is_whole(old)) {
                self.earlier.insert(change.key, old);
            }
        }
        self.state = state;
        Ok(())
    }

    fn is_whole(&self, entry: &Entry) -> bool {
        self.index.objects.contains_key(&entry.digest)
    }

    fn is_lost(&self, entry: &Entry) -> bool {
        !self.is_whole(entry) && self.index.erased_by(&entry.digest).is_none()
    }

    /// The state with an earlier version in the place of each that is lost, and without those that have none. What was
    /// erased is not lost: it stays where the state is proven, and else it leaves, as the erasure made it do.
    pub(super) fn without_lost(&self, is_proven: bool) -> Result<Left> {
        let mut left = Left {
            state: self.state.clone(),
            lost: BTreeSet::new(),
            older: BTreeSet::new(),
        };
        for entry in self.state.iter(NoSource) {
            let entry = entry?;
            let is_lost = self.is_lost(&entry);
            if !is_lost && (is_proven || self.is_whole(&entry)) {
                continue;
            }
            if let Some(earlier) = self.earlier.get(&entry.key) {
                left.state.insert(*earlier, &NoSource)?;
                left.older.insert(entry.key);
                continue;
            }
            left.state.remove(&entry.key, &NoSource)?;
            if is_lost {
                left.lost.insert(entry.key);
            }
        }
        Ok(left)
    }
}
