//! Rotation: creates the next segment, and publishes a manifest that lists it.
//!
//! # Layer
//! Layer 2.

use std::io;
use std::sync::Arc;

use super::batch::BatchBuilder;
use super::handle::{Log, LogOptions, Writing};
use super::lock::WriteLock;
use super::manifest::{MANIFEST_NAME, Manifest, SegmentEntry};
use super::reader::SegmentFile;
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, parse_segment_name,
    segment_name,
};
use crate::disk::{self, Disk, if_there, unfinished_name};
use crate::error::{Error, OrIo as _, Result};

/// The smallest reserve in bytes.
const RESERVE_LEAST: u64 = 128 << 10;
/// The largest reserve in bytes.
const RESERVE_MOST: u64 = 64 << 20;

/// A large group gets this many bytes of zeros, and a small group at least as many.
const FILLED_FIRST: u64 = 4 << 10;
/// At most this part of the log is added, within limits in bytes.
const FILLED_PART: u64 = 64;
const FILLED_LEAST: u64 = 64 << 10;
const FILLED_MOST: u64 = 256 << 10;
/// A group is small if the most zeros have room for this many of its size.
const GROUPS_FILLED: u64 = 16;

impl Log {
    /// Seals the active segment at the cursor, and continues in a new segment.
    pub(super) fn rotate(&mut self, lock: &WriteLock) -> Result<Arc<SegmentFile>> {
        lock.check_file()?;
        let next = self.create_next()?;
        self.switch_to(&next)
    }

    /// Creates the file of the next segment. The log does not list it yet, so a failure changes nothing.
    pub(super) fn create_next(&self) -> Result<SegmentHeader> {
        let header = self.new_header(self.new_numbers(1)?, self.sealed_at_cursor().1)?;
        create_segment(&*self.disk, &header, &self.options)?;
        Ok(header)
    }

    /// Returns whether a group of `needed` bytes goes to a new segment. `length` is the length of the active segment's file.
    pub(super) fn is_full(&self, length: u64, needed: u64) -> bool {
        let (start, end) = (self.cursor.offset, self.cursor.offset.saturating_add(needed));
        start > FIRST_OFFSET && end > length && end > self.active_limit()
    }

    /// Returns the length up to which the active segment grows: twice the length of the segment before it, within limits.
    /// The reserve of a full disk must have room for a copy of each segment.
    fn active_limit(&self) -> u64 {
        let log: u64 = self.manifest.sealed().iter().map(|entry| entry.length).sum();
        let used = self.manifest.before_active().length;
        next_segment_bytes(&self.options, used.min((log / 16).max(RESERVE_LEAST / 2)), 0)
    }

    /// Adds zeros behind a group that ends at `end`, the end of the file, so that the next small groups are written to
    /// blocks that the file has. Their syncs then need no change of the file system's own tables. The zeros grow with the
    /// small groups that follow each other, because the next large group writes over them.
    ///
    /// # Errors
    /// The errors of a write. A full disk is no error: the zeros only save time.
    pub(super) fn fill_ahead(&mut self, end: u64, needed: u64) -> io::Result<()> {
        let Some(mut writing) = self.writing.take_if(|writing| end > writing.length) else {
            return Ok(());
        };
        writing.length = self.fill_upto(&writing, end, needed)?;
        writing.filled = writing.length - end;
        self.writing = Some(writing);
        Ok(())
    }

    /// Adds zeros behind `end`, the new end of the file, and returns the end of the zeros.
    fn fill_upto(&self, writing: &Writing, end: u64, needed: u64) -> io::Result<u64> {
        let log = self.size().1;
        let most = (log / FILLED_PART).clamp(FILLED_LEAST, FILLED_MOST);
        let ahead = match needed.saturating_mul(GROUPS_FILLED) {
            room if room > most => FILLED_FIRST,
            room => room.max(2 * writing.filled).clamp(FILLED_FIRST, most),
        };
        let upto = (end + ahead).min(self.active_limit()).max(end);
        let free = self.disk.free_bytes();
        if free.is_some_and(|free| free < upto - end + reserve_bytes(log)) {
            return Ok(end);
        }
        match writing.file.extend_to(upto) {
            Err(error) if is_full(&error) => Ok(end),
            filled => filled.map(|()| upto),
        }
    }

    /// Continues in a new segment if a group of `needed` bytes would go to one, so that the caller knows the places of its
    /// records before it encodes them. A full disk is no error here, but one of [`Self::append`].
    ///
    /// # Errors
    /// The errors of [`Self::append`].
    pub fn make_room(&mut self, lock: &WriteLock, needed: u64) -> Result<()> {
        self.check_prepared(lock)?;
        let segment = self.segment(self.cursor.segment)?;
        let (_, length) = self.open_to_write(&segment)?;
        if !self.is_full(length, needed) || self.check_reserve(needed).is_err() {
            return Ok(());
        }
        self.poison_on_error(|log| {
            log.sync_group()?;
            log.rotate(lock).map(drop)
        })
    }

    /// Continues in a new segment that has room for an empty batch, unless the active segment contains no batch. Uses the
    /// reserve of a nearly full disk.
    ///
    /// # Errors
    /// The errors of [`Self::append`].
    pub fn begin_segment(&mut self, lock: &WriteLock) -> Result<()> {
        self.check_prepared(lock)?;
        if self.cursor.offset == FIRST_OFFSET {
            return Ok(());
        }
        lock.check_file()?;
        self.poison_on_error(Self::sync_group)?;
        let header = self.new_header(self.new_numbers(1)?, self.sealed_at_cursor().1)?;
        let small = LogOptions {
            segment_bytes_min: FIRST_OFFSET + BatchBuilder::new().encoded_bytes(),
            ..self.options
        };
        let created = create_segment(&*self.disk, &header, &small);
        // Nothing is changed if the disk has no room for the segment, so the handle stays usable.
        created.inspect_err(|error| self.poisoned |= !error.is_disk_full())?;
        self.poison_on_error(|log| log.switch_to(&header).map(drop))
    }

    /// Seals the active segment at the cursor, and continues in a segment that [`Self::create_next`] made.
    pub(super) fn switch_to(&mut self, header: &SegmentHeader) -> Result<Arc<SegmentFile>> {
        let (sealed, _) = self.sealed_at_cursor();
        // MAN-2: the file of the new segment is durable before the manifest lists it.
        let active = SegmentEntry::active(header.id, self.cursor.batch + 1);
        let is_empty = self.cursor.offset == FIRST_OFFSET;
        self.publish_manifest(self.manifest.epoch, sealed, active)?;
        let segment = self.enter_new(header.id)?;
        if is_empty {
            // The previous segment contains no batch, so the new manifest does not list it. Removes the file of the
            // previous segment.
            self.remove_leftovers(None)?;
        }
        Ok(segment)
    }

    /// Refuses a group whose bytes would use the reserve: free space that a rewrite needs to remove old batches from a full
    /// disk. Bytes that the file of the active segment has already need no free space.
    ///
    /// # Errors
    /// `Io`, as for a full disk.
    pub(super) fn check_reserve(&mut self, needed: u64) -> Result<()> {
        let segment = self.segment(self.cursor.segment)?;
        let (_, length) = self.open_to_write(&segment)?;
        let end = self.cursor.offset.saturating_add(needed);
        if end <= length {
            return Ok(());
        }
        let grows = if self.is_full(length, needed) {
            needed.saturating_add(FIRST_OFFSET)
        } else {
            end - length
        };
        let reserve = reserve_bytes(self.size().1);
        match self.disk.free_bytes() {
            Some(free) if free < grows.saturating_add(reserve) => {
                let message = format!(
                    "cannot write {grows} bytes to the log: {free} bytes are free, and a collection needs {reserve}"
                );
                Err(Error::io(message, io::ErrorKind::StorageFull.into()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the entries of all sealed segments after the active segment is sealed at the cursor, and the end of the
    /// last of these segments. Omits an active segment that contains no batch.
    pub(super) fn sealed_at_cursor(&self) -> (Vec<SegmentEntry>, SegmentEnd) {
        let mut sealed = self.manifest.sealed().to_vec();
        let active = self.manifest.active();
        if self.cursor.offset > FIRST_OFFSET {
            sealed.push(SegmentEntry {
                length: self.cursor.offset,
                last_batch: self.cursor.batch,
                last_digest: self.cursor.digest,
                ..*active
            });
        }
        let end = sealed.last().map(SegmentEntry::end).unwrap_or_default();
        (sealed, end)
    }

    /// Creates the header of a new segment.
    pub(super) fn new_header(&self, id: u64, previous: SegmentEnd) -> Result<SegmentHeader> {
        Ok(SegmentHeader {
            instance: self.format.instance,
            id,
            nonce: new_nonce(&*self.disk)?,
            previous,
        })
    }

    /// Returns the first of `count` unused segment numbers (MAN-3).
    pub(super) fn new_numbers(&self, count: u64) -> Result<u64> {
        let limit = u64::from(u32::MAX);
        let names = self.disk.list(LOG_FOLDER).or_io("cannot list the log")?;
        let on_disk = names.iter().filter_map(|name| Some(parse_segment_name(name)?.0));
        let highest = on_disk
            .filter(|id| *id < limit)
            .fold(self.manifest.highest_id(), u64::max);
        if highest.saturating_add(count) >= limit {
            return Err(Error::invalid("the log has used all segment numbers"));
        }
        Ok(highest + 1)
    }

    /// Replaces the manifest by a new manifest with the next generation number.
    pub(super) fn publish_manifest(
        &mut self,
        epoch: u32,
        sealed: Vec<SegmentEntry>,
        active: SegmentEntry,
    ) -> Result<()> {
        let generation = self.manifest.generation + 1;
        let manifest = Manifest::new(self.format.instance, generation, epoch, sealed, active);
        if manifest.is_over_limit() {
            return Err(Error::invalid("the log has the maximal number of segments")
                .with_hint("`treering gc` merges many small segments into few"));
        }
        disk::replace(&*self.disk, MANIFEST_NAME, &manifest.encode())
            .or_io(format_args!("cannot replace {MANIFEST_NAME}"))?;
        self.named_generation = manifest.generation;
        self.keep_manifest(manifest);
        Ok(())
    }

    /// Moves the cursor to the start of the new active segment. Allows reads to map the previous segment.
    pub(super) fn enter_new(&mut self, id: u64) -> Result<Arc<SegmentFile>> {
        let before = self.manifest.before_active();
        if before.id != 0 {
            self.seal(&*self.segment(before.id)?, before.length);
        }
        self.enter(self.manifest.clone().active_place());
        self.segment(id)
    }

    /// Renames a listed segment to its final name. A crash may have prevented this after the manifest was published.
    pub(super) fn finish_name(&self, id: u64) -> Result<()> {
        let name = segment_name(id);
        // The file may be missing, because another process renamed it before this process acquired the lock.
        if_there(self.disk.rename_new(&unfinished_name(&name), &name))
            .and_then(|_| self.disk.sync_dir(LOG_FOLDER))
            .or_io(format_args!(
                "cannot rename a segment to {name}, the name in {MANIFEST_NAME}"
            ))
    }
}

/// The room in bytes that a rewrite needs besides the segments that it writes anew: an empty batch and a commit in
/// segments of their own, a small active segment, and the manifest.
const RESERVE_BESIDES: u64 = 64 << 10;

/// Returns the free space that appends leave for a rewrite: an eighth of the log, within limits. With it, a log whose
/// history filled the disk can always be thinned to its newest state, unless that state is most of the log. It also
/// has room for a copy of each segment, so records can be erased one segment at a time.
fn reserve_bytes(log: u64) -> u64 {
    (log / 8).clamp(RESERVE_LEAST, RESERVE_MOST) + RESERVE_BESIDES
}

/// Returns the largest size of the segments that a rewrite writes. It is small beside the log, because the reserve must
/// have room for a copy of each segment later.
pub(super) fn rewritten_segment_bytes(options: &LogOptions, log: u64) -> u64 {
    let least = options.segment_bytes_min.max(RESERVE_LEAST);
    (log / 16).max(least).min(options.segment_bytes_max)
}

/// Generates the nonce of a new segment (SEG-2).
pub(super) fn new_nonce(disk: &dyn Disk) -> Result<[u8; 16]> {
    let mut nonce = [0; 16];
    disk.random(&mut nonce).or_io("cannot get random bytes")?;
    Ok(nonce)
}

/// Returns the size of a segment: twice the `used` bytes of the segment before it, within the limits in `options`. The
/// size exceeds the upper limit only if the `needed` bytes of batches require it.
pub(super) fn next_segment_bytes(options: &LogOptions, used: u64, needed: u64) -> u64 {
    let least = options.segment_bytes_min.max(2 * SEGMENT_HEADER_BYTES as u64);
    let wanted = used
        .saturating_mul(2)
        .clamp(least, options.segment_bytes_max.max(least));
    let needed = needed.saturating_add(SEGMENT_HEADER_BYTES as u64);
    wanted.max(needed).next_multiple_of(SEGMENT_HEADER_BYTES as u64)
}

/// Creates the file of a new, empty segment with the least size, so that small commits find room in it on a full disk, or
/// with its header alone if not even that fits. Appends make it longer.
pub(super) fn create_segment(disk: &dyn Disk, header: &SegmentHeader, options: &LogOptions) -> Result<()> {
    let name = segment_name(header.id);
    let write = |length| disk::write_whole(disk, &unfinished_name(&name), &header.encode(), length);
    let written = match write(next_segment_bytes(options, 0, 0)) {
        Err(error) if is_full(&error) => write(FIRST_OFFSET),
        other => other,
    };
    written
        .and_then(|()| disk::finish_whole(disk, &name))
        .or_io(format_args!("cannot create {name}"))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
