//! Positions: places between two batches of the log, where a handle can start reading.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - POS-1: reading starts only after the exact batch that the position names. That batch was durable, so a log without
//!   the batch is damaged.
//! - POS-2: if a file was derived from the log up to a position, the log was durable up to that position.

use std::sync::Arc;

use super::batch::{Batch, Locator, Position};
use super::files::{damage, read_manifest};
use super::format_file::Mode;
use super::frame::{FRAME_ALIGNMENT, RecordKind};
use super::handle::{DurablePlaces, Log, LogOptions, rewritten};
use super::manifest::{MANIFEST_NAME, chained};
use super::reader::{LogReader, SegmentFile};
use super::seal::{SEAL_FRAME_BYTES, Seal};
use super::segment::{FIRST_OFFSET, SEGMENT_BYTES_LIMIT, segment_name};
use crate::error::{Cause, Error, Result};

impl Log {
    /// Sets the function that returns durable positions. The handle uses these positions if `live` does not prove that
    /// the log is durable (POS-2).
    pub fn ask_places(&mut self, places: Arc<DurablePlaces>) {
        self.places = Some(places);
    }

    /// Returns the positions in the active segment that derived files prove durable. Call this before reading the
    /// segment, so the bytes that are read contain at least the batches before these positions.
    pub(super) fn durable_places(&self) -> Result<Vec<Position>> {
        let Some(places) = &self.places else {
            return Ok(Vec::new());
        };
        let mut places = places(self)?;
        places.retain(|place| place.segment == self.manifest.active().id);
        Ok(places)
    }

    /// Reads the whole log. Returns whether the log is undamaged and contains the batch that `position` names.
    ///
    /// # Errors
    /// [`ErrorCode::Rewritten`](crate::ErrorCode::Rewritten) if the log was rewritten since this handle was opened;
    /// `Io`.
    pub fn holds(&self, position: &Position) -> Result<bool> {
        let options = LogOptions {
            degraded: false,
            ..self.options
        };
        let mut log = Self::open(Arc::clone(&self.disk), Mode::ReadOnly, options)?;
        if log.manifest.epoch != self.manifest.epoch {
            return Err(rewritten());
        }
        log.places.clone_from(&self.places);
        let mut found = false;
        let read = log.catch_up(&mut |batch| {
            found |= (batch.number, batch.commit) == (position.batch, position.commit);
            Ok(())
        });
        match read {
            Err(error) if error.is_corruption() => Ok(false),
            other => other.map(|_| found),
        }
    }

    /// Returns the number of the first batch of each segment, in the order of the log.
    pub fn first_batches(&self) -> impl Iterator<Item = u64> {
        self.manifest.entries().map(|entry| entry.first_batch)
    }

    /// Returns whether a record of the log may start at `place`: the manifest lists the segment, and the place is below
    /// the sealed length. A recovery that moves a batch leaves its old place outside.
    pub fn has_place(&self, place: Locator) -> bool {
        let listed = self.manifest.entries().find(|entry| entry.id == place.segment());
        listed.is_some_and(|entry| entry.is_active() || place.offset() < entry.length)
    }

    /// Returns the locator at which the next batch begins, unless the log rotates to a new segment before.
    pub(crate) fn next_record(&self) -> Locator {
        Locator::new(self.cursor.segment, self.cursor.offset)
    }

    /// Returns the position after the newest batch that was delivered or appended. Pass the position to
    /// [`Log::start_at`] only if that batch is durable: it was appended with a sync, or [`Log::prepare`] returned
    /// later.
    pub fn position(&self) -> Position {
        if self.cursor.offset != FIRST_OFFSET {
            return self.cursor;
        }
        // The handle has read no batch of the cursor's segment, so the last batch is in the previous segment.
        let here = chained(self.manifest.entries()).find(|(_, entry)| entry.id == self.cursor.segment);
        let before = here.map(|(before, _)| before).filter(|before| before.id != 0);
        before.map_or(Position::START, |before| Position {
            segment: before.id,
            offset: before.length,
            batch: before.last_batch,
            digest: before.last_digest,
            commit: self.cursor.commit,
        })
    }

    /// Makes a newly opened handle continue after `position`, as if all earlier batches were delivered. Reads only the
    /// seal before the position. A degraded log reads the whole active segment, because damage there requires a start
    /// at an earlier position. Opens every listed segment, so the segments stay readable after a rewrite unlinks them.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset, if the log lacks the batch that `position` names. The batch was durable, so
    /// the log was truncated or replaced by an older log. [`ErrorCode::Rewritten`](crate::ErrorCode::Rewritten) if the
    /// log was rewritten since this handle was opened. `Io`.
    pub fn start_at(&mut self, position: &Position) -> Result<()> {
        self.check_process()?;
        if self.cursor != Position::START {
            return Err(Error::internal(
                "start_at was called on a log that was already read",
            ));
        }
        self.retry(|log| log.start_at_once(position))
    }

    fn start_at_once(&mut self, position: &Position) -> Result<()> {
        let manifest = read_manifest(&*self.disk, &self.format)?;
        // This handle has not delivered a batch, so `take_manifest` accepts a new epoch. But the position belongs to
        // the epoch in which this handle was opened.
        if manifest.epoch != self.manifest.epoch {
            return Err(rewritten());
        }
        self.take_manifest(manifest)?;
        self.open_listed()?;
        if *position == Position::START {
            return Ok(());
        }
        // INVARIANT POS-1: reading starts only after the exact batch that the position names.
        let listed = self.manifest.entries().find(|entry| entry.id == position.segment);
        let entry = listed.ok_or_else(|| {
            let segment = position.segment;
            damage(MANIFEST_NAME, 0, Cause::NotListed { segment })
        })?;
        let segment = self.segment(entry.id)?;
        if !entry.is_active() && position.offset > entry.length {
            return Err(segment.damage(entry.length, Cause::SealedEarly));
        }
        if !segment.holds_seal_before(position)? {
            let batch = position.batch;
            return Err(segment.damage(seal_before(position.offset), Cause::BatchGone { batch }));
        }
        if self.options.degraded && entry.is_active() {
            let start = Position::start_of(self.manifest.active_place(), position.commit);
            let scan = self.scan_active(&segment, start, None, None)?;
            scan.tail.damage.map_or(Ok(()), Err)?;
        }
        if entry.is_active() && self.options.map {
            // The log holds the position, which is durable, and no writer changes a byte before it (LOG-1).
            segment.set_durable(position.offset);
        }
        self.cursor = *position;
        self.durable = position.offset;
        self.visited = position.batch;
        self.visited_commit = position.commit;
        self.visited_sum = None;
        Ok(())
    }
}

/// Returns the start of the seal's frame that ends at `offset`.
fn seal_before(offset: u64) -> u64 {
    offset.saturating_sub(SEAL_FRAME_BYTES)
}

impl LogReader {
    /// Returns the position after the batch that contains the record at `place`. Reads the records up to the batch's
    /// seal.
    ///
    /// # Errors
    /// `Corrupt` if a record between `place` and the seal is damaged; `Io`.
    pub fn position_behind(&self, place: Locator) -> Result<Position> {
        Ok(self.batch_from(place)?.1)
    }

    /// Returns the batch whose first record is at `place`, and the position after it.
    ///
    /// # Errors
    /// `Corrupt` if a record of the batch is damaged; `Io`.
    pub fn batch_from(&self, place: Locator) -> Result<(Batch, Position)> {
        let (mut at, mut records) = (place, Vec::new());
        loop {
            let record = self.read(at)?;
            at = record.next();
            if record.kind != RecordKind::Seal {
                records.push(record);
                continue;
            }
            let (seal, digest) = Seal::decode(&record.body).ok_or_else(|| {
                let name = segment_name(at.segment());
                damage(&name, record.locator.offset(), Cause::SealMismatch)
            })?;
            let batch = Batch {
                number: seal.batch,
                commit: seal.commit,
                digest,
                records,
            };
            let position = Position {
                segment: at.segment(),
                offset: at.offset(),
                batch: seal.batch,
                digest: *digest.as_bytes(),
                commit: seal.commit,
            };
            return Ok((batch, position));
        }
    }
}

impl SegmentFile {
    /// Returns whether this segment contains, right before `position`, the seal of the batch that the position names.
    fn holds_seal_before(&self, position: &Position) -> Result<bool> {
        let at = seal_before(position.offset);
        // Checks the limits first, because a locator panics on an invalid offset.
        if !(FIRST_OFFSET..SEGMENT_BYTES_LIMIT).contains(&at) || !at.is_multiple_of(FRAME_ALIGNMENT as u64) {
            return Ok(false);
        }
        let record = match self.read(Locator::new(self.header.id, at)) {
            Err(error) if error.is_corruption() => return Ok(false),
            other => other?,
        };
        let seal = Seal::decode(&record.body).filter(|_| record.kind == RecordKind::Seal);
        Ok(seal.is_some_and(|(seal, digest)| {
            (seal.batch, seal.commit) == (position.batch, position.commit)
                && *digest.as_bytes() == position.digest
                && seal.start.checked_add(seal.length) == Some(at)
        }))
    }
}
