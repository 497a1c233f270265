//! Positions: places between two batches, where reading can start.
//!
//! # Layer
//! L2.
//!
//! # Invariants
//! - POS-1: reading starts only behind the exact batch that a position names. That batch was durable, so a log without
//!   it has lost it.
//! - POS-2: a place that was durable when a file was derived from the log counts for the durable mark.

use std::sync::Arc;

use super::batch::{Locator, Position};
use super::catch_up::TRIES;
use super::epoch::rewritten;
use super::files::{damage, read_manifest};
use super::format_file::Mode;
use super::frame::{FRAME_ALIGNMENT, RecordKind, framed_bytes};
use super::handle::{DurablePlaces, Log, LogOptions};
use super::manifest::{MANIFEST_NAME, SegmentEntry};
use super::reader::{LogReader, SegmentFile};
use super::seal::{SEAL_BYTES, Seal};
use super::segment::{FIRST_OFFSET, SEGMENT_BYTES_LIMIT, segment_name};
use crate::error::{Cause, Error, Result};

impl Log {
    /// Lets this handle ask `places` wherever `live` does not prove the log durable (POS-2).
    pub fn ask_places(&mut self, places: Arc<DurablePlaces>) {
        self.places = Some(places);
    }

    /// The places in the active segment that derived files prove durable. Callers read them before the segment, so the
    /// segment holds at least the batches that they prove.
    pub(super) fn durable_places(&self) -> Result<Vec<Position>> {
        let Some(places) = &self.places else {
            return Ok(Vec::new());
        };
        let mut places = places(self)?;
        places.retain(|place| place.segment == self.manifest.active().id);
        Ok(places)
    }

    /// Returns whether the whole log reads without damage and holds the batch before `position`, in the same epoch.
    ///
    /// # Errors
    /// [`ErrorCode::Rewritten`](crate::ErrorCode::Rewritten); `Io`.
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

    /// The place behind the newest batch that was handed out or appended. Keep it for [`Log::start_at`] only if that batch
    /// is durable: it was appended with a sync, or [`Log::prepare`] has returned since.
    pub fn position(&self) -> Position {
        if self.cursor.offset != FIRST_OFFSET {
            return self.cursor;
        }
        // Nothing was read of this segment yet: the batch before ends another one.
        let here = |entry: &&SegmentEntry| entry.id == self.cursor.segment;
        let before = self.manifest.entries().take_while(|entry| !here(entry)).last();
        before.map_or(Position::START, |before| Position {
            segment: before.id,
            offset: before.length,
            batch: before.last_batch,
            digest: before.last_digest,
            commit: self.cursor.commit,
        })
    }

    /// Makes a log that was just opened go on behind `position`, as if everything before it had been handed out. Reads
    /// the seal before it and nothing else; with `degraded`, all of the active segment, because the newest state before damage
    /// there is one before `position`. All that the log lists can then be read, and stays so if a rewrite unlinks it.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset, if the log does not hold the batch before `position` where that says: it was
    /// durable, so the log was cut or replaced by an older one; [`ErrorCode::Rewritten`](crate::ErrorCode::Rewritten) if that happened since
    /// this handle was opened; `Io`.
    pub fn start_at(&mut self, position: &Position) -> Result<()> {
        self.check_process()?;
        if self.cursor != Position::START {
            return Err(Error::internal("start_at was called on a log that was read from"));
        }
        let mut result = self.start_at_once(position);
        for _ in 1..TRIES {
            match &result {
                // A writer may have moved on in between.
                Err(error) if error.is_corruption() => result = self.start_at_once(position),
                _ => break,
            }
        }
        result
    }

    fn start_at_once(&mut self, position: &Position) -> Result<()> {
        let manifest = read_manifest(&*self.disk, &self.format)?;
        // Nothing was handed out yet, but the position is of the epoch that this handle was opened in.
        if manifest.epoch != self.manifest.epoch {
            return Err(rewritten());
        }
        self.take_manifest(manifest)?;
        self.open_listed()?;
        if *position == Position::START {
            return Ok(());
        }
        // INVARIANT POS-1.
        let listed = self.manifest.entries().find(|entry| entry.id == position.segment);
        let entry = listed.ok_or_else(|| {
            let segment = position.segment;
            damage(MANIFEST_NAME, 0, Cause::NotListed { segment })
        })?;
        let segment = self.segment(entry.id)?;
        if !entry.is_active() && position.offset > entry.length {
            return Err(damage(&segment.name(), entry.length, Cause::SealedEarly));
        }
        if !segment.holds_seal_before(position)? {
            let batch = position.batch;
            let at = seal_before(position.offset);
            return Err(damage(&segment.name(), at, Cause::BatchGone { batch }));
        }
        if self.options.degraded && entry.is_active() {
            self.check_active(&segment)?;
        }
        self.cursor = *position;
        self.durable = position.offset;
        self.visited = position.batch;
        self.visited_commit = position.commit;
        Ok(())
    }

    /// Reads the active segment up to where it is known to be durable.
    ///
    /// # Errors
    /// `Corrupt` if a batch there is not whole; `Io`.
    fn check_active(&self, segment: &SegmentFile) -> Result<()> {
        let chain = self.manifest.chain_into_active();
        let scan = self.scan_active(segment, FIRST_OFFSET, chain, None, None)?;
        scan.damage.map_or(Ok(()), Err)
    }
}

/// Where the frame of the seal starts that ends at `offset`.
fn seal_before(offset: u64) -> u64 {
    offset.saturating_sub(framed_bytes(SEAL_BYTES) as u64)
}

impl LogReader {
    /// The place behind the batch that holds the record at `place`.
    ///
    /// # Errors
    /// `Corrupt` if the place does not begin whole records up to a seal; `Io`.
    pub fn position_behind(&self, place: Locator) -> Result<Position> {
        let mut at = place;
        loop {
            let record = self.read(at)?;
            at = record.next();
            if record.kind != RecordKind::Seal {
                continue;
            }
            let (seal, digest) = Seal::decode(&record.body).ok_or_else(|| {
                let name = segment_name(at.segment());
                damage(&name, record.locator.offset(), Cause::SealMismatch)
            })?;
            return Ok(Position {
                segment: at.segment(),
                offset: at.offset(),
                batch: seal.batch,
                digest: *digest.as_bytes(),
                commit: seal.commit,
            });
        }
    }
}

impl SegmentFile {
    /// Whether the seal before `position` is that of the batch it names.
    fn holds_seal_before(&self, position: &Position) -> Result<bool> {
        let at = seal_before(position.offset);
        // A locator cannot hold every number.
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
