//! Fetch: takes in what others pushed to a remote.
//!
//! # Layer
//! Layer 6, part of `remote`.
//!
//! # Invariants
//! - FET-1: each part of what is fetched is checked whole before it is taken in. A part has at most 16 MiB, unless one
//!   segment is larger, so a fetch needs no more memory than that.
//! - FET-2: a reader that misses a segment, or finds another in its place, reads the manifest again.

use std::collections::HashSet;

use super::Fetched;
use super::cache::seen_in;
use super::place::{Place, Published};
use super::remote::Remote;
use crate::digest::CommitDigest;
use crate::engine::{FetchedPart, Memory, Seen, Writer};
use crate::error::Result;
use crate::log::Batch;
use crate::log::closed::{CLOSED_SEGMENT_BYTES, ClosedLog, Purpose};
use crate::store::Supply;

impl Remote {
    /// Takes in what others pushed, as lines `remote:NAME/LINE`. Merges nothing. Erases here what they erased, if the cap of
    /// the remote is `direct_user` or `host`.
    ///
    /// # Errors
    /// `Corrupt` if the remote is damaged, or (code `remote_went_back`) has less than this store has seen: then nothing of
    /// the damaged part is taken in; `InvalidInput` (code `unrelated`); `NotFound` (code `not_a_remote`); `Io`.
    pub fn fetch(&self, memory: &Memory, writer: &Writer) -> Result<Fetched> {
        let (place, writer) = (self.place(), &self.lane_of(writer));
        memory.inner.check_main()?;
        memory.refresh()?;
        let cached = self.cached(memory)?;
        let format = cached.map(|cached| cached.log.format);
        let mut fetched = Fetched {
            remote: self.name.clone(),
            commits: 0,
            bytes: 0,
            requests: 0,
            head: CommitDigest::NOBODY,
            erased: 0,
            not_erased: 0,
        };
        place.reading(format, &mut |published| {
            self.fetch_of(memory, &place, published, writer, &mut fetched)
        })?;
        fetched.bytes = place.bucket.received();
        fetched.requests = place.bucket.requests();
        Ok(fetched)
    }

    fn fetch_of(
        &self,
        memory: &Memory,
        place: &Place,
        published: &Published,
        writer: &Writer,
        fetched: &mut Fetched,
    ) -> Result<()> {
        let (log, seen) = (&published.log, memory.inner.seen(self.known())?);
        place.check_purpose(log, Purpose::Shared)?;
        Self::check_seen(log, seen)?;
        fetched.head = log.head;
        if seen.is_some_and(|seen| seen.generation == log.generation) {
            return Ok(());
        }
        let own = memory.inner.log.lock().log.format().to_owned();
        place.check_related(&log.format, &own)?;
        let mut after = seen.map_or(0, |seen| seen.batch);
        loop {
            memory.inner.settings().check_stop()?;
            let (batches, is_last) = read_part(place, log, after)?;
            let seen = match batches.last() {
                // The rest of this generation is not read yet.
                Some(last) if !is_last => Seen {
                    generation: log.generation - 1,
                    batch: last.number,
                    head: last.commit,
                    ..seen_in(log)
                },
                _ => seen_in(log),
            };
            after = seen.batch;
            let supply = self.supply(memory, (place, log), &batches)?;
            let part = FetchedPart {
                batches,
                seen,
                supply,
            };
            let taken = memory.inner.take_remote(self.known(), part, writer)?;
            fetched.commits += taken.commits;
            fetched.erased += taken.erased;
            fetched.not_erased += taken.not_erased;
            if is_last {
                self.cache(memory, published);
                return Ok(());
            }
        }
    }

    /// Returns the records of older batches that these need, and that this store dropped.
    fn supply(
        &self,
        memory: &Memory,
        (place, log): (&Place, &ClosedLog),
        batches: &[Batch],
    ) -> Result<Supply> {
        let mut supply = Supply::default();
        let mut wanted: HashSet<_> = memory.inner.lacks(self.known(), batches)?;
        let first = batches.first().map_or(0, |batch| batch.number);
        for index in (0..log.segments.len()).rev() {
            if wanted.is_empty() {
                break;
            }
            if log.segments[index].first_batch < first {
                let older = log.read(index, place.segment(log, index)?)?;
                for batch in older.iter().filter(|batch| batch.number < first) {
                    supply.add_wanted(batch, log.suite(), &mut wanted)?;
                }
            }
        }
        Ok(supply)
    }
}

/// Returns the next batches behind number `after`, and whether they are the last ones (FET-1).
fn read_part(place: &Place, log: &ClosedLog, after: u64) -> Result<(Vec<Batch>, bool)> {
    let (mut batches, mut bytes) = (Vec::new(), 0);
    for (index, segment) in log.segments.iter().enumerate() {
        if segment.last_batch <= after {
            continue;
        }
        if bytes > 0 && bytes + segment.length > CLOSED_SEGMENT_BYTES {
            return Ok((batches, false));
        }
        bytes += segment.length;
        let read = log.read(index, place.segment(log, index)?)?;
        batches.extend(read.into_iter().filter(|batch| batch.number > after));
    }
    Ok((batches, true))
}
