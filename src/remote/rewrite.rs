//! Writes segments of a remote anew.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - RRW-1: batches keep their numbers, so a store that read a part of the remote goes on behind it.
//! - RRW-2: the old segments are deleted after the swap, and only those that a list from before it had.
//! - RRW-3: the newest segment is written anew with any other. So it names the end of the one before it (CLO-2).

use super::place::{Outcome, Place, Published, highest_number};
use crate::digest::CommitDigest;
use crate::error::Result;
use crate::log::closed::{CLOSED_SEGMENT_BYTES, ClosedLog, ClosedSegment, Group};
use crate::log::{Batch, BatchBuilder};
use crate::store::{ErasedIds, ErasedSearch, Erasure, erasure_marker};

/// Returns what is to be erased in a remote: these records, and all versions of these ids that it has (EID-1). The store may
/// have thinned some of them.
pub(super) fn erased_in(
    place: &Place,
    log: &ClosedLog,
    erasure: &Erasure,
    ids: &ErasedIds,
) -> Result<Erasure> {
    let records = erasure
        .iter()
        .map(|(digest, by)| (*digest, (*by, u64::MAX)))
        .collect();
    let mut search = ErasedSearch::new(&records, ids, log.suite());
    if !ids.is_empty() {
        for index in 0..log.segments.len() {
            for batch in place.batches(log, index)? {
                search.read(&batch)?;
            }
        }
    }
    let mut found = search.found();
    found.extend(erasure);
    Ok(found)
}

/// Writes the segments of a remote anew that have one of these records, and deletes the old ones. Returns `None` if another
/// writer published first.
pub(super) fn erase(place: &Place, published: Published, erasure: &Erasure) -> Result<Option<Published>> {
    let (log, listed) = (&published.log, place.segment_names()?);
    let empty = ClosedLog {
        segments: Vec::new(),
        leaving: Vec::new(),
        ..log.clone()
    };
    // INVARIANT RPL-2
    let mut writer = SegmentWriter::new(place, empty, log.highest_id().max(highest_number(&listed)));
    let mut is_changed = false;
    for index in 0..log.segments.len() {
        let batches = place.batches(log, index)?;
        let is_last = index + 1 == log.segments.len();
        let (group, has_erased) = without(log, &batches, erasure);
        // INVARIANT RRW-3
        if !(has_erased || is_last && is_changed) {
            writer.keep(log.segments[index])?;
            continue;
        }
        is_changed = true;
        // INVARIANT RRW-1
        for (number, (batch, head)) in (log.segments[index].first_batch..).zip(group) {
            writer.push(number, batch, head)?;
        }
    }
    if !is_changed {
        return Ok(Some(published));
    }
    writer.flush()?;
    let mut next = writer.log;
    next.generation += 1;
    next.has_erased = true;
    match place.publish(&published, next)? {
        Outcome::Done(published) => {
            // INVARIANT RRW-2
            place.collect(&listed, &published.log)?;
            Ok(Some(published))
        }
        Outcome::Lost => Ok(None),
    }
}

/// New segments for batches of a log, and those of its segments that stay.
pub(super) struct SegmentWriter<'a> {
    place: &'a Place,
    /// The log with the segments so far.
    pub(super) log: ClosedLog,
    /// The highest number that is in use.
    floor: u64,
    group: Group,
    bytes: u64,
    first: u64,
}

impl<'a> SegmentWriter<'a> {
    /// Begins behind `log`. The new segments get numbers above `floor`.
    pub(super) fn new(place: &'a Place, log: ClosedLog, floor: u64) -> Self {
        Self {
            place,
            log,
            floor,
            group: Group::new(),
            bytes: 0,
            first: 0,
        }
    }

    /// Lets the next segments have numbers above this one.
    pub(super) fn raise(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
    }

    /// Adds a batch, behind which the main line has the commit `head`.
    pub(super) fn push(&mut self, number: u64, batch: BatchBuilder, head: CommitDigest) -> Result<()> {
        let size = batch.encoded_bytes();
        if self.bytes + size > CLOSED_SEGMENT_BYTES {
            self.flush()?;
        }
        if self.group.is_empty() {
            self.first = number;
        }
        self.bytes += size;
        self.group.push((batch, head));
        Ok(())
    }

    /// Adds a segment as it is.
    pub(super) fn keep(&mut self, segment: ClosedSegment) -> Result<()> {
        self.flush()?;
        self.log.segments.push(segment);
        Ok(())
    }

    /// Stores the batches that have no segment yet.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        let segment = self.place.put(&self.log, self.floor, self.first, group)?;
        self.floor = segment.listed.id;
        self.bytes = 0;
        self.log.segments.push(segment.listed);
        Ok(())
    }
}

/// Returns batches with markers in place of the erased records, and whether there is one.
fn without(log: &ClosedLog, batches: &[Batch], erasure: &Erasure) -> (Group, bool) {
    let (mut group, mut has_erased) = (Group::new(), false);
    for batch in batches {
        let mut copy = BatchBuilder::new();
        for record in &batch.records {
            let marker = erasure_marker(record, erasure, log.suite());
            has_erased |= marker.is_some();
            let record = marker.as_ref().unwrap_or(record);
            copy.add(record.kind, record.flags, &record.body);
        }
        group.push((copy, batch.commit));
    }
    (group, has_erased)
}
