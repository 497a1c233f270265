//! Loads the states of commits, and the nodes of their tries.
//!
//! Some states of commits after the checkpoint are in memory (CTL-4), and the checkpoint contains some earlier ones. For
//! any other state, the log is replayed from the nearest older state. The replay also computes the states of the other
//! commits in this part of the log, and they are cached.
//!
//! # Layer
//! Layer 4.

use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath, Root};
use crate::error::{Error, Result};
use crate::log::Position;
use crate::trie::{NodeSource, StoredNode, Trie};

use super::checkpoint::FirstWritten;
use super::commits::{ChangeCounts, CommitEntry};
use super::past::{Replay, states_behind};
use super::rows::Rows;
use super::{Below, Store};

/// The number of changes of a fork behind the newest state that stays in memory beside its head. A thousand forks may be
/// open, and a replay of an older state reads only the batches of the fork.
const RECENT_OF_FORK: u64 = 16;
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

impl Store {
    /// Returns the state of a commit.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state cannot be read or computed.
    pub(crate) fn state(&self, entry: &CommitEntry) -> Result<Trie> {
        if let Some(trie) = entry.trie.get() {
            return Ok(trie);
        }
        match self.rows().filter(|below| entry.batch <= below.last_batch()) {
            Some(below) => below.state(entry),
            None => self.outdated_state(entry.seq()),
        }
    }

    /// Computes the state of a commit of this store that is no longer in memory (CTL-4).
    fn outdated_state(&self, seq: u64) -> Result<Trie> {
        if let Some(trie) = self.runs.lock().find(seq) {
            return Ok(trie);
        }
        let (before, upto) = self.catalog.read_recursive().line.around(seq);
        let (trie, from) = match (before, &self.below) {
            (Some((entry, trie)), _) => (trie, self.records.reader().position_behind(entry.place)?),
            (None, Below::Checkpoint(covered)) => {
                let head = covered.covered_head()?;
                (head.unwrap_or_default(), covered.base.position())
            }
            (None, Below::Line(up_to)) => (up_to.base_state()?, Position::START),
            (None, Below::Nothing) => (Trie::new(), Position::START),
        };
        let older = |root: Root, before: u64| {
            let newest = {
                let catalog = self.catalog.read_recursive();
                let (Ok(end) | Err(end)) = catalog.line.position(before);
                catalog.line.newest_with_root(root, end).cloned()
            };
            match (newest, &self.below) {
                (Some(entry), _) => self.state(&entry).map(Some),
                (None, Below::Checkpoint(covered)) => covered.older_state(root, before),
                (None, Below::Line(up_to)) => {
                    let index = up_to.newest(true, root.as_bytes(), up_to.len())?;
                    let older = index.map(|index| up_to.commit(index)).transpose()?;
                    older.map(|older| self.state(&older)).transpose()
                }
                (None, Below::Nothing) => Ok(None),
            }
        };
        let replay = Replay {
            shared: self.shared(),
            nodes: self,
            first_written: &|key| self.first_written(key),
            older: &older,
        };
        let run = states_behind(&replay, trie, &mut |visit| {
            let Some(own) = self.own_batches(from.batch, upto) else {
                return self.main_batches(&from, upto, visit);
            };
            let reader = self.records.reader();
            own.into_iter()
                .try_for_each(|place| visit(reader.batch_from(place)?.0))
        })?;
        self.runs.lock().keep(seq, run)
    }

    /// Returns the state of a checkpoint that differs little from the newest state, for [`Self::covered_children`]. Returns
    /// `None` if the store has no checkpoint.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(crate) fn covered_head(&self) -> Result<Option<Trie>> {
        self.rows().map_or(Ok(None), Rows::covered_head)
    }

    /// Returns the objects that may be children of `parent` in the state of [`Self::covered_head`]. Returns `None` if
    /// the store has no checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the checkpoint cannot be read.
    pub(crate) fn covered_children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>> {
        self.rows()
            .map_or(Ok(None), |below| below.covered_children(parent))
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
        if let Below::Line(up_to) = &self.below {
            up_to.store.flush()?;
        }
        // Readers wait for the lock of the catalog, so the states are freed without it.
        let outdated = self.outdated();
        for entry in &outdated {
            drop(entry.trie.take());
        }
        settle(outdated.iter().map(|entry| entry.changes).sum());
        // Does not hold the lock of the catalog while it compares states, so readers can continue. A rollback may add to
        // `left` meanwhile.
        let _flushing = self.shared.flushing.lock();
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
        catalog.left.drain(..left.len());
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

    /// Returns the commits whose states need not stay in memory any more (CTL-4).
    fn outdated(&self) -> Vec<Arc<CommitEntry>> {
        let recent = match self.own {
            Some(_) => self.sizes.recent_changes.min(RECENT_OF_FORK),
            None => self.sizes.recent_changes,
        };
        self.with_released(|released, references| {
            let mut outdated = self.catalog.write().outdated(&released, recent);
            outdated.retain(|entry| !references.names(&entry.digest));
            outdated
        })
    }

    /// Returns whether the checkpoint of this store contains the node.
    pub(super) fn has_node(&self, stored: &StoredNode) -> bool {
        self.rows().is_some_and(|below| below.has_node(stored))
    }
}

impl NodeSource for Store {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        match self.rows() {
            Some(below) => below.load(stored),
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
