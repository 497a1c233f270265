//! Fetch: takes in what others pushed to a remote.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - FET-1: each part of what is fetched is checked whole before it is taken in. A part has at most 16 MiB, unless one
//!   segment is larger, so a fetch needs no more memory than that.
//! - FET-2: a reader that misses a segment, or finds another in its place, reads the manifest again.

use std::cell::OnceCell;
#[cfg(feature = "signed")]
use std::collections::HashSet;
#[cfg(feature = "signed")]
use std::sync::Arc;

use super::Fetched;
use super::cache::seen_in;
use super::place::{Place, Published};
use super::remote::Remote;
#[cfg(feature = "signed")]
use crate::digest::CommitDigest;
use crate::engine::{FetchedPart, Memory, Seen, Writer, has_signature};
use crate::error::{Error, Result};
use crate::log::Batch;
use crate::log::closed::{CLOSED_SEGMENT_BYTES, ClosedLog, Purpose};
use crate::store::{OpenHold, Supply};

/// How often a part is read again because another process changed what its check relied on.
const TAKE_TRIES: u32 = 4;

impl Remote {
    /// Takes in what others pushed, as lines `remote:NAME/LINE`. Merges nothing. Erases here what they erased, if the cap of
    /// the remote is `direct_user` or `host`.
    ///
    /// # Errors
    /// `Corrupt` if the remote is damaged, or (code `remote_went_back`) has less than this store has seen: then nothing of
    /// the damaged part is taken in; `InvalidInput` (code `unrelated`); `NotFound` (code `not_a_remote`); `Io`.
    pub fn fetch(&self, memory: &Memory, writer: &Writer) -> Result<Fetched> {
        self.fetch_open(memory, writer).map(|(fetched, _)| fetched)
    }

    /// Fetches as [`Self::fetch`] does. While the caller has the hold, the lines that were read stay open.
    pub(super) fn fetch_open(&self, memory: &Memory, writer: &Writer) -> Result<(Fetched, OpenHold)> {
        let (place, writer) = (self.place(memory), &self.lane_of(writer));
        memory.inner.check_main()?;
        memory.refresh()?;
        let mut open = memory.inner.main().store().hold_lines();
        let seen = memory.inner.seen(self.known())?;
        let published = Self::read_on(memory, &place, self.cached(memory)?, seen)?;
        let mut fetched = Fetched::nothing(&self.name, published.log.head);
        place.reading(published, &mut |published| {
            self.fetch_of(memory, &place, published, writer, (&mut fetched, &mut open))
        })?;
        fetched.bytes = place.bucket.received();
        fetched.requests = place.bucket.requests();
        Ok((fetched, open))
    }

    /// Takes in what a manifest lists behind what was read before. No lock is held while it is read and checked, so another
    /// process may change what the check relies on. Then the part is read again.
    fn fetch_of(
        &self,
        memory: &Memory,
        place: &Place,
        published: &Published,
        writer: &Writer,
        (fetched, open): (&mut Fetched, &mut OpenHold),
    ) -> Result<()> {
        let log = &published.log;
        place.check_purpose(log, Purpose::Shared)?;
        fetched.head = log.head;
        let own = memory.inner.log.lock().log.format().to_owned();
        let (mut tries, mut is_first, signed) = (0, true, OnceCell::new());
        loop {
            memory.inner.settings().check_stop()?;
            open.follow(&memory.inner.main().store());
            let seen = memory.inner.seen(self.known())?;
            Self::check_seen(memory, log, seen)?;
            if seen.is_some_and(|seen| seen.generation == log.generation) {
                if !is_first {
                    self.cache(memory, published);
                }
                return Ok(());
            }
            place.check_related(&log.format, &own)?;
            let mut part = self.read_part(memory, (place, log), seen)?;
            #[cfg(feature = "signed")]
            if is_first && let Some(covered) = self.check_signature(memory, (place, log), &part)? {
                drop(signed.set(covered));
            }
            part.signed = signed.get().cloned();
            is_first = false;
            let taken = memory.inner.take_remote(self.known(), &part, writer);
            // An error with a file is about this store.
            let taken = taken.map_err(|error| match error.damage() {
                Some(_) => error,
                None => place.damaged(error),
            })?;
            fetched.commits += taken.commits;
            fetched.erased += taken.erased;
            fetched.not_erased += taken.not_erased;
            fetched.keep(taken.kept);
            if !taken.is_whole {
                if tries == TAKE_TRIES {
                    let name = &self.name;
                    let text = format!("other processes fetched from {name} or rewrote the log meanwhile");
                    return Err(Error::conflict(text).with_hint("try again"));
                }
                tries += 1;
                memory.refresh()?;
            }
        }
    }

    /// Reads the next part of a remote behind what was read before (FET-1).
    fn read_part(
        &self,
        memory: &Memory,
        (place, log): (&Place, &ClosedLog),
        after: Option<Seen>,
    ) -> Result<FetchedPart> {
        let number = after.map_or(0, |seen| seen.batch);
        let (batches, is_last) = read_batches(place, log, number)?;
        let mut seen = match batches.last() {
            // The rest of this generation is not read yet.
            Some(last) if !is_last => Seen {
                generation: log.generation - 1,
                batch: last.number,
                head: last.commit,
                ..seen_in(log)
            },
            _ => seen_in(log),
        };
        seen.is_signed = after.is_some_and(|after| after.head == seen.head && after.is_signed);
        for batch in &batches {
            let found = has_signature(batch, seen.head);
            seen.is_signed |= found.map_err(|error| place.damaged(error))?;
        }
        let supply = self.supply(memory, (place, log), &batches)?;
        Ok(FetchedPart {
            after,
            batches,
            seen,
            supply,
            signed: None,
        })
    }

    /// Checks that a demanded key signed the newest commit of the remote, before anything is taken in. `part` is the first
    /// part of the fetch. Returns the erasing commits that the signature covers (RSG-2).
    #[cfg(feature = "signed")]
    fn check_signature(
        &self,
        memory: &Memory,
        (place, log): (&Place, &ClosedLog),
        part: &FetchedPart,
    ) -> Result<Option<Arc<HashSet<CommitDigest>>>> {
        let mut signatures = self.signatures(memory, log, part.after)?;
        let mut first = part.batches.iter();
        first.try_for_each(|batch| signatures.add(place, batch))?;
        signatures.read(place, part.seen.batch)?;
        signatures.check(self)
    }

    /// Returns the records of these batches, and of older ones those that these need and that this store dropped.
    fn supply(
        &self,
        memory: &Memory,
        (place, log): (&Place, &ClosedLog),
        batches: &[Batch],
    ) -> Result<Supply> {
        let supply = memory.inner.supply(self.known(), batches);
        let (mut supply, mut wanted) = supply.map_err(|error| place.damaged(error))?;
        let first = batches.first().map_or(0, |batch| batch.number);
        for index in (0..log.segments.len()).rev() {
            if wanted.is_empty() {
                break;
            }
            if log.segments[index].first_batch < first {
                let older = place.batches(log, index)?;
                for batch in older.iter().filter(|batch| batch.number < first) {
                    let added = supply.add_wanted(batch, log.suite(), &mut wanted);
                    added.map_err(|error| place.damaged(error))?;
                }
            }
        }
        Ok(supply)
    }
}

/// Returns the next batches behind number `after`, and whether they are the last ones (FET-1).
fn read_batches(place: &Place, log: &ClosedLog, after: u64) -> Result<(Vec<Batch>, bool)> {
    let (mut batches, mut bytes) = (Vec::new(), 0);
    for (index, segment) in log.segments.iter().enumerate() {
        if segment.last_batch <= after {
            continue;
        }
        if bytes > 0 && bytes + segment.length > CLOSED_SEGMENT_BYTES {
            return Ok((batches, false));
        }
        bytes += segment.length;
        let read = place.batches(log, index)?;
        batches.extend(read.into_iter().filter(|batch| batch.number > after));
    }
    Ok((batches, true))
}
