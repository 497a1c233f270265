//! The state after each commit: confirmed by a root, or composed from the intact records.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVS-1: a state counts as confirmed only if its root is the root in its commit.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::digest::{HashSuite, KeyPath, Root};
use crate::error::Result;
use crate::object::Commit;
use crate::store::checkpoint::{Checkpoint, StateRow};
use crate::store::replay::{Decoded, with_changes};
use crate::trie::{Entry, NoSource, Shape, Trie};

/// The known states, and the data to compute the next one.
pub(super) struct States<'a> {
    suite: HashSuite,
    /// The states whose root several commits name; only these are asked for again.
    by_root: HashMap<Root, Trie>,
    repeated: HashSet<Root>,
    /// The time of the first write of each id that left the state.
    first_written: HashMap<KeyPath, i64>,
    /// The states in checkpoints, by the seq of their commit.
    stored: BTreeMap<u64, Vec<(&'a Checkpoint, StateRow)>>,
}

impl<'a> States<'a> {
    /// Makes the states of a salvage; `commits` are all commits whose states may be asked for.
    pub(super) fn new<'b>(
        suite: HashSuite,
        checkpoints: &'a [Checkpoint],
        commits: impl Iterator<Item = &'b Commit>,
    ) -> Self {
        let mut seen = HashSet::new();
        let repeated = commits.filter_map(|commit| (!seen.insert(commit.root)).then_some(commit.root));
        let repeated = repeated.collect();
        let mut stored: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        let mut first_written = HashMap::new();
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

    /// Returns the state `before` with the changes of a piece. Does not check its root.
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
        let time = commit.map_or(0, |commit| commit.time.as_micros());
        let created = |key: &KeyPath| Ok(self.first_written.get(key).copied().unwrap_or(time));
        let (trie, unlinked) = with_changes(before, None, changes, &NoSource, &created, &|_| Ok(0))?;
        self.first_written.extend(unlinked);
        Ok(trie)
    }

    /// Returns a state that has the root of the commit, found without the commit's changes (SVS-1).
    pub(super) fn known(&self, commit: &Commit) -> Option<Trie> {
        let by_root = self.by_root.get(&commit.root).cloned();
        by_root.or_else(|| self.stored_at(commit.seq, Some(commit.root)))
    }

    /// Returns the newest stored state of a commit whose seq is between `from` and `to`.
    pub(super) fn stored_between(&self, from: u64, to: u64) -> Option<Trie> {
        let mut seqs = self.stored.range(from..to.max(from)).rev().map(|(seq, _)| *seq);
        seqs.find_map(|seq| self.stored_at(seq, None))
    }

    /// Reads a whole state from a checkpoint. Returns `None` if the state is damaged.
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
