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

use std::io;
use std::sync::{Arc, OnceLock};

use super::batch::{Batch, Locator, Position, Record};
use super::files::{cannot_list, damage, undecodable};
use super::frame::{FRAME_HEADER_BYTES, FrameHeader, RecordKind};
use super::manifest::{Manifest, SegmentEntry};
use super::seal::Chain;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentHeader, segment_name};
use super::walk::{Origin, Scanned, Stop, Survey, Window, Windows, record_in};
use crate::bytes::Bytes;
use crate::digest::HashSuite;
use crate::disk::{Access, Disk, DiskFile, read_bytes, unfinished_name};
use crate::error::{Cause, Error, Result};
use crate::threads::{ArcSwap, RwLock};

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

    /// Reads the header of the frame at `locator` and at most the first `count` bytes of its body. The body is not
    /// checked, so it only helps to choose a record to read.
    ///
    /// # Errors
    /// As [`Self::read`], except for the body.
    pub fn peek(&self, locator: Locator, count: usize) -> Result<Peeked> {
        self.segment(locator.segment())?.peek(locator, count)
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
        let order = self.segments.order.load_full();
        let first = order.iter().position(|entry| entry.id == from.segment);
        let (first, from) = match first {
            Some(first) => (first, Some(from)),
            None if *from == Position::START => (0, None),
            None => return Err(self.segments.not_open(from.segment)),
        };
        for (index, entry) in order.iter().enumerate().skip(first) {
            if entry.first_batch > upto {
                break;
            }
            let before = index.checked_sub(1).and_then(|index| order.get(index));
            let from = from.filter(|from| from.segment == entry.id);
            self.batches_of(entry, before, from, upto, visit)?;
        }
        Ok(())
    }

    fn segment(&self, id: u64) -> Result<Arc<SegmentFile>> {
        self.segments.find(id).ok_or_else(|| self.segments.not_open(id))
    }

    /// As [`LogReader::batches`], for one segment.
    fn batches_of(
        &self,
        entry: &SegmentEntry,
        before: Option<&SegmentEntry>,
        from: Option<&Position>,
        upto: u64,
        visit: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let segment = self.segment(entry.id)?;
        let (at, chain) = match from {
            Some(from) => (from.offset, from.chain()),
            None => (FIRST_OFFSET, segment.chain_from(entry, before)),
        };
        let end = if entry.is_active() {
            segment.kept_end()?
        } else {
            entry.length
        };
        let window = segment.window(at, end.max(at), self.segments.suite)?;
        segment.each_batch(&window, entry, (at, chain), upto, &mut |scanned| {
            visit(scanned.batch)
        })
    }
}

/// The segments opened so far, sorted by number, and their order in the manifest.
pub(super) struct Segments {
    list: ArcSwap<Vec<Arc<SegmentFile>>>,
    order: ArcSwap<Vec<SegmentEntry>>,
    suite: HashSuite,
}

impl Segments {
    pub(super) fn new(suite: HashSuite, manifest: &Manifest) -> Self {
        let segments = Self {
            list: ArcSwap::default(),
            order: ArcSwap::default(),
            suite,
        };
        segments.keep_order(manifest);
        segments
    }

    pub(super) fn keep_order(&self, manifest: &Manifest) {
        self.order.store(Arc::new(manifest.entries().copied().collect()));
    }

    pub(super) fn find(&self, id: u64) -> Option<Arc<SegmentFile>> {
        let list = self.list.load();
        let index = list.binary_search_by_key(&id, |segment| segment.header.id).ok()?;
        list.get(index).cloned()
    }

    /// Returns the reason why a segment is not open. A reader of a damaged log skips segments that it cannot open.
    fn not_open(&self, id: u64) -> Error {
        if self.order.load().iter().any(|entry| entry.id == id) {
            return damage(&segment_name(id), 0, Cause::SegmentUnopened);
        }
        Error::internal(format!("segment {id} is not open"))
    }

    pub(super) fn insert(&self, segment: &Arc<SegmentFile>) {
        self.list.rcu(|list| {
            let mut list = Vec::clone(list);
            match list.binary_search_by_key(&segment.header.id, |other| other.header.id) {
                Ok(_) => {}
                Err(index) => list.insert(index, Arc::clone(segment)),
            }
            list
        });
    }
}

/// A part of a segment that is in memory.
struct Span {
    start: u64,
    bytes: Bytes,
}

/// One open segment.
pub(super) struct SegmentFile {
    pub(super) header: SegmentHeader,
    pub(super) file: Arc<dyn DiskFile>,
    /// Whether the file still had its temporary name when it was opened.
    pub(super) unfinished: bool,
    mapped: OnceLock<Bytes>,
    /// The sealed length. The first read maps the file up to it.
    to_map: OnceLock<u64>,
    /// The spans in the order of their start; they do not overlap.
    spans: RwLock<Vec<Span>>,
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
    let bytes = read_bytes(file, 0, SEGMENT_HEADER_BYTES)
        .map_err(|error| Error::io(format!("cannot read {name}"), error))?;
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
            mapped: OnceLock::new(),
            to_map: OnceLock::new(),
            spans: RwLock::default(),
        })
    }

    /// Returns whether the header continues the segment `before`. After a rewritten part it does not, and the manifest
    /// decides.
    pub(super) fn continues(&self, before: Option<&SegmentEntry>) -> bool {
        self.header.previous == before.map(SegmentEntry::end).unwrap_or_default()
    }

    /// Returns the end of the chain before the first batch of this segment, which `entry` lists after `before`.
    pub(super) fn chain_from(&self, entry: &SegmentEntry, before: Option<&SegmentEntry>) -> Chain {
        let digest = before.map_or([0; 32], |before| before.last_digest);
        Chain {
            batch: entry.batch_before(),
            digest: self.continues(before).then_some(digest),
        }
    }

    /// Delivers the batches of `window` from an offset on, up to number `upto`. The first one must continue the given
    /// chain.
    ///
    /// # Errors
    /// `Corrupt` for damage there, or if a sealed segment does not end where `entry` states; the errors of `visit`.
    pub(super) fn each_batch(
        &self,
        window: &Window,
        entry: &SegmentEntry,
        (at, chain): (u64, Chain),
        upto: u64,
        visit: &mut dyn FnMut(Scanned) -> Result<()>,
    ) -> Result<()> {
        let end = if entry.is_active() { u64::MAX } else { entry.length };
        let mut walk = window.batches(at..end, chain);
        while walk.chain.batch < upto
            && let Some(scanned) = walk.next()
        {
            visit(scanned.map_err(|stop| self.damage(&stop))?)?;
        }
        if walk.at == end && walk.chain != entry.end_chain() {
            return Err(damage(&self.name(), end, Cause::LastBatch));
        }
        Ok(())
    }

    /// Returns the end of the bytes in memory; without any, the end of the file.
    fn kept_end(&self) -> Result<u64> {
        let kept = self
            .spans
            .read()
            .last()
            .map(|span| span.start + span.bytes.len() as u64);
        kept.map_or_else(|| self.file.length().map_err(|error| self.cannot_read(error)), Ok)
    }

    pub(super) fn name(&self) -> String {
        segment_name(self.header.id)
    }

    /// Returns the error for the damage at which a walk stopped.
    pub(super) fn damage(&self, stop: &Stop) -> Error {
        damage(&self.name(), stop.offset, stop.cause.clone())
    }

    fn origin(&self, suite: HashSuite) -> Origin {
        Origin {
            segment: self.header.id,
            seed: self.header.seed(),
            suite,
        }
    }

    fn cannot_read(&self, error: io::Error) -> Error {
        Error::io(format!("cannot read {}", self.name()), error)
    }

    /// Checks that the file is at least as long as its sealed length.
    pub(super) fn check_length(&self, sealed: u64) -> Result<()> {
        let length = self.file.length().map_err(|error| self.cannot_read(error))?;
        if length < sealed {
            return Err(damage(&self.name(), length, Cause::Shorter));
        }
        Ok(())
    }

    /// Makes the first read map the segment, which is sealed at `length`. Opening a store thus takes no extra time for
    /// each segment.
    pub(super) fn map_later(&self, length: u64) {
        // If another thread set the value, it is the same.
        let _ = self.to_map.set(length);
    }

    /// Returns the bytes up to the sealed length, if they are mapped.
    fn mapped(&self) -> Option<&Bytes> {
        if self.mapped.get().is_none()
            && let Some(&length) = self.to_map.get()
            && let Ok(Some(bytes)) = self.file.map(length)
        {
            // If mapping fails, every read uses the file and reports its damage.
            drop(self.mapped.set(Bytes::new(bytes)));
        }
        self.mapped.get()
    }

    /// Maps the bytes of a segment that is sealed at `length`, and drops buffers with the same bytes. If mapping fails,
    /// every read uses the file and reports its damage.
    pub(super) fn seal(&self, length: u64, map: bool) {
        if !map || self.mapped.get().is_some() {
            return;
        }
        // RDR-2: a writer may have left torn bytes after this length.
        if let Ok(Some(bytes)) = self.file.map(length) {
            // If another thread mapped the file, its bytes are the same.
            drop(self.mapped.set(Bytes::new(bytes)));
            self.spans
                .write()
                .retain(|span| span.start + span.bytes.len() as u64 > length);
        }
    }

    /// Keeps written or scanned bytes in memory for later reads.
    pub(super) fn keep(&self, start: u64, bytes: Bytes) {
        let mut spans = self.spans.write();
        if spans
            .last()
            .is_none_or(|last| last.start + last.bytes.len() as u64 <= start)
        {
            spans.push(Span { start, bytes });
        }
    }

    /// Keeps the bytes scanned from the first batch on in memory, unless some are kept already.
    pub(super) fn keep_all(&self, start: u64, bytes: Option<Bytes>) {
        let mut spans = self.spans.write();
        if let Some(bytes) = bytes.filter(|_| spans.is_empty()) {
            spans.push(Span { start, bytes });
        }
    }

    /// Returns the bytes from `from` to `to` for a scan, or fewer if the file or its batches end before.
    pub(super) fn window(&self, from: u64, to: u64, suite: HashSuite) -> Result<Window> {
        let mapped = self
            .mapped
            .get()
            .and_then(|mapped| mapped.slice(from as usize..to as usize));
        match mapped {
            Some(bytes) => Ok(Window {
                bytes,
                base: from,
                origin: self.origin(suite),
            }),
            None => self.windows(from, to, suite)?.here(),
        }
    }

    /// Returns the bytes from `from` to the end of the batches, always read from the file.
    pub(super) fn window_to_end(&self, from: u64, suite: HashSuite) -> Result<Window> {
        self.windows(from, u64::MAX, suite)?.here()
    }

    /// As [`SegmentFile::window_to_end`], with a survey of the bytes after the window.
    pub(super) fn read_to_end(&self, from: u64, suite: HashSuite) -> Result<(Window, Survey)> {
        let mut windows = self.windows(from, u64::MAX, suite)?;
        let (window, mut behind) = (windows.here()?, Survey::default());
        while let Some(window) = windows.next()? {
            behind.add(&window, window.base);
        }
        Ok((window, behind))
    }

    /// Surveys all seals of the file, including those outside of valid batches.
    pub(super) fn survey(&self, suite: HashSuite) -> Result<Survey> {
        let (window, mut survey) = self.read_to_end(FIRST_OFFSET, suite)?;
        survey.add(&window, window.base);
        Ok(survey)
    }

    /// Reads the parts of the file from `from` to `to` that are not zero.
    pub(super) fn windows(&self, from: u64, to: u64, suite: HashSuite) -> Result<Windows<'_>> {
        let end = self.file.length().map_err(|error| self.cannot_read(error))?;
        let between = from..to.min(end);
        Ok(Windows::new(
            &*self.file,
            self.name(),
            self.origin(suite),
            between,
        ))
    }

    pub(super) fn read(&self, locator: Locator) -> Result<Record> {
        match self.in_memory(locator.offset()) {
            Some((start, bytes)) => self.kept_record(&bytes, start, locator),
            None => {
                let found = record_in(&*self.file, self.header.seed(), locator);
                let found = found.map_err(|error| self.cannot_read(error))?;
                found.map_err(|cause| self.damage_at(locator, cause))
            }
        }
    }

    /// Returns the bytes in memory that contain this offset, mapped or kept, and their start.
    fn in_memory(&self, offset: u64) -> Option<(u64, Bytes)> {
        if let Some(mapped) = self.mapped()
            && offset < mapped.len() as u64
        {
            return Some((0, mapped.clone()));
        }
        let spans = self.spans.read();
        let index = spans.partition_point(|span| span.start <= offset);
        let span = index.checked_sub(1).and_then(|index| spans.get(index));
        span.filter(|span| offset < span.start + span.bytes.len() as u64)
            .map(|span| (span.start, span.bytes.clone()))
    }

    fn peek(&self, locator: Locator, count: usize) -> Result<Peeked> {
        let wanted = FRAME_HEADER_BYTES + count;
        let mut bytes = match self.in_memory(locator.offset()) {
            Some((start, bytes)) => {
                let rest = bytes
                    .get((locator.offset() - start) as usize..)
                    .unwrap_or_default();
                rest.get(..wanted).unwrap_or(rest).to_vec()
            }
            None => {
                read_bytes(&*self.file, locator.offset(), wanted).map_err(|error| self.cannot_read(error))?
            }
        };
        let header = self.header_of(&bytes, locator)?;
        bytes.truncate(FRAME_HEADER_BYTES + header.body_length);
        Ok(Peeked {
            kind: header.kind,
            next: locator.behind(header.body_length),
            start: bytes.split_off(FRAME_HEADER_BYTES.min(bytes.len())),
        })
    }

    fn kept_record(&self, bytes: &Bytes, start: u64, locator: Locator) -> Result<Record> {
        let at = (locator.offset() - start) as usize;
        let rest = bytes.get(at..).unwrap_or_default();
        let header = self.header_of(rest, locator)?;
        let record = Record::of(&header, bytes, at, locator);
        let record = record.ok_or_else(|| self.damage_at(locator, Cause::CutOff))?;
        // INVARIANT RDR-1; `record_in` checks the same.
        if !header.matches(&record.body, self.header.seed(), locator.offset()) {
            return Err(self.damage_at(locator, Cause::BodyChecksum));
        }
        Ok(record)
    }

    fn header_of(&self, bytes: &[u8], locator: Locator) -> Result<FrameHeader> {
        FrameHeader::parse(bytes, self.header.seed(), locator.offset())
            .map_err(|cause| self.damage_at(locator, cause))
    }

    fn damage_at(&self, locator: Locator, cause: Cause) -> Error {
        damage(&self.name(), locator.offset(), cause)
    }
}
