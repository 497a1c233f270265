//! The handle of a log: opens and reopens a log, stores the handle's state, and reads new manifests.
//!
//! A rewrite replaces the segments of the oldest batches, and begins an epoch. A handle that delivered batches of an
//! earlier epoch reports an error, and must be reopened. The delivered batches stay readable, because the handle has
//! the old files open.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - EPO-1: all batches that a handle delivers between two openings belong to one epoch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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
use crate::disk::{Disk, DiskFile, Holder};
use crate::error::{Cause, Error, ErrorCode, ErrorKind, Result};

/// Returns positions in the log's current epoch. Derived files prove that the log was durable up to these positions.
pub type DurablePlaces = dyn Fn(&Log) -> Result<Vec<Position>> + Send + Sync;

/// Options for reading and writing a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// The minimal size of a new segment in bytes.
    pub segment_bytes_min: u64,
    /// The maximal size of a new segment in bytes, unless one batch needs more.
    pub segment_bytes_max: u64,
    /// Whether sealed segments are mapped into memory.
    pub map: bool,
    /// If true, reading stops at the first damage and delivers the batches before it. If false, damage is an error.
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

/// The end of the part of the log that was read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tail {
    /// The number of nonzero bytes after the last complete batch. A crash left these bytes. These bytes are harmless
    /// and stay in the file.
    pub torn_bytes: u64,
    /// The damage at which a degraded log stopped reading.
    pub damage: Option<Error>,
}

/// A segment that is open for writing.
pub(super) struct Writing {
    pub(super) segment: u64,
    pub(super) file: Arc<dyn DiskFile>,
    /// The length of the file. Only this handle makes the file longer while no other handle has the lock (SEG-1).
    pub(super) length: u64,
    /// The number of bytes of zeros that were last added behind a group that reached the end of the file.
    pub(super) filled: u64,
}

/// A handle of an open log.
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
    /// The head commit after the newest delivered batch.
    pub(super) visited_commit: CommitDigest,
    /// The sum of the newest delivered batch, if this handle has read the batch.
    pub(super) visited_sum: Option<u64>,
    /// Batches that were delivered before they were known to be durable.
    pub(super) unproven: Vec<Batch>,
    /// The head after the groups that were written but not synced yet; `None` if all groups are synced.
    pub(super) unsynced: Option<HeadMark>,
    pub(super) unlisted_checked: bool,
    /// Whether this handle has removed the files that crashes left.
    pub(super) leftovers_removed: bool,
    /// The number of the newest batch that was delivered and then moved by recovery; 0 if there is no such batch.
    pub(super) moved: u64,
    /// The generation of the last manifest for which this handle synced the folders; 0 before the first such manifest.
    pub(super) named_generation: u64,
    /// The number of the oldest batch that recovery brought in, and that this handle had not delivered; `None` if there
    /// is none since the last [`Self::take_recovered`].
    pub(super) recovered: Option<u64>,
    pub(super) poisoned: bool,
    /// The positions that derived files prove durable.
    pub(super) places: Option<Arc<DurablePlaces>>,
    pub(super) process: u32,
    pub(super) identity: u64,
    /// The number of the lock under which `prepare` last moved this handle to the end of the log; 0 before the first.
    pub(super) prepared: u64,
    /// The number of the lock that this handle acquired last.
    pub(super) locked: AtomicU64,
    /// The name of this handle in the lock file.
    pub(super) holder: OnceLock<Holder>,
    /// The active segment, open for writing since the last batch.
    pub(super) writing: Option<Writing>,
    /// `live`, open for writing since the last mark.
    pub(super) live_file: Option<Arc<dyn DiskFile>>,
    /// The damage of listed segments that a degraded log could not open completely.
    pub(super) passed_over: Vec<Error>,
}

/// Returns a unique number for a handle or lock.
pub(super) fn next_number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Log {
    /// Opens an existing log. Reads only the format file and the manifest. Acquires no lock and writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no store or only an unfinished store. `UnsupportedFormat` if a newer program wrote the
    /// store. `Corrupt` if a needed file is missing or damaged. `InvalidInput` (code `closed`) for writing, if the store is
    /// a backup or a remote. `Io`.
    pub fn open(disk: Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<Self> {
        if options.degraded && mode == Mode::ReadWrite {
            return Err(Error::invalid("a damaged store can be opened only for reading"));
        }
        let format = Self::format_in(&*disk, mode)?;
        let manifest = read_manifest(&*disk, &format)?;
        if manifest.is_closed && mode == Mode::ReadWrite {
            let text = format!(
                "{} is a backup or a remote, which no program writes as a store",
                disk.describe()
            );
            return Err(Error::invalid(text)
                .with_code(ErrorCode::Closed)
                .with_hint("reading works; `treering clone URL DIR` makes a store of it"));
        }
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
                // Reads the format file again, because another process may have created the store meanwhile.
                read_format(disk, mode)?.ok_or(missing)
            }
        }
    }

    /// Creates a handle that has not delivered a batch yet.
    pub(super) fn at_start(
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
            visited_sum: None,
            unproven: Vec::new(),
            unsynced: None,
            unlisted_checked: false,
            leftovers_removed: false,
            moved: 0,
            named_generation: 0,
            recovered: None,
            poisoned: false,
            places: None,
            process,
            identity: next_number(),
            prepared: 0,
            locked: AtomicU64::new(0),
            holder: OnceLock::new(),
            writing: None,
            live_file: None,
            passed_over: Vec::new(),
        }
    }

    /// Resets this handle to its state after opening, because the log was rewritten. The handle then delivers every
    /// batch again. Readers that [`Log::reader`] returned before can still read the earlier batches. An acquired lock
    /// stays valid, but writing requires another [`Log::prepare`].
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
            holder: std::mem::take(&mut self.holder),
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

    /// Returns whether recovery moved batches that this handle had delivered. Their records stay readable at the old
    /// locators, which no longer belong to the log. [`Log::reopen`] delivers the batches with their new locators.
    pub fn has_moved(&self) -> bool {
        self.moved > 0
    }

    /// Reads the manifest again. If this handle has not delivered a batch yet, also opens every listed segment, so that
    /// the segments stay readable after a rewrite unlinks them.
    ///
    /// # Errors
    /// The errors of [`Log::take_manifest`], and `Corrupt` if a listed segment is missing or damaged.
    pub(super) fn take_listed(&mut self) -> Result<()> {
        loop {
            self.take_manifest(read_manifest(&*self.disk, &self.format)?)?;
            if self.cursor != Position::START {
                return Ok(());
            }
            match self.open_listed() {
                // If a writer has replaced the manifest, the new manifest may not list the missing segment. Tries
                // again.
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

    /// Replaces the handle's manifest with `manifest`, which was just read.
    ///
    /// # Errors
    /// [`ErrorCode::Rewritten`] if delivered batches belong to another epoch (EPO-1); `Corrupt` if `manifest` is older
    /// than the previous manifest.
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

    /// Replaces the handle's manifest without checks.
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
                // If the manifest is outdated, the segment may be missing because of a rewrite, which is not damage.
                Err(error) if self.may_pass_over(&error) && !self.is_outdated()? => passed_over.push(error),
                other => other?,
            }
        }
        self.passed_over = passed_over;
        Ok(())
    }

    /// Returns whether a degraded log continues to read after this error.
    pub(super) fn may_pass_over(&self, error: &Error) -> bool {
        self.options.degraded && error.is_damage() && error.code() != ErrorCode::NoLog
    }

    /// Returns the errors of the listed segments that a degraded log could not open completely.
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

    /// Returns whether this handle is not poisoned and was opened by this process.
    pub fn is_usable(&self) -> bool {
        !self.poisoned && self.check_process().is_ok()
    }

    /// Returns whether this handle was opened for reading only.
    pub(crate) fn reads_only(&self) -> bool {
        self.mode == Mode::ReadOnly
    }

    /// Makes this handle refuse further writes, because its state differs from the caller's state.
    pub fn poison(&mut self) {
        self.poisoned = true;
    }

    /// Returns the newest batch number that was delivered, or that a rewrite skipped. Returns 0 before the first batch.
    /// The next batch has the following number.
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

    /// Returns the segment `id`, and opens its file if necessary.
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

    /// Allows reads to map a segment that is sealed at `length`, if the options allow maps.
    pub(super) fn seal(&self, segment: &SegmentFile, length: u64) {
        if self.options.map {
            segment.seal(length);
        }
    }
}

/// Returns the error for a handle that delivered batches of an earlier epoch.
pub(super) fn rewritten() -> Error {
    Error::conflict("the log was rewritten since this handle read it")
        .with_code(ErrorCode::Rewritten)
        .with_hint("open the store again")
}
