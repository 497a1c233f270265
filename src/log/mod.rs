//! The log: an append-only sequence of batches, shared by many processes of which one at a time writes.
//!
//! A batch is a run of records that is valid whole or not at all. Batches stand in segments, files that are created
//! whole and never changed behind their end. A writer takes the lock, catches up, appends, syncs and only then says
//! so in `live`; readers take no lock and write nothing. After a crash, the next writer seals the last segment
//! where it is known to be durable and writes again, into a new segment, what was found whole beyond that: no old
//! byte ever changes, so recovery may itself be cut off anywhere.
//!
//! # Layer
//! L2. Knows bytes and the digests of batches; does not know what a body means.
//!
//! # Limits
//! - A segment has 64 MiB by default, or the size of one group of batches, below 64 GiB. A store has at most
//!   1,048,576 segments.
//! - A handle holds all segments open, and raises the soft limit of open files if it has to. Each crash of a writer
//!   leaves a segment; closing the store merges them if there are more than 64 too many.
//! - On a nearly full disk the next segment is as small as possible. Writing ends when 64 KiB, or the batch, do not
//!   fit. Acknowledged commits stay.
//!
//! # Invariants
//! - LOG-1: no byte before the end of the last durable batch is ever written again.
//! - LOG-2: a seal states as durable only what was synced before its batch was written; what was written since
//!   the last sync is one group.
//! - LOG-3: `append` with [`Durability::Synced`] returns only after the group is durable.
//! - LOG-4: the first invalid byte below the durable mark is damage, beyond it a torn tail; damage is never
//!   taken for an end.
//! - LOG-5: after a failed write, sync or rename, the handle writes nothing more.
//! - LOG-6: reading never creates, locks, writes or shortens anything.
//! - LOG-7: batch numbers rise by one, also across recoveries; once behind a rewritten part they may skip.
//!
//! # After a crash
//! docs/durability.md has every moment at which the disk changes and what a crash there leaves.
//!
//! # Format
//! docs/format.md, from "Files of a store" on.

mod append;
mod batch;
mod catch_up;
mod check;
mod create;
mod epoch;
mod format_file;
mod frame;
mod inspect;
mod leftovers;
mod live;
mod manifest;
mod position;
mod publish;
mod reader;
mod recover;
mod rewrite;
mod runs;
mod salvage;
mod scan;
mod seal;
mod segment;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use append::Durability;
pub(crate) use append::not_rewritten;
pub use batch::{Batch, BatchBuilder, HeadMark, Ignorable, Locator, Record};
pub use catch_up::NO_FOLDER;
pub use check::{CheckItem, CheckSummary, Finding, NO_FILE, OTHER_NAME, Severity, TORN_TAIL, unproven_tail};
pub use format_file::{FORMAT, Format};
pub use frame::{BODY_BYTES_MAX, CUT_OFF, LINK_BYTES, RecordKind, UNLINK_BYTES, UNLINKED};
pub use inspect::{
    Found, Frame, Frames, Inspection, Layout, Part, SegmentStanding, SegmentState, StoreFile, kind_name,
    link_parts, seal_parts, unlink_parts,
};
pub use position::{DurablePlaces, Position};
pub use publish::Published;
pub use reader::{LogReader, Peeked};
pub use recover::NextWriter;
pub(crate) use rewrite::COMPACTION_LOCK_NAME;
pub use rewrite::{CompactionLock, NewPlace, Rewrite, Rewritten};
pub use salvage::{Piece, Wreck};
pub(crate) use segment::LOG_FOLDER;
pub use segment::{is_unfinished_name, segment_name};

use crate::digest::{CommitDigest, HashSuite};
use crate::disk::{
    Access, Disk, LockGuard, OtherKind, is_of_other_kind, lock_within, other_kind_at, read_full,
};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use live::{LIVE_NAME, Live};
use manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest};
use reader::{SegmentFile, Segments};

/// What is said of a segment that another store or another segment has written.
pub const FOREIGN: &str = "it belongs to another store or another place in the log";

/// What is said of a link in the place of a file or of the log.
pub const LINKED: &str = "it is a symbolic link, and a store takes only what is in its own folder";
/// What is said of a folder in the place of a file.
pub const IS_FOLDER: &str = "it is a folder, where a regular file has to be";
/// What is said of anything else there.
pub const NOT_REGULAR: &str = "it is a pipe, a socket or a device, where a regular file has to be";

/// Name of the lock file.
pub(crate) const LOCK_NAME: &str = "lock";

/// What a log is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading and, under the lock, appending.
    ReadWrite,
    /// Reading only: nothing is created, locked or written.
    ReadOnly,
}

/// How a log is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Bytes of the smallest segment that is made.
    pub segment_bytes_min: u64,
    /// Bytes of the largest segment that is made, unless one batch needs more.
    pub segment_bytes_max: u64,
    /// Whether sealed segments are mapped.
    pub map: bool,
    /// Whether reading stops at the first damage and serves what is before it, instead of refusing.
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

/// How the log ends, as far as it was read.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tail {
    /// Whether all that was read is known to be durable. If not, the newest batches may not have been acknowledged,
    /// and a loss of power may still take them.
    pub proven: bool,
    /// Bytes after the last whole batch that are not zero: left by a crash, harmless, kept.
    pub torn_bytes: u64,
    /// With `degraded`: the damage at which reading stopped.
    pub damage: Option<Error>,
}

/// The right to append, held until it is dropped.
pub struct WriteLock {
    guard: Box<dyn LockGuard>,
    /// Which log it is for and which locking this is.
    log: u64,
    number: u64,
    process: u32,
}

/// One log, opened by one handle.
pub struct Log {
    disk: Arc<dyn Disk>,
    mode: Mode,
    options: LogOptions,
    format: Format,
    suite: HashSuite,
    manifest: Manifest,
    segments: Arc<Segments>,
    /// How far the batches were read.
    cursor: Position,
    /// Offset in the cursor's segment up to which everything is known to be durable.
    durable: u64,
    /// Number of the newest batch that was handed out.
    visited: u64,
    /// The head after that batch.
    visited_commit: CommitDigest,
    /// Handed out before they were known to be durable: number and what their records are.
    unproven: Vec<(u64, [u8; 32])>,
    /// A group that was written and not yet synced.
    unsynced: Option<HeadMark>,
    unlisted_checked: bool,
    /// Whether this handle has removed what crashes left.
    leftovers_removed: bool,
    /// The newest batch that was handed out and then written again elsewhere; 0 if there is none.
    moved: u64,
    /// Generation of the manifest whose names this handle made durable; 0 for none.
    named_generation: u64,
    poisoned: bool,
    /// Tells durable places that were noted elsewhere.
    places: Option<Arc<DurablePlaces>>,
    process: u32,
    identity: u64,
    /// The locking that `prepare` was last called under.
    prepared: u64,
    /// With `degraded`: what is wrong with the listed segments that could not be opened, or not whole.
    passed_over: Vec<Error>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Log {
    /// Opens an existing log. Takes no lock and writes nothing; reads only what says which segments there are.
    ///
    /// # Errors
    /// `NotFound` if there is no store, or one whose creation was cut off; `UnsupportedFormat` if a newer version
    /// wrote it; `Corrupt` if what must be there is missing or damaged; `Io`.
    pub fn open(disk: Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<Self> {
        if options.degraded && mode == Mode::ReadWrite {
            return Err(Error::invalid("a damaged store can only be read"));
        }
        let format = match read_format(&*disk, mode)? {
            Some(format) => format,
            None => {
                let missing = create::no_store(&*disk);
                // What was looked at may be what somebody has created in between.
                read_format(&*disk, mode)?.ok_or(missing)?
            }
        };
        let manifest = read_manifest(&*disk, &format)?;
        let process = disk.process();
        let suite = HashSuite::new(format.hash);
        let segments = Arc::new(Segments::new(suite, &manifest));
        Ok(Self {
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
            identity: NUMBERS.fetch_add(1, Ordering::Relaxed),
            prepared: 0,
            passed_over: Vec::new(),
        })
    }

    /// What the store is.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// What the log was opened for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Where the log is, for messages.
    pub fn describe(&self) -> String {
        self.disk.describe()
    }

    /// A reader of the records of every batch that this handle handed out.
    pub fn reader(&self) -> LogReader {
        LogReader {
            segments: Arc::clone(&self.segments),
        }
    }

    /// The head after the newest batch that was handed out or appended.
    pub fn newest_commit(&self) -> CommitDigest {
        self.cursor.commit
    }

    /// Whether this handle may still write: it is not poisoned, and this process opened it.
    pub fn is_usable(&self) -> bool {
        !self.poisoned && self.check_process().is_ok()
    }

    /// Makes this handle refuse to write, because what was built on it no longer agrees with it.
    pub fn poison(&mut self) {
        self.poisoned = true;
    }

    /// Number of the newest batch that was handed out, or that a rewrite left out since; 0 before the first. The next
    /// batch has one more.
    pub fn newest_batch(&self) -> u64 {
        self.visited
    }

    /// Segments and the bytes of their files that batches take, as far as was read.
    pub fn size(&self) -> (usize, u64) {
        let sealed: u64 = self.manifest.sealed().iter().map(|entry| entry.length).sum();
        let active = if self.cursor.segment == self.manifest.active().id {
            self.cursor.offset
        } else {
            0
        };
        (self.manifest.sealed().len() + 1, sealed + active)
    }

    /// Bytes of batches, as far as was read: without the headers of segments.
    pub fn batch_bytes(&self) -> u64 {
        let (segments, bytes) = self.size();
        bytes.saturating_sub((segments * segment::SEGMENT_HEADER_BYTES) as u64)
    }

    /// Takes the writer's lock, waiting for it at most `wait`.
    ///
    /// # Errors
    /// `Busy`, naming the holder; `Denied` for a handle that may only read; `Poisoned`; `Io`.
    pub fn lock(&self, wait: Duration) -> Result<WriteLock> {
        self.check_writable()?;
        let guard = lock_within(&*self.disk, LOCK_NAME, wait)?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Ok(WriteLock {
            guard,
            log: self.identity,
            number,
            process: self.process,
        })
    }

    fn check_process(&self) -> Result<()> {
        if self.disk.process() == self.process {
            return Ok(());
        }
        let message = "the store was opened before this process was forked off";
        Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again in the new process"))
    }

    fn check_writable(&self) -> Result<()> {
        self.check_process()?;
        if self.mode == Mode::ReadOnly {
            return Err(
                Error::new(ErrorKind::Denied, "the store was opened for reading only")
                    .with_code(ErrorCode::ReadOnly),
            );
        }
        if self.poisoned {
            let message = "an earlier write failed, so this handle does not know what is on disk";
            return Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"));
        }
        Ok(())
    }

    fn check_lock(&self, lock: &WriteLock) -> Result<()> {
        self.check_writable()?;
        if lock.log != self.identity || lock.process != self.process {
            return Err(Error::internal("a lock of another handle was given"));
        }
        Ok(())
    }

    /// The segment `id`, opened if it is not.
    fn segment(&self, id: u64) -> Result<Arc<SegmentFile>> {
        if let Some(segment) = self.segments.find(id) {
            return Ok(segment);
        }
        let segment = Arc::new(SegmentFile::open(&*self.disk, id, self.format.instance)?);
        self.segments.insert(&segment);
        Ok(segment)
    }

    fn read_live(&self) -> Result<Option<Live>> {
        match self.disk.open(LIVE_NAME, Access::Read) {
            Ok(file) => live::read_live(&*file, &self.format),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_of_other_kind(&error) => Ok(None),
            Err(error) => Err(Error::io(format!("cannot open {LIVE_NAME}"), error)),
        }
    }
}

/// Reads the format file; `None` if there is none.
fn read_format(disk: &dyn Disk, mode: Mode) -> Result<Option<Format>> {
    let bytes = read_small(disk, format_file::FORMAT_NAME, format_file::FORMAT_BYTES + 1)?;
    bytes.map(|bytes| Format::decode(&bytes, mode)).transpose()
}

fn read_manifest(disk: &dyn Disk, format: &Format) -> Result<Manifest> {
    let bytes = read_small(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)?.ok_or_else(|| {
        of_other_kind(disk, MANIFEST_NAME).unwrap_or_else(|| damage(MANIFEST_NAME, 0, "it is missing"))
    })?;
    let manifest = Manifest::decode(&bytes).map_err(|error| damage(MANIFEST_NAME, 0, &error.to_string()))?;
    if manifest.instance != format.instance {
        return Err(damage(MANIFEST_NAME, 0, "it belongs to another store"));
    }
    Ok(manifest)
}

/// The damage that something else stands in the place of the file `name`.
fn of_other_kind(disk: &dyn Disk, name: &str) -> Option<Error> {
    Some(match other_kind_at(disk, name)? {
        OtherKind::Link => linked(name),
        OtherKind::Folder => damage(name, 0, IS_FOLDER),
        OtherKind::Special => damage(name, 0, NOT_REGULAR),
    })
}

/// The damage that a file, or the log, was moved away and a link put there: nothing of it is lost, and salvage has none of it.
fn linked(name: &str) -> Error {
    damage(name, 0, LINKED).with_hint("`treering doctor` says where it leads, and what to do")
}

/// Which store what stands at `place` is of, if it is what a store has under `name`: `format`, `manifest`, the folder of the
/// log, or a segment.
pub(crate) fn instance_of(disk: &dyn Disk, place: &str, name: &str) -> Option<[u8; 16]> {
    let read = |limit| read_small(disk, place, limit).ok().flatten();
    match name {
        format_file::FORMAT_NAME => {
            let bytes = read(format_file::FORMAT_BYTES + 1)?;
            Some(Format::decode(&bytes, Mode::ReadOnly).ok()?.instance)
        }
        MANIFEST_NAME => Some(Manifest::decode(&read(MANIFEST_BYTES_MAX)?).ok()?.instance),
        LOG_FOLDER => {
            let names = disk.list(place).ok()?;
            let mut segments = names.iter().map(|file| format!("{place}/{file}"));
            segments.find_map(|segment| instance_of(disk, &segment, &segment))
        }
        _ => {
            let header = read(segment::SEGMENT_HEADER_BYTES)?;
            Some(segment::SegmentHeader::decode(&header).ok()?.instance)
        }
    }
}

/// The first `limit` bytes of a file; `None` if there is none.
fn read_small(disk: &dyn Disk, name: &str, limit: usize) -> Result<Option<Vec<u8>>> {
    let file = match disk.open(name, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_of_other_kind(&error) => return Ok(None),
        other => other,
    };
    let read = |file: &dyn crate::disk::DiskFile| {
        let length = usize::try_from(file.length()?).unwrap_or(usize::MAX).min(limit);
        let mut bytes = vec![0; length];
        let count = read_full(file, 0, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    };
    file.and_then(|file| read(&*file))
        .map(Some)
        .map_err(|error| Error::io(format!("cannot read {name}"), error))
}

/// Bytes of `file` are not what was written.
fn damage(file: &str, offset: u64, what: &str) -> Error {
    // Without these two no segment can be found or read, so nothing can be served (docs/decisions/0006).
    let hint = if matches!(file, format_file::FORMAT_NAME | MANIFEST_NAME) {
        "`treering salvage` reads the log without this file and writes a new store"
    } else {
        "`treering doctor` names all of it; `--degraded` reads the newest state before the damage, `treering salvage` saves the rest"
    };
    Error::corrupt(format!("{file} is damaged at byte {offset}: {what}")).with_hint(hint)
}

/// Bytes of `file` are whole and of a later version.
fn unsupported(file: &str, offset: u64, what: &str) -> Error {
    let message = format!("{file} holds at byte {offset} what this version does not know: {what}");
    Error::new(ErrorKind::UnsupportedFormat, message).with_hint("use a newer version of treering")
}

#[cfg(test)]
mod tests;
