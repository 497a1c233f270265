//! Reads records by locator, from any thread, while the log grows.
//!
//! The reader maps sealed segments into memory, and the part of the active segment that was durable when the log was
//! opened after a position. It buffers the later parts of the active segment, and reads all other bytes from the file.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RDR-1: a read returns a body only after the checksum of the body matched: at the first read of the frame in a map,
//!   and at each read from the file. For buffered bytes, it matched when this handle wrote or scanned them.
//! - RDR-2: a map contains a segment only up to its sealed length, or up to an offset that was durable before.

use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use imbl::OrdMap;

use super::batch::{Batch, Locator, Position, Record};
use super::files::{cannot_list, damage, undecodable};
use super::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameSeed, RecordKind, framed_bytes};
use super::manifest::{Manifest, SegmentEntry, chained};
use super::memory::{Buffers, Map};
use super::seal::Chain;
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, segment_name,
};
use super::walk::{Frame, Origin, Scanned, Survey, Window, Windows, record_in};
use crate::digest::HashSuite;
use crate::disk::{Access, Disk, DiskFile, read_bytes, unfinished_name};
use crate::error::{Cause, Error, ErrorCode, Result};
use crate::threads::ArcSwap;

/// The number of bytes that a processor loads into its cache at once.
const LINE_BYTES: usize = 64;
/// The number of lines to touch at the start of a record.
const TOUCHED_LINES: usize = 2;

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

/// Receives a segment, the end of the segment before it and its entry, and the position at which to start in it.
type VisitSegment<'a> =
    dyn FnMut(&SegmentFile, (SegmentEnd, &SegmentEntry), Option<&Position>) -> Result<()> + 'a;

impl LogReader {
    /// Returns the hash of the log.
    pub(crate) fn suite(&self) -> HashSuite {
        self.segments.suite
    }

    /// Reads the record at `locator`. The locator must be from a batch of this log.
    ///
    /// # Errors
    /// `Corrupt` if `locator` does not refer to an intact record; `Io` if the file cannot be read.
    pub fn read(&self, locator: Locator) -> Result<Record> {
        // A clone of the segment's pointer would make the processors of all readers compete for its reference count.
        let (open, id) = (self.segments.open.load(), locator.segment());
        let segment = open.get(&id).ok_or_else(|| self.segments.not_open(id))?;
        segment.read(locator)
    }

    /// Returns the record at `locator` if its bytes were read or written before. So they are most likely in memory.
    pub(crate) fn read_again(&self, locator: Locator) -> Option<Record> {
        let open = self.segments.open.load();
        open.get(&locator.segment())?.read_again(locator)
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
        let header = FrameHeader::parse(&bytes, segment.seed, offset)
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
        let suite = self.segments.suite;
        self.each_segment(from, upto, &mut |segment, place, from| {
            segment.batches(place, from, upto, suite, &mut |scanned| visit(scanned.batch))
        })
    }

    /// Passes to `visit` the batches behind the number `after`, up to the number `upto`. Reads no segment before them.
    ///
    /// # Errors
    /// The errors of [`Self::batches`].
    #[cfg(feature = "remote")]
    pub(crate) fn batches_behind(
        &self,
        after: u64,
        upto: u64,
        visit: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let (manifest, suite) = (self.segments.manifest.load_full(), self.segments.suite);
        let is_read = |entry: &SegmentEntry| !entry.is_active() && entry.last_batch <= after;
        let rest = chained(manifest.entries()).skip_while(|(_, entry)| is_read(entry));
        for (before, entry) in rest.take_while(|(_, entry)| entry.first_batch <= upto) {
            let segment = self.segment(entry.id)?;
            segment.batches((before, entry), None, upto, suite, &mut |scanned| {
                if scanned.batch.number > after {
                    visit(scanned.batch)
                } else {
                    Ok(())
                }
            })?;
        }
        Ok(())
    }

    /// Passes to `visit` the frames of the same batches as [`Self::batches`], with their seals. Checks the checksums of
    /// each frame, as a read by locator does, but not the digests of the batches.
    ///
    /// # Errors
    /// The errors of [`Self::batches`].
    pub fn frames(
        &self,
        from: &Position,
        upto: u64,
        visit: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
    ) -> Result<()> {
        self.each_segment(from, upto, &mut |segment, place, from| {
            segment.frames(place, from, upto, self.segments.suite, visit)
        })
    }

    /// Passes to `visit` the segments that contain the batches after `from` up to `upto`. If the batches begin within
    /// the segment, also passes `from`.
    fn each_segment(&self, from: &Position, upto: u64, visit: &mut VisitSegment<'_>) -> Result<()> {
        let manifest = self.segments.manifest.load_full();
        let from_start = *from == Position::START;
        if !from_start && !manifest.lists(from.segment) {
            return Err(self.segments.not_open(from.segment));
        }
        let rest =
            chained(manifest.entries()).skip_while(|(_, entry)| !from_start && entry.id != from.segment);
        for (before, entry) in rest.take_while(|(_, entry)| entry.first_batch <= upto) {
            let from = Some(from).filter(|from| from.segment == entry.id);
            visit(&*self.segment(entry.id)?, (before, entry), from)?;
        }
        Ok(())
    }

    /// Touches the start of the records at `locators`, so that the processor loads several of them into its cache at the
    /// same time. Reads memory only, and ignores a locator of other bytes.
    pub fn touch(&self, locators: impl Iterator<Item = Locator>) {
        let open = self.segments.open.load();
        for locator in locators {
            if let Some(segment) = open.get(&locator.segment()) {
                segment.touch(locator.offset());
            }
        }
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
    /// The seed of the segment's checksums, from the header.
    seed: FrameSeed,
    pub(super) file: Arc<dyn DiskFile>,
    /// Whether the file still had its temporary name when it was opened.
    pub(super) unfinished: bool,
    /// The sealed part: the whole segment. Set when the segment is sealed.
    sealed: Part,
    /// The part of the active segment that was durable when the log was opened after a position.
    durable: Part,
    /// The bytes that this handle wrote or scanned while the segment was active.
    kept: ArcSwap<Buffers>,
}

/// A part of a segment's file, from its start, whose bytes never change. The first read maps it.
#[derive(Default)]
struct Part {
    length: OnceLock<u64>,
    map: OnceLock<Map>,
}

impl Part {
    /// Returns the map. Returns `None` if no length is set or mapping fails. Reads then use the file.
    fn mapped(&self, file: &dyn DiskFile) -> Option<&Map> {
        // RDR-2: maps only this length, because other bytes may follow it.
        if self.map.get().is_none()
            && let Some(&length) = self.length.get()
            && let Ok(bytes) = file.map(length)
        {
            self.map.get_or_init(|| Map::new(bytes));
        }
        self.map.get()
    }
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
            seed: header.seed(),
            header,
            file,
            unfinished,
            sealed: Part::default(),
            durable: Part::default(),
            kept: ArcSwap::default(),
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
        let mut walk = window.batches(at..end, chain).upto(upto);
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

    /// Passes to `visit` the frames of the batches that [`Self::batches`] returns, and of their seals.
    fn frames(
        &self,
        (before, entry): (SegmentEnd, &SegmentEntry),
        from: Option<&Position>,
        upto: u64,
        suite: HashSuite,
        visit: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut batch) = match from {
            Some(from) => (from.offset, from.batch),
            None => (FIRST_OFFSET, self.chain_from((before, entry)).batch),
        };
        let end = if entry.is_active() { u64::MAX } else { entry.length };
        while batch < upto && at < end {
            // A map of the active segment ends at the end of a batch, and the file has the rest.
            let mapped = self.mapped(at).map(|map| map.bytes().len() as u64);
            let window = self.window(at, mapped.unwrap_or(end), suite)?;
            while batch < upto && at < mapped.unwrap_or(end) {
                let frame = window.frame_at(at, batch.wrapping_add(1));
                let frame = frame.map_err(|stop| self.damage(stop.offset, stop.cause))?;
                at += framed_bytes(frame.body.len()) as u64;
                batch += u64::from(frame.kind == RecordKind::Seal);
                visit(&frame)?;
            }
        }
        if at == end && batch != entry.last_batch {
            return Err(self.damage(end, Cause::LastBatch));
        }
        Ok(())
    }

    /// Touches the start of the record at `offset`, if it is in memory.
    fn touch(&self, offset: u64) {
        let touch = |bytes: &Bytes, start: usize| {
            // The start of a record has its frame, its id and its kind. Later bytes follow in the order of their
            // addresses, and the processor loads them ahead.
            for line in 0..TOUCHED_LINES {
                std::hint::black_box(bytes.get(start + line * LINE_BYTES));
            }
        };
        if let Some(map) = self.mapped(offset) {
            touch(map.bytes(), offset as usize);
        } else if let Some((start, bytes)) = self.kept.load().find(offset) {
            touch(bytes.handle(), (offset - start) as usize);
        }
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
        let _ = self.sealed.length.set(length);
        self.kept.store(Arc::default());
    }

    /// Marks the bytes before `length` as durable, so that reads map them.
    pub(super) fn set_durable(&self, length: u64) {
        // Only the first length counts. A log is opened after one position.
        let _ = self.durable.length.set(length);
    }

    /// Buffers written or scanned bytes for later reads.
    pub(super) fn keep(&self, start: u64, bytes: Bytes) {
        self.kept.load().add(start, bytes);
    }

    /// Returns the map that contains the byte at `offset`.
    fn mapped(&self, offset: u64) -> Option<&Map> {
        let mut maps = [&self.sealed, &self.durable].into_iter();
        maps.find_map(|part| part.mapped(&*self.file).filter(|map| map.holds(offset)))
    }

    /// Returns the bytes from `from` to `to` for a scan. Returns fewer bytes if the file or its batches end before
    /// `to`.
    pub(super) fn window(&self, from: u64, to: u64, suite: HashSuite) -> Result<Window> {
        let mapped = self.mapped(from).map(Map::bytes);
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
            seed: self.seed,
            suite,
        }
    }

    /// Reads a record. INVARIANT RDR-1: a read returns a body only after the checksum of the body matched.
    pub(super) fn read(&self, locator: Locator) -> Result<Record> {
        let (seed, offset) = (self.seed, locator.offset());
        let found = if let Some(map) = self.mapped(offset) {
            let (bytes, start) = (map.bytes(), offset as usize);
            if map.verified().contains(offset) {
                Record::verified(bytes, start, locator)
            } else {
                let found = Record::checked(bytes, start, seed, locator);
                found.inspect(|_| map.verified().add(offset))
            }
        } else if let Some((start, bytes)) = self.kept.load().find(offset) {
            Record::kept(bytes.handle(), (offset - start) as usize, seed, locator)
        } else {
            record_in(&*self.file, seed, locator).map_err(|error| self.cannot_read(error))?
        };
        found.map_err(|cause| self.damage(offset, cause))
    }

    /// Returns a record whose checksums matched before.
    fn read_again(&self, locator: Locator) -> Option<Record> {
        let offset = locator.offset();
        if let Some(map) = self.mapped(offset) {
            let is_known = map.verified().contains(offset);
            return is_known.then(|| Record::verified(map.bytes(), offset as usize, locator).ok())?;
        }
        let kept = self.kept.load();
        let (start, bytes) = kept.find(offset)?;
        Record::kept(bytes.handle(), (offset - start) as usize, self.seed, locator).ok()
    }
}
