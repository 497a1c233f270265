//! Catching up: delivers, in order, every complete batch that this handle has not delivered yet.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CAT-1: each batch is delivered once, in order, and only if it is complete.
//! - CAT-2: if `live` was written during the current boot, no batch after its mark is delivered, unless the log proves
//!   that `live` is outdated.
//! - CAT-3: if a batch was delivered before it was known to be durable, and recovery moved it to another place, the
//!   copy there must equal the delivered batch.

use std::sync::Arc;

use bytes::Bytes;

use super::batch::{Batch, Position};
use super::commit::is_clean_behind;
use super::files::{cannot_list, damage};
use super::format_file::Mode;
use super::handle::{Log, Tail};
use super::leftovers::Unlisted;
use super::live::Live;
#[cfg(feature = "remote")]
use super::manifest::Manifest;
use super::manifest::{MANIFEST_NAME, SegmentEntry, chained};
use super::reader::SegmentFile;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, SegmentEnd, parse_segment_name, segment_name};
use super::walk::{Scanned, Survey, Visit, durable_by};
use crate::error::{Cause, Error, ErrorKind, Result};

/// The maximal number of attempts to read if a read finds damage. A writer may have replaced bytes during the read,
/// which looks like damage.
const TRIES: u32 = 3;

/// The content of the active segment from an offset on.
pub(super) struct ActiveScan {
    /// The bytes of the complete batches.
    pub(super) bytes: Bytes,
    pub(super) batches: Vec<Scanned>,
    /// The offset up to which all bytes are known to be durable.
    pub(super) durable: u64,
    /// The torn bytes, or the damage, after the last complete batch.
    pub(super) tail: Tail,
}

impl Log {
    /// Passes to `visit` every complete batch that this handle has not delivered yet, in order.
    ///
    /// If `live` was written during the current boot, reading stops at its mark. Otherwise, or if the log proves that
    /// `live` is outdated, reading stops after the last complete batch. Batches that are not known to be durable are
    /// then treated as unproven. Repeated calls deliver the batches that other processes append.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset, if a byte before the durable mark differs from the written byte.
    /// `UnsupportedFormat` for records of a newer version. `Poisoned` if batches that this handle delivered were never
    /// durable and are lost. An error with the code `Rewritten` if a rewrite replaced batches that this handle
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

    /// Calls `read` again if `read` finds damage, because a writer may have replaced bytes during the read.
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

    /// Reads `live`, then the manifest, and delivers the new batches of sealed segments. Returns `live` if the manifest
    /// lists its segment.
    pub(super) fn look(&mut self, visit: &mut Visit<'_>) -> Result<Option<Live>> {
        // A writer publishes the manifest before `live` names a new segment. So a manifest that is read after `live`
        // lists that segment.
        let live = match self.read_live() {
            // To a reader, an unreadable hint is a missing one. A writer must be able to write the file.
            Err(error) if error.is_unreadable() && self.mode == Mode::ReadOnly => None,
            live => live?,
        };
        self.take_listed()?;
        if let Some(error) = live.and_then(|live| self.misplaced(live)) {
            return Err(error);
        }
        self.read_sealed(visit)?;
        // Ignores a mark in a segment that is no longer listed, for example after a rewrite.
        Ok(live.filter(|mark| self.manifest.lists(mark.segment)))
    }

    /// Returns an error if the listed segments lack bytes that `live` declares durable.
    pub(super) fn misplaced(&self, live: Live) -> Option<Error> {
        match self.manifest.entries().find(|entry| entry.id == live.segment) {
            Some(entry) if entry.is_active() || live.offset <= entry.length => None,
            Some(entry) => Some(damage(&segment_name(entry.id), entry.length, Cause::SealedEarly)),
            // The active segment has the highest number, so the mark is older than the manifest. The mark's segment may
            // be gone for two reasons: a recovery dropped the segment because the segment contained no batch, or a
            // rewrite replaced the segment.
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

    /// Returns the offset in the active segment at which readers must stop because of `live` (CAT-2). Returns `None` if
    /// `live` sets no limit.
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

    /// Returns whether a seal after `limit`, the mark of `live`, declares bytes after `limit` durable. A writer always
    /// updates `live` before it writes such a seal. So `live` is outdated: either a writer continued after `live` was
    /// read, or a crash of the file system alone, without a reboot, restored an older `live`.
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
        // Recovery cannot move the batches before the first unproven one.
        let first_unproven = self.unproven.first().map(|batch| batch.number);
        let durable = first_unproven.map_or(self.visited, |number| number.saturating_sub(1));
        // If the cursor's segment is no longer listed, none of its batches was durable. Recovery may have moved them,
        // so reading continues at the first batch that was not durable.
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

    /// Moves the cursor to the first batch of a segment.
    pub(super) fn enter(&mut self, place: (SegmentEnd, &SegmentEntry)) {
        self.cursor = Position::start_of(place, self.cursor.commit);
        // A rewrite skips batch numbers. Marks the skipped numbers as delivered, because no batch will ever have them.
        self.visited = self.visited.max(self.cursor.batch);
        self.durable = FIRST_OFFSET;
    }

    /// Moves the cursor behind the newest sealed segment of `manifest`, which this process has just written. `last` is its
    /// last batch.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the segment cannot be opened.
    #[cfg(feature = "remote")]
    pub(super) fn enter_written(&mut self, manifest: Manifest, last: &Batch) -> Result<()> {
        let end = manifest.before_active();
        self.keep_manifest(manifest);
        self.seal(&*self.segment(end.id)?, end.length);
        self.cursor.commit = last.commit;
        self.enter(self.manifest.clone().active_place());
        (self.visited_commit, self.visited_sum) = (last.commit, Some(last.sum()));
        Ok(())
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
        // Keeps the unproven batches after this segment: the next segment shows whether they survived.
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

    /// Reads the batches of the active segment from `start` on, up to `limit` or to the last complete batch.
    /// Distinguishes damage from a torn tail (LOG-4).
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
            // Reads the durable positions first and the segment second. In this order, the bytes of the segment
            // contain every batch that these positions prove durable.
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

    /// Passes a batch to `visit`. If a batch with this number was delivered before, only checks that both copies are
    /// equal (CAT-3).
    pub(super) fn hand_out(&mut self, batch: Batch, proven: bool, visit: &mut Visit<'_>) -> Result<()> {
        let number = batch.number;
        if number <= self.visited {
            let unproven = self.unproven.iter().find(|unproven| unproven.number == number);
            // A durable batch cannot have changed (LOG-1). For the newest delivered batch, compares the records: the batch
            // of another line repeats the head commit.
            let same = match unproven {
                Some(unproven) => unproven.is_copy_of(&batch),
                None if number < self.visited => true,
                None => self
                    .visited_sum
                    .map_or(batch.commit == self.visited_commit, |sum| batch.sum() == sum),
            };
            if same {
                // A handle reads a batch twice only if a recovery moved the batch.
                self.moved = number;
                return Ok(());
            }
            return Err(lost(number));
        }
        let (commit, sum) = (batch.commit, batch.sum());
        let unproven = (!proven).then(|| batch.clone());
        visit(batch)?;
        self.visited = number;
        self.visited_commit = commit;
        self.visited_sum = Some(sum);
        self.unproven.extend(unproven);
        Ok(())
    }

    /// Returns an error if a segment that the manifest does not list contains batches newer than all batches in listed
    /// segments. Each handle checks this once.
    pub(super) fn check_unlisted(&mut self) -> Result<()> {
        if self.unlisted_checked {
            return Ok(());
        }
        let names = self.disk.list(LOG_FOLDER).map_err(cannot_list)?;
        for (id, unfinished) in names.iter().filter_map(|name| parse_segment_name(name)) {
            // The cursor may have stopped at `live`. So this code compares the segment with the newest batch in the
            // listed segments too.
            if unfinished
                || self.manifest.lists(id)
                || !self.is_newer(id, self.cursor.batch)?
                || !self.is_newer(id, self.newest_listed()?)?
            {
                continue;
            }
            // If a writer has replaced the manifest meanwhile, the next catch-up repeats this check.
            if self.is_outdated()? {
                return Ok(());
            }
            return Err(damage(MANIFEST_NAME, 0, Cause::NotListed { segment: id }));
        }
        self.unlisted_checked = true;
        Ok(())
    }

    /// Returns whether the unlisted segment `id` contains a batch newer than `newest`. To a reader, an unreadable file is
    /// a missing one.
    fn is_newer(&self, id: u64, newest: u64) -> Result<bool> {
        match self.unlisted(id, newest) {
            Err(error) if error.is_unreadable() && self.mode == Mode::ReadOnly => Ok(false),
            found => Ok(found? == Unlisted::Newer),
        }
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

/// Returns the error for a batch that this handle delivered and that the log no longer contains.
pub(super) fn lost(batch: u64) -> Error {
    let message =
        format!("the log lost batch {batch}, which this handle had read before the batch became durable");
    Error::new(ErrorKind::Poisoned, message).with_hint("open the store again")
}
