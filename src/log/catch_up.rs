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

use super::batch::{Batch, Position, content_of};
use super::files::{cannot_list, damage};
use super::handle::{Log, Tail};
use super::leftovers::Unlisted;
use super::live::Live;
use super::manifest::{MANIFEST_NAME, SegmentEntry};
use super::reader::SegmentFile;
use super::seal::Chain;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, parse_segment_name, segment_name};
use super::walk::{Scanned, Survey, Visit, Window, durable_by};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Result};

/// The maximal number of reads after damage was found. A writer may have replaced the bytes between two reads.
pub(super) const TRIES: u32 = 3;

/// The number of bytes after `live` to search first. The number doubles as long as batches fill it.
const BEHIND_BYTES: u64 = 4096;

/// The content of the active segment from an offset on.
pub(super) struct ActiveScan {
    pub(super) window: Window,
    pub(super) batches: Vec<Scanned>,
    /// The offset after the last complete batch.
    pub(super) end: u64,
    /// The offset up to which all bytes are known to be durable.
    pub(super) durable: u64,
    pub(super) torn_bytes: u64,
    /// The damage after the last complete batch, for a degraded log.
    pub(super) damage: Option<Error>,
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
        let mut result = self.catch_up_once(&mut visit);
        for _ in 1..TRIES {
            match &result {
                Err(error) if error.is_corruption() => result = self.catch_up_once(&mut visit),
                _ => break,
            }
        }
        match result {
            Err(error)
                if self.options.degraded
                    && !refused
                    && error.kind() == ErrorKind::Corrupt
                    && error.code() != ErrorCode::NoLog =>
            {
                Ok(Tail {
                    torn_bytes: 0,
                    damage: Some(error),
                })
            }
            other => other,
        }
    }

    fn catch_up_once(&mut self, visit: &mut Visit<'_>) -> Result<Tail> {
        let live = self.look(visit)?;
        let mut limit = live.as_ref().and_then(|live| self.live_limit(live));
        if let Some(mark) = limit
            && self.is_overtaken(mark)?
            && self.read_live()? == live
        {
            limit = None;
        }
        let tail = self.read_active(live.as_ref(), limit, visit)?;
        self.check_unlisted(self.cursor.batch)?;
        Ok(tail)
    }

    /// Reads `live` and then the manifest, and delivers the new batches of sealed segments.
    pub(super) fn look(&mut self, visit: &mut Visit<'_>) -> Result<Option<Live>> {
        // A writer publishes the manifest before `live` names a new segment. So a manifest that is read after `live`
        // lists that segment.
        let live = self.read_live()?;
        self.take_listed()?;
        let live = self.place_live(live)?;
        self.read_sealed(visit)?;
        Ok(live)
    }

    /// Checks that the manifest lists the segment that `live` names. Ignores a mark in a segment that a rewrite
    /// replaced.
    pub(super) fn place_live(&self, live: Option<Live>) -> Result<Option<Live>> {
        let Some(mark) = live else { return Ok(None) };
        if let Some(found) = self.misplaced(&mark) {
            return Err(damage(&found.file, found.offset.unwrap_or_default(), found.cause));
        }
        Ok(live.filter(|mark| self.manifest.lists(mark.segment)))
    }

    /// Returns the damage if the log lacks bytes that `live` declares durable.
    pub(super) fn misplaced(&self, live: &Live) -> Option<Damage> {
        let active = self.manifest.active().id;
        if live.segment == active {
            return None;
        }
        let sealed = self.manifest.sealed();
        match sealed.iter().find(|entry| entry.id == live.segment) {
            Some(entry) if live.offset <= entry.length => None,
            Some(entry) => Some(Damage::new(
                segment_name(entry.id),
                entry.length,
                Cause::SealedEarly,
            )),
            // The active segment has the highest number, so the mark is older than the manifest. Its segment may have
            // been dropped: by a recovery if it never got a batch, or by a rewrite if it ended before the cut.
            None if live.segment < active
                && (live.offset == FIRST_OFFSET || self.manifest.has_replaced(live.batch)) =>
            {
                None
            }
            None => {
                let segment = live.segment;
                Some(Damage::new(MANIFEST_NAME, 0, Cause::NotListed { segment }))
            }
        }
    }

    /// Returns the offset in the active segment at which `live` makes a reader stop (CAT-2).
    pub(super) fn live_limit(&self, live: &Live) -> Option<u64> {
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
        let segment = self.segment(self.manifest.active().id)?;
        let mut count = BEHIND_BYTES;
        loop {
            let window = segment.window(limit, limit.saturating_add(count), self.suite)?;
            if window.bytes.is_empty() {
                return Ok(false);
            }
            if window.seals_from(limit).any(|(_, seal)| seal.synced_upto > limit) {
                return Ok(true);
            }
            if (window.bytes.len() as u64) < count {
                return Ok(false);
            }
            count *= 2;
        }
    }

    /// Delivers the new batches of sealed segments and moves the cursor to the active segment.
    fn read_sealed(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let sealed = self.manifest.sealed().to_vec();
        let active = *self.manifest.active();
        if self.cursor.segment == active.id {
            return Ok(());
        }
        self.unsynced = None;
        let here = sealed.iter().position(|entry| entry.id == self.cursor.segment);
        // A segment that is no longer listed had no durable batch. Reading continues at the new place of its first
        // batch.
        let first =
            here.unwrap_or_else(|| sealed.partition_point(|entry| entry.last_batch <= self.durable_batch()));
        for (index, entry) in sealed.iter().enumerate().skip(first) {
            let before = index.checked_sub(1).and_then(|index| sealed.get(index));
            self.read_sealed_segment(entry, before, visit)?;
        }
        if self.cursor.segment != active.id {
            self.enter(&active, self.manifest.before_active().last_digest);
        }
        Ok(())
    }

    /// Returns the newest batch that recovery cannot move any more.
    fn durable_batch(&self) -> u64 {
        self.unproven
            .first()
            .map_or(self.visited, |(number, _)| number.saturating_sub(1))
    }

    fn enter(&mut self, entry: &SegmentEntry, digest: [u8; 32]) {
        self.cursor = Position {
            segment: entry.id,
            offset: FIRST_OFFSET,
            batch: entry.batch_before(),
            digest,
            commit: self.cursor.commit,
        };
        // The numbers that a rewrite skipped count as delivered, because no batch will ever have them.
        self.visited = self.visited.max(self.cursor.batch);
        self.durable = FIRST_OFFSET;
    }

    fn read_sealed_segment(
        &mut self,
        entry: &SegmentEntry,
        before: Option<&SegmentEntry>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let segment = self.segment(entry.id)?;
        segment.seal(entry.length, self.options.map);
        if self.cursor.segment != entry.id {
            let digest = before.map_or([0; 32], |before| before.last_digest);
            self.enter(entry, digest);
        }
        // After a rewritten segment, only the manifest names the previous batch.
        let is_chained = segment.continues(before) || self.cursor.offset > FIRST_OFFSET;
        let window = segment.window(
            self.cursor.offset,
            entry.length.max(self.cursor.offset),
            self.suite,
        )?;
        let chain = Chain {
            batch: self.cursor.batch,
            digest: is_chained.then_some(self.cursor.digest),
        };
        let from = (self.cursor.offset, chain);
        segment.each_batch(&window, entry, from, u64::MAX, &mut |scanned| {
            self.deliver(scanned, true, visit)
        })?;
        // Later batches were read before they were known to be durable; the next segment shows whether they survived.
        self.unproven.retain(|(number, _)| *number > entry.last_batch);
        Ok(())
    }

    fn read_active(
        &mut self,
        live: Option<&Live>,
        limit: Option<u64>,
        visit: &mut Visit<'_>,
    ) -> Result<Tail> {
        let from = self.cursor.offset;
        let segment = self.segment(self.manifest.active().id)?;
        self.check_active_header(&segment)?;
        if limit.is_some_and(|limit| limit <= from) {
            return Ok(Tail::default());
        }
        let chain = self.cursor.chain();
        let scan = self.scan_active(&segment, from, chain, live, limit)?;
        let (torn_bytes, durable, end) = (scan.torn_bytes, scan.durable, scan.end);
        if end > from
            && let Some(bytes) = scan.window.bytes.slice(0..(end - from) as usize)
        {
            segment.keep(from, bytes);
        }
        for scanned in scan.batches {
            let proven = scanned.end <= durable;
            self.deliver(scanned, proven, visit)?;
        }
        if scan.damage.is_some() {
            return Ok(Tail {
                torn_bytes: 0,
                damage: scan.damage,
            });
        }
        self.durable = self.durable.max(durable);
        if self.durable >= self.cursor.offset {
            self.unproven.clear();
        }
        Ok(Tail {
            torn_bytes,
            damage: None,
        })
    }

    pub(super) fn check_active_header(&self, segment: &SegmentFile) -> Result<()> {
        if segment.header.previous == self.manifest.before_active() {
            return Ok(());
        }
        Err(damage(&segment.name(), 0, Cause::NotContinued))
    }

    /// Reads the batches of the active segment from `from` on, up to `limit` or to the last complete one. Distinguishes
    /// damage from a torn tail (LOG-4).
    pub(super) fn scan_active(
        &self,
        segment: &SegmentFile,
        from: u64,
        chain: Chain,
        live: Option<&Live>,
        limit: Option<u64>,
    ) -> Result<ActiveScan> {
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
        let mut batches = Vec::new();
        let mut damage = None;
        let mut stop = None;
        let mut walk = window.batches(from..limit.unwrap_or(u64::MAX), chain);
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
        if let Some(stop) = &stop {
            if stop.cause.is_of_newer_version() {
                return Err(segment.damage(stop));
            }
            behind.add(&window, end);
            durable = durable.max(behind.synced_upto);
            // INVARIANT LOG-4: the first invalid byte is damage if it is before the durable mark, and a torn tail if it
            // is after.
            if durable > end {
                let error = segment.damage(stop);
                if !self.options.degraded {
                    return Err(error);
                }
                damage = Some(error);
            }
        }
        let torn_bytes = stop.map_or(0, |_| behind.used_from(end));
        Ok(ActiveScan {
            window,
            batches,
            end,
            durable,
            torn_bytes,
            damage,
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
            let unproven = self.unproven.iter().find(|(unproven, _)| *unproven == number);
            // A durable batch is the same by LOG-1, and the newest commit confirms all batches before it.
            let same = match unproven {
                Some((_, content)) => *content == content_of(&batch, self.suite),
                None => number < self.visited || batch.commit == self.visited_commit,
            };
            if same {
                // A batch is read a second time only if a recovery, by this handle or another, has moved it.
                self.moved = number;
                return Ok(());
            }
            let message = format!("batch {number} was read before it was durable, and is now lost");
            return Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"));
        }
        let commit = batch.commit;
        let content = (!proven).then(|| content_of(&batch, self.suite));
        visit(batch)?;
        self.visited = number;
        self.visited_commit = commit;
        self.unproven.extend(content.map(|content| (number, content)));
        Ok(())
    }

    /// Refuses a log with an unlisted segment that has batches after `newest`, the last listed one. A handle checks
    /// this once.
    pub(super) fn check_unlisted(&mut self, newest: u64) -> Result<()> {
        if self.unlisted_checked {
            return Ok(());
        }
        let names = self.disk.list(LOG_FOLDER).map_err(cannot_list)?;
        for id in names
            .iter()
            .filter_map(|name| parse_segment_name(name))
            .filter(|(_, unfinished)| !unfinished)
        {
            let id = id.0;
            // A reader that stopped at `live` has not read all listed batches, so this call reads on before it decides.
            if self.manifest.lists(id)
                || self.unlisted(id, newest)? != Unlisted::Newer
                || self.unlisted(id, self.newest_listed()?)? != Unlisted::Newer
            {
                continue;
            }
            // A writer has changed the log meanwhile, so the next catch-up checks again.
            if self.is_outdated()? {
                return Ok(());
            }
            let cause = Cause::NotListed { segment: id };
            return Err(damage(MANIFEST_NAME, 0, cause));
        }
        self.unlisted_checked = true;
        Ok(())
    }

    /// Returns the number of the last complete batch in the listed segments, durable or not.
    fn newest_listed(&self) -> Result<u64> {
        let window = self
            .segment(self.manifest.active().id)?
            .window_to_end(FIRST_OFFSET, self.suite)?;
        let mut walk = window.batches(FIRST_OFFSET..u64::MAX, self.manifest.chain_into_active());
        walk.by_ref().for_each(drop);
        Ok(walk.chain.batch)
    }
}
