//! Loads the states of commits, and the nodes of their tries.
//!
//! Some states of commits after the checkpoint are in memory (CTL-4), and the checkpoint contains some earlier ones. For
//! any other state, the store replays the log from the nearest older state that it has. The replay also computes the
//! states of the other commits in this part of the log, and the store caches them.
//!
//! # Layer
//! Layer 4.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath, Root};
use crate::error::{Error, Result};
use crate::log::Position;
use crate::trie::{NodeSource, Shape, StoredNode, Trie};

use super::Store;
use super::base::Base;
use super::checkpoint::FirstWritten;
use super::commits::{ChangeCounts, CommitEntry};
use super::replay;

/// The maximal number of cached runs. A run contains the states that one replay computed.
const RUNS_KEPT: usize = 4;
/// The maximal number of states in the cached runs, besides those of the newest run.
const STATES_KEPT: usize = 1_024;
/// The maximal number of cached commits that the checkpoint covers.
const COMMITS_KEPT: usize = 8_192;

/// A size that no allocator serves from a list of blocks of one size.
const LARGE_BYTES: usize = 32 << 10;
/// The number of changes for each allocation: glibc sorts at most 10,000 blocks in one, and this assumes that a change
/// leaves at most ten.
const CHANGES_SORTED: u64 = 1_000;
/// Fewer changes than this leave too little freed memory to matter.
const CHANGES_MIN: u64 = 256;

/// Lets the allocator tidy up the memory that `changes` changes have freed. The allocator of glibc sorts freed blocks at
/// the next allocations for which it has no block of that size, however small. That would often be the next snapshot or
/// rollback: sorting is most of its cost then.
pub(crate) fn settle(changes: u64) {
    if changes >= CHANGES_MIN {
        for _ in 0..changes.div_ceil(CHANGES_SORTED) {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE_BYTES)));
        }
    }
}

/// The cached commits that the checkpoint covers, and the states that replays computed.
#[derive(Default)]
pub(super) struct Loaded {
    commits: HashMap<usize, Arc<CommitEntry>>,
    /// The states of each replay, by the seq of their commits. The newest replay is first.
    runs: VecDeque<HashMap<u64, Trie>>,
}

impl Store {
    /// Returns a commit that the checkpoint covers, from the cache or from the log.
    pub(super) fn loaded_commit(&self, base: &Base, index: usize) -> Result<Arc<CommitEntry>> {
        if let Some(known) = self.loaded.lock().commits.get(&index) {
            return Ok(Arc::clone(known));
        }
        let entry = Arc::new(self.records.commit(&base.row(index)?)?);
        let mut loaded = self.loaded.lock();
        if loaded.commits.len() >= COMMITS_KEPT {
            loaded.commits.clear();
        }
        Ok(Arc::clone(loaded.commits.entry(index).or_insert(entry)))
    }

    /// Returns the state of a commit.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state cannot be read or computed.
    pub(crate) fn state(&self, entry: &CommitEntry) -> Result<Trie> {
        if let Some(trie) = entry.trie.get() {
            return Ok(trie);
        }
        let base = self.base.as_ref();
        let Some(base) = base.filter(|base| entry.batch <= base.position().batch) else {
            return self.outdated_state(entry.seq());
        };
        let trie = self.covered_state(base, entry.seq())?;
        if trie.root(self.suite, Shape::State, self)? != entry.commit.root {
            let seq = entry.seq();
            return Err(Error::corrupt(format!(
                "the root of the state of commit {seq} differs from the root in the commit"
            )));
        }
        // Another store may share a commit that is not in this cache, and could not load the stored nodes of this store.
        let cached = self.loaded.lock();
        let mut known = cached.commits.values();
        if known.any(|known| std::ptr::eq(Arc::as_ptr(known), entry)) {
            entry.trie.set(&trie);
        }
        Ok(trie)
    }

    /// Computes the state of a commit after the checkpoint that is no longer in memory (CTL-4).
    fn outdated_state(&self, seq: u64) -> Result<Trie> {
        if let Some(trie) = self.computed(seq) {
            return Ok(trie);
        }
        let (before, upto) = self.catalog.read_recursive().line.around(seq);
        let (trie, from) = match (before, &self.base) {
            (Some((entry, trie)), _) => (trie, self.records.reader().position_behind(entry.place)?),
            (None, Some(base)) => (self.covered_head()?.unwrap_or_default(), base.position()),
            (None, None) => (Trie::new(), Position::START),
        };
        let older = |root: Root, before: u64| {
            let newest = {
                let catalog = self.catalog.read_recursive();
                let (Ok(end) | Err(end)) = catalog.line.position(before);
                catalog.line.newest_with_root(root, end).cloned()
            };
            match (newest, &self.base) {
                (Some(entry), _) => self.state(&entry).map(Some),
                (None, Some(base)) => self.older_state(base, root, before),
                (None, None) => Ok(None),
            }
        };
        let run = replay::states_behind(self, (trie, from), upto, &older)?;
        self.keep_run(seq, run)
    }

    /// Returns the state of a commit that a replay computed before.
    fn computed(&self, seq: u64) -> Option<Trie> {
        let known = |run: &HashMap<u64, Trie>| run.get(&seq).cloned();
        self.loaded.lock().runs.iter().find_map(known)
    }

    /// Caches the states of a replay. Returns the state of commit `seq` among them.
    fn keep_run(&self, seq: u64, run: HashMap<u64, Trie>) -> Result<Trie> {
        let found = run.get(&seq).cloned();
        let mut loaded = self.loaded.lock();
        let mut states = 0;
        loaded.runs.retain(|run| {
            states += run.len();
            states <= STATES_KEPT
        });
        loaded.runs.push_front(run);
        loaded.runs.truncate(RUNS_KEPT);
        found.ok_or_else(|| Error::corrupt(format!("commit {seq} is missing from the log")))
    }

    /// Returns the state of a commit that the checkpoint covers.
    fn covered_state(&self, base: &Base, seq: u64) -> Result<Trie> {
        if let Some(trie) = self.computed(seq) {
            return Ok(trie);
        }
        let (stored, upto) = base.state_upto(seq)?;
        let (trie, from) = match stored {
            Some(row) => {
                let trie = Trie::from_stored(row.top(), self)?;
                if row.seq == seq {
                    return Ok(trie);
                }
                (trie, row.position)
            }
            None => (Trie::new(), Position::START),
        };
        let older = |root: Root, before: u64| self.older_state(base, root, before);
        let run = replay::states_behind(self, (trie, from), upto, &older)?;
        self.keep_run(seq, run)
    }

    /// Returns the state of the newest commit with this root whose seq is below `before`.
    fn older_state(&self, base: &Base, root: Root, before: u64) -> Result<Option<Trie>> {
        let below = base.first_where(|row| row.seq >= before)?;
        let Some(index) = base.newest(true, root.as_bytes(), below)? else {
            return Ok(None);
        };
        let row = base.row(index)?;
        self.covered_state(base, row.seq).map(Some)
    }

    /// Returns the state of the newest commit that the checkpoint covers. Returns `None` if the store has no
    /// checkpoint.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(crate) fn covered_head(&self) -> Result<Option<Trie>> {
        let newest = self.base.as_ref().and_then(|base| base.len().checked_sub(1));
        let newest = newest.map_or(Ok(None), |newest| self.commit_at(newest))?;
        newest.map(|newest| self.state(&newest)).transpose()
    }

    /// Returns the objects that may be children of `parent` in the state of [`Self::covered_head`]. Returns `None` if
    /// the store has no checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the checkpoint cannot be read.
    pub(crate) fn covered_children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>> {
        let base = self.base.as_ref();
        base.map(|base| base.ask(|checkpoint| checkpoint.children(parent)))
            .transpose()
    }

    /// Counts the differences between the states of two commits.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(crate) fn count(&self, older: &CommitEntry, newer: &CommitEntry) -> Result<ChangeCounts> {
        let mut counts = ChangeCounts::default();
        for change in self.state(older)?.diff(&self.state(newer)?, self) {
            let change = change?;
            counts.add(change.old.is_some(), change.new.is_some());
        }
        Ok(counts)
    }

    /// Prepares the next change of the state: moves the ids that rollbacks removed from `left` to `unlinked`, and frees the
    /// states that need not stay in memory (CTL-4). The cost is proportional to the number of earlier changes. Snapshots and
    /// rollbacks do not pay it, because only changes of the state call this function.
    pub(crate) fn flush(&self) -> Result<()> {
        // Readers wait for the lock of the catalog, so the states are freed without it.
        let outdated = self.catalog.write().outdated(self.sizes.recent_changes);
        for entry in &outdated {
            drop(entry.trie.take());
        }
        settle(outdated.iter().map(|entry| entry.changes).sum());
        // Does not hold the lock while it compares states, so readers can continue. Only the writer calls this
        // function, so no rollback changes `left` meanwhile.
        let left = self.catalog.read_recursive().left.clone();
        if left.is_empty() {
            return Ok(());
        }
        let gone = self.removed_by(&left)?;
        let mut catalog = self.catalog.write();
        let batch = left
            .iter()
            .map(|(_, after)| after.batch)
            .max()
            .unwrap_or_default();
        for row in gone {
            catalog.note_unlinked(batch, row);
        }
        catalog.left.clear();
        Ok(())
    }

    /// Returns the ids that rollbacks removed, each with the time of its first write.
    pub(super) fn removed_by(
        &self,
        left: &[(Arc<CommitEntry>, Arc<CommitEntry>)],
    ) -> Result<Vec<FirstWritten>> {
        let mut gone = Vec::new();
        for (left, after) in left {
            for change in self.state(left)?.diff(&self.state(after)?, self) {
                let change = change?;
                if let (Some(old), None) = (change.old, change.new) {
                    gone.push(FirstWritten {
                        key: change.key,
                        created: old.created,
                    });
                }
            }
        }
        Ok(gone)
    }

    /// Returns whether the checkpoint of this store contains the node.
    fn has_node(&self, stored: &StoredNode) -> bool {
        self.base.as_ref().is_some_and(|base| base.has_node(stored))
    }
}

impl NodeSource for Store {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        match &self.base {
            Some(base) => base.load(stored),
            None => Err(Error::internal(format!(
                "no checkpoint has the node at place {}",
                stored.place
            ))),
        }
    }

    fn suite(&self) -> HashSuite {
        self.suite
    }
}

/// Loads nodes from two stores, for example from before and after a rewrite of the log.
pub(crate) struct BothStores<'a>(pub(crate) &'a Store, pub(crate) &'a Store);

impl NodeSource for BothStores<'_> {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        if self.0.has_node(stored) {
            self.0.load(stored)
        } else {
            self.1.load(stored)
        }
    }

    fn suite(&self) -> HashSuite {
        self.0.suite
    }
}
