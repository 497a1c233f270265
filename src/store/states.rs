//! Loads the states of commits, and the nodes of their tries.
//!
//! The newest state is in memory, and so are those of the commits that this handle has applied one by one. The store loads
//! an earlier state from the checkpoint if the checkpoint contains it. Otherwise the store replays the log from the nearest
//! older stored state, or from the start.
//! The replay also computes the states of the other commits in this part of the log, and the store caches them.
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
/// The maximal number of cached commits that the checkpoint covers.
const COMMITS_KEPT: usize = 8_192;

/// The cached commits and states that the checkpoint covers.
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
            return Ok(trie.clone());
        }
        let trie = self.replayed_state(entry.seq())?;
        if trie.root(self.suite, Shape::State, self)? != entry.commit.root {
            let seq = entry.seq();
            return Err(Error::corrupt(format!(
                "the root of the state of commit {seq} differs from the root in the commit"
            )));
        }
        Ok(entry.trie.get_or_init(|| trie).clone())
    }

    /// Returns a state that is not in memory.
    fn replayed_state(&self, seq: u64) -> Result<Trie> {
        let known = |run: &HashMap<u64, Trie>| run.get(&seq).cloned();
        if let Some(trie) = self.loaded.lock().runs.iter().find_map(known) {
            return Ok(trie);
        }
        let (stored, next) = match &self.base {
            Some(base) => base.states_around(seq)?,
            None => (None, None),
        };
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
        let upto = match next {
            Some(next) => next,
            None => self.head()?.batch,
        };
        let older = |root: Root, before: u64| self.older_state(root, before);
        let run = replay::states_behind(self, trie, &from, upto, &older)?;
        let found = run.get(&seq).cloned();
        let mut loaded = self.loaded.lock();
        loaded.runs.push_front(run);
        loaded.runs.truncate(RUNS_KEPT);
        found.ok_or_else(|| Error::corrupt(format!("commit {seq} is missing from the log")))
    }

    /// Returns the state of the newest commit with this root whose seq is below `before`.
    fn older_state(&self, root: Root, before: u64) -> Result<Option<Trie>> {
        let Some(base) = &self.base else {
            return Ok(None);
        };
        let below = base.first_where(|row| row.seq >= before)?;
        let Some(index) = base.newest(true, root.as_bytes(), below)? else {
            return Ok(None);
        };
        let row = base.row(index)?;
        self.replayed_state(row.seq).map(Some)
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

    /// Moves the ids that rollbacks removed from `left` to `unlinked`. The cost is proportional to the number of
    /// changes of these rollbacks.
    pub(crate) fn flush(&self) -> Result<()> {
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
