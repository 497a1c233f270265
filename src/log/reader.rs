//! Reads records by their place, from any thread, while the log grows.
//!
//! The reader maps sealed segments, and keeps the scanned and written parts of the active segment in buffers. It reads
//! everything else from the file. Every read checks the frame's header and its body.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RDR-1: a body is returned only after its checksum matched at its place.
//! - RDR-2: only the sealed length of a segment is ever mapped.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock};

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
use crate::error::{Cause, Error, OrIo as _, Result};
use crate::threads::{ArcSwap, RwLock};
use bytes::Bytes;

/// Reads records of a log. Clones share everything. Reads take no lock of the store and never wait for a writer.
#[derive(Clone)]
pub struct LogReader {
    pub(super) segments: Arc<Segments>,
}

/// The header and the first bytes of a record.
pub struct Peeked {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The place of the next record in the segment.
    pub next: Locator,
    /// The first bytes of its body, which were not checked.
    pub start: Vec<u8>,
}

impl LogReader {
    /// Reads the record at `locator`, which must come from a batch of this log.
    ///
    /// # Errors
    /// `Corrupt` if there is no intact record at the place; `Io` if it cannot be read.
    pub fn read(&self, locator: Locator) -> Result<Record> {
        self.segment(locator.segment())?.read(locator)
    }

    /// Reads from the file the header of the frame at `locator` and at most the first `count` bytes of its body. The body
    /// is not checked, so it only helps to choose a record to read.
    ///
    /// # Errors
    /// As [`Self::read`], except for the body.
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

    /// Passes the complete batches after `from`, up to number `upto`, to `visit`, in order. The log must have delivered
    /// them before.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset, for damage there; `Io`; the error of `visit`.
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

/// The segments opened so far, and the manifest that lists them in order.
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

    /// Returns the reason why a segment is not open. A reader of a damaged log skips segments that it cannot open.
    fn not_open(&self, id: u64) -> Error {
        if self.manifest.load().lists(id) {
            return damage(&segment_name(id), 0, Cause::SegmentUnopened);
        }
        Error::internal(format!("segment {id} is not open"))
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
    /// The sealed length. The first read maps the file up to it.
    to_map: OnceLock<u64>,
    mapped: OnceLock<Bytes>,
    /// The parts that this handle wrote or scanned since the segment became active, by their offsets.
    kept: RwLock<BTreeMap<u64, Bytes>>,
}

/// Returns the error for a listed segment that cannot be opened. If the folder is missing, there is one error for all
/// segments.
fn cannot_open(disk: &dyn Disk, name: &str, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound {
        return Error::io(format!("cannot open {name}"), error);
    }
    match disk.list(LOG_FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => cannot_list(error),
        _ => damage(name, 0, Cause::SegmentMissing),
    }
}

/// Reads the header of a segment.
pub(super) fn read_segment_header(file: &dyn DiskFile, name: &str) -> Result<SegmentHeader> {
    let bytes = read_bytes(file, 0, SEGMENT_HEADER_BYTES).or_io(format_args!("cannot read {name}"))?;
    SegmentHeader::decode(&bytes).map_err(|error| damage(name, 0, undecodable(&error)))
}

impl SegmentFile {
    /// Opens a listed segment. The file has its temporary name if a recovery listed the segment and could not rename
    /// it.
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

    /// Returns the end of the chain before the first batch of this segment, which `entry` lists after `before`. After a
    /// rewritten part the header does not continue the segment before, and the manifest decides.
    pub(super) fn chain_from(&self, (before, entry): (SegmentEnd, &SegmentEntry)) -> Chain {
        Chain {
            batch: entry.batch_before(),
            digest: (self.header.previous == before).then_some(before.last_digest),
        }
    }

    /// Delivers the batches after `from`, or all, up to number `upto`.
    ///
    /// # Errors
    /// `Corrupt` for damage there, or if a sealed segment does not end where `entry` states; the errors of `visit`.
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
        Error::io(format!("cannot read {}", self.name()), error)
    }

    /// Makes the first read map the segment, which is sealed at `length`. Opening a store thus takes no extra time for
    /// each segment. Drops buffers with the same bytes.
    pub(super) fn seal(&self, length: u64) {
        // If another thread set the value, it is the same.
        let _ = self.to_map.set(length);
        self.kept.write().clear();
    }

    /// Keeps written or scanned bytes in memory for later reads.
    pub(super) fn keep(&self, start: u64, bytes: Bytes) {
        self.kept.write().insert(start, bytes);
    }

    /// Returns the bytes up to the sealed length, if they are mapped. If mapping fails, every read uses the file and
    /// reports its damage.
    fn mapped(&self) -> Option<&Bytes> {
        // RDR-2: a writer may have left torn bytes after this length.
        if self.mapped.get().is_none()
            && let Some(&length) = self.to_map.get()
            && let Ok(bytes) = self.file.map(length)
        {
            // If another thread mapped the file, its bytes are the same.
            drop(self.mapped.set(bytes));
        }
        self.mapped.get()
    }

    /// Returns the bytes from `from` to `to` for a scan, or fewer if the file or its batches end before.
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

    /// Returns the bytes from `from` to the end of the batches, always read from the file, and a survey of the bytes
    /// after them.
    pub(super) fn read_to_end(&self, from: u64, suite: HashSuite) -> Result<(Window, Survey)> {
        let mut windows = self.windows(from, u64::MAX, suite)?;
        let (window, mut behind) = (windows.here()?, Survey::default());
        while let Some(window) = windows.next()? {
            behind.add(&window, window.base);
        }
        Ok((window, behind))
    }

    /// Reads the parts of the file from `from` to `to` that are not zero.
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

    /// Reads a record. INVARIANT RDR-1: a body is returned only after its checksum matched at its place.
    pub(super) fn read(&self, locator: Locator) -> Result<Record> {
        let (seed, offset) = (self.header.seed(), locator.offset());
        let found = match self.in_memory(offset) {
            Some((start, bytes)) => Record::checked(&bytes, (offset - start) as usize, seed, locator),
            None => record_in(&*self.file, seed, locator).map_err(|error| self.cannot_read(error))?,
        };
        found.map_err(|cause| self.damage(offset, cause))
    }

    /// Returns the bytes in memory that contain this offset, mapped or kept, and their start.
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
