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
//! - STO-3: the writer of a version is the commit of the batch that has the version, unless its map has another time.
//!   No writer is looked up by time, because commits of two lines may have the same time.

mod base;
mod bulk;
mod cached;
mod catalog;
mod changed;
mod checkpoint;
mod checkpointing;
mod commits;
mod covered;
mod decoded;
mod edit;
mod follow;
#[cfg(feature = "remote")]
mod foreign;
mod id_changes;
mod known;
mod lane;
mod left;
mod lines;
mod merged;
#[cfg(feature = "remote")]
mod outgoing;
mod past;
mod places;
mod records;
mod references;
mod remotes;
mod replay;
mod rewrite;
mod rewritten;
mod rows;
mod salvage;
mod shared;
mod sizes;
mod states;
mod up_to;
mod versions;
mod written;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, LogReader};
use crate::object::{HistoryTree, Time};
use crate::threads::{ArcSwapOption, Mutex, RwLock};
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
use covered::Covered;
#[cfg(feature = "remote")]
pub(crate) use foreign::{
    Checked, ForeignCommit, ForeignLine, Supply, changes_in, check_time, gaps_in, line_of, needed_by,
    references_in,
};
pub(crate) use id_changes::{IdChange, IdChanges};
pub(crate) use known::{Known, StagedState, Unlinked};
use lines::LineRecord;
pub(crate) use lines::{LineInfo, REMOTE, reference_of_line};
pub(crate) use merged::Brought;
#[cfg(feature = "remote")]
pub(crate) use outgoing::{Changed, Has};
use past::Runs;
pub(crate) use places::IdHash;
use places::PlaceCache;
#[cfg(feature = "remote")]
pub(crate) use records::capped;
pub(crate) use records::{erased_error, object_of};
pub(crate) use references::{RING, ReferenceEntry, References, kept_commit};
#[cfg(feature = "remote")]
pub(crate) use remotes::may_erase;
#[cfg(feature = "remote")]
pub(crate) use rewrite::{ErasedIds, ErasedRecords, ErasedSearch, add_erased_id, erasable, erasure_marker};
pub(crate) use rewrite::{Erasure, KeptLines, Live, Plan, Sink};
pub use rewritten::MAP_ENTRY_BYTES;
pub(crate) use rewritten::{ERASED_IDS, Erased, ErasedId, markers_in};
#[cfg(feature = "remote")]
pub(crate) use rewritten::{erased_ids_in, names_eraser};
use rows::Rows;
pub use salvage::SalvageReport;
pub(crate) use salvage::salvage;
pub(crate) use shared::Shared;
pub(crate) use sizes::Sizes;
pub(crate) use states::{BothStores, settle};
pub(crate) use up_to::OpenHold;
use up_to::{OpenLines, OwnLine, UpTo};
#[cfg(feature = "remote")]
pub(crate) use written::{Times, Written};

/// One line of the store: its commits and states, which all readers and the one writer of this process share.
pub(crate) struct Store {
    shared: Arc<Shared>,
    /// The commits below those of the other fields.
    below: Below,
    /// The line of this store; `None` for the main line.
    own: Option<OwnLine>,
    /// The stores of the lines in use, by the first batch of the line. Empty for a fork.
    opened: Mutex<OpenLines>,
    catalog: RwLock<Catalog>,
    head: ArcSwapOption<CommitEntry>,
    /// The places of what was read by id. `None` for another line than the main one, which uses the places of that one.
    places: ArcSwapOption<PlaceCache>,
    runs: Mutex<Runs>,
    sizes: Sizes,
}

/// The commits below those that a store has in memory.
enum Below {
    Nothing,
    /// The checkpoint, which covers the log up to a position.
    Checkpoint(Covered),
    /// Another line up to the fork of this one.
    Line(UpTo),
}

impl std::ops::Deref for Store {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Store {
    /// Creates an empty store.
    pub(crate) fn new(suite: HashSuite, reader: LogReader) -> Self {
        Self::with_base(suite, reader, None, Catalog::new(suite))
    }

    /// Keeps what the next checkpoint needs, because the handle writes checkpoints. Must be called on a store without newer
    /// batches.
    pub(crate) fn keep_order(&self) {
        self.records.keep_order(self.covered_batch());
    }

    /// Sets the sizes at which the store divides its work.
    pub(crate) fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    fn with_base(suite: HashSuite, reader: LogReader, base: Option<Arc<Base>>, catalog: Catalog) -> Self {
        let shared = Arc::new(Shared::new(suite, reader, base.clone()));
        let covered = base.map(|base| Covered::new(base, Arc::clone(&shared)));
        Self {
            shared,
            below: covered.map_or(Below::Nothing, Below::Checkpoint),
            own: None,
            opened: Mutex::default(),
            catalog: RwLock::new(catalog),
            head: ArcSwapOption::empty(),
            places: ArcSwapOption::from_pointee(PlaceCache::new()),
            runs: Mutex::default(),
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
        let references = base.references()?;
        let lines = base.ask(|checkpoint| {
            let lines = checkpoint.lines()?.into_iter();
            lines.map(LineInfo::decode).collect::<Result<Vec<_>>>()
        })?;
        let store = Self::with_base(suite, reader, Some(base), catalog);
        store.lines_mut().take_over(lines);
        for (batch, reference) in references {
            // The automatic snapshots of a line go with it, also if another one has its name now.
            let line = reference.line.as_deref();
            let is_live = line.is_none_or(|name| {
                let lines = store.lines();
                lines.named(name).is_some_and(|line| line.first_batch < batch)
            });
            if is_live {
                store.add_covered(batch, reference);
            }
        }
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
        if self.covered_batch() > position.batch {
            return Err(Error::internal("the checkpoint is older than the one in use"));
        }
        let base = Arc::new(Base::new(checkpoint, reread));
        let catalog = self.catalog.read_recursive().after(position.batch);
        let reader = self.records.reader().clone();
        let store = Self::with_base(self.suite, reader, Some(base), catalog).with_sizes(self.sizes);
        store.take_over(self, position.batch);
        store.head.store(self.head.load_full());
        store.places.store(self.places.load_full());
        Ok(store)
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the checkpoint of this store.
    fn covered(&self) -> Option<&Covered> {
        match &self.below {
            Below::Checkpoint(covered) => Some(covered),
            Below::Nothing | Below::Line(_) => None,
        }
    }

    /// Returns the commits below those that this store has in memory.
    fn rows(&self) -> Option<&dyn Rows> {
        match &self.below {
            Below::Nothing => None,
            Below::Checkpoint(covered) => Some(covered),
            Below::Line(up_to) => Some(up_to),
        }
    }

    /// Returns the checkpoint from which this store was opened.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        self.covered().map(|covered| covered.base.file())
    }

    /// Returns the number of the last batch that the checkpoint covers.
    fn covered_batch(&self) -> u64 {
        self.covered().map_or(0, Rows::last_batch)
    }

    /// Returns the number of commits below those in memory.
    fn base_len(&self) -> usize {
        self.rows().map_or(0, Rows::len)
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
        match self.rows() {
            Some(below) if index < below.len() => below.commit(index).map(Some),
            below => {
                let newer = index - below.map_or(0, Rows::len);
                Ok(self.catalog.read_recursive().line.kept.get(newer).cloned())
            }
        }
    }

    /// Returns the seq and the digest of the kept commit at `index`.
    fn digest_at(&self, index: usize) -> Result<(u64, CommitDigest)> {
        match self.rows() {
            Some(below) if index < below.len() => below.digest(index),
            _ => {
                let entry = self.commit_at(index)?;
                let entry = entry.ok_or_else(|| Error::internal("a kept commit is missing"))?;
                Ok((entry.seq(), entry.digest))
            }
        }
    }

    /// Returns the digests of the commits of this line from the seq `from` to `last`, oldest first, thinned ones too.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit or a gap cannot be read, or if a digest is missing (CTL-1).
    pub(crate) fn digests(&self, from: u64, last: &CommitEntry) -> Result<Vec<CommitDigest>> {
        let mut digests = Vec::with_capacity((last.seq() + 1).saturating_sub(from) as usize);
        let mut gaps = self
            .gaps()
            .into_iter()
            .filter(|gap| gap.first + gap.count > from)
            .peekable();
        let (Ok(mut index) | Err(mut index)) = self.position(from)?;
        let mut next = from;
        while next <= last.seq() {
            let (seq, digest) = self.digest_at(index)?;
            while let Some(gap) = gaps.next_if(|gap| gap.first < seq) {
                let skipped = next.saturating_sub(gap.first) as usize;
                digests.extend(self.records.gap(gap.place)?.into_iter().skip(skipped));
            }
            digests.push(digest);
            (index, next) = (index + 1, seq + 1);
            if digests.len() as u64 != next - from {
                return Err(Error::corrupt(format!(
                    "the digest of a commit before seq {seq} is missing"
                )));
            }
        }
        Ok(digests)
    }

    /// Returns the index of commit `seq` among the kept commits. If the commit is thinned, returns the index of the
    /// next kept commit as the inner `Err`.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>> {
        let base_len = self.base_len();
        let newer = self.catalog.read_recursive().line.position(seq);
        match (newer, self.rows()) {
            (Err(0), Some(below)) => below.position(seq),
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
        let index = self.newest_before(by_root, digest, usize::MAX)?;
        index.map_or(Ok(None), |index| self.commit_at(index))
    }

    /// Returns the index of the commit of [`Self::newest`] among those before the index `end`.
    fn newest_before(&self, by_root: bool, digest: &[u8; DIGEST_LEN], end: usize) -> Result<Option<usize>> {
        let base_len = self.base_len();
        let newer = {
            let catalog = self.catalog.read_recursive();
            catalog
                .line
                .newest_before(by_root, digest, end.saturating_sub(base_len))
        };
        match (newer, self.rows()) {
            (Some(index), _) => Ok(Some(base_len + index)),
            (None, Some(below)) => below.newest(by_root, digest, end.min(base_len)),
            (None, None) => Ok(None),
        }
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
        Ok(self.made_current(entry)?.map(|(time, _)| time))
    }

    /// Returns the commit that first wrote the version of an entry, if that commit is kept. A version that a later
    /// commit brought back still belongs to its first writer, and a staged version to the commit that made it current. A
    /// version that a merge brought belongs to its writer on the other line, who is not known once that line was collected.
    ///
    /// # Errors
    /// The errors of [`Self::updated`].
    pub(crate) fn writer_of(self: &Arc<Self>, entry: &Entry) -> Result<Option<Arc<CommitEntry>>> {
        let made = self.made_current(entry)?;
        // INVARIANT STO-3: a rewrite moves a version of a thinned commit to a later one, with the time of its writer.
        let made = made.filter(|(time, commit)| commit.commit.time == *time);
        let Some((_, commit)) = made else {
            return Ok(None);
        };
        if commit.is_merge() {
            return self.maker_behind(&commit, &entry.key, Some(*entry));
        }
        Ok(Some(commit))
    }

    /// Returns the time at which the version of an entry became current, and the commit whose batch says so.
    pub(super) fn made_current(&self, entry: &Entry) -> Result<Option<(Time, Arc<CommitEntry>)>> {
        let batch = self.records.batch_of(entry.place)?;
        let first = self.first_where(|commit| commit.batch >= batch)?;
        let Some(commit) = self.commit_at(first)? else {
            return Ok(None);
        };
        if let Some(updated) = self.stated_in(&commit, entry)? {
            return Ok(Some((updated, commit)));
        }
        if commit.batch == batch {
            return Ok(Some((commit.commit.time, commit)));
        }
        // A draft or another line wrote the record before a commit of this line links it. Most commits that link what
        // another line committed are merges and ways back, and a look at their states is enough.
        let links = |commit: &CommitEntry| commit.is_merge() || commit.commit.target.is_some();
        let mut made = None;
        if self.is_committed_elsewhere(batch)? {
            made = self.first_with(entry, first, links)?;
        }
        if made.is_none() {
            made = self.first_with(entry, first, |_| true)?;
        }
        Ok(made)
    }

    /// Returns the time at which the version of an entry became current, if the map of a commit states it.
    fn stated_in(&self, commit: &CommitEntry, entry: &Entry) -> Result<Option<Time>> {
        let stated = self.records.map_record(commit, &entry.key)?;
        let is_version = |stated: &rewritten::MapEntry| {
            stated
                .digest
                .is_some_and(|digest| *digest.as_bytes() == entry.digest)
        };
        let stated = stated.filter(is_version);
        Ok(stated.map(|stated| Time::from_micros(stated.updated)))
    }

    /// Returns the first commit from an index on that has the version of an entry, and whose parent lacks it, of those
    /// that `may` have made it current, with the time at which it became current. Another line may need a version of a
    /// thinned commit first, so its record may be in an earlier batch than the map that states it.
    fn first_with(
        &self,
        entry: &Entry,
        first: usize,
        may: impl Fn(&CommitEntry) -> bool,
    ) -> Result<Option<(Time, Arc<CommitEntry>)>> {
        let has = |commit: &CommitEntry| -> Result<bool> {
            let found = self.state(commit)?.get(&entry.key, self)?;
            Ok(found.is_some_and(|found| found.digest == entry.digest))
        };
        for index in first..self.kept() {
            let Some(commit) = self.commit_at(index)? else {
                continue;
            };
            if commit.map_record.is_some() {
                if let Some(updated) = self.stated_in(&commit, entry)? {
                    return Ok(Some((updated, commit)));
                }
                continue;
            }
            if !may(&commit) {
                continue;
            }
            if has(&commit)?
                && !self
                    .commit_below(index)?
                    .map_or(Ok(false), |before| has(&before))?
            {
                return Ok(Some((commit.commit.time, commit)));
            }
        }
        Ok(None)
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
        Ok(self.digests_between(by_root, low, high)?.into_values().collect())
    }

    /// Returns the digests of [`Self::commits_between`], each with the index of its commit.
    fn digests_between(
        &self,
        by_root: bool,
        low: [u8; DIGEST_LEN],
        high: [u8; DIGEST_LEN],
    ) -> Result<BTreeMap<[u8; DIGEST_LEN], usize>> {
        let mut newest = BTreeMap::new();
        if let Some(below) = self.rows() {
            newest.extend(below.between(by_root, &low, &high)?);
        }
        let catalog = self.catalog.read_recursive();
        let newer = catalog.line.between(by_root, low, high);
        newest.extend(newer.map(|(digest, index)| (digest, self.base_len() + index)));
        Ok(newest)
    }

    /// Returns the time of the first write of an id that the newest state does not contain.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a checkpoint cannot be read.
    pub(crate) fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        if let Some(created) = self.catalog.read_recursive().unlinked.get(key).copied() {
            return Ok(Some(created));
        }
        self.rows().map_or(Ok(None), |below| below.first_written(key))
    }

    /// Returns whether the newest state or an earlier one contains the id (CTL-3).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or a checkpoint cannot be read.
    pub(crate) fn has_had(&self, key: &KeyPath) -> Result<bool> {
        if self.state(&*self.head()?)?.get(key, self)?.is_some() || self.first_written(key)?.is_some() {
            return Ok(true);
        }
        let (mut store, mut upto) = (self, u64::MAX);
        loop {
            let left = store.catalog.read_recursive().left.clone();
            for (before, _) in left.iter().filter(|(_, after)| after.batch <= upto) {
                if store.state(before)?.get(key, store)?.is_some() {
                    return Ok(true);
                }
            }
            let Below::Line(below) = &store.below else {
                return Ok(false);
            };
            (store, upto) = (&*below.store, upto.min(below.base.batch));
        }
    }

    /// Returns a time before which no kept commit contains the id. Returns `None` if no kept commit contains the id.
    /// `known` is the entry of the id in a state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the checkpoint cannot be read.
    fn earliest(&self, key: &KeyPath, known: Option<&Entry>) -> Result<Option<i64>> {
        if let Some(entry) = known {
            return Ok(Some(entry.created));
        }
        // A rollback that is not flushed yet may have removed the id, so the time of its first write is not known.
        let is_flushed = self.is_flushed();
        let written = self.first_written(key)?;
        Ok(written.or((!is_flushed).then_some(i64::MIN)))
    }

    /// Returns whether the ids that rollbacks removed are known.
    fn is_flushed(&self) -> bool {
        let below = match &self.below {
            Below::Line(up_to) => up_to.store.is_flushed(),
            _ => true,
        };
        below && self.catalog.read_recursive().left.is_empty()
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

    /// Applies one durable batch of any line, and publishes its commit. `known` is what the writer of the batch still has in
    /// memory; `None` if another process wrote it. Must be called on the store of the main line.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded or the commit violates STO-1. After an error, no commit is published.
    pub(crate) fn apply(&self, batch: &Batch, known: Option<Known>) -> Result<Applied> {
        let line = LineRecord::of(&batch.records, self.suite);
        let applied = line.and_then(|line| match line {
            None => self.apply_own(batch, batch.commit, known),
            Some(line) => {
                let _growing = self.growing.lock();
                let grows = self.lines().check(batch, &line)?;
                let opened = grows.and_then(|first_batch| self.opened_line(first_batch));
                let entry = match opened.zip(line.digest()) {
                    Some((store, digest)) => store.apply_own(batch, digest, known)?,
                    None => replay::index(self, batch)?,
                };
                self.note_line(batch, &line)?;
                Ok(entry)
            }
        });
        applied.map_err(|error| error.context(format!("batch {}", batch.number)))
    }

    /// Notes a checked batch of another line.
    fn note_line(&self, batch: &Batch, line: &LineRecord) -> Result<()> {
        self.lines_mut().note(batch, line)?;
        if self.lines().named(line.name()).is_none() {
            self.forget_rings(line.name());
        }
        Ok(())
    }

    /// Applies a batch of this line. `named` is the commit that the batch names.
    fn apply_own(&self, batch: &Batch, named: CommitDigest, known: Option<Known>) -> Result<Applied> {
        let entry = replay::apply(self, batch, named, known)?;
        // STO-2: the log already contains the batch. Sets the head last, after all other data of the commit.
        if let Some(entry) = &entry {
            self.head.store(Some(Arc::clone(entry)));
        }
        Ok(entry)
    }
}

/// The commit of a batch. `None` if the batch has no commit, or if its line is in use by nobody.
type Applied = Option<Arc<CommitEntry>>;
