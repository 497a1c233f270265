//! The newest known state, proven or not, and the earlier versions that replace its lost ones.
//!
//! # Layer
//! L4. Part of salvage/.
//!
//! # Invariants
//! - SVN-1: a replacement is a version that the id had on the line of commits. A version from before a removal or
//!   erasure of the id never replaces one.
//! - SVN-2: a state that salvage composes has no cycle of parents.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::digest::{KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::DamagedLog;
use crate::object::Object;
use crate::trie::{Entry, NoSource, Trie};

use super::index::Index;

/// The newest known state.
pub(super) struct Guess<'a> {
    index: &'a Index,
    state: Trie,
    /// The seq of its commit.
    pub(super) seq: Option<u64>,
    /// The newest whole earlier version of each entry with a lost version.
    earlier: HashMap<KeyPath, Entry>,
}

/// A state without the lost versions.
pub(super) struct Left {
    pub(super) state: Trie,
    /// Ids that left it.
    pub(super) lost: BTreeSet<KeyPath>,
    /// Ids with an earlier version in it.
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

    /// Advances to the next known state (SVN-1).
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

    /// Replaces each lost version by an earlier one, or removes its id. Erased versions are not lost: they stay in a proven
    /// state, and leave any other state.
    pub(super) fn without_lost(&self, damaged: &DamagedLog, is_proven: bool) -> Result<Left> {
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
        // A proven state has no cycle, so any cycle contains a replaced version.
        let starts: Vec<KeyPath> = if is_proven {
            left.older.iter().copied().collect()
        } else {
            let keys = left.state.iter(NoSource).map(|entry| Ok(entry?.key));
            keys.collect::<Result<_>>()?
        };
        self.break_cycles(damaged, &starts, &mut left)?;
        Ok(left)
    }

    /// Removes one object of each cycle of parents that is reached from `starts` (SVN-2): one with an earlier version, and
    /// of several the one written first, because later moves are unknown.
    fn break_cycles(&self, damaged: &DamagedLog, starts: &[KeyPath], left: &mut Left) -> Result<()> {
        // Objects whose chain of parents is known to end.
        let mut ending: HashSet<KeyPath> = HashSet::new();
        for start in starts {
            let (mut way, mut steps) = (Vec::new(), HashMap::new());
            let mut next = Some(*start);
            while let Some(key) = next.filter(|key| !ending.contains(key)) {
                if let Some(first) = steps.insert(key, way.len()) {
                    let cycle = way.get(first..).unwrap_or_default().iter();
                    let stale = cycle.min_by_key(|(key, written)| (!left.older.contains(key), *written));
                    if let Some((key, _)) = stale {
                        left.state.remove(key, &NoSource)?;
                        left.older.remove(key);
                        left.lost.insert(*key);
                    }
                    break;
                }
                let entry = left.state.get(&key, &NoSource)?;
                let place = entry.and_then(|entry| Some((entry, self.index.objects.get(&entry.digest)?)));
                way.push((key, place.map(|(_, place)| place.written)));
                next = match place {
                    Some((entry, place)) => {
                        let body = damaged.read(place.locator)?.body;
                        let object = Object::from_verified(body, ObjectDigest::from_bytes(entry.digest));
                        object.parent().map(|parent| damaged.suite().key_path(parent))
                    }
                    None => None,
                };
            }
            ending.extend(way.into_iter().map(|(key, _)| key));
        }
        Ok(())
    }
}
