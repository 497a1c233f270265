//! Joins small segments of a remote, so that a clone needs few requests.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - JOI-1: a manifest that lists a join names the segments that it replaces. They stay for some pushes, so a reader of an
//!   older manifest has time to finish (FET-2).

use super::place::Place;
use crate::error::Result;
use crate::log::BatchBuilder;
use crate::log::closed::{ClosedLog, ClosedSegment, Group, Leaving};

/// The number of segments in a join.
const JOINED: usize = 8;
/// The length of the largest segments of the lowest class. The next classes have eight times as much each.
const LOWEST_CLASS: u64 = 64 << 10;
/// The number of classes. Eight segments of the highest class still fit into one segment.
const CLASSES: u64 = 3;
/// The number of generations for which replaced segments stay. A reader of a few dozen segments takes as long as a fleet
/// needs for so many pushes.
pub(super) const STAYS: u64 = 32;

/// Returns the class of a segment by its length; `None` if it is not small.
fn class(segment: &ClosedSegment) -> Option<u64> {
    (0..CLASSES).find(|class| segment.length <= LOWEST_CLASS << (3 * class))
}

/// Returns the index of the first of eight neighbours of one class.
fn due(log: &ClosedLog) -> Option<usize> {
    let is_due = |window: &[ClosedSegment]| {
        let first = window.first().and_then(class);
        first.is_some() && window.iter().all(|segment| class(segment) == first)
    };
    log.segments.windows(JOINED).position(is_due)
}

/// Returns the log with a join in place of eight small segments, if there are so many. The caller publishes it with a
/// segment of its own at the end, under the next generation.
pub(super) fn with_join(place: &Place, log: &ClosedLog, floor: u64) -> Result<ClosedLog> {
    let mut next = log.clone();
    let since = log.generation + 1;
    next.leaving.retain(|old| old.since + STAYS > since);
    let Some(at) = due(log) else { return Ok(next) };
    let mut group = Group::new();
    for index in at..at + JOINED {
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
    let replaced = next.segments.splice(at..at + JOINED, [join.listed]);
    // INVARIANT JOI-1
    let replaced: Vec<Leaving> = replaced.map(|old| Leaving { id: old.id, since }).collect();
    next.leaving.extend(replaced);
    Ok(next)
}
