//! Where trie and objects meet the log: batches become commits, states, references and history.
//!
//! There is one way in, [`Store::apply`]: a batch read at open, a batch of another process and a batch that
//! this process has just made durable all take it, so memory cannot say anything that the log does not.
//!
//! # Layer
//! L4. Knows what records mean. Holds no draft, takes no lock file, reads no clock.
//!
//! # Invariants
//! - STO-1: a commit is taken in only if its parent, number, time, history root and root come out as it says.
//! - STO-2: what is published is in the log; nothing in memory is ahead of it.

mod catalog;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "not joined to opening yet")
)]
mod checkpoint;
mod commits;
mod lane;
mod records;
mod references;
mod replay;
mod rewrite;
mod rewritten;
mod states;
mod versions;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};

use crate::digest::{CommitDigest, HashSuite, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, LogReader};
use crate::object::{HistoryTree, Time};
use crate::trie::Entry;

use catalog::Catalog;
pub use commits::ChangeCounts;
pub(crate) use commits::{CommitEntry, Gap, lane_of};
pub(crate) use records::{Records, erased_error};
pub(crate) use references::{RING, ReferenceEntry, References};
pub(crate) use replay::StagedState;
pub(crate) use rewrite::{Erasure, Live, Plan};
pub(crate) use states::BothStores;

/// What is shared by all readers and the one writer of this process.
pub(crate) struct Store {
    pub(crate) suite: HashSuite,
    pub(crate) records: Records,
    catalog: RwLock<Catalog>,
    head: ArcSwapOption<CommitEntry>,
}

impl Store {
    pub(crate) fn new(suite: HashSuite, reader: LogReader) -> Self {
        Self {
            suite,
            records: Records::new(suite, reader),
            catalog: RwLock::new(Catalog::new(suite)),
            head: ArcSwapOption::empty(),
        }
    }

    /// The newest commit.
    ///
    /// # Errors
    /// `Corrupt` if the log holds no commit at all, which no whole store does.
    pub(crate) fn head(&self) -> Result<Arc<CommitEntry>> {
        self.head
            .load_full()
            .ok_or_else(|| Error::corrupt("the log holds no commit"))
    }

    /// The tree over all commits up to the head.
    pub(crate) fn history(&self) -> HistoryTree {
        self.catalog.read_recursive().history.clone()
    }

    /// How many commits are kept.
    pub(crate) fn kept(&self) -> usize {
        self.catalog.read_recursive().line.len()
    }

    /// The kept commit at a place in the line, oldest first.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn commit_at(&self, index: usize) -> Result<Option<Arc<CommitEntry>>> {
        Ok(self.catalog.read_recursive().line.get(index).cloned())
    }

    /// The place in the line of commit `seq`; if it is not kept, that of the next one that is.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>> {
        Ok(self.catalog.read_recursive().line.position(seq))
    }

    /// The kept commit `seq`.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn by_seq(&self, seq: u64) -> Result<Option<Arc<CommitEntry>>> {
        match self.position(seq)? {
            Ok(index) => self.commit_at(index),
            Err(_) => Ok(None),
        }
    }

    /// The kept commit with this digest.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn by_digest(&self, digest: CommitDigest) -> Result<Option<Arc<CommitEntry>>> {
        let index = self.catalog.read_recursive().line.by_digest(digest);
        index.map_or(Ok(None), |index| self.commit_at(index))
    }

    /// The newest kept commit with this root.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn by_root(&self, root: Root) -> Result<Option<Arc<CommitEntry>>> {
        let index = self.catalog.read_recursive().line.by_root(root);
        index.map_or(Ok(None), |index| self.commit_at(index))
    }

    /// The kept commit before `entry`: its parent, or, behind a gap, the last one before the gap.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn before(&self, entry: &CommitEntry) -> Result<Option<Arc<CommitEntry>>> {
        let (Ok(index) | Err(index)) = self.position(entry.seq())?;
        index
            .checked_sub(1)
            .map_or(Ok(None), |index| self.commit_at(index))
    }

    /// The newest kept commit that is not after `time`.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn at_time(&self, time: Time) -> Result<Option<Arc<CommitEntry>>> {
        let after = self.first_where(|entry| entry.commit.time > time)?;
        after
            .checked_sub(1)
            .map_or(Ok(None), |index| self.commit_at(index))
    }

    /// The commit that batch `batch` holds or, if it holds none, that of the next batch that does.
    ///
    /// # Errors
    /// As [`Self::commit_at`].
    pub(crate) fn of_batch(&self, batch: u64) -> Result<Option<Arc<CommitEntry>>> {
        let index = self.first_where(|entry| entry.batch >= batch)?;
        self.commit_at(index)
    }

    /// The place in the line of the first commit for which `holds` does, as it does for all after it.
    fn first_where(&self, holds: impl Fn(&CommitEntry) -> bool) -> Result<usize> {
        let (mut low, mut high) = (0, self.kept());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.commit_at(middle)?.is_none_or(|entry| holds(&entry)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// When the version of an entry was written to its id, if its commit is kept.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn updated(&self, entry: &Entry) -> Result<Option<Time>> {
        let Some(commit) = self.of_batch(self.records.batch_of(entry.place)?)? else {
            return Ok(None);
        };
        let stated = self.records.stated(&commit, &entry.key)?;
        Ok(Some(stated.map_or(commit.commit.time, |stated| {
            Time::from_micros(stated.updated)
        })))
    }

    /// Places in the line of the kept commits whose digest lies between the two.
    pub(crate) fn commits_between(&self, low: CommitDigest, high: CommitDigest) -> Result<Vec<usize>> {
        Ok(self.catalog.read_recursive().line.commits_between(low, high))
    }

    /// For each root between the two, the place in the line of the newest commit that has it.
    pub(crate) fn roots_between(&self, low: Root, high: Root) -> Result<Vec<usize>> {
        Ok(self.catalog.read_recursive().line.roots_between(low, high))
    }

    /// The runs of commits that were thinned, oldest first.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.catalog.read_recursive().line.gaps().to_vec()
    }

    /// The references of this moment; writers wait while they are held.
    pub(crate) fn references(&self) -> MappedRwLockReadGuard<'_, References> {
        RwLockReadGuard::map(self.catalog.read_recursive(), |catalog| &catalog.references)
    }

    /// Takes in one durable batch and publishes its commit, if it has one.
    ///
    /// `staged` is the state that this process computed for the batch before writing it.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded or STO-1 does not hold; nothing is published then.
    pub(crate) fn apply(
        &self,
        batch: &Batch,
        staged: Option<StagedState>,
    ) -> Result<Option<Arc<CommitEntry>>> {
        let entry = replay::apply(self, batch, staged)
            .map_err(|error| error.context(format!("batch {}", batch.number)))?;
        // STO-2: a batch comes from the log, and the head moves last.
        if let Some(entry) = &entry {
            self.head.store(Some(Arc::clone(entry)));
        }
        Ok(entry)
    }
}
