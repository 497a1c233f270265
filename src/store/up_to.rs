//! Another line up to the fork of a line, and the stores of lines.
//!
//! # Layer
//! Layer 4.

use std::collections::HashMap;
#[cfg(feature = "remote")]
use std::collections::HashSet;
use std::sync::{Arc, Weak};

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath};
use crate::error::{Error, Result};
use crate::log::{Locator, RecordKind, UNLINKED};
use crate::object::{Commit, HistoryTree, Object, Origin};
use crate::threads::{ArcSwapOption, Mutex, RwLock};
use crate::trie::{NodeSource, StoredNode, Trie};

use super::catalog::Catalog;
use super::changed::ChangedIds;
use super::commits::CommitEntry;
use super::lines::{LineInfo, LineRecord, REMOTE};
use super::records::digest_of;
use super::replay;
use super::rows::Rows;
use super::{Below, Store};

/// The commits of another line, up to one of them.
pub(super) struct UpTo {
    pub(super) store: Arc<Store>,
    /// The last of these commits, and its index.
    pub(super) base: Arc<CommitEntry>,
    last: usize,
}

impl UpTo {
    pub(super) fn base_state(&self) -> Result<Trie> {
        self.store.state(&self.base)
    }

    /// Returns the history tree over the commits up to the base.
    pub(super) fn history(&self) -> Result<HistoryTree> {
        let store = &self.store;
        // The tree itself says where it ends: another thread may publish a commit between two questions.
        let newest = store.history();
        if newest.size() == self.base.seq() + 1 {
            return Ok(newest);
        }
        let mut tree = HistoryTree::new(store.suite);
        for digest in store.digests(0, &self.base)? {
            tree.append(&digest);
        }
        Ok(tree)
    }
}

impl Rows for UpTo {
    fn len(&self) -> usize {
        self.last + 1
    }

    fn last_batch(&self) -> u64 {
        self.base.batch
    }

    fn commit(&self, index: usize) -> Result<Arc<CommitEntry>> {
        let commit = self.store.commit_at(index)?;
        commit.ok_or_else(|| Error::internal("a kept commit is missing"))
    }

    fn digest(&self, index: usize) -> Result<(u64, CommitDigest)> {
        self.store.digest_at(index)
    }

    fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>> {
        // INVARIANT ROW-1: what the other line writes later does not count.
        let end = self.len();
        Ok(match self.store.position(seq)? {
            Ok(index) if index < end => Ok(index),
            Ok(index) | Err(index) => Err(index.min(end)),
        })
    }

    fn newest(&self, by_root: bool, digest: &[u8; DIGEST_LEN], end: usize) -> Result<Option<usize>> {
        self.store.newest_before(by_root, digest, end.min(self.len()))
    }

    fn between(
        &self,
        by_root: bool,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<Vec<([u8; DIGEST_LEN], usize)>> {
        let mut found = Vec::new();
        for (digest, _) in self.store.digests_between(by_root, *low, *high)? {
            let index = self.newest(by_root, &digest, self.len())?;
            found.extend(index.map(|index| (digest, index)));
        }
        Ok(found)
    }

    fn may_be_of_lane(&self, index: usize, number: u64) -> Result<bool> {
        match self.store.rows().filter(|below| index < below.len()) {
            Some(below) => below.may_be_of_lane(index, number),
            None => Ok(true),
        }
    }

    fn state(&self, entry: &CommitEntry) -> Result<Trie> {
        self.store.state(entry)
    }

    fn covered_head(&self) -> Result<Option<Trie>> {
        self.store.covered_head()
    }

    fn covered_children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>> {
        self.store.covered_children(parent)
    }

    fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        // Ignores what the other line wrote after the base, which another process may not have read yet.
        let written = self.store.first_written(key)?;
        Ok(written.filter(|time| *time <= self.base.commit.time.as_micros()))
    }

    fn has_node(&self, stored: &StoredNode) -> bool {
        self.store.has_node(stored)
    }
}

impl NodeSource for UpTo {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        self.store.load(stored)
    }

    fn suite(&self) -> HashSuite {
        self.store.suite
    }
}

/// The lines in use, by their first batch.
#[derive(Default)]
pub(super) struct OpenLines {
    lines: HashMap<u64, Weak<Store>>,
    /// The number of [`OpenHold`]s, and the lines that were opened since there is one.
    holders: usize,
    held: Vec<Arc<Store>>,
}

/// While it lives, lines that are opened stay open. So each is read once.
pub(crate) struct OpenHold(Arc<Store>);

impl OpenHold {
    /// Holds the lines of `store` instead, if a rewrite of the log replaced the store: the old one keeps the old files open,
    /// which may have what was erased.
    #[cfg(feature = "remote")]
    pub(crate) fn follow(&mut self, store: &Arc<Store>) {
        if !store.is_beside(&self.0) {
            *self = store.hold_lines();
        }
    }
}

impl Drop for OpenHold {
    fn drop(&mut self) {
        let mut opened = self.0.opened.lock();
        opened.holders -= 1;
        let held = if opened.holders == 0 {
            std::mem::take(&mut opened.held)
        } else {
            Vec::new()
        };
        drop(opened);
        drop(held);
    }
}

/// The line of a store, if it is not the main one.
pub(super) struct OwnLine {
    pub(super) name: Arc<str>,
    pub(super) first_batch: u64,
    /// The ids that the commits of the line changed. Not known for a line of a remote: few reads name one, and the trie
    /// answers them.
    pub(super) changed: ChangedIds,
}

impl Store {
    /// Returns whether the store has or had a line besides the main one.
    pub(crate) fn has_lines(&self) -> bool {
        self.lines().iter().next().is_some()
    }

    /// Returns the name of the line of this store; `None` if it is the main one.
    pub(crate) fn line_name(&self) -> Option<&str> {
        self.own.as_ref().map(|own| &*own.name)
    }

    /// Returns the most trusted class of what is written through the line, also if it was dropped; `None` for the main line.
    pub(crate) fn cap(&self) -> Option<Origin> {
        let first_batch = self.own.as_ref()?.first_batch;
        self.lines().of_batch(first_batch).map(|line| line.cap)
    }

    /// Returns the commit at which the line begins; `None` for the main line.
    pub(crate) fn base(&self) -> Option<Arc<CommitEntry>> {
        match &self.below {
            Below::Line(up_to) => Some(Arc::clone(&up_to.base)),
            _ => None,
        }
    }

    /// Returns the first batch of the line at which the line begins; `None` if that is the main one.
    pub(super) fn below_line(&self) -> Option<u64> {
        self.line_below()?.own.as_ref().map(|own| own.first_batch)
    }

    /// Returns whether a commit of another line wrote a batch.
    pub(super) fn is_committed_elsewhere(&self, batch: u64) -> Result<bool> {
        if self.lines().iter().any(|line| line.has_batch(batch)) {
            return Ok(true);
        }
        let main = self.lines_below().last().map_or(self, |main| &**main);
        let first = main.first_where(|commit| commit.batch >= batch)?;
        let commit = main.commit_at(first)?;
        Ok(commit.is_some_and(|commit| commit.batch == batch))
    }

    /// Returns whether the line of this store begins in another one, directly or by lines between them.
    pub(crate) fn begins_in(&self, other: &Self) -> bool {
        self.lines_below().any(|line| line.is_same_line(other))
    }

    fn line_below(&self) -> Option<&Arc<Self>> {
        match &self.below {
            Below::Line(up_to) => Some(&up_to.store),
            _ => None,
        }
    }

    /// Returns the line at which this one begins, the one at which that begins, and so on.
    fn lines_below(&self) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(self.line_below(), |line| line.line_below())
    }

    /// Returns the digests of the thinned commits from seq `first` up to the commit before `end`.
    pub(crate) fn thinned_before(&self, first: u64, end: u64) -> Result<Vec<CommitDigest>> {
        let mut found = Vec::new();
        if first == end {
            return Ok(found);
        }
        for gap in self.gaps() {
            if gap.first >= first && gap.first < end {
                found.extend(self.records.gap(gap.place)?);
            }
        }
        Ok(found)
    }

    /// Returns the commits of this line behind its base.
    pub(super) fn own_commits(&self) -> Vec<Arc<CommitEntry>> {
        self.catalog.read_recursive().line.kept.clone()
    }

    /// Returns the store of the main line.
    pub(crate) fn main_line(self: &Arc<Self>) -> Arc<Self> {
        Arc::clone(self.lines_below().last().unwrap_or(self))
    }

    /// Returns the kept commit with this digest, of this line or else of any other, with the store of its line.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`] and [`Self::line`].
    pub(crate) fn commit_of_any(
        self: &Arc<Self>,
        digest: CommitDigest,
    ) -> Result<Option<(Arc<Self>, Arc<CommitEntry>)>> {
        if let Some(own) = self.by_digest(digest)? {
            return Ok(Some((Arc::clone(self), own)));
        }
        let found = self.main_line().up_to(digest, u64::MAX)?;
        Ok(found.map(|found| (found.store, found.base)))
    }

    /// Returns the commit that wrote the version in the record at `place`, of this line or of any other, with the store of
    /// its line. Returns `None` if it was thinned or its line was collected, or if a draft has the record.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`] and [`Self::line`].
    pub(crate) fn commit_behind(
        self: &Arc<Self>,
        place: Locator,
    ) -> Result<Option<(Arc<Self>, Arc<CommitEntry>)>> {
        let batch = self.records.batch_of(place.to_u64())?;
        let main = self.main_line();
        let line = {
            let lines = self.lines();
            let mut all = lines.iter();
            all.find(|line| line.has_batch(batch))
                .map(|line| line.first_batch)
        };
        let store = line.map_or(Ok(main.clone()), |first_batch| main.line_of(first_batch))?;
        let first = store.first_where(|commit| commit.batch >= batch)?;
        let commit = store.commit_at(first)?.filter(|commit| commit.batch == batch);
        let wrote = |commit: &Arc<CommitEntry>| self.is_written_by(commit, place);
        Ok(match commit {
            Some(commit) if wrote(&commit)? => Some((store, commit)),
            _ => None,
        })
    }

    /// Returns whether a commit wrote the version in the record at `place` of its batch. INVARIANT STO-3: a rewrite also moves
    /// versions of thinned commits there.
    fn is_written_by(&self, commit: &CommitEntry, place: Locator) -> Result<bool> {
        let record = self.records.record(place)?;
        if record.flags & UNLINKED == 0 {
            return Ok(true);
        }
        let Some(id) = Object::id_in(&record.body).filter(|_| record.kind == RecordKind::Object) else {
            return Ok(false);
        };
        let stated = self.records.map_record(commit, &self.suite.key_path(id))?;
        Ok(stated.is_some_and(|stated| {
            let is_version = stated
                .digest
                .is_some_and(|digest| *digest.as_bytes() == digest_of(&record, self.suite));
            is_version && stated.updated == commit.commit.time.as_micros()
        }))
    }

    /// Returns the newest commit of a line, or the commit at which it begins, without opening the line.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit cannot be read.
    pub(crate) fn newest_of(self: &Arc<Self>, line: &LineInfo) -> Result<Commit> {
        let missing = || Error::corrupt(format!("the newest commit of the fork {} is missing", line.name));
        let Some((_, place)) = line.batches.last() else {
            let (_, base) = self.commit_of_any(line.base)?.ok_or_else(missing)?;
            return Ok(base.commit.clone());
        };
        let (batch, _) = self.records.reader().batch_from(*place)?;
        let record = LineRecord::of(&batch.records, self.suite)?.and_then(|record| record.commit);
        Ok(record.ok_or_else(missing)?.1)
    }

    /// Returns the newest commit of this line that the line of `other` also has.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn newest_shared(&self, other: &Arc<Self>) -> Result<Option<Arc<CommitEntry>>> {
        // One line begins on the other one, or both begin on a third one. Either way, a base of one is in the other.
        let shared = [self.newest_base_in(other)?, other.newest_base_in(self)?];
        Ok(shared.into_iter().flatten().max_by_key(|shared| shared.seq()))
    }

    /// Returns the first commit that `other` has, of those at which this line and the lines below it begin.
    fn newest_base_in(&self, other: &Self) -> Result<Option<Arc<CommitEntry>>> {
        let mut line = self;
        while let Below::Line(up_to) = &line.below {
            if let Some(base) = other.by_digest(up_to.base.digest)? {
                return Ok(Some(base));
            }
            line = &up_to.store;
        }
        Ok(None)
    }

    /// Returns whether both are the same line, of the same log or of a rewritten one.
    pub(crate) fn is_same_line(&self, other: &Self) -> bool {
        let line = |store: &Self| {
            let lines = store.lines();
            let line = lines.of_batch(store.own.as_ref()?.first_batch)?;
            Some((Arc::clone(&line.name), line.base, line.created))
        };
        line(self) == line(other)
    }

    /// Returns whether both are lines of the same store in memory.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether the line of this store was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        let lines = self.lines();
        let line = self.own.as_ref().and_then(|own| lines.of_batch(own.first_batch));
        line.is_some_and(|line| line.is_dropped)
    }

    /// Returns the batches of this line after a batch, up to another one; none for the main line.
    pub(super) fn own_batches(&self, after: u64, upto: u64) -> Option<Vec<Locator>> {
        let own = self.own.as_ref()?;
        let lines = self.lines();
        let batches = lines
            .of_batch(own.first_batch)
            .map_or(&[][..], |line| &line.batches);
        let within = batches
            .iter()
            .filter(|(batch, _)| (after + 1..=upto).contains(batch));
        Some(within.map(|(_, place)| *place).collect())
    }

    /// Returns the store of the line that has this name. Must be called on the store of the main line.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a batch of the line cannot be read, or violates STO-1.
    pub(crate) fn line(self: &Arc<Self>, name: &str) -> Result<Option<Arc<Self>>> {
        let first_batch = self.lines().named(name).map(|line| line.first_batch);
        first_batch.map(|first| self.line_of(first)).transpose()
    }

    /// Returns the newest commit of each line that was not dropped, or its base, with the store of the line.
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    pub(crate) fn live_heads(self: &Arc<Self>) -> Result<Vec<(Arc<Self>, Arc<CommitEntry>)>> {
        let live: Vec<_> = {
            let lines = self.lines();
            lines.live().map(|line| line.first_batch).collect()
        };
        let heads = live.into_iter().map(|first_batch| {
            let store = self.line_of(first_batch)?;
            let head = store.head()?;
            Ok((store, head))
        });
        heads.collect()
    }

    /// Returns the digests of all commits of all lines, also of those that were thinned.
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    #[cfg(feature = "remote")]
    pub(crate) fn all_commits(self: &Arc<Self>) -> Result<HashSet<CommitDigest>> {
        let mut found: HashSet<_> = self.digests(0, &*self.head()?)?.into_iter().collect();
        let lines: Vec<_> = self.lines().iter().map(|line| line.first_batch).collect();
        for first_batch in lines {
            let line = self.line_of(first_batch)?;
            let (head, base) = (line.head()?, line.base());
            let first = base.map_or(0, |base| base.seq() + 1);
            if head.seq() >= first {
                found.extend(line.digests(first, &head)?);
            }
        }
        Ok(found)
    }

    /// Checks every line that was not dropped, and returns the number of their commits.
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    pub(crate) fn check_lines(self: &Arc<Self>) -> Result<u64> {
        let lines = self.lines();
        let all: Vec<_> = lines
            .iter()
            .map(|line| (line.first_batch, line.commits()))
            .collect();
        drop(lines);
        for (first_batch, _) in &all {
            self.line_of(*first_batch)?;
        }
        Ok(all.into_iter().map(|(_, commits)| commits).sum())
    }

    /// Keeps lines open from now on.
    pub(crate) fn hold_lines(self: &Arc<Self>) -> OpenHold {
        let main = self.main_line();
        main.opened.lock().holders += 1;
        OpenHold(main)
    }

    /// Returns the store of the line that a batch created, if the line is in use.
    pub(super) fn opened_line(&self, first_batch: u64) -> Option<Arc<Self>> {
        self.opened.lock().lines.get(&first_batch).and_then(Weak::upgrade)
    }

    /// Returns the store of the line that a batch created.
    pub(super) fn line_of(self: &Arc<Self>, first_batch: u64) -> Result<Arc<Self>> {
        if let Some(opened) = self.opened_line(first_batch) {
            return Ok(opened);
        }
        let (name, base) = {
            let lines = self.lines();
            let line = lines.of_batch(first_batch);
            let line = line.ok_or_else(|| Error::internal("a line is missing"))?;
            (Arc::clone(&line.name), line.base)
        };
        let below = self.up_to(base, first_batch)?.ok_or_else(|| {
            Error::corrupt(format!(
                "the commit {base}, at which the fork {name} begins, is missing"
            ))
        })?;
        let store = Arc::new(self.empty_line(name, first_batch, below)?);
        // The head of a line without commits is the base, whose state may leave the memory of the other line.
        if let Some(base) = store.base() {
            let state = store.state(&base)?;
            store.head.store(Some(Arc::new(base.with_state(state))));
        }
        let mut done = store.read_own(0)?;
        // The writer may have applied further batches meanwhile.
        let _growing = self.growing.lock();
        if let Some(other) = self.opened_line(first_batch) {
            return Ok(other);
        }
        done = store.read_own(done)?;
        debug_assert!(
            store
                .own_batches(done, u64::MAX)
                .is_some_and(|rest| rest.is_empty())
        );
        let mut opened = self.opened.lock();
        opened.lines.retain(|_, line| line.strong_count() > 0);
        opened.lines.insert(first_batch, Arc::downgrade(&store));
        if opened.holders > 0 {
            opened.held.push(Arc::clone(&store));
        }
        drop(opened);
        Ok(store)
    }

    /// Returns the store of a line without a commit, behind those of another line.
    fn empty_line(&self, name: Arc<str>, first_batch: u64, below: UpTo) -> Result<Self> {
        let mut catalog = Catalog::new(self.suite);
        catalog.history = below.history()?;
        let gaps = below.store.gaps().into_iter();
        catalog
            .line
            .gaps
            .extend(gaps.filter(|gap| gap.first < below.base.seq()));
        let changed = ChangedIds::new();
        if name.starts_with(REMOTE) {
            changed.give_up();
        }
        Ok(Self {
            shared: Arc::clone(&self.shared),
            head: ArcSwapOption::empty(),
            places: ArcSwapOption::empty(),
            below: Below::Line(below),
            own: Some(OwnLine {
                name,
                first_batch,
                changed,
            }),
            opened: Mutex::default(),
            catalog: RwLock::new(catalog),
            runs: Mutex::default(),
            sizes: self.sizes,
        })
    }

    /// Takes in the batches of this line after a batch. Returns the number of the last one.
    fn read_own(&self, mut done: u64) -> Result<u64> {
        for place in self.own_batches(done, u64::MAX).unwrap_or_default() {
            let (batch, _) = self.records.reader().batch_from(place)?;
            let entry = replay::apply_known_records(self, &batch);
            let entry = entry.map_err(|error| error.context(format!("batch {}", batch.number)))?;
            self.head.store(entry);
            done = batch.number;
        }
        Ok(done)
    }

    /// Returns the commits up to `base`, which the main line or a line before the one of `first_batch` contains.
    fn up_to(self: &Arc<Self>, base: CommitDigest, first_batch: u64) -> Result<Option<UpTo>> {
        if let Some(found) = UpTo::of(self, base)? {
            return Ok(Some(found));
        }
        let mut others: Vec<_> = {
            let lines = self.lines();
            let older = lines.iter().rev().filter(|line| line.first_batch < first_batch);
            older.map(|line| (line.head != base, line.first_batch)).collect()
        };
        // Most forks of a fork begin at its newest commit.
        others.sort_by_key(|(is_other, _)| *is_other);
        for (_, other) in others {
            if let Some(found) = UpTo::of(&self.line_of(other)?, base)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl UpTo {
    /// Returns the commits up to `base`, if the store contains it.
    pub(super) fn of(store: &Arc<Store>, base: CommitDigest) -> Result<Option<Self>> {
        let Some(base) = store.by_digest(base)? else {
            return Ok(None);
        };
        let last = store.position(base.seq())?;
        let last = last.map_err(|_| Error::internal("a kept commit has no index"))?;
        Ok(Some(Self {
            store: Arc::clone(store),
            base,
            last,
        }))
    }
}
