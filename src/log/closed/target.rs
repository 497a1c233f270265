//! The folder of a clone: a new store that gets the segments of a closed log one by one.
//!
//! # Layer
//! Layer 2, part of `log/closed`.
//!
//! # Invariants
//! - CLN-1: the folder has no `format` before every segment is durable. So an interrupted clone is no store.
//! - CLN-2: a clone that goes on keeps a segment only if the whole file reads back as the continuation of the one before.
//! - CLN-3: a segment is copied byte for byte behind its header only if the same end is before it here. So each seal holds
//!   here, too, and the seed of the frames is the same (SEG-2).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::segment::{Expected, read_segment};
use super::{ClosedLog, ClosedSegment, Group, NewSegment, ReadSegment};
use crate::digest::{CommitDigest, Root};
use crate::disk::{self, Disk, LockGuard, lock_within, read_whole, unfinished_name};
use crate::error::{Error, ErrorCode, OrIo as _, Result};
use crate::log::batch::HeadMark;
use crate::log::format_file::{FORMAT_BYTES, FORMAT_NAME, Format, Mode};
use crate::log::handle::{Log, LogOptions};
use crate::log::live::{LIVE_NAME, Live};
use crate::log::lock::LOCK_NAME;
use crate::log::manifest::{MANIFEST_NAME, Manifest, SegmentEntry};
use crate::log::rotate::create_segment;
use crate::log::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_BYTES_LIMIT, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader,
    parse_segment_name, segment_name,
};
use crate::log::{Batch, LogReader};

/// The folder of an unfinished clone.
pub(crate) struct Target {
    disk: Arc<dyn Disk>,
    _alone: Box<dyn LockGuard>,
    /// The log in the folder, with the segments that are there.
    log: ClosedLog,
    /// The number of segments that an interrupted clone left.
    pub(crate) found: usize,
    /// The log of the clone, behind the segments that this process wrote.
    opened: Log,
    /// The number of the segment behind those of the closed log.
    active: u64,
}

impl Target {
    /// Begins a clone of `of` in a folder, or goes on with an interrupted one, of which it keeps the segments whose batches
    /// all fit.
    ///
    /// # Errors
    /// `InvalidInput` (code `store_exists`) if the folder has a store, or (code `exists`) other files; `Busy` while another
    /// process clones into it; `Io`.
    pub(crate) fn begin(
        disk: Arc<dyn Disk>,
        of: &ClosedLog,
        options: LogOptions,
        fits: &mut dyn FnMut(&Batch) -> bool,
    ) -> Result<Self> {
        let known = known_format(&*disk)?;
        let alone = lock_within(&*disk, LOCK_NAME, Duration::ZERO)?;
        let failed = format!("cannot clone into {}", disk.describe());
        let mut random = [0; 16];
        disk.random(&mut random).or_io(&failed)?;
        let format = known
            .filter(|known| known.lineage == of.format.lineage)
            .unwrap_or_else(|| of.format.closed(random));
        let begin = || {
            disk.create_dir(LOG_FOLDER)?;
            disk.sync_dir("")?;
            disk::write_whole(&*disk, &unfinished_name(FORMAT_NAME), &format.encode(), 0)?;
            disk.sync_dir("")
        };
        begin().or_io(&failed)?;
        let mut log = ClosedLog { format, ..of.clone() };
        log.segments.clear();
        let active = of.highest_id() + 1;
        let opened = Log::at_start(
            Arc::clone(&disk),
            Mode::ReadWrite,
            options,
            format,
            manifest_of(&log, 0, active),
        );
        let mut target = Self {
            disk,
            _alone: alone,
            log,
            found: 0,
            opened,
            active,
        };
        target.keep_found(of, fits).or_io(&failed)?;
        Ok(target)
    }

    /// Keeps the segments that an interrupted clone left, and removes all other files of the log (CLN-2).
    fn keep_found(&mut self, of: &ClosedLog, fits: &mut dyn FnMut(&Batch) -> bool) -> io::Result<()> {
        for segment in &of.segments {
            let name = segment_name(segment.id);
            let Some(bytes) = read_whole(&*self.disk, &name, SEGMENT_BYTES_LIMIT as usize)? else {
                break;
            };
            let length = bytes.len() as u64;
            let read = self.read(self.log.end(), segment, bytes);
            let fitting = read.ok().filter(|read| read.batches.iter().all(&mut *fits));
            let Some(end) = fitting.map(|read| read.end) else {
                break;
            };
            if end.last_batch != segment.last_batch || end.length != length {
                break;
            }
            // The digest of the file is of no use in a plain store.
            self.log.segments.push(ClosedSegment {
                last_digest: end.last_digest,
                length,
                digest: [0; 32],
                ..*segment
            });
        }
        self.found = self.log.segments.len();
        for file in self.disk.list(LOG_FOLDER)? {
            let id = parse_segment_name(&file);
            let is_kept = |(id, unfinished): (u64, bool)| {
                !unfinished && self.log.segments.iter().any(|segment| segment.id == id)
            };
            if !id.is_some_and(is_kept) {
                self.disk.remove(&format!("{LOG_FOLDER}/{file}"))?;
            }
        }
        Ok(())
    }

    /// Reads a segment of the clone that continues the one with the end `before`.
    fn read(&self, before: SegmentEnd, segment: &ClosedSegment, bytes: Vec<u8>) -> Result<ReadSegment> {
        let place = Expected {
            id: segment.id,
            before,
            first: segment.first_batch,
            may_be_moved: false,
        };
        read_segment(&self.log, &place, bytes.into())
    }

    /// Returns the batches of the next segment that an interrupted clone left, and moves the log behind it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be read.
    pub(crate) fn read_found(&mut self, index: usize) -> Result<Vec<Batch>> {
        let segment = self.log.segments[index];
        let name = segment.name();
        let bytes = read_whole(&*self.disk, &name, SEGMENT_BYTES_LIMIT as usize);
        let bytes = bytes
            .or_io(format_args!("cannot read {name}"))?
            .unwrap_or_default();
        let before = index
            .checked_sub(1)
            .map(|before| self.log.segments[before].entry().end());
        let batches = self.read(before.unwrap_or_default(), &segment, bytes)?.batches;
        self.enter(index + 1, &batches)?;
        Ok(batches)
    }

    /// Moves the log behind its first segments, of which the newest has these batches.
    fn enter(&mut self, segments: usize, batches: &[Batch]) -> Result<()> {
        let Some(last) = batches.last() else { return Ok(()) };
        let manifest = manifest_of(&self.log, segments, self.active);
        self.opened.enter_written(manifest, last)
    }

    /// Returns the instance of the new store.
    pub(crate) fn instance(&self) -> [u8; 16] {
        self.log.format.instance
    }

    /// Returns a reader of the segments that this call wrote.
    pub(crate) fn reader(&self) -> LogReader {
        self.opened.reader()
    }

    /// Returns whether [`Self::copy`] can write the next segment.
    pub(crate) fn continues(&self, read: &ReadSegment) -> bool {
        read.before == Some(self.log.end())
    }

    /// Writes the next segment of the closed log as it is. Its batches continue those of the clone (CLN-3). Returns them.
    ///
    /// # Errors
    /// `Io`.
    ///
    /// # Durability
    /// When the call returns, the segment is durable.
    pub(crate) fn copy(&mut self, segment: &ClosedSegment, read: ReadSegment) -> Result<Vec<Batch>> {
        let instance = self.log.format.instance;
        let header = SegmentHeader {
            instance,
            id: segment.id,
            nonce: read.seed.nonce(&instance, self.random(segment.id)?),
            previous: self.log.end(),
        };
        // INVARIANT CLN-3
        let parts = [&header.encode()[..], &read.bytes[SEGMENT_HEADER_BYTES..]];
        self.write(*segment, parts, read.batches)
    }

    /// Writes the batches of the next segment of the closed log. Returns them at their places.
    ///
    /// # Errors
    /// `Io`.
    ///
    /// # Durability
    /// When the call returns, the segment is durable.
    pub(crate) fn add(&mut self, segment: &ClosedSegment, group: Group) -> Result<Vec<Batch>> {
        self.encode(segment.id, segment.first_batch, group)
    }

    /// Writes batches of the clone itself behind all those of the closed log, as [`Self::add`] does.
    pub(crate) fn add_own(&mut self, group: Group) -> Result<Vec<Batch>> {
        let id = self.active;
        self.active += 1;
        self.encode(id, self.log.last_batch() + 1, group)
    }

    fn encode(&mut self, id: u64, first: u64, group: Group) -> Result<Vec<Batch>> {
        let nonce = self.random(id)?;
        let (new, batches) = NewSegment::encode_with(&self.log, id, nonce, first, group)?;
        self.write(new.listed, [new.bytes()], batches)
    }

    fn random(&self, id: u64) -> Result<[u8; 16]> {
        let mut random = [0; 16];
        let drawn = self.disk.random(&mut random);
        drawn.or_io(format_args!("cannot write {}", segment_name(id)))?;
        Ok(random)
    }

    /// Writes a segment, and moves the log behind it.
    fn write<const N: usize>(
        &mut self,
        listed: ClosedSegment,
        parts: [&[u8]; N],
        batches: Vec<Batch>,
    ) -> Result<Vec<Batch>> {
        let name = listed.name();
        disk::write_parts(&*self.disk, &unfinished_name(&name), parts, 0)
            .and_then(|()| disk::finish_whole(&*self.disk, &name))
            .or_io(format_args!("cannot write {name}"))?;
        self.log.segments.push(listed);
        self.enter(self.log.segments.len(), &batches)?;
        Ok(batches)
    }

    /// Makes the folder a store whose head is `head`. Returns its log, behind all batches.
    ///
    /// # Errors
    /// `Io`.
    ///
    /// # Durability
    /// When the call returns, the store is durable.
    pub(crate) fn finish(self, head: CommitDigest) -> Result<Log> {
        let failed = format!("cannot finish the clone in {}", self.disk.describe());
        let (disk, log) = (&*self.disk, &self.log);
        let header = SegmentHeader {
            instance: log.format.instance,
            id: self.active,
            nonce: self.random(self.active)?,
            previous: log.end(),
        };
        create_segment(disk, &header, &LogOptions::default())?;
        let manifest = manifest_of(log, log.segments.len(), self.active);
        let live = Live {
            lineage: log.format.lineage,
            instance: log.format.instance,
            boot: disk.boot_id(),
            segment: header.id,
            offset: FIRST_OFFSET,
            batch: log.last_batch(),
            head: HeadMark {
                commit: head,
                root: Root::from_bytes([0; 32]),
                seq: 0,
            },
        };
        let finish = || {
            disk::replace(disk, MANIFEST_NAME, &manifest.encode())?;
            disk::replace(disk, LIVE_NAME, &live.encode())?;
            // INVARIANT CLN-1: the format file is last.
            disk::finish_whole(disk, FORMAT_NAME)?;
            disk.sync_parent()
        };
        finish().or_io(&failed)?;
        Ok(self.opened)
    }
}

/// Returns the manifest of a clone that has the first segments of `log`, and one without a batch behind them.
fn manifest_of(log: &ClosedLog, segments: usize, active: u64) -> Manifest {
    let segments = &log.segments[..segments];
    let last = segments.last().map_or(0, |segment| segment.last_batch);
    let sealed = segments.iter().map(ClosedSegment::entry).collect();
    let active = SegmentEntry::active(active, last + 1);
    let generation = u64::from(log.epoch) + 1;
    Manifest::new(log.format.instance, generation, log.epoch, sealed, active)
}

/// Returns the format of an interrupted clone. Returns an error if the folder has anything else.
fn known_format(disk: &dyn Disk) -> Result<Option<Format>> {
    let listed = disk.list("");
    let names = listed.or_io(format_args!("cannot list {}", disk.describe()))?;
    let unfinished = unfinished_name(FORMAT_NAME);
    if names.iter().any(|name| name == FORMAT_NAME) {
        let text = format!("{} is already a store", disk.describe());
        let error = Error::invalid(text).with_code(ErrorCode::StoreExists);
        return Err(error.with_hint("choose a folder that does not exist"));
    }
    let of_clone = [
        unfinished.as_str(),
        LOG_FOLDER,
        LOCK_NAME,
        MANIFEST_NAME,
        LIVE_NAME,
    ];
    let is_foreign =
        |name: &&String| !of_clone.contains(&name.trim_end_matches(".tmp")) && **name != unfinished;
    if let Some(other) = names.iter().find(is_foreign) {
        let text = format!(
            "{} contains {other}, so it cannot become a clone",
            disk.describe()
        );
        let error = Error::invalid(text).with_code(ErrorCode::Exists);
        return Err(error.with_hint("choose a folder that does not exist"));
    }
    let bytes = read_whole(disk, &unfinished, FORMAT_BYTES + 1);
    let bytes = bytes.or_io(format_args!("cannot read {unfinished}"))?;
    // A damaged one is written again, and the segments with it.
    Ok(bytes.and_then(|bytes| Format::of_bytes(&bytes).ok()))
}
