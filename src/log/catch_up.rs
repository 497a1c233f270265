//! Catching up: delivers, in order, every complete batch that this handle has not delivered yet.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CAT-1: each batch is delivered once, in order, and only if it is complete.
//! - CAT-2: if `live` was written in the present run of the machine, no batch after its mark is delivered. The
//!   exception is a log that proves `live` outdated.
//! - CAT-3: if a batch was delivered before it was known to be durable, and is read again at another place, the two
//!   must be equal.

use std::sync::Arc;

use super::batch::{Batch, Position};
use super::commit::is_clean_behind;
use super::files::{cannot_list, damage};
use super::handle::{Log, Tail};
use super::leftovers::Unlisted;
use super::live::Live;
use super::manifest::{MANIFEST_NAME, SegmentEntry, chained};
use super::reader::SegmentFile;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, SegmentEnd, parse_segment_name, segment_name};
use super::walk::{Scanned, Survey, Visit, durable_by};
use crate::error::{Cause, Error, ErrorKind, Result};
use bytes::Bytes;

/// The maximal number of reads after damage was found. A writer may have replaced the bytes between two reads.
const TRIES: u32 = 3;

/// The content of the active segment from an offset on.
pub(super) struct ActiveScan {
    /// The bytes of the complete batches.
    pub(super) bytes: Bytes,
    pub(super) batches: Vec<Scanned>,
    /// The offset up to which all bytes are known to be durable.
    pub(super) durable: u64,
    /// The bytes after the last complete batch.
    pub(super) tail: Tail,
}

impl Log {
    /// Passes every complete batch that was not delivered yet to `visit`, in order.
    ///
    /// If `live` was written in this run of the machine, reading stops at its mark. Otherwise, or if the log proves
    /// that `live` is outdated, reading stops after the last complete batch, and the bytes after the last durable one
    /// count as unproven. Repeated calls follow a log that other processes write.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset, if a byte before the durable mark differs from the written one.
    /// `UnsupportedFormat` for records of a newer version. `Poisoned` if batches that this handle delivered were never
    /// durable and are lost. An error with the code [`ErrorCode::Rewritten`] if the log no longer contains what was
    /// delivered. `Io`, and the errors of `visit`.
    pub fn catch_up(&mut self, visit: &mut dyn FnMut(Batch) -> Result<()>) -> Result<Tail> {
        self.check_process()?;
        let mut refused = false;
        let mut visit = |batch: Batch| visit(batch).inspect_err(|_| refused = true);
        let result = self.retry(|log| log.catch_up_once(&mut visit));
        match result {
            Err(error) if !refused && self.may_pass_over(&error) => Ok(Tail {
                torn_bytes: 0,
                damage: Some(error),
            }),
            other => other,
        }
    }

    /// Runs `read` again after damage, because a writer may have replaced the bytes between two reads.
    pub(super) fn retry<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        for _ in 1..TRIES {
            match read(self) {
                Err(error) if error.is_corruption() => {}
                other => return other,
            }
        }
        read(self)
    }

    fn catch_up_once(&mut self, visit: &mut Visit<'_>) -> Result<Tail> {
        let live = self.look(visit)?;
        let mut limit = live.and_then(|live| self.live_limit(live));
        if let Some(mark) = limit
            && self.is_overtaken(mark)?
            && self.read_live()? == live
        {
            limit = None;
        }
        let tail = self.read_active(live, limit, visit)?;
        self.check_unlisted()?;
        Ok(tail)
    }

    /// Reads `live` and then the manifest, and delivers the new batches of sealed segments.
    pub(super) fn look(&mut self, visit: &mut Visit<'_>) -> Result<Option<Live>> {
        // A writer publishes the manifest before `live` names a new segment. So a manifest that is read after `live`
        // lists that segment.
        let live = self.read_live()?;
        self.take_listed()?;
        if let Some(error) = live.and_then(|live| self.misplaced(live)) {
            return Err(error);
        }
        self.read_sealed(visit)?;
        // A mark in a segment that a rewrite replaced is ignored.
        Ok(live.filter(|mark| self.manifest.lists(mark.segment)))
    }

    /// Returns the damage if the log lacks bytes that `live` declares durable.
    pub(super) fn misplaced(&self, live: Live) -> Option<Error> {
        match self.manifest.entries().find(|entry| entry.id == live.segment) {
            Some(entry) if entry.is_active() || live.offset <= entry.length => None,
            Some(entry) => Some(damage(&segment_name(entry.id), entry.length, Cause::SealedEarly)),
            // The active segment has the highest number, so the mark is older than the manifest. Its segment may have
            // been dropped: by a recovery if it never got a batch, or by a rewrite if it ended before the cut.
            None if live.segment < self.manifest.active().id
                && (live.offset == FIRST_OFFSET
                    || self.manifest.epoch > 0 && live.batch < self.manifest.active().first_batch) =>
            {
                None
            }
            None => {
                let segment = live.segment;
                Some(damage(MANIFEST_NAME, 0, Cause::NotListed { segment }))
            }
        }
    }

    /// Returns the offset in the active segment at which `live` makes a reader stop (CAT-2).
    pub(super) fn live_limit(&self, live: Live) -> Option<u64> {
        if !live.is_of_boot(self.disk.boot_id()) {
            return None;
        }
        if live.segment == self.manifest.active().id {
            return Some(live.offset);
        }
        let before = self.manifest.before_active();
        (live.segment == before.id && live.offset == before.length).then_some(FIRST_OFFSET)
    }

    /// Returns whether a seal after `limit`, the mark of `live`, declares more bytes durable. A writer writes `live`
    /// before such a seal. So the writer wrote more after `live` was read, or a file system that was shut down without
    /// the machine restored an older `live`.
    fn is_overtaken(&self, limit: u64) -> Result<bool> {
        let segment = self.active_segment()?;
        if is_clean_behind(&segment, limit)? {
            return Ok(false);
        }
        let (window, _) = segment.read_to_end(limit, self.suite)?;
        Ok(window.seals_from(limit).any(|(_, seal)| seal.synced_upto > limit))
    }

    /// Delivers the new batches of sealed segments and moves the cursor to the active segment.
    fn read_sealed(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let here = self.cursor.segment;
        if here == self.manifest.active().id {
            return Ok(());
        }
        self.unsynced = None;
        let manifest = self.manifest.clone();
        let is_listed = manifest.lists(here);
        // Recovery cannot move this batch any more.
        let first_unproven = self.unproven.first().map(|batch| batch.number);
        let durable = first_unproven.map_or(self.visited, |number| number.saturating_sub(1));
        // A segment that is no longer listed had no durable batch. Reading continues at the new place of its first
        // batch.
        let is_read = |entry: &SegmentEntry| {
            if is_listed {
                entry.id != here
            } else {
                entry.last_batch <= durable
            }
        };
        for (before, entry) in chained(manifest.sealed()).skip_while(|(_, entry)| is_read(entry)) {
            self.read_sealed_segment((before, entry), visit)?;
        }
        self.enter(manifest.active_place());
        Ok(())
    }

    /// Moves the cursor to the start of a segment.
    pub(super) fn enter(&mut self, place: (SegmentEnd, &SegmentEntry)) {
        self.cursor = Position::start_of(place, self.cursor.commit);
        // The numbers that a rewrite skipped count as delivered, because no batch will ever have them.
        self.visited = self.visited.max(self.cursor.batch);
        self.durable = FIRST_OFFSET;
    }

    fn read_sealed_segment(
        &mut self,
        place: (SegmentEnd, &SegmentEntry),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (_, entry) = place;
        let segment = self.segment(entry.id)?;
        self.seal(&segment, entry.length);
        if self.cursor.segment != entry.id {
            self.enter(place);
        }
        let from = Some(self.cursor).filter(|cursor| cursor.offset > FIRST_OFFSET);
        segment.batches(place, from.as_ref(), u64::MAX, self.suite, &mut |scanned| {
            self.deliver(scanned, true, visit)
        })?;
        // Later batches were read before they were known to be durable; the next segment shows whether they survived.
        self.unproven.retain(|batch| batch.number > entry.last_batch);
        Ok(())
    }

    fn read_active(&mut self, live: Option<Live>, limit: Option<u64>, visit: &mut Visit<'_>) -> Result<Tail> {
        let segment = self.active_segment()?;
        if limit.is_some_and(|limit| limit <= self.cursor.offset) {
            return Ok(Tail::default());
        }
        let scan = self.scan_active(&segment, self.cursor, live, limit)?;
        segment.keep(self.cursor.offset, scan.bytes);
        for scanned in scan.batches {
            let proven = scanned.end <= scan.durable;
            self.deliver(scanned, proven, visit)?;
        }
        if scan.tail.damage.is_none() {
            self.durable = self.durable.max(scan.durable);
            if self.durable >= self.cursor.offset {
                self.unproven.clear();
            }
        }
        Ok(scan.tail)
    }

    /// Opens the active segment, which must continue the segment before it.
    pub(super) fn active_segment(&self) -> Result<Arc<SegmentFile>> {
        let segment = self.segment(self.manifest.active().id)?;
        if segment.header.previous == self.manifest.before_active() {
            return Ok(segment);
        }
        Err(segment.damage(0, Cause::NotContinued))
    }

    /// Reads the batches of the active segment from `start` on, up to `limit` or to the last complete one. Distinguishes
    /// damage from a torn tail (LOG-4).
    pub(super) fn scan_active(
        &self,
        segment: &SegmentFile,
        start: Position,
        live: Option<Live>,
        limit: Option<u64>,
    ) -> Result<ActiveScan> {
        let from = start.offset;
        let (places, (window, mut behind)) = match limit {
            Some(limit) => {
                let window = segment.window(from, limit, self.suite)?;
                (Vec::new(), (window, Survey::default()))
            }
            // Reads the positions before the segment, so the window contains everything that they prove durable.
            None => (self.durable_places()?, segment.read_to_end(from, self.suite)?),
        };
        let mark = live
            .filter(|live| live.segment == segment.header.id)
            .map_or(0, |live| live.offset);
        let mut durable = self.durable.max(FIRST_OFFSET).max(mark);
        let (mut batches, mut stop) = (Vec::new(), None);
        let mut walk = window.batches(from..limit.unwrap_or(u64::MAX), start.chain());
        for found in &mut walk {
            match found {
                Ok(scanned) => {
                    durable = durable.max(scanned.synced_upto);
                    batches.push(scanned);
                }
                Err(found) => stop = Some(found),
            }
        }
        let end = walk.at;
        durable = durable.max(durable_by(&places, &batches, end));
        let mut tail = Tail::default();
        if let Some(stop) = stop {
            let is_newer = stop.cause.is_of_newer_version();
            let error = segment.damage(stop.offset, stop.cause);
            behind.add(&window, end);
            durable = durable.max(behind.synced_upto);
            // INVARIANT LOG-4: the first invalid byte is damage if it is before the durable mark, and a torn tail if it
            // is after.
            if is_newer || durable > end && !self.options.degraded {
                return Err(error);
            }
            if durable > end {
                tail.damage = Some(error);
            } else {
                tail.torn_bytes = behind.used_from(end);
            }
        }
        let mut bytes = window.bytes;
        bytes.truncate((end - from) as usize);
        Ok(ActiveScan {
            bytes,
            batches,
            durable,
            tail,
        })
    }

    /// Delivers a batch and moves the cursor to its end (CAT-1).
    pub(super) fn deliver(&mut self, scanned: Scanned, proven: bool, visit: &mut Visit<'_>) -> Result<()> {
        let after = self.cursor.after(&scanned.batch, scanned.end);
        self.hand_out(scanned.batch, proven, visit)?;
        self.cursor = after;
        Ok(())
    }

    /// Delivers a batch, unless it was delivered before. In that case checks that it is the same one (CAT-3).
    pub(super) fn hand_out(&mut self, batch: Batch, proven: bool, visit: &mut Visit<'_>) -> Result<()> {
        let number = batch.number;
        if number <= self.visited {
            let unproven = self.unproven.iter().find(|unproven| unproven.number == number);
            // A durable batch is the same by LOG-1, and the newest commit confirms all batches before it.
            let same = match unproven {
                Some(unproven) => unproven.is_copy_of(&batch),
                None => number < self.visited || batch.commit == self.visited_commit,
            };
            if same {
                // A batch is read a second time only if a recovery, by this handle or another, has moved it.
                self.moved = number;
                return Ok(());
            }
            return Err(lost(number));
        }
        let commit = batch.commit;
        let unproven = (!proven).then(|| batch.clone());
        visit(batch)?;
        self.visited = number;
        self.visited_commit = commit;
        self.unproven.extend(unproven);
        Ok(())
    }

    /// Refuses a log with an unlisted segment that has batches after the last listed one. A handle checks this once.
    pub(super) fn check_unlisted(&mut self) -> Result<()> {
        if self.unlisted_checked {
            return Ok(());
        }
        let names = self.disk.list(LOG_FOLDER).map_err(cannot_list)?;
        for (id, unfinished) in names.iter().filter_map(|name| parse_segment_name(name)) {
            // A reader that stopped at `live` has not read all listed batches, so this call reads on before it decides.
            if unfinished
                || self.manifest.lists(id)
                || self.unlisted(id, self.cursor.batch)? != Unlisted::Newer
                || self.unlisted(id, self.newest_listed()?)? != Unlisted::Newer
            {
                continue;
            }
            // A writer has changed the log meanwhile, so the next catch-up checks again.
            if self.is_outdated()? {
                return Ok(());
            }
            return Err(damage(MANIFEST_NAME, 0, Cause::NotListed { segment: id }));
        }
        self.unlisted_checked = true;
        Ok(())
    }

    /// Returns the number of the last complete batch in the listed segments, durable or not.
    fn newest_listed(&self) -> Result<u64> {
        let start = Position::start_of(self.manifest.active_place(), self.cursor.commit);
        let (window, _) = self.active_segment()?.read_to_end(start.offset, self.suite)?;
        let mut walk = window.batches(start.offset..u64::MAX, start.chain());
        walk.by_ref().for_each(drop);
        Ok(walk.chain.batch)
    }
}

/// Returns the error for a batch that was delivered, but is not in the log any more.
pub(super) fn lost(batch: u64) -> Error {
    let message = format!("batch {batch} was read before it was durable, and is now lost");
    Error::new(ErrorKind::Poisoned, message).with_hint("open the store again")
}
