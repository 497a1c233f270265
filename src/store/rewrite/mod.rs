//! Rewrites the log batch by batch, and omits erased records and records that are not live.
//!
//! The rewrite preserves the order of batches. The batch of a kept commit usually stays unchanged if the previous
//! commit is kept too. After a gap, the batch contains the changes since the previous kept commit. A record moves to
//! the batch of the first kept commit that needs the record, which may be a later batch.
//!
//! # Layer
//! Layer 4. Handles records and states, but neither segments nor the policy of retention.
//!
//! # Invariants
//! - REW-1: the new log contains the kept commits in the same order, with the same digests, seqs and roots.
//! - REW-2: the new log never contains more batches than the old log, so the old batch numbers are sufficient.
//! - REW-3: the new log contains no byte of an erased record or of a copy of the record.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

#[cfg(feature = "remote")]
mod erased_ids;
mod lines;
mod mark;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, BatchBuilder, Position, Record, RecordKind, UNLINKED};
use crate::object::{Commit, Reference, Time};

use super::Store;
use super::commits::CommitEntry;
use super::lines::LineRecord;
use super::records::digest_of;
use super::rewritten::{Erased, MapEntry, decode_gap, put_gap, put_state, unreadable};
use super::written::{Times, WRITTEN, Written};

#[cfg(feature = "remote")]
pub(crate) use erased_ids::{ErasedIds, ErasedRecords, ErasedSearch, add_erased_id};
pub(crate) use lines::KeptLines;
use lines::Reading;
pub(crate) use mark::Live;
use mark::NO_COMMIT;

/// The digests of the versions, contents and texts to erase, each with the commit that erases it.
pub(crate) type Erasure = HashMap<[u8; DIGEST_LEN], CommitDigest>;

/// If the records that moved to a batch reach this size in bytes, and a batch number is free, they form a separate
/// batch.
const MOVED_BYTES: u64 = 4 << 20;

/// Receives the batches of the new log, each with the head after the batch.
pub(crate) type Sink<'a> = dyn FnMut(BatchBuilder, CommitDigest) -> Result<()> + 'a;

/// The input of a rewrite: the kept commits, the live records and the records to erase.
pub(crate) struct Plan<'a> {
    /// The indexes of the commits to keep, in rising order. These commits include the newest commit.
    pub(crate) kept: &'a [usize],
    /// The live records, which the kept commits, the references and the drafts need.
    pub(crate) live: &'a Live,
    /// The records to erase.
    pub(crate) erasure: &'a Erasure,
    /// The lines that stay.
    pub(crate) lines: &'a KeptLines,
}

impl Store {
    /// Passes the batches of the log up to number `upto` to `visit`, in order.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a batch cannot be read; the errors of `visit`.
    pub(crate) fn read_log(&self, upto: u64, visit: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        let reader = self.records.reader();
        reader.batches(&Position::START, upto, &mut |batch| visit(&batch))
    }

    /// Returns the marker that replaces the record, if the record is to be erased (REW-3).
    pub(crate) fn erasure_marker(&self, record: &Record, erasure: &Erasure) -> Option<Record> {
        erasure_marker(record, erasure, self.suite)
    }

    /// Returns the digest of a record that an erasure can remove: an object, a content or a text.
    pub(crate) fn erasable(&self, record: &Record) -> Option<[u8; DIGEST_LEN]> {
        erasable(record, self.suite)
    }

    /// Rewrites the log up to `upto`, and passes the new batches to `sink`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a kept record cannot be read; the errors of `sink`.
    pub(crate) fn rewrite(
        self: &Arc<Self>,
        plan: &Plan<'_>,
        upto: &Position,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let mut rewriter = Rewriter {
            store: self,
            plan,
            sink,
            next_kept: 0,
            written: 0,
            head: CommitDigest::from_bytes([0; DIGEST_LEN]),
            before: None,
            waiting: BatchBuilder::new(),
            moved: BTreeMap::new(),
            gap: Thinned::default(),
            roots: HashSet::new(),
            reading: Reading::new(),
            writing: Writing::default(),
        };
        self.read_log(upto.batch, &mut |batch| rewriter.take(batch))?;
        rewriter.finish(upto.batch)
    }
}

/// Returns the marker that replaces the record, if the record is to be erased (REW-3).
pub(crate) fn erasure_marker(record: &Record, erasure: &Erasure, suite: HashSuite) -> Option<Record> {
    // Hashes the record only if the rewrite erases records, because most rewrites erase none.
    let digest = (!erasure.is_empty()).then(|| erasable(record, suite))??;
    let by = *erasure.get(&digest)?;
    Some(Record {
        kind: RecordKind::Erased,
        body: Bytes::from(Erased::of(record, digest, by, suite).encode()),
        ..record.clone()
    })
}

/// Returns the digest of a record that an erasure can remove: an object, a content or a text.
pub(crate) fn erasable(record: &Record, suite: HashSuite) -> Option<[u8; DIGEST_LEN]> {
    let kinds = [RecordKind::Object, RecordKind::Content, RecordKind::Text];
    kinds.contains(&record.kind).then(|| digest_of(record, suite))
}

struct Rewriter<'a> {
    store: &'a Arc<Store>,
    plan: &'a Plan<'a>,
    sink: &'a mut Sink<'a>,
    /// The number of kept commits written so far.
    next_kept: usize,
    /// The number of batches written so far.
    written: u64,
    /// The newest commit written so far.
    head: CommitDigest,
    before: Option<Arc<CommitEntry>>,
    /// The records to be written at the start of the next batch, such as references and erasure markers.
    waiting: BatchBuilder,
    /// The records that move to a later batch: to the first one that is written from this number on.
    moved: BTreeMap<u64, Vec<(Record, Time)>>,
    /// The thinned commits since the last written commit.
    gap: Thinned,
    roots: HashSet<Root>,
    reading: Reading,
    writing: Writing,
}

/// When the versions were written that a rewriter moves (WRT-1).
struct Writing {
    /// The times in the batch that is read now, if a record of it moves.
    times: Option<Times>,
    /// The time of the newest commit so far.
    time: Time,
    /// The versions that move to the next batch.
    came: Vec<(Record, Time)>,
    /// The versions that stay in the next batch, and whose time it has now.
    stayed: Vec<(Record, Time)>,
    /// The times in the map of the next batch, by the places of the versions in the old log.
    mapped: HashMap<u64, Time>,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            times: None,
            time: Time::from_micros(0),
            came: Vec::new(),
            stayed: Vec::new(),
            mapped: HashMap::new(),
        }
    }
}

impl Writing {
    /// Returns when the version in a record of a batch was written, and whether the batch says it of this version.
    fn time_of(&mut self, record: &Record, batch: &Batch, suite: HashSuite) -> Result<(Time, bool)> {
        if self.times.is_none() {
            self.times = Some(Times::of(batch)?);
        }
        let Some(times) = &self.times else {
            return Ok((self.time, false));
        };
        let own = if times.has_versions() {
            let digest = digest_of(record, suite);
            times.own_of(&digest).map(|time| (time, times.states(&digest)))
        } else {
            None
        };
        Ok(own.unwrap_or_else(|| (times.of_others(self.time), false)))
    }

    /// Returns the times that the next batch must say.
    fn take(&mut self, suite: HashSuite) -> Written {
        let (came, mapped) = (std::mem::take(&mut self.came), std::mem::take(&mut self.mapped));
        let mut written = Written::default();
        for (record, time) in came.into_iter().chain(std::mem::take(&mut self.stayed)) {
            if mapped.get(&record.locator.to_u64()) != Some(&time) {
                written.add(digest_of(&record, suite), time);
            }
        }
        written
    }
}

/// The thinned commits of a line since its last written commit.
#[derive(Default)]
struct Thinned {
    first: u64,
    digests: Vec<CommitDigest>,
}

impl Thinned {
    fn note(&mut self, seq: u64, digest: CommitDigest) {
        if self.digests.is_empty() {
            self.first = seq;
        }
        self.digests.push(digest);
    }

    fn note_gap(&mut self, record: &Record) -> Result<()> {
        let (first, digests) = decode_gap(&record.body).map_err(|error| unreadable(record, &error))?;
        for (seq, digest) in (first..).zip(digests) {
            self.note(seq, digest);
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Writes the gap before the next commit of the line.
    fn put(&mut self, builder: &mut BatchBuilder) {
        put_gap(builder, self.first, &std::mem::take(&mut self.digests));
    }
}

impl Rewriter<'_> {
    fn take(&mut self, batch: &Batch) -> Result<()> {
        self.writing.times = None;
        if let Some(line) = LineRecord::of(&batch.records, self.store.suite)? {
            return self.take_line(batch, &line);
        }
        let mut records = batch.records.iter();
        let commit = records.find(|record| record.kind == RecordKind::Commit);
        let kept = self.kept_commit(batch)?;
        let fate = match &kept {
            Some((index, entry)) if self.stands_alone(*index, entry, batch)? => Fate::AsItWas,
            Some(_) => Fate::StatedAnew,
            None if commit.is_some() => Fate::Thinned,
            None => Fate::WithoutCommit,
        };
        let mut builder = BatchBuilder::new();
        for record in &batch.records {
            self.sort(batch, record, fate, &mut builder)?;
        }
        if let (Some((_, entry)), Some(record)) = (kept, commit) {
            self.put_moved(batch.number, &mut builder)?;
            self.gap.put(&mut builder);
            if fate == Fate::StatedAnew {
                let before = self.before.clone();
                self.writing.mapped = Self::state(self.store, before.as_ref(), &entry, &mut builder)?;
            }
            self.writing.time = entry.commit.time;
            builder.add(RecordKind::Commit, record.flags, &record.body);
            self.head = entry.digest;
            self.roots.insert(entry.commit.root);
            self.before = Some(entry);
            self.next_kept += 1;
            return self.put(builder);
        }
        if let Some(record) = commit {
            let commit = Commit::decode(&record.body).map_err(|error| unreadable(record, &error))?;
            self.writing.time = commit.time;
            self.gap
                .note(commit.seq, Commit::hash(&record.body, self.store.suite));
        }
        self.waiting = std::mem::take(&mut self.waiting).followed_by(builder);
        // If no commit was thinned since the last written commit, writes the waiting records now, so a reference stays
        // between the same two commits.
        if self.gap.is_empty() {
            return self.put(BatchBuilder::new());
        }
        Ok(())
    }

    /// Returns the commit of the batch, if it is kept.
    fn kept_commit(&self, batch: &Batch) -> Result<Option<(usize, Arc<CommitEntry>)>> {
        let Some(&index) = self.plan.kept.get(self.next_kept) else {
            return Ok(None);
        };
        let entry = self.store.commit_at(index)?;
        let entry = entry.ok_or_else(|| {
            Error::internal("a commit that the rewrite must keep is missing from the index")
        })?;
        Ok((entry.batch == batch.number).then_some((index, entry)))
    }

    /// Returns whether the batch of a kept commit can stay unchanged, because the earlier batches of the new log
    /// contain all data that the batch depends on.
    fn stands_alone(&self, index: usize, entry: &CommitEntry, batch: &Batch) -> Result<bool> {
        let has = |kind| batch.records.iter().any(|record| record.kind == kind);
        if has(RecordKind::Base) {
            return Ok(true);
        }
        let before = self.next_kept.checked_sub(1);
        let before = before.and_then(|before| self.plan.kept.get(before).copied());
        // The record of a linked version may move to another batch of the new log. Then no batch shows when the version
        // became current, so this batch must contain that time.
        let is_back = |before| brings_back(self.store, before, entry);
        if before != index.checked_sub(1)
            || has(RecordKind::Link)
            || self.before.as_ref().map_or(Ok(false), |before| is_back(before))?
        {
            return Ok(false);
        }
        Ok(
            entry.commit.parents.is_empty()
                || changes_state(batch)
                || self.roots.contains(&entry.commit.root),
        )
    }

    /// Adds one record to `builder`, moves it to a later batch, or drops it.
    fn sort(&mut self, batch: &Batch, record: &Record, fate: Fate, builder: &mut BatchBuilder) -> Result<()> {
        match record.kind {
            RecordKind::Object | RecordKind::Content | RecordKind::Text => {
                if let Some(record) = self.without_erased(record) {
                    self.sort_content(record, fate, batch, builder)?;
                }
            }
            RecordKind::Erased => self.sort_content(record.clone(), fate, batch, builder)?,
            RecordKind::Link | RecordKind::Unlink | RecordKind::Base | RecordKind::Delta => {
                if fate == Fate::AsItWas {
                    builder.add(record.kind, record.flags, &record.body);
                }
            }
            RecordKind::Gap => self.gap.note_gap(record)?,
            RecordKind::Reference => {
                let reference =
                    Reference::decode(&record.body).map_err(|error| unreadable(record, &error))?;
                if self.is_current(&reference, batch.number) {
                    builder.add(RecordKind::Reference, 0, &record.body);
                }
            }
            RecordKind::Ignorable(_) if record.kind != WRITTEN => {
                builder.add(record.kind, record.flags, &record.body);
            }
            // The times of the versions that stay are written anew.
            RecordKind::Ignorable(_) | RecordKind::Commit | RecordKind::Line | RecordKind::Seal => {}
        }
        Ok(())
    }

    /// Returns the record if it is live, its erasure marker if it is to be erased (REW-3), or `None` if it is dropped.
    fn without_erased(&self, record: &Record) -> Option<Record> {
        let Plan { live, erasure, .. } = self.plan;
        let marker = self.store.erasure_marker(record, erasure);
        marker.or_else(|| live.first_need(record.locator).map(|_| record.clone()))
    }

    /// Adds a record to its batch, or moves it to the batch of the first kept commit that needs it.
    fn sort_content(
        &mut self,
        record: Record,
        fate: Fate,
        batch: &Batch,
        builder: &mut BatchBuilder,
    ) -> Result<()> {
        let need = self.plan.live.first_need(record.locator).unwrap_or(NO_COMMIT);
        // A record that only a later batch needs moves there.
        let stays = fate != Fate::Thinned && need <= batch.number;
        let is_version = record.kind == RecordKind::Object;
        // A batch without a commit may become one with the commit behind a gap.
        let waits = fate == Fate::WithoutCommit && !self.gap.is_empty();
        let (time, is_stated) = if is_version && (!stays || waits || has_times(batch)) {
            self.writing.time_of(&record, batch, self.store.suite)?
        } else {
            (self.writing.time, false)
        };
        if stays {
            let flags = if fate == Fate::AsItWas {
                record.flags
            } else {
                unlinked(&record)
            };
            builder.add(record.kind, flags, &record.body);
            if is_version && waits {
                self.writing.came.push((record, time));
            } else if is_stated {
                self.writing.stayed.push((record, time));
            }
        } else {
            let moved = self.moved.entry(need.max(batch.number)).or_default();
            moved.push((record, time));
        }
        Ok(())
    }

    /// Returns whether this is the newest reference with its name.
    fn is_current(&self, reference: &Reference, batch: u64) -> bool {
        let references = self.store.references();
        let current = references.get(&reference.name);
        current.is_some_and(|current| current.batch == batch && *current.reference == *reference)
    }

    /// Adds the map of a commit to `builder`. For the first kept commit, adds the whole map. For later kept commits,
    /// adds the changes since the previous kept commit.
    fn state(
        store: &Store,
        before: Option<&Arc<CommitEntry>>,
        entry: &CommitEntry,
        builder: &mut BatchBuilder,
    ) -> Result<HashMap<u64, Time>> {
        let now = store.state(entry)?;
        let before = before.map(|before| store.state(before));
        let (before, time) = (before.transpose()?, entry.commit.time);
        let mut mapped = HashMap::new();
        put_state(builder, before.as_ref(), &now, store, time, |entry| {
            let updated = store.updated(entry)?;
            let updated = updated.map_or(entry.created, Time::as_micros);
            mapped.insert(entry.place, Time::from_micros(updated));
            Ok(MapEntry {
                key: entry.key,
                digest: Some(ObjectDigest::from_bytes(entry.digest)),
                created: entry.created,
                updated,
            })
        })?;
        Ok(mapped)
    }

    /// Writes the records that moved to this batch or to one that was not written. While batch numbers are free (REW-2), writes [`MOVED_BYTES`] at a
    /// time as separate batches. Adds the remaining records to this batch.
    fn put_moved(&mut self, number: u64, builder: &mut BatchBuilder) -> Result<()> {
        let later = self.moved.split_off(&number.saturating_add(1));
        for (record, time) in std::mem::replace(&mut self.moved, later).into_values().flatten() {
            self.waiting.add(record.kind, unlinked(&record), &record.body);
            if record.kind == RecordKind::Object {
                self.writing.came.push((record, time));
            }
            if self.waiting.encoded_bytes() >= MOVED_BYTES && self.written + 1 < number {
                let mapped = std::mem::take(&mut self.writing.mapped);
                let stayed = std::mem::take(&mut self.writing.stayed);
                self.put(BatchBuilder::new())?;
                (self.writing.mapped, self.writing.stayed) = (mapped, stayed);
            }
        }
        let waiting = std::mem::take(&mut self.waiting);
        *builder = waiting.followed_by(std::mem::take(builder));
        Ok(())
    }

    /// Passes a batch, preceded by the waiting records, to `sink`. Does nothing if both are empty.
    fn put(&mut self, batch: BatchBuilder) -> Result<()> {
        let batch = std::mem::take(&mut self.waiting).followed_by(batch);
        if batch.is_empty() {
            return Ok(());
        }
        let mut written = BatchBuilder::new();
        self.writing.take(self.store.suite).add_to(&mut written);
        self.written += 1;
        (self.sink)(written.followed_by(batch), self.head)
    }

    fn finish(mut self, last_batch: u64) -> Result<()> {
        let mut rest = BatchBuilder::new();
        self.put_moved(last_batch, &mut rest)?;
        self.put(rest)?;
        let is_missing = self.next_kept != self.plan.kept.len() || !self.moved.is_empty();
        let mut lines = self.reading.values().flatten();
        if is_missing || !self.gap.is_empty() || lines.any(|line| !line.gap.is_empty()) {
            return Err(Error::internal(
                "a commit that the rewrite must keep is missing from the log",
            ));
        }
        self.put(BatchBuilder::new())
    }
}

/// The way in which a batch of the old log is rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The commit is kept, and its new batch contains the same changes as the old batch.
    AsItWas,
    /// The commit is kept, and its new batch contains the changes as a map.
    StatedAnew,
    /// The commit of the batch is thinned.
    Thinned,
    /// The batch contains no commit.
    WithoutCommit,
}

/// Returns whether a batch has `written` records.
fn has_times(batch: &Batch) -> bool {
    batch.records.iter().any(|record| record.kind == WRITTEN)
}

/// Returns whether a batch contains changes of ids.
fn changes_state(batch: &Batch) -> bool {
    batch.records.iter().any(|record| match record.kind {
        RecordKind::Object | RecordKind::Erased => record.flags & UNLINKED == 0,
        RecordKind::Unlink | RecordKind::Delta => true,
        _ => false,
    })
}

/// Returns whether the commit `entry` after `before` writes an id that was removed earlier. Commits with the id's first
/// write may be thinned, so the batch must contain the time of the first write.
fn brings_back(store: &Store, before: &CommitEntry, entry: &CommitEntry) -> Result<bool> {
    let (before, now) = (store.state(before)?, store.state(entry)?);
    for change in before.diff(&now, store) {
        let change = change?;
        if let (None, Some(new)) = (change.old, change.new)
            && new.created != entry.commit.time.as_micros()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the flags of the record. Sets `UNLINKED` for an object or erasure marker, so it does not change the state.
fn unlinked(record: &Record) -> u8 {
    match record.kind {
        RecordKind::Object | RecordKind::Erased => record.flags | UNLINKED,
        _ => record.flags,
    }
}
