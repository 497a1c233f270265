//! Recovery: seals the last segment at the durable mark, and copies the complete batches after the mark into a new
//! segment.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - REC-1: recovery changes no byte of an existing segment.
//! - REC-2: recovery seals no bytes after the durable mark. Recovery copies the complete batches after the mark into
//!   the new segment.
//! - REC-3: the manifest lists the new segment only when its content is durable. The segment gets its final name after
//!   that. So an unlisted segment never has a batch that the manifest should list.
//!
//! # After a crash
//! After a crash at any step, either the old manifest is in place and recovery runs again, or the new manifest is in
//! place and the log is complete.

use std::sync::Arc;

use super::batch::{Batch, BatchBuilder, Continue, HeadMark, Position, encode_group};
use super::catch_up::{ActiveScan, lost};
use super::commit::is_clean_behind;
use super::handle::Log;
use super::live::Live;
use super::manifest::SegmentEntry;
use super::reader::SegmentFile;
use super::rotate::next_segment_bytes;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, segment_name};
use super::walk::{Scanned, Visit};
use crate::digest::{CommitDigest, Root};
use crate::disk::{self, unfinished_name};
use crate::error::{Cause, OrIo as _, Result};

/// The step that the next writer takes before it appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextWriter {
    /// The writer continues in the active segment at the mark of `live`. The mark was written during the current boot,
    /// and only zeros follow it.
    GoOn {
        /// The number of the active segment.
        segment: u64,
        /// The offset of the next batch.
        offset: u64,
    },
    /// The writer seals the active segment, and continues in a new segment.
    Recover {
        /// The segment that will be sealed.
        segment: u64,
        /// The length at which the segment will be sealed. All bytes before this offset are known to be durable.
        sealed_at: u64,
        /// The numbers of the complete batches after the sealed length. The writer copies these batches into the new
        /// segment.
        again: Vec<u64>,
        /// The number of nonzero bytes after the last complete batch. The writer leaves these bytes unchanged.
        torn_bytes: u64,
    },
}

impl Log {
    /// Scans the active segment. Returns the scan with the durable batches only, and separately the batches that are
    /// not known to be durable.
    ///
    /// # Errors
    /// Returns an error if recovery would lose a batch, or include a batch that does not belong to the log.
    pub(super) fn scan_to_recover(
        &mut self,
        live: Option<Live>,
        segment: &SegmentFile,
    ) -> Result<(ActiveScan, Vec<Scanned>)> {
        let start = Position::start_of(self.manifest.active_place(), self.cursor.commit);
        let mut scan = self.scan_active(segment, start, live, None)?;
        let split = scan
            .batches
            .partition_point(|scanned| scanned.end <= scan.durable);
        let beyond = scan.batches.split_off(split);
        let boundary = scan.batches.last().map_or(FIRST_OFFSET, |scanned| scanned.end);
        if boundary != scan.durable {
            return Err(segment.damage(scan.durable, Cause::MarkWithinBatch));
        }
        let newest = beyond
            .last()
            .or(scan.batches.last())
            .map_or(start.batch, |scanned| scanned.batch.number);
        self.check_unlisted()?;
        if newest < self.visited {
            return Err(lost(self.visited));
        }
        Ok((scan, beyond))
    }

    /// Determines what [`Log::prepare`] would do now, without writing.
    ///
    /// # Errors
    /// The errors of [`Log::prepare`].
    pub(super) fn next_writer(&mut self) -> Result<NextWriter> {
        let live = self.look(&mut |_| Ok(()))?;
        let segment = self.active_segment()?;
        let active = segment.header.id;
        if let Some(offset) = self.end_in_place(live, &segment)? {
            self.scan_active(&segment, self.cursor, live, Some(offset))?;
            self.check_unlisted()?;
            return Ok(NextWriter::GoOn {
                segment: active,
                offset,
            });
        }
        let (scan, beyond) = self.scan_to_recover(live, &segment)?;
        Ok(NextWriter::Recover {
            segment: active,
            sealed_at: scan.durable,
            again: beyond.iter().map(|scanned| scanned.batch.number).collect(),
            torn_bytes: scan.tail.torn_bytes,
        })
    }

    /// Returns the number of complete batches behind the last batch that this handle has read. A writer left them without
    /// a mark, so readers stop before them, and the next writer recovers them. A writer may also be about to write the mark.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the active segment cannot be read.
    pub fn pending(&self) -> Result<u64> {
        let (segment, from) = (self.active_segment()?, self.cursor.offset);
        if self.cursor.segment != segment.header.id || is_clean_behind(&segment, from)? {
            return Ok(0);
        }
        let (window, _) = segment.read_to_end(from, self.suite)?;
        let batches = window.batches(from..u64::MAX, self.cursor.chain());
        Ok(batches.map_while(std::result::Result::ok).count() as u64)
    }

    /// Returns the number of the oldest batch that recovery brought in since the last call, and that this handle had not
    /// delivered before.
    pub fn take_recovered(&mut self) -> Option<u64> {
        self.recovered.take()
    }

    /// Seals the active segment at its durable end, and copies the complete batches after that end into a new segment.
    pub(super) fn recover(
        &mut self,
        live: Option<Live>,
        segment: &Arc<SegmentFile>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (scan, beyond) = self.scan_to_recover(live, segment)?;
        self.cursor = Position::start_of(self.manifest.active_place(), self.cursor.commit);
        for scanned in scan.batches {
            let after = self.cursor.after(&scanned.batch, scanned.end);
            if after.batch > self.visited {
                self.hand_out(scanned.batch, true, visit)?;
            }
            self.cursor = after;
        }
        self.unsynced = None;
        let rebuilt = beyond
            .iter()
            .map(|scanned| (rebuild(&scanned.batch), scanned.batch.commit));
        let group = rebuilt.collect();
        let head = self.head_mark(live, beyond.last().map(|scanned| scanned.batch.commit));
        let batches = self.poison_on_error(|log| log.write_recovered(group, head))?;
        let new = batches.iter().map(|batch| batch.number);
        self.recovered = new
            .into_iter()
            .find(|number| *number > self.visited)
            .or(self.recovered);
        for batch in batches {
            self.hand_out(batch, true, visit)?;
        }
        self.unproven.clear();
        Ok(())
    }

    /// Returns the head to write to `live` after a recovery or rewrite. The log cannot decode commits. So this function
    /// copies root and seq from the old mark if the mark names the same commit, and otherwise sets them to zero.
    pub(super) fn head_mark(&self, live: Option<Live>, newest: Option<CommitDigest>) -> HeadMark {
        let commit = newest.unwrap_or(self.cursor.commit);
        let known = live.map(|live| live.head).filter(|head| head.commit == commit);
        known.unwrap_or(HeadMark {
            commit,
            root: Root::from_bytes([0; 32]),
            seq: 0,
        })
    }

    fn write_recovered(
        &mut self,
        group: Vec<(BatchBuilder, CommitDigest)>,
        head: HeadMark,
    ) -> Result<Vec<Batch>> {
        let (sealed, previous) = self.sealed_at_cursor();
        let header = self.new_header(self.new_numbers(1)?, previous)?;
        let after = Continue::start(&header, self.cursor.chain());
        let first_batch = self.cursor.batch + 1;
        let (bytes, batches) = encode_group(group, self.suite, after)?;
        let mut content = header.encode();
        content.extend_from_slice(&bytes);
        let name = segment_name(header.id);
        let unfinished = unfinished_name(&name);
        let length = next_segment_bytes(&self.options, 0, bytes.len() as u64);
        // REC-1: recovery only reads the old segment, and writes a new file. REC-2: the sealed part of the old segment
        // ends before the batches that this file contains.
        disk::write_whole(&*self.disk, &unfinished, &content, length)
            .and_then(|()| self.disk.sync_dir(LOG_FOLDER))
            .or_io(format_args!("cannot create {name}"))?;
        // INVARIANT REC-3: the manifest lists the new segment only when its content is durable.
        let active = SegmentEntry::active(header.id, first_batch);
        self.publish_manifest(self.manifest.epoch, sealed, active)?;
        self.finish_name(header.id)?;
        let segment = self.enter_new(header.id)?;
        segment.keep(FIRST_OFFSET, bytes.clone());
        if let Some(last) = batches.last() {
            self.cursor = self.cursor.after(last, FIRST_OFFSET + bytes.len() as u64);
        }
        // Keeps the unproven batches, because `recover` compares them with the copies.
        let unproven = std::mem::take(&mut self.unproven);
        self.mark_durable(head)?;
        self.unproven = unproven;
        Ok(batches)
    }
}

/// Returns a builder with the records of `batch`, to write the batch at another place.
fn rebuild(batch: &Batch) -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    for record in &batch.records {
        builder.add(record.kind, record.flags, &record.body);
    }
    builder
}
