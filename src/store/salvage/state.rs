//! Computes the state after each commit from the intact records, and finds confirmed states.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVS-1: a state is confirmed only if its root equals the root in its commit.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::digest::{HashSuite, Root};
use crate::error::Result;
use crate::object::Commit;
use crate::store::checkpoint::{Checkpoint, StateRow};
use crate::store::decoded::Decoded;
use crate::store::edit::{Edit, Removed};
use crate::trie::{Entry, NoSource, Shape, Trie};

/// The known states, and the data that the computation of the next state needs.
pub(super) struct States<'a> {
    suite: HashSuite,
    /// The states whose root several commits name. Other states are not needed again.
    by_root: HashMap<Root, Trie>,
    repeated: HashSet<Root>,
    /// The first write time of each id that was removed from the state.
    first_written: Removed,
    /// The states in checkpoints, by the seq of their commit.
    stored: BTreeMap<u64, Vec<(&'a Checkpoint, StateRow)>>,
}

impl<'a> States<'a> {
    /// Creates the states of a salvage. `commits` are all commits whose states may be needed.
    pub(super) fn new<'b>(
        suite: HashSuite,
        checkpoints: &'a [Checkpoint],
        commits: impl Iterator<Item = &'b Commit>,
    ) -> Self {
        let mut seen = HashSet::new();
        let repeated = commits.filter_map(|commit| (!seen.insert(commit.root)).then_some(commit.root));
        let repeated = repeated.collect();
        let mut stored: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        let mut first_written = Removed::new();
        for checkpoint in checkpoints {
            for row in checkpoint.states().iter().map_while(Result::ok) {
                stored.entry(row.seq).or_default().push((checkpoint, row));
            }
            for row in checkpoint.first_written_rows().iter().map_while(Result::ok) {
                first_written.entry(row.key).or_insert(row.created);
            }
        }
        Self {
            suite,
            by_root: HashMap::new(),
            repeated,
            first_written,
            stored,
        }
    }

    pub(super) fn root(&self, trie: &Trie) -> Result<Root> {
        trie.root(self.suite, Shape::State, &NoSource)
    }

    pub(super) fn keep(&mut self, root: Root, trie: &Trie) {
        if self.repeated.contains(&root) {
            self.by_root.insert(root, trie.clone());
        }
    }

    /// Applies the changes of a batch to the state `before`. Returns the new state. Does not check the root of the new
    /// state.
    pub(super) fn changed(
        &mut self,
        before: &Trie,
        changes: &Decoded,
        commit: Option<&Commit>,
    ) -> Result<Trie> {
        if !changes.changes_state() {
            let known = commit.and_then(|commit| self.by_root.get(&commit.root));
            let is_first = commit.is_some_and(|commit| commit.seq == 0);
            let unchanged = || if is_first { Trie::new() } else { before.clone() };
            return Ok(known.cloned().unwrap_or_else(unchanged));
        }
        let edit = Edit {
            nodes: &NoSource,
            first_written: &|_| Ok(None),
            place: &|_| Ok(0),
            time: commit.map_or(0, |commit| commit.time.as_micros()),
        };
        changes.edit(before.clone(), &edit, &mut self.first_written)
    }

    /// Returns a state with the commit's root from an older commit or a checkpoint, without using the commit's changes
    /// (SVS-1).
    pub(super) fn known(&self, commit: &Commit) -> Option<Trie> {
        let by_root = self.by_root.get(&commit.root).cloned();
        by_root.or_else(|| self.stored_at(commit.seq, Some(commit.root)))
    }

    /// Returns the newest state in a checkpoint whose commit has a seq from `from` on and below `to`.
    pub(super) fn stored_between(&self, from: u64, to: u64) -> Option<Trie> {
        let mut seqs = self.stored.range(from..to.max(from)).rev().map(|(seq, _)| *seq);
        seqs.find_map(|seq| self.stored_at(seq, None))
    }

    /// Reads the whole state of commit `seq` from a checkpoint. Returns `None` if no checkpoint contains an undamaged
    /// state, or if its root differs from `root`.
    fn stored_at(&self, seq: u64, root: Option<Root>) -> Option<Trie> {
        let rows = self.stored.get(&seq)?;
        rows.iter()
            .filter(|(_, row)| root.is_none_or(|root| root == row.root))
            .find_map(|(checkpoint, row)| {
                let stored = checkpoint.trie(row).ok()?;
                let entries = stored.iter(*checkpoint).collect::<Result<Vec<Entry>>>().ok()?;
                let trie = Trie::from_entries(entries);
                (self.root(&trie).ok()? == row.root).then_some(trie)
            })
    }
}
