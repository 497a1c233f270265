//! Collects the garbage of a remote.
//!
//! A collection thins no commit of the main line: the remote is the history that all machines share, and each of them thins
//! its own copy. It drops the side lines of machines that were merged and have been idle, writes small segments as large
//! ones, and deletes the files that nobody lists.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - RGC-1: the newest segment behind a collection has a number above those of all files that the list had. So no number of
//!   a deleted file is used again.
//! - RGC-2: a version of a dropped line stays if a batch that is kept links it, or if a version that stays is derived from it.
//!   So an open conflict keeps both sides.
//! - RGC-3: a collection whose swap failed copies what was pushed meanwhile. It begins anew if somebody may have deleted its
//!   segments, or if what was pushed needs what it left out.
//! - RGC-4: a side line with a commit that erased something stays, so a machine that was away learns of the erasure.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Collected;
use super::place::{Outcome, Place, highest_number};
use super::remote::Remote;
use super::rewrite::SegmentWriter;
use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::engine::Memory;
use crate::error::{Error, ErrorCode, Result};
use crate::log::closed::{CLOSED_SEGMENT_BYTES, ClosedLog};
use crate::log::{Batch, BatchBuilder, Record, RecordKind, UNLINKED};
use crate::object::{Object, Time};
use crate::store::{
    Erasure, ForeignCommit, Times, Written, changes_in, erasable, erasure_marker, line_of, names_eraser,
    references_in,
};

/// A side line is idle this long after its newest commit.
const IDLE_MICROS: i64 = 30 * 24 * 3_600_000_000;
/// How often a collection begins or goes on while others push.
const TRIES: u32 = 8;

type Digest = [u8; DIGEST_LEN];

impl Remote {
    /// Collects the garbage of the remote. Others may push and pull meanwhile. History stays: only what nobody needs goes.
    ///
    /// # Errors
    /// `Corrupt` if the remote is damaged; `Conflict` (code `remote_ahead`) if others pushed all the time; `NotFound` (code
    /// `not_a_remote`); `InvalidInput` (code `unrelated`); `Io`. After an error, the remote is as it was, but for garbage.
    pub fn gc(&self, memory: &Memory) -> Result<Collected> {
        self.collect_idle(memory, IDLE_MICROS)
    }

    /// Collects as [`Self::gc`] does. A side line is idle `idle` microseconds after its newest commit.
    pub(crate) fn collect_idle(&self, memory: &Memory, idle: i64) -> Result<Collected> {
        let place = self.place(memory);
        memory.inner.check_main()?;
        memory.refresh()?;
        let own = memory.inner.log.lock().log.format().to_owned();
        let seen = memory.inner.seen(self.known())?;
        let mut published = Self::read_on(memory, &place, None, seen)?;
        place.check_related(&published.log.format, &own)?;
        // Only a store that knows the whole remote knows what was put again after an erasure.
        let is_known = seen.is_some_and(|seen| seen.generation == published.log.generation);
        let erasure = if is_known {
            memory.inner.all_erasures()?
        } else {
            Erasure::new()
        };
        let before = published.log.clone();
        let (mut run, mut is_first) = (None::<Collection<'_>>, true);
        for _ in 0..TRIES {
            memory.inner.settings().check_stop()?;
            let erasure = std::mem::take(&mut is_first).then(|| erasure.clone());
            let written = Collection::go_on(run.take(), &place, &published.log, idle, erasure);
            let version = published.version.as_ref();
            let Some((next, going)) = place.unless_outdated((published.log.format, version), written)? else {
                published = place.read()?;
                continue;
            };
            if let Outcome::Done(done) = place.publish(&published, next)? {
                place.collect(&going.listed, &done.log)?;
                return Ok(self.collected(&place, &going, &before, &done.log));
            }
            published = place.read()?;
            run = Some(going);
        }
        Err(
            Error::conflict("others pushed during every try of the collection")
                .with_code(ErrorCode::RemoteAhead)
                .with_hint("try again when fewer machines push"),
        )
    }

    fn collected(
        &self,
        place: &Place,
        run: &Collection<'_>,
        before: &ClosedLog,
        after: &ClosedLog,
    ) -> Collected {
        let bytes = |log: &ClosedLog| log.segments.iter().map(|segment| segment.length).sum();
        Collected {
            remote: self.name.clone(),
            dropped: run.dropped.iter().cloned().collect(),
            segments_before: before.segments.len() as u64,
            segments: after.segments.len() as u64,
            bytes_before: bytes(before),
            bytes: bytes(after),
            requests: place.bucket.requests(),
        }
    }
}

/// What a collection knows of the whole remote before it writes anything.
#[derive(Default)]
struct Survey {
    /// The commits of side lines, each with the name of its line.
    of_line: HashMap<CommitDigest, String>,
    times: HashMap<CommitDigest, Time>,
    newest: Option<Time>,
    /// The second parents of commits.
    merged: HashSet<CommitDigest>,
    /// The commits that references name, and those that erased something (RGC-4).
    named: HashSet<CommitDigest>,
    /// The versions that the batches of each line need; of the main line under an empty name.
    needs: HashMap<String, HashSet<Digest>>,
    /// The versions from which each version is derived.
    sources: HashMap<Digest, Vec<Digest>>,
}

impl Survey {
    fn add(&mut self, log: &ClosedLog, batches: &[Batch]) -> Result<()> {
        for batch in batches {
            for reference in references_in(batch)? {
                let commit = reference.commit.filter(|_| reference.name.keeps_commit());
                self.named.extend(commit);
            }
            let line = line_of(batch, log.suite())?;
            if let Some(found) = ForeignCommit::of(batch, log.suite())? {
                let commit = &found.commit;
                self.newest = self.newest.max(Some(commit.time));
                self.merged.extend(commit.parents.iter().skip(1));
                let is_eraser = names_eraser(batch, found.digest)?;
                self.named.extend(is_eraser.then_some(found.digest));
                if let Some(line) = &line {
                    self.of_line.insert(found.digest, line.clone());
                    self.times.insert(found.digest, commit.time);
                }
            }
            let needs = self.needs.entry(line.unwrap_or_default()).or_default();
            needs.extend(needs_of(batch));
            for record in &batch.records {
                let sources: Vec<Digest> = sources_of(record).collect();
                if !sources.is_empty() {
                    self.sources
                        .extend(erasable(record, log.suite()).map(|digest| (digest, sources)));
                }
            }
        }
        Ok(())
    }

    /// Returns the versions that the lines need which are not dropped (RGC-2).
    fn needed(&mut self, dropped: &BTreeSet<String>) -> HashSet<Digest> {
        self.needs.retain(|line, _| !dropped.contains(line));
        let mut next: Vec<Digest> = self.needs.drain().flat_map(|(_, needs)| needs).collect();
        let mut needed = HashSet::new();
        while let Some(digest) = next.pop() {
            if needed.insert(digest) {
                next.extend(self.sources.get(&digest).into_iter().flatten());
            }
        }
        needed
    }

    /// Returns the lines that nobody needs: merged, idle, and with no commit that anything else names.
    fn droppable(&self, log: &ClosedLog, idle: i64) -> BTreeSet<String> {
        let bases = log.lines.iter().map(|line| &line.base);
        let used: HashSet<&String> = bases
            .chain(&self.named)
            .filter_map(|commit| self.of_line.get(commit))
            .collect();
        let is_idle = |head: &CommitDigest| {
            let age = self.times.get(head).zip(self.newest);
            age.is_none_or(|(time, newest)| newest.as_micros().saturating_sub(time.as_micros()) >= idle)
        };
        let lines = log.lines.iter().filter(|line| {
            (line.head == line.base || self.merged.contains(&line.head))
                && is_idle(&line.head)
                && !used.contains(&line.name)
        });
        lines.map(|line| line.name.clone()).collect()
    }
}

/// Returns the versions that a batch links, and those from which its versions are derived.
fn needs_of(batch: &Batch) -> impl Iterator<Item = Digest> {
    let linked = changes_in(batch).into_iter().filter_map(|(_, digest)| digest);
    linked.chain(batch.records.iter().flat_map(sources_of))
}

/// Returns the versions from which the version in a record is derived.
fn sources_of(record: &Record) -> impl Iterator<Item = Digest> {
    let is_version = record.kind == RecordKind::Object;
    let sources = is_version.then(|| Object::derived_from_in(&record.body));
    sources.into_iter().flatten().copied()
}

/// A collection that is being written.
struct Collection<'a> {
    place: &'a Place,
    /// The log that was read so far.
    read: ClosedLog,
    listed: Vec<String>,
    /// What is erased from the segments that the store knows.
    erasure: Erasure,
    has_erased: bool,
    dropped: BTreeSet<String>,
    /// The versions of dropped lines that stay, and others (RGC-2).
    needed: HashSet<Digest>,
    /// The versions that were left out.
    left_out: HashSet<Digest>,
    writer: SegmentWriter<'a>,
}

impl<'a> Collection<'a> {
    fn begin(place: &'a Place, log: &ClosedLog, idle: i64) -> Result<Self> {
        let listed = place.segment_names()?;
        let mut survey = Survey::default();
        if !log.lines.is_empty() {
            for index in 0..log.segments.len() {
                survey.add(log, &place.batches(log, index)?)?;
            }
        }
        let dropped = survey.droppable(log, idle);
        let needed = survey.needed(&dropped);
        let empty = ClosedLog {
            segments: Vec::new(),
            ..log.clone()
        };
        // INVARIANT RGC-1
        let floor = log.highest_id().max(highest_number(&listed));
        Ok(Self {
            place,
            read: empty.clone(),
            listed,
            erasure: Erasure::new(),
            has_erased: false,
            dropped,
            needed,
            left_out: HashSet::new(),
            writer: SegmentWriter::new(place, empty, floor),
        })
    }

    /// Goes on with a collection behind what others published meanwhile, or begins it. Returns the log to publish; `None` if
    /// what was pushed needs what was left out.
    fn go_on(
        run: Option<Self>,
        place: &'a Place,
        log: &ClosedLog,
        idle: i64,
        erasure: Option<Erasure>,
    ) -> Result<Option<(ClosedLog, Self)>> {
        let mut going = match run.filter(|run| run.may_go_on(log)) {
            Some(run) => run,
            None => Self::begin(place, log, idle)?,
        };
        going.erasure.extend(erasure.into_iter().flatten());
        Ok(going.write(log)?.map(|next| (next, going)))
    }

    /// Returns whether the log that others published meanwhile continues what was read (RGC-3).
    fn may_go_on(&self, log: &ClosedLog) -> bool {
        let is_dropped = |line: &&crate::log::closed::ClosedLine| self.dropped.contains(&line.name);
        let heads = |log: &ClosedLog| -> Vec<_> { log.lines.iter().filter(is_dropped).cloned().collect() };
        !log.has_erased
            && log.format == self.read.format
            && log.segments.starts_with(&self.read.segments)
            && heads(log) == heads(&self.read)
    }

    /// Writes what was not written yet. Returns the log to publish; `None` if what was pushed needs what was left out.
    fn write(&mut self, log: &ClosedLog) -> Result<Option<ClosedLog>> {
        self.writer.raise(log.highest_id());
        let (from, last) = (self.read.segments.len(), log.segments.len().saturating_sub(1));
        for index in from..log.segments.len() {
            let segment = log.segments[index];
            let batches = self.place.batches(log, index)?;
            if from > 0 {
                let needs: HashSet<Digest> = batches.iter().flat_map(needs_of).collect();
                if !needs.is_disjoint(&self.left_out) {
                    return Ok(None);
                }
                self.needed.extend(needs);
            }
            let mut is_changed = index == last || segment.length < CLOSED_SEGMENT_BYTES / 2;
            let mut group = Vec::new();
            for batch in &batches {
                let (copy, differs) = self.collected(log, batch)?;
                is_changed |= differs;
                group.push((copy, batch.commit));
            }
            if !is_changed {
                self.writer.keep(segment)?;
                continue;
            }
            for (number, (copy, head)) in (segment.first_batch..).zip(group) {
                self.writer.push(number, copy, head)?;
            }
        }
        self.writer.flush()?;
        self.read = log.clone();
        // Also if another writer publishes first, and this goes on.
        self.has_erased |= !std::mem::take(&mut self.erasure).is_empty();
        let mut next = ClosedLog {
            segments: self.writer.log.segments.clone(),
            generation: log.generation + 1,
            leaving: Vec::new(),
            ..log.clone()
        };
        next.has_erased |= self.has_erased;
        next.lines.retain(|line| !self.dropped.contains(&line.name));
        Ok(Some(next))
    }

    /// Returns a batch without what goes, and whether anything did.
    fn collected(&mut self, log: &ClosedLog, batch: &Batch) -> Result<(BatchBuilder, bool)> {
        let suite = log.suite();
        let line = line_of(batch, suite)?;
        let is_dropped = line.is_some_and(|line| self.dropped.contains(&line));
        let (mut copy, mut differs) = (BatchBuilder::new(), is_dropped);
        let (mut written, mut times) = (Written::default(), Times::default());
        if is_dropped {
            times = Times::of(batch)?;
        }
        let mut contents = HashSet::new();
        let is_version = |record: &&Record| is_dropped && record.kind == RecordKind::Object;
        for record in batch.records.iter().filter(is_version) {
            if erasable(record, suite).is_some_and(|digest| self.needed.contains(&digest)) {
                let content = Object::content_digest_in(&record.body);
                contents.extend(content.map(|(content, _)| *content.as_bytes()));
            }
        }
        for record in &batch.records {
            let marker = erasure_marker(record, &self.erasure, suite);
            differs |= marker.is_some();
            let record = marker.as_ref().unwrap_or(record);
            if !is_dropped {
                copy.add(record.kind, record.flags, &record.body);
                continue;
            }
            // INVARIANT RGC-2
            let digest = erasable(record, suite);
            let stays = match (record.kind, digest) {
                (RecordKind::Object, Some(digest)) => self.needed.contains(&digest),
                (RecordKind::Content, Some(digest)) => contents.contains(&digest),
                (kind, _) => matches!(kind, RecordKind::Erased | RecordKind::Reference),
            };
            if stays {
                let is_state = matches!(record.kind, RecordKind::Object | RecordKind::Erased);
                let flags = if is_state {
                    record.flags | UNLINKED
                } else {
                    record.flags
                };
                copy.add(record.kind, flags, &record.body);
                // INVARIANT WRT-1: the batch loses its commit.
                let time = digest.and_then(|digest| times.of_version(&digest).map(|time| (digest, time)));
                if let Some((digest, time)) = time.filter(|_| record.kind == RecordKind::Object) {
                    written.add(digest, time);
                }
            } else if let (RecordKind::Object, Some(digest)) = (record.kind, digest) {
                self.left_out.insert(digest);
            }
        }
        written.add_to(&mut copy);
        Ok((copy, differs))
    }
}
