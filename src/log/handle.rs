//! The handle of a log: its state, opening it, and the manifest that it follows.
//!
//! A rewrite replaces the segments with the oldest batches, and begins an epoch. A handle that delivered batches of an
//! earlier epoch reports an error, and must be reopened. Those batches stay readable, because the handle keeps the old
//! files open.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - EPO-1: all batches that a handle delivers between two openings belong to one epoch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::{Batch, HeadMark, Position};
use super::create;
use super::files::{damage, open_there, read_format, read_manifest};
use super::format_file::{Format, Mode};
use super::live::{self, LIVE_NAME, Live};
use super::lock::WriteLock;
use super::manifest::{MANIFEST_NAME, Manifest, SegmentEntry};
use super::reader::{LogReader, SegmentFile, Segments};
use super::segment::SEGMENT_HEADER_BYTES;
use crate::digest::{CommitDigest, HashSuite};
use crate::disk::Disk;
use crate::error::{Cause, Error, ErrorCode, ErrorKind, Result};

/// Returns positions in the log's present epoch up to which derived files show that the log was durable.
pub type DurablePlaces = dyn Fn(&Log) -> Result<Vec<Position>> + Send + Sync;

/// Options for reading and writing a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// The minimal size of a new segment in bytes.
    pub segment_bytes_min: u64,
    /// The maximal size of a new segment in bytes, unless one batch needs more.
    pub segment_bytes_max: u64,
    /// Whether sealed segments are mapped.
    pub map: bool,
    /// Whether reading stops at the first damage and serves the batches before it (true), or refuses.
    pub degraded: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            segment_bytes_min: 64 << 10,
            segment_bytes_max: 64 << 20,
            map: true,
            degraded: false,
        }
    }
}

/// The end of the log, as far as it was read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tail {
    /// The number of nonzero bytes after the last complete batch. A crash left them; they are harmless and are not
    /// removed.
    pub torn_bytes: u64,
    /// The damage at which a degraded log stopped reading.
    pub damage: Option<Error>,
}

/// A log as opened by one handle.
pub struct Log {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) mode: Mode,
    pub(super) options: LogOptions,
    pub(super) format: Format,
    pub(super) suite: HashSuite,
    pub(super) manifest: Manifest,
    pub(super) segments: Arc<Segments>,
    /// The position after the last batch that was read.
    pub(super) cursor: Position,
    /// The offset in the cursor's segment up to which all bytes are known to be durable.
    pub(super) durable: u64,
    /// The number of the newest delivered batch.
    pub(super) visited: u64,
    /// The head commit after that batch.
    pub(super) visited_commit: CommitDigest,
    /// Batches that were delivered before they were known to be durable.
    pub(super) unproven: Vec<Batch>,
    /// The head after the written groups that are not synced yet.
    pub(super) unsynced: Option<HeadMark>,
    pub(super) unlisted_checked: bool,
    /// Whether this handle has removed the leftovers of crashes.
    pub(super) leftovers_removed: bool,
    /// The number of the newest batch that was delivered and then moved by recovery; 0 if there is none.
    pub(super) moved: u64,
    /// The generation of the last manifest for which this handle synced the folders; 0 before the first.
    pub(super) named_generation: u64,
    pub(super) poisoned: bool,
    /// The positions that derived files prove durable.
    pub(super) places: Option<Arc<DurablePlaces>>,
    pub(super) process: u32,
    pub(super) identity: u64,
    /// The number of the lock under which `prepare` was last called.
    pub(super) prepared: u64,
    /// The damage of listed segments that a degraded log could not open completely.
    pub(super) passed_over: Vec<Error>,
}

/// Returns a unique number for a handle or lock.
pub(super) fn next_number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Log {
    /// Opens an existing log. Takes no lock and writes nothing; reads only the format file and the manifest.
    ///
    /// # Errors
    /// `NotFound` if there is no store or only an unfinished one. `UnsupportedFormat` if a newer version wrote it.
    /// `Corrupt` if a needed file is missing or damaged. `Io`.
    pub fn open(disk: Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<Self> {
        if options.degraded && mode == Mode::ReadWrite {
            return Err(Error::invalid("a damaged store can only be read"));
        }
        let format = Self::format_in(&*disk, mode)?;
        let manifest = read_manifest(&*disk, &format)?;
        Ok(Self::at_start(disk, mode, options, format, manifest))
    }

    /// Reads the format of the store on a disk, and no other file of it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn format_in(disk: &dyn Disk, mode: Mode) -> Result<Format> {
        match read_format(disk, mode) {
            Ok(Some(format)) => Ok(format),
            Err(error) if error.code() != ErrorCode::NotRegularFile || create::holds_other_store(disk)? => {
                Err(error)
            }
            Err(_) => Err(create::no_store(disk)),
            Ok(None) => {
                let missing = create::no_store(disk);
                // Another process may have created the store between the two reads.
                read_format(disk, mode)?.ok_or(missing)
            }
        }
    }

    /// Makes a handle that has delivered nothing yet.
    fn at_start(
        disk: Arc<dyn Disk>,
        mode: Mode,
        options: LogOptions,
        format: Format,
        manifest: Manifest,
    ) -> Self {
        let process = disk.process();
        let suite = HashSuite::new(format.hash);
        let segments = Arc::new(Segments::new(suite, &manifest));
        Self {
            disk,
            mode,
            options,
            format,
            suite,
            manifest,
            segments,
            cursor: Position::START,
            durable: 0,
            visited: 0,
            visited_commit: CommitDigest::from_bytes([0; 32]),
            unproven: Vec::new(),
            unsynced: None,
            unlisted_checked: false,
            leftovers_removed: false,
            moved: 0,
            named_generation: 0,
            poisoned: false,
            places: None,
            process,
            identity: next_number(),
            prepared: 0,
            passed_over: Vec::new(),
        }
    }

    /// Resets this handle as if it had just been opened, for a log that was rewritten. Every batch is delivered again,
    /// and [`Log::reader`] is a new one. Earlier readers can still read the batches delivered before. A held lock stays
    /// valid, but writing requires another [`Log::prepare`].
    ///
    /// # Errors
    /// The errors of [`Log::open`].
    pub fn reopen(&mut self) -> Result<()> {
        self.check_process()?;
        let manifest = read_manifest(&*self.disk, &self.format)?;
        *self = Self {
            named_generation: self.named_generation,
            poisoned: self.poisoned,
            places: self.places.take(),
            identity: self.identity,
            ..Self::at_start(
                Arc::clone(&self.disk),
                self.mode,
                self.options,
                self.format,
                manifest,
            )
        };
        Ok(())
    }

    /// Returns the number of rewrites of the log. Batch numbers, segments and positions are valid only within their
    /// epoch.
    pub fn epoch(&self) -> u32 {
        self.manifest.epoch
    }

    /// Returns whether recovery moved batches that this handle had delivered. Their records are still readable at the
    /// old places, which no longer belong to the log. [`Log::reopen`] delivers the batches from the new places.
    pub fn has_moved(&self) -> bool {
        self.moved > 0
    }

    /// Reads the manifest again. A handle that has delivered nothing yet opens every listed segment first, so no
    /// rewrite can remove them.
    ///
    /// # Errors
    /// As [`Log::take_manifest`]; `Corrupt` if a listed segment is missing or damaged.
    pub(super) fn take_listed(&mut self) -> Result<()> {
        loop {
            self.take_manifest(read_manifest(&*self.disk, &self.format)?)?;
            if self.cursor != Position::START {
                return Ok(());
            }
            match self.open_listed() {
                // A newer manifest may no longer list the missing segment.
                Err(error) if error.is_corruption() && self.is_outdated()? => {}
                other => return other,
            }
        }
    }

    /// Returns whether the manifest was replaced since this handle read it.
    pub(super) fn is_outdated(&self) -> Result<bool> {
        let manifest = read_manifest(&*self.disk, &self.format)?;
        Ok(manifest.generation > self.manifest.generation)
    }

    /// Continues with the manifest that was just read.
    ///
    /// # Errors
    /// [`ErrorCode::Rewritten`] if delivered batches belong to another epoch (EPO-1); `Corrupt` if the manifest is
    /// older than the previous one.
    pub(super) fn take_manifest(&mut self, manifest: Manifest) -> Result<()> {
        if manifest.generation < self.manifest.generation {
            return Err(damage(MANIFEST_NAME, 0, Cause::OlderManifest));
        }
        if manifest.epoch != self.manifest.epoch && self.cursor != Position::START {
            return Err(rewritten());
        }
        self.keep_manifest(manifest);
        Ok(())
    }

    /// Makes `manifest` the current one of this handle.
    pub(super) fn keep_manifest(&mut self, manifest: Manifest) {
        if manifest != self.manifest {
            self.segments.keep_manifest(&manifest);
            self.manifest = manifest;
        }
    }

    /// Opens every listed segment, because an open file stays readable after a rewrite unlinks it. Sealed segments are
    /// mapped at their first read.
    ///
    /// # Errors
    /// `Corrupt` if a segment is missing, damaged or shorter than its sealed length. A degraded log records the damage
    /// and reports it when the segment is read. `Io`.
    pub(super) fn open_listed(&mut self) -> Result<()> {
        let mut passed_over = Vec::new();
        for entry in self.manifest.entries() {
            match self.open_entry(entry) {
                // The segment may also be missing because a rewrite has replaced it.
                Err(error) if self.may_pass_over(&error) && !self.is_outdated()? => passed_over.push(error),
                other => other?,
            }
        }
        self.passed_over = passed_over;
        Ok(())
    }

    /// Returns whether reading continues after this error, because the log is degraded.
    pub(super) fn may_pass_over(&self, error: &Error) -> bool {
        self.options.degraded && error.is_corruption() && error.code() != ErrorCode::NoLog
    }

    /// Returns the damage of listed segments that a degraded log could not open completely.
    pub fn passed_over(&self) -> &[Error] {
        &self.passed_over
    }

    fn open_entry(&self, entry: &SegmentEntry) -> Result<()> {
        let segment = self.segment(entry.id)?;
        if entry.is_active() {
            return Ok(());
        }
        self.seal(&segment, entry.length);
        let length = segment.length()?;
        if length < entry.length {
            return Err(segment.damage(length, Cause::Shorter));
        }
        Ok(())
    }

    /// Returns the identity and the format of the store.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns a reader of the records of every batch that this handle delivered.
    pub fn reader(&self) -> LogReader {
        LogReader {
            segments: Arc::clone(&self.segments),
        }
    }

    /// Returns the head after the newest delivered or appended batch.
    pub fn newest_commit(&self) -> CommitDigest {
        self.cursor.commit
    }

    /// Returns whether this handle may still write: it is not poisoned, and this process opened it.
    pub fn is_usable(&self) -> bool {
        !self.poisoned && self.check_process().is_ok()
    }

    /// Makes this handle refuse to write, because it no longer agrees with the caller's state.
    pub fn poison(&mut self) {
        self.poisoned = true;
    }

    /// Returns the number of the newest batch that was delivered, or that a rewrite has skipped since; 0 before the
    /// first. The next batch has the number after it.
    pub fn newest_batch(&self) -> u64 {
        self.visited
    }

    /// Returns the number of segments, and the bytes of their files up to the last batch that was read.
    pub fn size(&self) -> (usize, u64) {
        let sealed: u64 = self.manifest.sealed().iter().map(|entry| entry.length).sum();
        let active = Some(self.cursor).filter(|cursor| cursor.segment == self.manifest.active().id);
        let active = active.map_or(0, |cursor| cursor.offset);
        (self.manifest.sealed().len() + 1, sealed + active)
    }

    /// Returns the number of bytes of the batches that were read, without the headers of segments.
    pub fn batch_bytes(&self) -> u64 {
        let (segments, bytes) = self.size();
        bytes.saturating_sub((segments * SEGMENT_HEADER_BYTES) as u64)
    }

    pub(super) fn check_process(&self) -> Result<()> {
        if self.disk.process() == self.process {
            return Ok(());
        }
        let message = "the store was opened before this process was forked";
        Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again in the new process"))
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        self.check_process()?;
        if self.mode == Mode::ReadOnly {
            let message = "the store was opened for reading only";
            return Err(Error::denied(ErrorCode::ReadOnly, message));
        }
        if self.poisoned {
            let message = "an earlier write failed, so the state of the disk is unknown to this handle";
            return Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"));
        }
        Ok(())
    }

    pub(super) fn check_lock(&self, lock: &WriteLock) -> Result<()> {
        self.check_writable()?;
        if lock.log != self.identity {
            return Err(Error::internal("the lock belongs to another handle"));
        }
        Ok(())
    }

    /// Returns the segment `id`; opens it if necessary.
    pub(super) fn segment(&self, id: u64) -> Result<Arc<SegmentFile>> {
        if let Some(segment) = self.segments.find(id) {
            return Ok(segment);
        }
        let segment = Arc::new(SegmentFile::open(&*self.disk, id, self.format.instance)?);
        self.segments.insert(&segment);
        Ok(segment)
    }

    pub(super) fn read_live(&self) -> Result<Option<Live>> {
        match open_there(&*self.disk, LIVE_NAME)? {
            Some(file) => live::read_live(&*file, &self.format),
            None => Ok(None),
        }
    }

    /// Lets reads map a segment that is sealed at `length`.
    pub(super) fn seal(&self, segment: &SegmentFile, length: u64) {
        if self.options.map {
            segment.seal(length);
        }
    }
}

/// Returns the error for a handle that has delivered batches of another epoch.
pub(super) fn rewritten() -> Error {
    Error::conflict("the log was rewritten since this handle read it")
        .with_code(ErrorCode::Rewritten)
        .with_hint("open the store again")
}
