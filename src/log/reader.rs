//! Reads records by locator, from any thread, while the log grows.
//!
//! The reader maps sealed segments into memory, and buffers the scanned and written parts of the active segment. The
//! reader reads all other bytes from the file. Every read checks the header and the body of the frame.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RDR-1: a read returns a body only after the checksum of the body matched.
//! - RDR-2: a map contains a segment only up to its sealed length.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use imbl::OrdMap;

use super::batch::{Batch, Locator, Position, Record};
use super::files::{cannot_list, damage, undecodable};
use super::frame::{FRAME_HEADER_BYTES, FrameHeader, RecordKind};
use super::manifest::{Manifest, SegmentEntry, chained};
use super::seal::Chain;
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, segment_name,
};
use super::walk::{Origin, Scanned, Survey, Window, Windows, record_in};
use crate::digest::HashSuite;
use crate::disk::{Access, Disk, DiskFile, read_bytes, unfinished_name};
use crate::error::{Cause, Error, ErrorCode, Result};
use crate::threads::{ArcSwap, RwLock};

/// Reads records of a log. Clones share the open segments. Reads acquire no lock of the store and never wait for a
/// writer.
#[derive(Clone)]
pub struct LogReader {
    pub(super) segments: Arc<Segments>,
}

/// The header and the first bytes of a record.
pub struct Peeked {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The locator of the next record in the segment.
    pub next: Locator,
    /// The first bytes of the body. The checksum of the body was not checked.
    pub start: Vec<u8>,
}

impl LogReader {
    /// Reads the record at `locator`. The locator must be from a batch of this log.
    ///
    /// # Errors
    /// `Corrupt` if `locator` does not refer to an intact record; `Io` if the file cannot be read.
    pub fn read(&self, locator: Locator) -> Result<Record> {
        self.segment(locator.segment())?.read(locator)
    }

    /// Reads the header of the frame at `locator` and at most the first `count` bytes of its body. Does not check the
    /// body, so use the result only to decide whether to read the record.
    ///
    /// # Errors
    /// The errors of [`Self::read`], except that damage of the body is not detected.
    pub fn peek(&self, locator: Locator, count: usize) -> Result<Peeked> {
        let (segment, offset) = (self.segment(locator.segment())?, locator.offset());
        let mut bytes = read_bytes(&*segment.file, offset, FRAME_HEADER_BYTES + count)
            .map_err(|error| segment.cannot_read(error))?;
        let header = FrameHeader::parse(&bytes, segment.header.seed(), offset)
            .map_err(|cause| segment.damage(offset, cause))?;
        bytes.truncate(header.body_range().end);
        Ok(Peeked {
            kind: header.kind,
            next: locator.behind(header.body_length),
            start: bytes.split_off(FRAME_HEADER_BYTES),
        })
    }

    /// Passes to `visit` the batches after `from`, up to the batch number `upto`, in order. The log must have delivered
    /// these batches before.
    ///
    /// # Errors
    /// `Corrupt` with file and offset if one of these batches is damaged; `Io`; the errors of `visit`.
    pub fn batches(
        &self,
        from: &Position,
        upto: u64,
        visit: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let manifest = self.segments.manifest.load_full();
        let from_start = *from == Position::START;
        if !from_start && !manifest.lists(from.segment) {
            return Err(self.segments.not_open(from.segment));
        }
        let rest =
            chained(manifest.entries()).skip_while(|(_, entry)| !from_start && entry.id != from.segment);
        for (before, entry) in rest.take_while(|(_, entry)| entry.first_batch <= upto) {
            let from = Some(from).filter(|from| from.segment == entry.id);
            let segment = self.segment(entry.id)?;
            segment.batches((before, entry), from, upto, self.segments.suite, &mut |scanned| {
                visit(scanned.batch)
            })?;
        }
        Ok(())
    }

    fn segment(&self, id: u64) -> Result<Arc<SegmentFile>> {
        self.segments.find(id).ok_or_else(|| self.segments.not_open(id))
    }
}

/// The open segments, and the manifest that lists all segments in order.
pub(super) struct Segments {
    open: ArcSwap<OrdMap<u64, Arc<SegmentFile>>>,
    manifest: ArcSwap<Manifest>,
    suite: HashSuite,
}

impl Segments {
    pub(super) fn new(suite: HashSuite, manifest: &Manifest) -> Self {
        Self {
            open: ArcSwap::default(),
            manifest: ArcSwap::from_pointee(manifest.clone()),
            suite,
        }
    }

    pub(super) fn keep_manifest(&self, manifest: &Manifest) {
        self.manifest.store(Arc::new(manifest.clone()));
    }

    pub(super) fn find(&self, id: u64) -> Option<Arc<SegmentFile>> {
        self.open.load().get(&id).cloned()
    }

    /// Returns the error for a segment that is not open. A degraded log leaves damaged segments unopened. Only a
    /// checkpoint can name a segment that the manifest does not list.
    fn not_open(&self, id: u64) -> Error {
        if self.manifest.load().lists(id) {
            return damage(&segment_name(id), 0, Cause::SegmentUnopened);
        }
        damage(&segment_name(id), 0, Cause::SegmentUnknown)
            .with_code(ErrorCode::CheckpointDamaged)
            .with_hint("remove the files in checkpoint/, and Treering reads the log instead")
    }

    pub(super) fn insert(&self, segment: &Arc<SegmentFile>) {
        self.open
            .rcu(|open| open.update(segment.header.id, Arc::clone(segment)));
    }
}

/// One open segment.
pub(super) struct SegmentFile {
    pub(super) header: SegmentHeader,
    pub(super) file: Arc<dyn DiskFile>,
    /// Whether the file still had its temporary name when it was opened.
    pub(super) unfinished: bool,
    /// The sealed length. The first read maps the file up to this length.
    to_map: OnceLock<u64>,
    mapped: OnceLock<Bytes>,
    /// The bytes that this handle wrote or scanned while the segment was active, by offset.
    kept: RwLock<BTreeMap<u64, Bytes>>,
}

/// Returns the error for a listed segment that cannot be opened. If the whole folder is missing, the error does not
/// name a segment.
fn cannot_open(disk: &dyn Disk, name: &str, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound {
        return Error::unreadable(name, error);
    }
    match disk.list(LOG_FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => cannot_list(error),
        _ => damage(name, 0, Cause::SegmentMissing),
    }
}

/// Reads the header of a segment.
pub(super) fn read_segment_header(file: &dyn DiskFile, name: &str) -> Result<SegmentHeader> {
    let bytes = read_bytes(file, 0, SEGMENT_HEADER_BYTES).map_err(|error| Error::unreadable(name, error))?;
    SegmentHeader::decode(&bytes).map_err(|error| damage(name, 0, undecodable(&error)))
}

impl SegmentFile {
    /// Opens a listed segment. Also tries the temporary name of the file, because a recovery may have listed the
    /// segment and then crashed before renaming the file.
    pub(super) fn open(disk: &dyn Disk, id: u64, instance: [u8; 16]) -> Result<Self> {
        let name = segment_name(id);
        let (file, unfinished) = match disk.open(&name, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (disk.open(&unfinished_name(&name), Access::Read), true)
            }
            other => (other, false),
        };
        let file = file.map_err(|error| cannot_open(disk, &name, error))?;
        let segment = Self::with_file(file, unfinished, &name)?;
        if segment.header.instance != instance || segment.header.id != id {
            return Err(damage(&name, 0, Cause::Foreign));
        }
        Ok(segment)
    }

    pub(super) fn with_file(file: Arc<dyn DiskFile>, unfinished: bool, name: &str) -> Result<Self> {
        let header = read_segment_header(&*file, name)?;
        Ok(Self {
            header,
            file,
            unfinished,
            to_map: OnceLock::new(),
            mapped: OnceLock::new(),
            kept: RwLock::default(),
        })
    }

    /// Returns the chain before the first batch of this segment. `entry` is the segment's entry, and `before` is the
    /// end of the previous segment. The segment after a rewritten part has a header that does not match `before`. In
    /// that case, the previous digest is unknown, and the batch number is from the manifest.
    pub(super) fn chain_from(&self, (before, entry): (SegmentEnd, &SegmentEntry)) -> Chain {
        Chain {
            batch: entry.batch_before(),
            digest: (self.header.previous == before).then_some(before.last_digest),
        }
    }

    /// Passes to `visit` the batches after `from`, up to the batch number `upto`. If `from` is `None`, starts at the
    /// first batch.
    ///
    /// # Errors
    /// `Corrupt` if one of these batches is damaged, or if a sealed segment does not end as `entry` states; the errors
    /// of `visit`.
    pub(super) fn batches(
        &self,
        (before, entry): (SegmentEnd, &SegmentEntry),
        from: Option<&Position>,
        upto: u64,
        suite: HashSuite,
        visit: &mut dyn FnMut(Scanned) -> Result<()>,
    ) -> Result<()> {
        let (at, chain) = match from {
            Some(from) => (from.offset, from.chain()),
            None => (FIRST_OFFSET, self.chain_from((before, entry))),
        };
        let end = if entry.is_active() { u64::MAX } else { entry.length };
        let window = self.window(at, end, suite)?;
        let mut walk = window.batches(at..end, chain);
        while walk.chain.batch < upto
            && let Some(scanned) = walk.next()
        {
            visit(scanned.map_err(|stop| self.damage(stop.offset, stop.cause))?)?;
        }
        if walk.at == end && walk.chain != entry.end_chain() {
            return Err(self.damage(end, Cause::LastBatch));
        }
        Ok(())
    }

    pub(super) fn name(&self) -> String {
        segment_name(self.header.id)
    }

    /// Returns the error for damage in this segment.
    pub(super) fn damage(&self, offset: u64, cause: Cause) -> Error {
        damage(&self.name(), offset, cause)
    }

    pub(super) fn length(&self) -> Result<u64> {
        self.file.length().map_err(|error| self.cannot_read(error))
    }

    pub(super) fn cannot_read(&self, error: io::Error) -> Error {
        Error::unreadable(&self.name(), error)
    }

    /// Marks the segment as sealed at `length`. The first read maps the segment, so opening a store with many segments
    /// stays fast. Drops the buffers, because the map contains the same bytes.
    pub(super) fn seal(&self, length: u64) {
        // Another thread may already have set the same length.
        let _ = self.to_map.set(length);
        self.kept.write().clear();
    }

    /// Buffers written or scanned bytes for later reads.
    pub(super) fn keep(&self, start: u64, bytes: Bytes) {
        self.kept.write().insert(start, bytes);
    }

    /// Returns the mapped bytes up to the sealed length. Returns `None` if the segment is not sealed or mapping fails.
    /// Reads then use the file.
    fn mapped(&self) -> Option<&Bytes> {
        // RDR-2: maps only the sealed length, because torn bytes may follow it.
        if self.mapped.get().is_none()
            && let Some(&length) = self.to_map.get()
            && let Ok(bytes) = self.file.map(length)
        {
            // Another thread may already have stored a map of the same bytes.
            drop(self.mapped.set(bytes));
        }
        self.mapped.get()
    }

    /// Returns the bytes from `from` to `to` for a scan. Returns fewer bytes if the file or its batches end before
    /// `to`.
    pub(super) fn window(&self, from: u64, to: u64, suite: HashSuite) -> Result<Window> {
        let mapped = self.mapped();
        match mapped.and_then(|mapped| Some(mapped.slice_ref(mapped.get(from as usize..to as usize)?))) {
            Some(bytes) => Ok(Window {
                bytes,
                base: from,
                origin: self.origin(suite),
            }),
            None => self.windows(from, to, suite)?.here(),
        }
    }

    /// Reads the bytes from `from` to the end of the batches, always from the file. Also returns a survey of the bytes
    /// after the batches.
    pub(super) fn read_to_end(&self, from: u64, suite: HashSuite) -> Result<(Window, Survey)> {
        let mut windows = self.windows(from, u64::MAX, suite)?;
        let (window, mut behind) = (windows.here()?, Survey::default());
        while let Some(window) = windows.next()? {
            behind.add(&window, window.base);
        }
        Ok((window, behind))
    }

    /// Returns a reader of the extents of the file between `from` and `to`.
    pub(super) fn windows(&self, from: u64, to: u64, suite: HashSuite) -> Result<Windows<'_>> {
        let between = from..to.min(self.length()?);
        Ok(Windows::new(
            &*self.file,
            self.name(),
            self.origin(suite),
            between,
        ))
    }

    fn origin(&self, suite: HashSuite) -> Origin {
        Origin {
            segment: self.header.id,
            seed: self.header.seed(),
            suite,
        }
    }

    /// Reads a record. INVARIANT RDR-1: a read returns a body only after the checksum of the body matched.
    pub(super) fn read(&self, locator: Locator) -> Result<Record> {
        let (seed, offset) = (self.header.seed(), locator.offset());
        let found = match self.in_memory(offset) {
            Some((start, bytes)) => Record::checked(&bytes, (offset - start) as usize, seed, locator),
            None => record_in(&*self.file, seed, locator).map_err(|error| self.cannot_read(error))?,
        };
        found.map_err(|cause| self.damage(offset, cause))
    }

    /// Returns the mapped or buffered bytes that contain `offset`, and the offset of their first byte.
    fn in_memory(&self, offset: u64) -> Option<(u64, Bytes)> {
        if let Some(mapped) = self.mapped()
            && offset < mapped.len() as u64
        {
            return Some((0, mapped.clone()));
        }
        let kept = self.kept.read();
        let (start, bytes) = kept.range(..=offset).next_back()?;
        (offset < start + bytes.len() as u64).then(|| (*start, bytes.clone()))
    }
}
