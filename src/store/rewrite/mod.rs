//! Rewrites the log, batch by batch, without unneeded and erased records.
//!
//! The rewrite keeps the order of batches. The batch of a kept commit stays unchanged if the commit before it is kept
//! too. After a gap, the batch contains the changes since the last kept commit. A record moves to the batch of the
//! first kept commit that needs it, which may come later than before.
//!
//! # Layer
//! Layer 4. Knows records and states; does not know segments or the policy of retention.
//!
//! # Invariants
//! - REW-1: replaying the new log gives the kept commits in the same order, with their digests, seqs and roots.
//! - REW-2: a rewrite never has more batches than the log that it replaces, so the old batch numbers are enough.
//! - REW-3: the rewrite contains no byte of an erased record, nor of a copy of it.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

mod mark;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, BatchBuilder, Position, Record, RecordKind, UNLINKED};
use crate::object::{Commit, Reference};
use bytes::Bytes;

use super::Store;
use super::commits::CommitEntry;

use super::records::{digest_of, object_of};
use super::rewritten::{Erased, MapEntry, decode_gap, put_gap, put_state, unreadable};

pub(crate) use mark::Live;
use mark::NO_COMMIT;

/// The digests of the versions, contents and texts to erase, each with the commit that erases it.
pub(crate) type Erasure = HashMap<[u8; DIGEST_LEN], CommitDigest>;

/// The number of bytes of moved records after which they get a separate batch, if a batch number is free.
const MOVED_BYTES: u64 = 4 << 20;

/// Receives the batches of the new log, each with the head after it.
pub(crate) type Sink<'a> = dyn FnMut(BatchBuilder, CommitDigest) -> Result<()> + 'a;

/// The kept commits and the erased records.
pub(crate) struct Plan<'a> {
    /// The indexes of the kept commits in the line, in rising order. The newest commit is one of them.
    pub(crate) kept: &'a [usize],
    /// The records that the kept commits, the references and the drafts need.
    pub(crate) live: &'a Live,
    /// The erased records.
    pub(crate) erasure: &'a Erasure,
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

    /// Rewrites the log up to `upto`, and passes the new batches to `sink`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a kept record cannot be read; the errors of `sink`.
    pub(crate) fn rewrite(&self, plan: &Plan<'_>, upto: &Position, sink: &mut Sink<'_>) -> Result<()> {
        let mut rewriter = Rewriter {
            store: self,
            plan,
            sink,
            next_kept: 0,
            written: 0,
            head: CommitDigest::from_bytes([0; DIGEST_LEN]),
            before: None,
            waiting: BatchBuilder::new(),
            moved: HashMap::new(),
            gap: Vec::new(),
            gap_first: 0,
            roots: HashSet::new(),
        };
        self.read_log(upto.batch, &mut |batch| rewriter.take(batch))?;
        rewriter.finish()
    }
}

struct Rewriter<'a> {
    store: &'a Store,
    plan: &'a Plan<'a>,
    sink: &'a mut Sink<'a>,
    /// The number of kept commits written so far.
    next_kept: usize,
    /// The number of batches written so far.
    written: u64,
    /// The newest commit written so far.
    head: CommitDigest,
    before: Option<Arc<CommitEntry>>,
    /// References and markers that wait for the next batch.
    waiting: BatchBuilder,
    /// The records that move to a later batch, by the first kept commit that needs them.
    moved: HashMap<usize, Vec<Record>>,
    /// The thinned commits since the newest commit written.
    gap: Vec<CommitDigest>,
    gap_first: u64,
    roots: HashSet<Root>,
}

impl Rewriter<'_> {
    fn take(&mut self, batch: &Batch) -> Result<()> {
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
            put_gap(&mut builder, self.gap_first, &self.gap);
            self.gap.clear();
            if fate == Fate::StatedAnew {
                self.state(&entry, &mut builder)?;
            }
            builder.add(RecordKind::Commit, 0, &record.body);
            self.head = entry.digest;
            self.roots.insert(entry.commit.root);
            self.before = Some(entry);
            self.next_kept += 1;
            return self.put(builder);
        }
        if let Some(record) = commit {
            let commit = Commit::decode(&record.body).map_err(|error| unreadable(record, &error))?;
            self.note_thinned(commit.seq, Commit::hash(&record.body, self.store.suite));
        }
        self.waiting = std::mem::take(&mut self.waiting).followed_by(builder);
        // A reference stays between the same two commits, unless a thinned commit is between them.
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
        let entry =
            entry.ok_or_else(|| Error::internal("a kept commit is missing from the index of commits"))?;
        Ok((entry.batch == batch.number).then_some((index, entry)))
    }

    /// Returns whether the batch of a kept commit can stay unchanged, because all records that it depends on are
    /// written before it.
    fn stands_alone(&self, index: usize, entry: &CommitEntry, batch: &Batch) -> Result<bool> {
        let has = |kind| batch.records.iter().any(|record| record.kind == kind);
        if has(RecordKind::Base) {
            return Ok(true);
        }
        let before = self.next_kept.checked_sub(1);
        let before = before.and_then(|before| self.plan.kept.get(before).copied());
        // A linked version may be in another batch of the new log, so this batch must contain its time.
        if before != index.checked_sub(1) || has(RecordKind::Link) || self.brings_back(entry)? {
            return Ok(false);
        }
        let changes = |record: &Record| match record.kind {
            RecordKind::Object | RecordKind::Erased => record.flags & UNLINKED == 0,
            RecordKind::Unlink | RecordKind::Delta => true,
            _ => false,
        };
        Ok(entry.commit.parents.is_empty()
            || batch.records.iter().any(changes)
            || self.roots.contains(&entry.commit.root))
    }

    /// Returns whether the commit writes a removed id again. The commits that contain the id's first write may be
    /// thinned, so the batch must contain that time.
    fn brings_back(&self, entry: &CommitEntry) -> Result<bool> {
        let Some(before) = &self.before else {
            return Ok(false);
        };
        let (before, now) = (self.store.state(before)?, self.store.state(entry)?);
        for change in before.diff(&now, self.store) {
            let change = change?;
            if let (None, Some(new)) = (change.old, change.new)
                && new.created != entry.commit.time.as_micros()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds one record to the batch, moves it to a later batch, or drops it.
    fn sort(&mut self, batch: &Batch, record: &Record, fate: Fate, builder: &mut BatchBuilder) -> Result<()> {
        match record.kind {
            RecordKind::Object | RecordKind::Content | RecordKind::Text => {
                if let Some(record) = self.without_erased(record) {
                    self.sort_content(record, fate, builder);
                }
            }
            RecordKind::Erased => self.sort_content(record.clone(), fate, builder),
            RecordKind::Link | RecordKind::Unlink | RecordKind::Base | RecordKind::Delta => {
                if fate == Fate::AsItWas {
                    builder.add(record.kind, record.flags, &record.body);
                }
            }
            RecordKind::Gap => {
                let (first, digests) =
                    decode_gap(&record.body).map_err(|error| unreadable(record, &error))?;
                for (seq, digest) in (first..).zip(digests) {
                    self.note_thinned(seq, digest);
                }
            }
            RecordKind::Reference => {
                let reference =
                    Reference::decode(&record.body).map_err(|error| unreadable(record, &error))?;
                if self.is_current(&reference, batch.number) {
                    builder.add(RecordKind::Reference, 0, &record.body);
                }
            }
            RecordKind::Ignorable(_) => builder.add(record.kind, record.flags, &record.body),
            RecordKind::Commit | RecordKind::Seal => {}
        }
        Ok(())
    }

    /// Returns the record if a commit needs it. Returns its marker if it is to be erased (REW-3).
    fn without_erased(&self, record: &Record) -> Option<Record> {
        let Plan { live, erasure, .. } = self.plan;
        let suite = self.store.suite;
        // Most rewrites erase nothing; then no record is hashed.
        let digest = (!erasure.is_empty()).then(|| digest_of(record, suite));
        let Some((digest, by)) = digest.and_then(|digest| Some((digest, *erasure.get(&digest)?))) else {
            return live.first_need(record.locator).map(|_| record.clone());
        };
        let of_object = record.kind == RecordKind::Object;
        let key = of_object.then(|| suite.key_path(object_of(record, suite).id().as_str()));
        Some(Record {
            kind: RecordKind::Erased,
            body: Bytes::from(Erased { key, digest, by }.encode()),
            ..record.clone()
        })
    }

    /// Adds a record to its batch, or keeps it for the batch of the first commit that needs it.
    fn sort_content(&mut self, record: Record, fate: Fate, builder: &mut BatchBuilder) {
        let need = self.plan.live.first_need(record.locator).unwrap_or(NO_COMMIT);
        let waits_for = (need != NO_COMMIT).then_some(need as usize);
        let stays = match fate {
            Fate::AsItWas | Fate::StatedAnew => waits_for.is_none_or(|kept| kept <= self.next_kept),
            // The commit that needs the record may already be written.
            Fate::WithoutCommit => waits_for.is_none_or(|kept| kept < self.next_kept),
            Fate::Thinned => false,
        };
        if stays {
            let flags = if fate == Fate::AsItWas {
                record.flags
            } else {
                unlinked(&record)
            };
            builder.add(record.kind, flags, &record.body);
        } else {
            let with = waits_for.map_or(self.next_kept, |kept| kept.max(self.next_kept));
            self.moved.entry(with).or_default().push(record);
        }
    }

    /// Returns whether this is the newest reference with its name.
    fn is_current(&self, reference: &Reference, batch: u64) -> bool {
        let references = self.store.references();
        let current = references.get(&reference.name);
        current.is_some_and(|current| current.batch == batch && current.reference == *reference)
    }

    fn note_thinned(&mut self, seq: u64, digest: CommitDigest) {
        if self.gap.is_empty() {
            self.gap_first = seq;
        }
        self.gap.push(digest);
    }

    /// Writes the map of a commit: a whole map for the first kept commit, and the changes since the previous kept one
    /// for the others.
    fn state(&self, entry: &CommitEntry, builder: &mut BatchBuilder) -> Result<()> {
        let now = self.store.state(entry)?;
        let before = self.before.as_ref().map(|before| self.store.state(before));
        let (before, time) = (before.transpose()?, entry.commit.time);
        put_state(builder, before.as_ref(), &now, self.store, time, |entry| {
            let updated = self.store.updated(entry)?;
            Ok(MapEntry {
                key: entry.key,
                digest: Some(ObjectDigest::from_bytes(entry.digest)),
                created: entry.created,
                updated: updated.map_or(entry.created, crate::object::Time::as_micros),
            })
        })
    }

    /// Writes the moved records that wait for the commit of this batch. They get separate batches as long as batch
    /// numbers are free (REW-2); otherwise they become part of this one.
    fn put_moved(&mut self, number: u64, builder: &mut BatchBuilder) -> Result<()> {
        for record in self.moved.remove(&self.next_kept).unwrap_or_default() {
            self.waiting.add(record.kind, unlinked(&record), &record.body);
            if self.waiting.encoded_bytes() >= MOVED_BYTES && self.written + 1 < number {
                self.put(BatchBuilder::new())?;
            }
        }
        let waiting = std::mem::take(&mut self.waiting);
        *builder = waiting.followed_by(std::mem::take(builder));
        Ok(())
    }

    /// Passes on a batch with the waiting records before it, unless both are empty.
    fn put(&mut self, batch: BatchBuilder) -> Result<()> {
        let batch = std::mem::take(&mut self.waiting).followed_by(batch);
        if batch.is_empty() {
            return Ok(());
        }
        self.written += 1;
        (self.sink)(batch, self.head)
    }

    fn finish(mut self) -> Result<()> {
        if self.next_kept != self.plan.kept.len() || !self.gap.is_empty() || !self.moved.is_empty() {
            return Err(Error::internal("a kept commit is missing from the log"));
        }
        self.put(BatchBuilder::new())
    }
}

/// How a batch of the old log is rewritten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its commit is kept with the same changes.
    AsItWas,
    /// Its commit is kept, and its changes are written as a new map.
    StatedAnew,
    /// Its commit is thinned.
    Thinned,
    /// It has no commit.
    WithoutCommit,
}

/// Returns the flags of the record, with `UNLINKED` set for an object.
fn unlinked(record: &Record) -> u8 {
    match record.kind {
        RecordKind::Object | RecordKind::Erased => record.flags | UNLINKED,
        _ => record.flags,
    }
}
