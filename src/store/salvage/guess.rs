//! The newest known state, and the earlier versions that replace its lost versions. The root of this state may be
//! unconfirmed.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVN-1: a version is replaced only by an earlier version of the same id from the same chain of commits. A version
//!   from before a removal or erasure of the id never replaces a later version.
//! - SVN-2: in a state that salvage composes, no object is its own ancestor.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::digest::KeyPath;
use crate::error::Result;
use crate::log::DamagedLog;
use crate::trie::{Entry, NoSource, Trie};

use super::index::Index;

/// The newest known state.
pub(super) struct Guess<'a> {
    index: &'a Index,
    /// The state that was last passed to [`Self::follow`]; empty before the first call.
    pub(super) state: Trie,
    /// The seq of the state's commit.
    pub(super) seq: Option<u64>,
    /// For each id whose version is lost, the newest earlier version that is readable.
    earlier: HashMap<KeyPath, Entry>,
}

/// A state from which lost versions were removed.
pub(super) struct Left {
    pub(super) state: Trie,
    /// The ids that were removed because no version is readable.
    pub(super) lost: BTreeSet<KeyPath>,
    /// The ids whose lost version was replaced by an earlier version.
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

    /// Replaces the state by the next known state. Records the earlier versions of entries whose version is lost
    /// (SVN-1).
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

    /// Returns the state without lost versions. Replaces a lost version by an earlier version, or removes the id if
    /// there is no earlier version. Erased versions are not lost: they stay in a confirmed state, but are replaced or
    /// removed in any other state.
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
        // A confirmed state contains no cycle of parents. So after replacements, every cycle contains a replaced
        // version.
        let starts: Vec<KeyPath> = if is_proven {
            left.older.iter().copied().collect()
        } else {
            let keys = left.state.iter(NoSource).map(|entry| Ok(entry?.key));
            keys.collect::<Result<_>>()?
        };
        self.break_cycles(damaged, &starts, &mut left)?;
        Ok(left)
    }

    /// Breaks each cycle of parents that is reachable from `starts`, by removing one of its objects (SVN-2). Prefers an
    /// object with a replaced version. Among several such objects, removes the object with the oldest version, because
    /// later changes of its parent are lost.
    fn break_cycles(&self, damaged: &DamagedLog, starts: &[KeyPath], left: &mut Left) -> Result<()> {
        // The objects whose chain of parents contains no cycle, or whose cycle is already broken.
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
                let place = entry.and_then(|entry| self.index.objects.get(&entry.digest));
                way.push((key, place.map(|place| place.written)));
                let object = entry.map(|entry| self.index.object(damaged, entry.digest));
                let object = object.transpose()?.flatten();
                next = object.and_then(|object| Some(damaged.suite().key_path(object.parent()?)));
            }
            ending.extend(way.into_iter().map(|(key, _)| key));
        }
        Ok(())
    }
}
