//! Writes segments of a remote anew.
//!
//! # Layer
//! Layer 6, part of `remote`.
//!
//! # Invariants
//! - RRW-1: batches keep their numbers, so a store that read a part of the remote goes on behind it.
//! - RRW-2: the old segments are deleted after the swap, and only those that a list from before it had.
//! - RRW-3: the newest segment is written anew with any other. So it names the end of the one before it (CLO-2).

use super::place::{Outcome, Place, Published, highest_number};
use crate::error::Result;
use crate::log::closed::{ClosedLog, Group};
use crate::log::{Batch, BatchBuilder};
use crate::store::{Erasure, erasure_marker};

/// Writes the segments of a remote anew that have one of these records, and deletes the old ones. Returns `None` if another
/// writer published first.
pub(super) fn erase(place: &Place, published: Published, erasure: &Erasure) -> Result<Option<Published>> {
    let (log, listed) = (&published.log, place.segment_names()?);
    let mut next = ClosedLog {
        segments: Vec::new(),
        leaving: Vec::new(),
        ..log.clone()
    };
    // INVARIANT RPL-2
    let mut floor = log.highest_id().max(highest_number(&listed));
    let mut is_changed = false;
    for index in 0..log.segments.len() {
        let batches = log.read(index, place.segment(log, index)?)?;
        let is_last = index + 1 == log.segments.len();
        let (group, has_erased) = without(log, &batches, erasure);
        // INVARIANT RRW-3
        if !has_erased && !(is_last && is_changed) {
            next.segments.push(log.segments[index]);
            continue;
        }
        is_changed = true;
        // INVARIANT RRW-1
        let segment = place.put(&next, floor, log.segments[index].first_batch, group)?;
        floor = segment.listed.id;
        next.segments.push(segment.listed);
    }
    if !is_changed {
        return Ok(Some(published));
    }
    next.generation += 1;
    next.erasures += 1;
    match place.publish(&published, next)? {
        Outcome::Done(published) => {
            // INVARIANT RRW-2
            place.collect(&listed, &published.log)?;
            Ok(Some(published))
        }
        Outcome::Lost => Ok(None),
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
