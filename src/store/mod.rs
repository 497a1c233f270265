//! The store: converts batches of the log to commits, states, references and history.
//!
//! A batch of another process, or one that this process has just made durable, passes through [`Store::apply`]. [`Bulk`]
//! takes in many batches, at opening and for verification. So the store in memory never contradicts the log.
//!
//! # Layer
//! Layer 4. Interprets the records of the log. Contains no drafts, acquires no lock file and reads no clock.
//!
//! # Invariants
//! - STO-1: the store applies a commit only if its parent, seq, time, history root and root are correct.
//! - STO-2: the log contains all commits that the store publishes. The store in memory never contains a commit that the
//!   log lacks.

mod base;
mod bulk;
mod catalog;
mod checkpoint;
mod checkpointing;
mod commits;
mod edit;
mod follow;
mod id_changes;
mod known;
mod lane;
mod records;
mod references;
mod replay;
mod rewrite;
mod rewritten;
mod salvage;
mod sizes;
mod states;
mod versions;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, LogReader};
use crate::object::{HistoryTree, Time};
use crate::threads::{ArcSwapOption, MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use crate::trie::Entry;

use base::Base;
pub(crate) use base::Reread;
pub(crate) use bulk::{Bulk, GoOn};
use catalog::Catalog;
pub(crate) use checkpoint::Checkpoint;
pub use checkpoint::CheckpointInfo;
pub(crate) use checkpoint::{
    LogId, check as check_checkpoints, infos as checkpoint_infos, open_newest,
    positions as checkpoint_positions, reaches_outside, remove_all as remove_checkpoints,
    remove_outdated as remove_outdated_checkpoints, starts_outside,
};
pub(crate) use checkpointing::{Cut, Work};
pub use commits::ChangeCounts;
pub(crate) use commits::{CommitEntry, Gap};
pub(crate) use id_changes::{IdChange, IdChanges};
pub(crate) use known::{Known, StagedState, Unlinked};
pub(crate) use records::{Records, erased_error, object_of};
pub(crate) use references::{RING, ReferenceEntry, References};
pub(crate) use rewrite::{Erasure, Live, Plan, Sink};
pub(crate) use rewritten::Erased;
pub use rewritten::MAP_ENTRY_BYTES;
pub use salvage::SalvageReport;
pub(crate) use salvage::salvage;
pub(crate) use sizes::Sizes;
use states::Loaded;
pub(crate) use states::{BothStores, settle};

/// The state that all readers and the one writer of this process share.
pub(crate) struct Store {
    pub(crate) suite: HashSuite,
    pub(crate) records: Records,
    /// The checkpoint, which covers the log up to a position. The other fields contain the commits and records after
    /// the position.
    base: Option<Arc<Base>>,
    catalog: RwLock<Catalog>,
    head: ArcSwapOption<CommitEntry>,
    loaded: Mutex<Loaded>,
    sizes: Sizes,
}

impl Store {
    /// Creates an empty store.
    pub(crate) fn new(suite: HashSuite, reader: LogReader) -> Self {
        Self::with_base(suite, reader, None, Catalog::new(suite))
    }

    /// Keeps what the next checkpoint needs, because the handle writes checkpoints. Must be called on a store without newer
    /// batches.
    pub(crate) fn keep_order(&self) {
        let from = self.base.as_ref().map_or(0, |base| base.position().batch);
        self.records.keep_order(from);
    }

    /// Sets the sizes at which the store divides its work.
    pub(crate) fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    fn with_base(suite: HashSuite, reader: LogReader, base: Option<Arc<Base>>, catalog: Catalog) -> Self {
        Self {
            suite,
            records: Records::new(suite, reader, base.clone()),
            base,
            catalog: RwLock::new(catalog),
            head: ArcSwapOption::empty(),
            loaded: Mutex::default(),
            sizes: Sizes::default(),
        }
    }

    /// Creates a store from a checkpoint. If the checkpoint is damaged, the store calls `reread` to read the log
    /// instead.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the newest commit or a reference cannot be read.
    pub(crate) fn with_checkpoint(
        suite: HashSuite,
        reader: LogReader,
        checkpoint: Checkpoint,
        reread: Reread,
    ) -> Result<Self> {
        let base = Arc::new(Base::new(checkpoint, reread));
        let mut catalog = Catalog::new(suite);
        catalog.history = base.ask(Checkpoint::history)?;
        for gap in base.ask(|checkpoint| checkpoint.gaps().iter().collect::<Result<Vec<_>>>())? {
            catalog.line.gaps.push(gap);
        }
        for (batch, reference) in base.references()? {
            catalog.references.push(Arc::new(reference), batch);
        }
        let store = Self::with_base(suite, reader, Some(base), catalog);
        let head = store.commit_below(store.kept())?;
        if let Some(head) = &head {
            store.state(head)?;
        }
        store.head.store(head);
        Ok(store)
    }

    /// Makes this store from a newer checkpoint: the same store, which keeps in memory only what the checkpoint lacks, and
    /// the newest state. The caller must not apply a batch meanwhile.
    ///
    /// # Errors
    /// `Internal` if the checkpoint is older than the one of this store.
    pub(crate) fn on_checkpoint(&self, checkpoint: Checkpoint, reread: Reread) -> Result<Self> {
        let position = checkpoint.position();
        if self
            .base
            .as_ref()
            .is_some_and(|base| base.position().batch > position.batch)
        {
            return Err(Error::internal("the checkpoint is older than the one in use"));
        }
        let base = Arc::new(Base::new(checkpoint, reread));
        let catalog = self.catalog.read_recursive().after(position.batch);
        let reader = self.records.reader().clone();
        let store = Self::with_base(self.suite, reader, Some(base), catalog).with_sizes(self.sizes);
        store.records.take_over(&self.records, position.batch);
        store.head.store(self.head.load_full());
        Ok(store)
    }

    /// Returns the checkpoint from which this store was opened.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        self.base.as_ref().map(|base| base.file())
    }

    /// Returns the number of commits in the checkpoint.
    fn base_len(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.len())
    }

    /// Returns the newest commit.
    ///
    /// # Errors
    /// `Corrupt` if the log contains no commit, because every undamaged store contains one.
    pub(crate) fn head(&self) -> Result<Arc<CommitEntry>> {
        self.head
            .load_full()
            .ok_or_else(|| Error::corrupt("the log contains no commit"))
    }

    /// Returns the history tree over all commits up to the head.
    pub(crate) fn history(&self) -> HistoryTree {
        self.catalog.read_recursive().history.clone()
    }

    /// Returns the number of kept commits.
    pub(crate) fn kept(&self) -> usize {
        self.base_len() + self.catalog.read_recursive().line.kept.len()
    }

    /// Returns an index from which on all kept commits are of `lane`. Commits below it may be of any lane.
    pub(crate) fn others_below(&self, lane: &str) -> usize {
        self.base_len() + self.catalog.read_recursive().line.others_below(lane)
    }

    /// Returns the kept commit at `index`. Index 0 is the oldest kept commit.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn commit_at(&self, index: usize) -> Result<Option<Arc<CommitEntry>>> {
        match &self.base {
            Some(base) if index < base.len() => self.loaded_commit(base, index).map(Some),
            _ => {
                let newer = index - self.base_len();
                Ok(self.catalog.read_recursive().line.kept.get(newer).cloned())
            }
        }
    }

    /// Returns the index of commit `seq` among the kept commits. If the commit is thinned, returns the index of the
    /// next kept commit as the inner `Err`.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>> {
        let base_len = self.base_len();
        let newer = self.catalog.read_recursive().line.position(seq);
        match (newer, &self.base) {
            (Err(0), Some(base)) => {
                let index = base.first_where(|row| row.seq >= seq)?;
                let found = index < base_len && base.row(index)?.seq == seq;
                Ok(if found { Ok(index) } else { Err(index) })
            }
            (Ok(index), _) => Ok(Ok(base_len + index)),
            (Err(index), _) => Ok(Err(base_len + index)),
        }
    }

    /// Returns the commit `seq`, if it is kept.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn by_seq(&self, seq: u64) -> Result<Option<Arc<CommitEntry>>> {
        match self.position(seq)? {
            Ok(index) => self.commit_at(index),
            Err(_) => Ok(None),
        }
    }

    /// Returns the kept commit with this digest.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn by_digest(&self, digest: CommitDigest) -> Result<Option<Arc<CommitEntry>>> {
        self.newest(false, digest.as_bytes())
    }

    /// Returns the newest kept commit with this root.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn by_root(&self, root: Root) -> Result<Option<Arc<CommitEntry>>> {
        self.newest(true, root.as_bytes())
    }

    /// Returns the newest kept commit whose root is `digest` if `by_root` is true, or else whose own digest is
    /// `digest`.
    fn newest(&self, by_root: bool, digest: &[u8; DIGEST_LEN]) -> Result<Option<Arc<CommitEntry>>> {
        let newer = self.catalog.read_recursive().line.find(by_root, digest);
        let index = match (newer, &self.base) {
            (Some(index), _) => Some(self.base_len() + index),
            (None, Some(base)) => base.newest(by_root, digest, base.len())?,
            (None, None) => None,
        };
        index.map_or(Ok(None), |index| self.commit_at(index))
    }

    /// Returns the last kept commit before `entry`: its parent or, after a gap, the last commit before the gap.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn before(&self, entry: &CommitEntry) -> Result<Option<Arc<CommitEntry>>> {
        let (Ok(index) | Err(index)) = self.position(entry.seq())?;
        self.commit_below(index)
    }

    /// Returns the newest kept commit whose time is `time` or earlier.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn at_time(&self, time: Time) -> Result<Option<Arc<CommitEntry>>> {
        self.commit_below(self.first_where(|entry| entry.commit.time > time)?)
    }

    /// Returns the index of the first kept commit for which `holds` is true. Uses binary search: if `holds` is true for
    /// a commit, it must be true for all later commits.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn first_where(&self, holds: impl Fn(&CommitEntry) -> bool) -> Result<usize> {
        let before = |index| {
            let entry = self.commit_at(index as usize)?;
            Ok(entry.is_some_and(|entry| !holds(&entry)))
        };
        Ok(checkpoint::bisect(0..self.kept() as u64, before)? as usize)
    }

    /// Returns the kept commit at `index - 1`. Returns `None` if `index` is 0.
    fn commit_below(&self, index: usize) -> Result<Option<Arc<CommitEntry>>> {
        index
            .checked_sub(1)
            .map_or(Ok(None), |index| self.commit_at(index))
    }

    /// Returns the time at which the version of an entry became current. Returns `None` if no kept commit contains this
    /// time.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn updated(&self, entry: &Entry) -> Result<Option<Time>> {
        let batch = self.records.batch_of(entry.place)?;
        let first = self.first_where(|commit| commit.batch >= batch)?;
        let Some(commit) = self.commit_at(first)? else {
            return Ok(None);
        };
        if let Some(map_record) = self.records.map_record(&commit, &entry.key)? {
            return Ok(Some(Time::from_micros(map_record.updated)));
        }
        if commit.batch == batch {
            return Ok(Some(commit.commit.time));
        }
        self.first_with(first, entry)
    }

    /// Returns the time of the first commit whose state has the version of an entry, at or after the commit with the
    /// index `first`. The record of a staged change is older than the commit that makes the change.
    fn first_with(&self, first: usize, entry: &Entry) -> Result<Option<Time>> {
        for index in first..self.kept() {
            let Some(commit) = self.commit_at(index)? else {
                break;
            };
            let found = self.state(&commit)?.get(&entry.key, self)?;
            if found.is_some_and(|found| found.digest == entry.digest) {
                return Ok(Some(commit.commit.time));
            }
        }
        Ok(None)
    }

    /// Returns the commit that first wrote the version of an entry, if that commit is kept. A version that a later
    /// commit brought back still belongs to its first writer, and a staged version to the commit that made it current.
    ///
    /// # Errors
    /// The errors of [`Self::updated`].
    pub(crate) fn writer_of(&self, entry: &Entry) -> Result<Option<Arc<CommitEntry>>> {
        let Some(time) = self.updated(entry)? else {
            return Ok(None);
        };
        // STO-1: no two commits have the same time.
        Ok(self.at_time(time)?.filter(|commit| commit.commit.time == time))
    }

    /// Returns the indexes of the kept commits whose digest is between `low` and `high`, in the order of the digests.
    /// If `by_root` is true, compares roots instead, and returns the newest commit of each root.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn commits_between(
        &self,
        by_root: bool,
        low: [u8; DIGEST_LEN],
        high: [u8; DIGEST_LEN],
    ) -> Result<Vec<usize>> {
        let mut newest = BTreeMap::new();
        if let Some(base) = &self.base {
            newest.extend(base.rows_between(by_root, &low, &high)?);
        }
        let catalog = self.catalog.read_recursive();
        let newer = catalog.line.between(by_root, low, high);
        newest.extend(newer.map(|(digest, index)| (digest, self.base_len() + index)));
        Ok(newest.into_values().collect())
    }

    /// Returns the time of the first write of an id that the newest state does not contain.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a checkpoint cannot be read.
    pub(crate) fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        if let Some(created) = self.catalog.read_recursive().unlinked.get(key).copied() {
            return Ok(Some(created));
        }
        self.base.as_ref().map_or(Ok(None), |base| {
            base.ask(|checkpoint| checkpoint.first_written(key))
        })
    }

    /// Returns whether the newest state or an earlier one contains the id (CTL-3).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or a checkpoint cannot be read.
    pub(crate) fn has_had(&self, key: &KeyPath) -> Result<bool> {
        if self.state(&*self.head()?)?.get(key, self)?.is_some() || self.first_written(key)?.is_some() {
            return Ok(true);
        }
        let left = self.catalog.read_recursive().left.clone();
        for (before, _) in left {
            if self.state(&before)?.get(key, self)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a time before which no kept commit contains the id. Returns `None` if no kept commit contains the id.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or the checkpoint cannot be read.
    fn earliest(&self, key: &KeyPath) -> Result<Option<i64>> {
        if let Some(entry) = self.state(&*self.head()?)?.get(key, self)? {
            return Ok(Some(entry.created));
        }
        // A rollback that is not flushed yet may have removed the id, so the time of its first write is not known.
        let is_flushed = self.catalog.read_recursive().left.is_empty();
        let written = self.first_written(key)?;
        Ok(written.or((!is_flushed).then_some(i64::MIN)))
    }

    /// Returns the runs of thinned commits, oldest first.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.catalog.read_recursive().line.gaps.clone()
    }

    /// Returns the number of thinned commits whose seq is in `numbers`.
    pub(crate) fn thinned_in(&self, numbers: &Range<u64>) -> u64 {
        let catalog = self.catalog.read_recursive();
        let gaps = &catalog.line.gaps;
        let first = gaps.partition_point(|gap| gap.first + gap.count <= numbers.start);
        let within = gaps.iter().skip(first).map(|gap| {
            let end = (gap.first + gap.count).min(numbers.end);
            end.saturating_sub(gap.first.max(numbers.start))
        });
        within.take_while(|count| *count > 0).sum()
    }

    /// Returns the current references. Writers wait until the caller drops the result.
    pub(crate) fn references(&self) -> MappedRwLockReadGuard<'_, References> {
        RwLockReadGuard::map(self.catalog.read_recursive(), |catalog| &catalog.references)
    }

    /// Applies one durable batch. If the batch contains a commit, publishes the commit. `known` is what the writer of the
    /// batch still has in memory; `None` if another process wrote it.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded or the commit violates STO-1. After an error, no commit is published.
    pub(crate) fn apply(&self, batch: &Batch, known: Option<Known>) -> Result<Option<Arc<CommitEntry>>> {
        let entry = replay::apply(self, batch, known);
        let entry = entry.map_err(|error| error.context(format!("batch {}", batch.number)))?;
        // STO-2: the log already contains the batch. Sets the head last, after all other data of the commit.
        if let Some(entry) = &entry {
            self.head.store(Some(Arc::clone(entry)));
        }
        Ok(entry)
    }
}
