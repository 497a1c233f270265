//! Joins small segments of a remote, so that a clone needs few requests.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - JOI-1: a manifest that lists a join names the segments that it replaces. They stay for some pushes, so a reader of an
//!   older manifest has time to finish (FET-2).
//! - JOI-2: a push with a join sends at most 64 KiB, or twice what it sends without the join. It may send more in a remote of
//!   more than [`SEGMENTS_MAX`] segments, and if it erases: it sends what it rewrites, too.

use std::ops::Range;

use super::place::Place;
use crate::error::Result;
use crate::log::BatchBuilder;
use crate::log::closed::{
    CLOSED_HEADER_BYTES, CLOSED_SEGMENT_BYTES, ClosedLog, ClosedSegment, Group, Leaving,
};

/// The number of neighbours from which on they are joined, and the most segments in a join.
const JOINED: usize = 8;
/// The most bytes that a small push with a join sends.
const SENT_MAX: u64 = 64 << 10;
/// The most bytes that a join adds to the manifest, and encryption to the files.
const ADDED_MAX: u64 = 2 << 10;
/// A remote with more segments is joined whatever a push sends. Every push sends the manifest, and a clone reads each segment.
const SEGMENTS_MAX: usize = 128;
/// The number of generations for which replaced segments stay. A reader of a few dozen segments takes as long as a fleet
/// needs for so many pushes.
pub(super) const STAYS: u64 = 32;

fn batch_bytes(segment: &ClosedSegment) -> u64 {
    segment.length.saturating_sub(CLOSED_HEADER_BYTES)
}

/// Returns the most bytes of the segment of a join, if the push sends a segment of `own` bytes (JOI-2).
pub(super) fn room(log: &ClosedLog, own: u64) -> u64 {
    if log.segments.len() > SEGMENTS_MAX {
        return CLOSED_SEGMENT_BYTES;
    }
    let others = own + log.encode().len() as u64 + ADDED_MAX;
    SENT_MAX.saturating_sub(others).max(own).min(CLOSED_SEGMENT_BYTES)
}

/// Returns which segments are to be joined: of eight neighbours, the first ones that fit into `room` bytes, if none of them is
/// larger than the others together. So each byte is sent again only into a segment of twice the size.
pub(super) fn due(log: &ClosedLog, room: u64) -> Option<Range<usize>> {
    let mut windows = log.segments.windows(JOINED).enumerate();
    windows.find_map(|(at, window)| {
        let mut sum = 0;
        let fits = |size: &u64| {
            sum += size;
            CLOSED_HEADER_BYTES + sum <= room
        };
        let sizes: Vec<u64> = window.iter().map(batch_bytes).take_while(fits).collect();
        let is_due = sizes.len() > 1 && 2 * sizes.iter().max()? <= sizes.iter().sum();
        is_due.then(|| at..at + sizes.len())
    })
}

/// Returns the log with a join in place of small segments, if there are eight. The caller publishes it with a segment of
/// `own` bytes at the end, under the next generation.
pub(super) fn with_join(place: &Place, log: &ClosedLog, floor: u64, own: u64) -> Result<ClosedLog> {
    let mut next = log.clone();
    let since = log.generation + 1;
    next.leaving.retain(|old| old.since + STAYS > since);
    let Some(due) = due(log, room(log, own)) else {
        return Ok(next);
    };
    let (at, mut group) = (due.start, Group::new());
    for index in due.clone() {
        let batches = place.batches(log, index)?;
        let copies = batches
            .iter()
            .map(|batch| (BatchBuilder::copy_of(batch), batch.commit));
        group.extend(copies);
    }
    // The join continues the segment before it.
    let before = ClosedLog {
        segments: log.segments[..at].to_vec(),
        ..log.clone()
    };
    let floor = floor.max(log.highest_id());
    let join = place.put(&before, floor, log.segments[at].first_batch, group)?;
    let replaced = next.segments.splice(due, [join.listed]);
    // INVARIANT JOI-1
    let replaced: Vec<Leaving> = replaced.map(|old| Leaving { id: old.id, since }).collect();
    next.leaving.extend(replaced);
    Ok(next)
}
