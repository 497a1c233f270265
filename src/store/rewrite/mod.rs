//! Writing the log anew: what is kept of it, batch by batch, without what nobody needs any more and without what is erased.
//!
//! The batches of the old log are read in order and come out in order. A kept commit keeps its own batch as it is, if the
//! commit before it is kept too; behind a gap its batch states what changed since the last kept one. Records that a kept
//! state needs and whose own commit is thinned move forward to the next batch that is written.
//!
//! # Layer
//! L4. Knows records and states; does not know segments, and not why something is kept.
//!
//! # Invariants
//! - REW-1: replaying what comes out gives the kept commits with their digests, numbers and roots, in their order.
//! - REW-2: never more batches come out than have gone in, so the new log fits under the numbers of the old one.
//! - REW-3: no byte of an erased record, and no copy of it, comes out.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

mod erasure;
mod mark;

use std::collections::HashSet;
use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::{BODY_BYTES_MAX, Batch, BatchBuilder, Position, RecordKind, UNLINKED};
use crate::object::{Commit, Reference};
use crate::trie::Entry;

use super::Store;
use super::commits::CommitEntry;
use super::records::unreadable;
use super::rewritten::{STATED_BYTES, StatedEntry, encode_gap, gap_digests};

pub(crate) use erasure::{ErasedRecord, Erasure};
pub(crate) use mark::Live;

/// Bytes of moved records from which on they become a batch of their own, if there is a number for it.
const MOVED_BYTES: usize = 4 << 20;

/// Takes the batches of the new log: each with the head after it.
pub(crate) type Sink<'a> = dyn FnMut(BatchBuilder, CommitDigest) -> Result<()> + 'a;

/// What is kept and what is erased.
pub(crate) struct Plan<'a> {
    /// Places in the line of the commits that are kept, rising; the newest is among them.
    pub(crate) kept: &'a [usize],
    /// The records that they, the references and the drafts need.
    pub(crate) live: &'a Live,
    /// What is erased.
    pub(crate) erasure: &'a Erasure,
}

impl Store {
    /// Writes the log up to `upto` anew into `sink`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if something that is kept cannot be read; what `sink` returns.
    pub(crate) fn rewrite(&self, plan: &Plan<'_>, upto: &Position, sink: &mut Sink<'_>) -> Result<()> {
        let mut rewriter = Rewriter {
            store: self,
            plan,
            sink,
            next_kept: 0,
            written: 0,
            head: CommitDigest::from_bytes([0; DIGEST_LEN]),
            before: None,
            moved: BatchBuilder::new(),
            gap: Vec::new(),
            gap_first: 0,
            roots: HashSet::new(),
        };
        let reader = self.records.reader();
        reader.batches(&Position::START, upto.batch, &mut |batch| rewriter.take(&batch))?;
        rewriter.finish()
    }
}

struct Rewriter<'a> {
    store: &'a Store,
    plan: &'a Plan<'a>,
    sink: &'a mut Sink<'a>,
    /// How many of the kept commits are written.
    next_kept: usize,
    /// Batches that came out.
    written: u64,
    /// The newest commit that came out.
    head: CommitDigest,
    before: Option<Arc<CommitEntry>>,
    /// Records of thinned commits that are needed further on.
    moved: BatchBuilder,
    /// Thinned commits since the newest one that came out.
    gap: Vec<CommitDigest>,
    gap_first: u64,
    roots: HashSet<Root>,
}

/// The records of one batch, sorted by what becomes of them.
#[derive(Default)]
struct Sorted {
    builder: BatchBuilder,
    commit: Option<(Commit, CommitDigest, crate::bytes::Bytes)>,
}

impl Rewriter<'_> {
    fn take(&mut self, batch: &Batch) -> Result<()> {
        let kept = self.kept_commit(batch)?;
        // Behind a gap, what the batch changed is said anew.
        let as_it_was = match &kept {
            Some((index, entry)) => self.stands_alone(*index, entry, batch)?,
            None => false,
        };
        let mut sorted = Sorted::default();
        for record in &batch.records {
            self.sort(batch, record, kept.is_some(), as_it_was, &mut sorted)?;
        }
        for record in &batch.ignorable {
            sorted.builder.add_ignorable(record);
        }
        match (kept, sorted.commit) {
            (Some((_, entry)), Some((_, digest, bytes))) => {
                self.add_gap(&mut sorted.builder);
                if !as_it_was {
                    self.state(&entry, &mut sorted.builder)?;
                }
                sorted.builder.add(RecordKind::Commit, 0, &bytes);
                self.head = digest;
                self.roots.insert(entry.commit.root);
                self.before = Some(entry);
                self.next_kept += 1;
                let moved = std::mem::take(&mut self.moved);
                self.put(moved.followed_by(sorted.builder))
            }
            (None, Some((commit, digest, _))) => {
                self.note_thinned(commit.seq, digest);
                self.moved = std::mem::take(&mut self.moved).followed_by(sorted.builder);
                self.flush_moved(batch.number)
            }
            (_, None) => {
                self.moved = std::mem::take(&mut self.moved).followed_by(sorted.builder);
                // What does not wait for a commit keeps its place between the commits.
                if self.gap.is_empty() && !self.moved.is_empty() {
                    let moved = std::mem::take(&mut self.moved);
                    return self.put(moved);
                }
                Ok(())
            }
        }
    }

    /// The commit of the batch, if it is one of those that are kept.
    fn kept_commit(&self, batch: &Batch) -> Result<Option<(usize, Arc<CommitEntry>)>> {
        let Some(&index) = self.plan.kept.get(self.next_kept) else {
            return Ok(None);
        };
        let entry = self.store.commit_at(index)?;
        let entry = entry.ok_or_else(|| Error::internal("a kept commit is not in the line"))?;
        Ok((entry.batch == batch.number).then_some((index, entry)))
    }

    /// Whether the batch of a kept commit says its state as it is: what it builds on comes out before it.
    fn stands_alone(&self, index: usize, entry: &CommitEntry, batch: &Batch) -> Result<bool> {
        let before = self.next_kept.checked_sub(1);
        let before = before.and_then(|before| self.plan.kept.get(before).copied());
        if batch.records.iter().any(|record| record.kind == RecordKind::Base) {
            return Ok(true);
        }
        if before != index.checked_sub(1) {
            return Ok(false);
        }
        let changes = |record: &crate::log::Record| match record.kind {
            RecordKind::Object | RecordKind::Erased => record.flags & UNLINKED == 0,
            RecordKind::Link | RecordKind::Unlink | RecordKind::Delta => true,
            _ => false,
        };
        let is_empty = entry.commit.parents.is_empty();
        Ok(is_empty || batch.records.iter().any(changes) || self.roots.contains(&entry.commit.root))
    }

    /// Puts one record where it belongs: into the batch, forward, or nowhere.
    fn sort(
        &mut self,
        batch: &Batch,
        record: &crate::log::Record,
        is_kept: bool,
        as_it_was: bool,
        sorted: &mut Sorted,
    ) -> Result<()> {
        let flags = if as_it_was {
            record.flags
        } else {
            record.flags | UNLINKED
        };
        let builder = &mut sorted.builder;
        match record.kind {
            RecordKind::Object => match self.plan.erasure.of_object(self.store.suite, &record.body)? {
                // REW-3.
                Some(erased) => builder.add(RecordKind::Erased, flags, &erased.encode()),
                None if self.plan.live.holds(record.locator) => {
                    builder.add(RecordKind::Object, flags, &record.body);
                }
                None => {}
            },
            RecordKind::Content | RecordKind::Text => {
                match self.plan.erasure.of_text(self.store.suite, record) {
                    Some(erased) => builder.add(RecordKind::Erased, UNLINKED, &erased.encode()),
                    None if self.plan.live.holds(record.locator) => {
                        builder.add(record.kind, record.flags, &record.body);
                    }
                    None => {}
                }
            }
            // Small, and the only trace of what was.
            RecordKind::Erased => builder.add(RecordKind::Erased, flags, &record.body),
            RecordKind::Link | RecordKind::Unlink | RecordKind::Base | RecordKind::Delta => {
                if as_it_was {
                    builder.add(record.kind, record.flags, &record.body);
                }
            }
            RecordKind::Gap => {
                let (first, digests) =
                    gap_digests(&record.body).map_err(|error| unreadable(record, &error))?;
                for (seq, digest) in (first..).zip(digests) {
                    self.note_thinned(seq, CommitDigest::from_bytes(*digest));
                }
            }
            RecordKind::Commit => {
                let commit = Commit::decode(&record.body).map_err(|error| unreadable(record, &error))?;
                let digest = Commit::hash(&record.body, self.store.suite);
                sorted.commit = Some((commit, digest, record.body.clone()));
            }
            RecordKind::Reference => {
                let reference =
                    Reference::decode(&record.body).map_err(|error| unreadable(record, &error))?;
                if self.is_current(&reference, batch.number) {
                    builder.add(RecordKind::Reference, 0, &record.body);
                }
            }
            RecordKind::Seal => {}
        }
        debug_assert!(is_kept || !as_it_was);
        Ok(())
    }

    /// Whether this is what its name means today.
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

    fn add_gap(&mut self, builder: &mut BatchBuilder) {
        let mut first = self.gap_first;
        for digests in self.gap.chunks(BODY_BYTES_MAX / DIGEST_LEN - 1) {
            builder.add(RecordKind::Gap, 0, &encode_gap(first, digests));
            first += digests.len() as u64;
        }
        self.gap.clear();
    }

    /// States the map of a commit: all of it for the first that is kept, else what changed since the kept one before.
    fn state(&self, entry: &CommitEntry, builder: &mut BatchBuilder) -> Result<()> {
        let trie = self.store.state(entry)?;
        let mut bytes = Vec::new();
        let kind = match &self.before {
            None => {
                for found in trie.iter(self.store) {
                    self.stated(&found?)?.encode(&mut bytes);
                }
                RecordKind::Base
            }
            Some(before) => {
                for change in self.store.state(before)?.diff(&trie, self.store) {
                    let change = change?;
                    let stated = match (change.new, change.old) {
                        (Some(new), _) => self.stated(&new)?,
                        (None, Some(old)) => StatedEntry {
                            key: change.key,
                            digest: None,
                            created: old.created,
                            updated: entry.commit.time.as_micros(),
                        },
                        (None, None) => return Err(Error::internal("a difference with neither side")),
                    };
                    stated.encode(&mut bytes);
                }
                RecordKind::Delta
            }
        };
        for part in bytes.chunks(BODY_BYTES_MAX / STATED_BYTES * STATED_BYTES) {
            builder.add(kind, 0, part);
        }
        if bytes.is_empty() {
            // Said even so: without it the state would be looked for by its root.
            builder.add(kind, 0, &[]);
        }
        Ok(())
    }

    fn stated(&self, entry: &Entry) -> Result<StatedEntry> {
        let updated = self.store.updated(entry)?;
        Ok(StatedEntry {
            key: entry.key,
            digest: Some(ObjectDigest::from_bytes(entry.digest)),
            created: entry.created,
            updated: updated.map_or(entry.created, crate::object::Time::as_micros),
        })
    }

    /// Writes what was moved as a batch of its own when it is large, if that leaves numbers for what follows (REW-2).
    fn flush_moved(&mut self, number: u64) -> Result<()> {
        if self.moved.encoded_bytes() < MOVED_BYTES as u64 || self.written + 1 >= number {
            return Ok(());
        }
        let moved = std::mem::take(&mut self.moved);
        self.put(moved)
    }

    fn put(&mut self, batch: BatchBuilder) -> Result<()> {
        self.written += 1;
        (self.sink)(batch, self.head)
    }

    fn finish(mut self) -> Result<()> {
        if self.next_kept != self.plan.kept.len() || !self.gap.is_empty() {
            return Err(Error::internal("a kept commit was not found in the log"));
        }
        let moved = std::mem::take(&mut self.moved);
        if moved.is_empty() { Ok(()) } else { self.put(moved) }
    }
}
