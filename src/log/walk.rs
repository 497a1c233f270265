//! Decodes the bytes of a segment to batches. No other code does this.
//!
//! [`Windows`] reads a file in extents and skips pages of zeros. So the use of memory depends on the content of the
//! file, not on its length. A page of zeros within a frame belongs to the extent; any other page of zeros ends the
//! extent. [`Batches`] decodes the batches of an extent and stops at the first byte that is not part of a valid batch.
//! It checks the next batches on all processors, and decodes a batch alone only to name the first invalid byte.
//! [`Window::seals_from`] finds seals after that byte.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - SCN-1: a scan returns only complete batches.
//! - SCN-2: the number of scanned bytes limits the use of memory. Lengths in damaged headers do not increase it.
//! - RUN-1: all bytes of a complete batch are in one extent.
//! - RUN-2: an extent contains only pages with nonzero bytes, and pages within a frame whose header is valid.
//! - WLK-1: the batches of a walk, and the byte at which it stops, do not depend on the number of threads.
//! - WLK-2: a walk reads ahead at most as many bytes as it has passed, and one batch. So damage never makes the walks of a
//!   check read a segment many times.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::batch::{Batch, Locator, Position, Record};
use super::fixed::is_zero;
use super::frame::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameHeader, FrameSeed, RecordKind, parse_frame};
use super::seal::{Chain, Seal};
use crate::digest::HashSuite;
use crate::disk::{DiskFile, read_bytes, read_full};
use crate::error::{Cause, Error, Result};
use crate::threads::{beside, processors};

/// Receives batches.
pub(super) type Visit<'a> = dyn FnMut(Batch) -> Result<()> + 'a;

/// The properties of a segment that are needed to check and to locate its frames.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// The segment number for the locators of the records.
    pub(super) segment: u64,
    pub(super) seed: FrameSeed,
    pub(super) suite: HashSuite,
}

/// A part of a segment that was read into memory.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) bytes: Bytes,
    /// The offset of the window's first byte in the file.
    pub(super) base: u64,
    pub(super) origin: Origin,
}

/// A frame of a window. Its checksums matched.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The flags of the frame.
    pub flags: u8,
    /// The segment and the offset of the record.
    pub locator: Locator,
    /// The bytes of the record.
    pub body: &'a [u8],
}

/// A complete batch that a scan found.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) batch: Batch,
    /// The offset of the first byte after the batch's seal.
    pub(super) end: u64,
    pub(super) synced_upto: u64,
}

/// The offset at which a scan stopped, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) offset: u64,
    pub(super) cause: Cause,
}

impl Scanned {
    /// Returns the chain after this batch.
    pub(super) fn chain(&self) -> Chain {
        Chain::after(self.batch.number, self.batch.digest)
    }
}

/// A batch whose frames have valid headers, and whose content was not checked yet.
struct Outline {
    scanned: Scanned,
    seal: Seal,
}

#[cfg(test)]
thread_local! {
    /// The number of batches that walks of this thread followed.
    pub(super) static FOLLOWED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts a followed batch, for the tests of the cost.
fn count_followed() {
    #[cfg(test)]
    FOLLOWED.with(|followed| followed.set(followed.get() + 1));
}

/// The maximal number of bytes for each thread that a walk checks together.
const AHEAD_BYTES: u64 = 4 << 20;
/// The minimal number of bytes that justify one more thread.
const BYTES_A_THREAD: u64 = 256 << 10;

/// Iterates the batches of a window, in order. The iterator ends after the first incomplete batch, for which it returns
/// an error.
pub(super) struct Batches<'a> {
    window: &'a Window,
    /// The offset of the first batch.
    start: u64,
    /// The offset of the next batch.
    pub(super) at: u64,
    end: u64,
    /// The chain that the next batch continues.
    pub(super) chain: Chain,
    /// The number of the last batch to read ahead.
    upto: u64,
    /// The next batches, which were checked together.
    ahead: VecDeque<Scanned>,
    /// Whether the batch after `ahead` is not valid.
    ends: bool,
    stopped: bool,
}

impl Batches<'_> {
    /// Reads ahead only up to batch `upto`.
    pub(super) fn upto(self, upto: u64) -> Self {
        Self { upto, ..self }
    }

    /// Checks the next batches together, up to the first one that is not valid.
    fn read_ahead(&mut self) {
        let (mut at, mut chain, mut found) = (self.at, self.chain, Vec::new());
        let threads = processors();
        // INVARIANT WLK-2: reads ahead at most as many bytes as the walk has passed, and one batch.
        let bytes = (at - self.start).clamp(1, AHEAD_BYTES * threads as u64);
        let limit = self.end.min(at.saturating_add(bytes));
        while at < limit && chain.batch < self.upto {
            let Ok(outline) = self.window.outline(at, chain, FrameHeader::parse) else {
                self.ends = true;
                break;
            };
            count_followed();
            (at, chain) = (outline.scanned.end, outline.scanned.chain());
            found.push(outline);
        }
        let more = (at - self.at) / BYTES_A_THREAD;
        let intact = self.window.intact(&found, threads.min(more as usize + 1));
        self.ends |= intact < found.len();
        found.truncate(intact);
        self.ahead
            .extend(found.into_iter().map(|outline| outline.scanned));
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Scanned, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.stopped || self.at >= self.end {
            return None;
        }
        if self.ahead.is_empty() && !self.ends {
            self.read_ahead();
        }
        let found = match self.ahead.pop_front() {
            Some(scanned) => Ok(scanned),
            // WLK-1: reads the invalid batch again in order, to find its first invalid byte.
            None => self.window.batch_at(self.at, self.chain),
        };
        match &found {
            Ok(scanned) => (self.at, self.chain) = (scanned.end, scanned.chain()),
            Err(_) => self.stopped = true,
        }
        Some(found)
    }
}

impl Window {
    /// Returns the offset of the first byte after the window.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub(super) fn rest(&self, offset: u64) -> &[u8] {
        let skip = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.bytes.get(skip..).unwrap_or_default()
    }

    /// Iterates the batches between two offsets. The first batch must continue `chain`.
    pub(super) fn batches(&self, between: Range<u64>, chain: Chain) -> Batches<'_> {
        Batches {
            window: self,
            start: between.start,
            at: between.start,
            end: between.end,
            chain,
            upto: u64::MAX,
            ahead: VecDeque::new(),
            ends: false,
            stopped: false,
        }
    }

    /// Decodes the batch that starts at `offset`. The batch must continue `chain`.
    pub(super) fn batch_at(&self, offset: u64, chain: Chain) -> Result<Scanned, Stop> {
        let outline = self.outline(offset, chain, parse_frame)?;
        if !self.has_digest(&outline) {
            return Err(Stop {
                offset: outline.seal.start + outline.seal.length,
                cause: Cause::BatchDigest,
            });
        }
        // SCN-1: the digest in the seal matches, and the digest covers the whole batch.
        Ok(outline.scanned)
    }

    /// Follows the frames of the batch that starts at `offset` up to its seal. The batch must continue `chain`. `parse`
    /// checks each frame, or only its header.
    fn outline(
        &self,
        offset: u64,
        chain: Chain,
        parse: impl Fn(&[u8], FrameSeed, u64) -> Result<FrameHeader, Cause>,
    ) -> Result<Outline, Stop> {
        let number = chain.batch.wrapping_add(1);
        let mut records = Vec::new();
        let mut at = offset;
        loop {
            let rest = self.rest(at);
            let stop = |cause| Stop { offset: at, cause };
            let header = parse(rest, self.origin.seed, at).map_err(stop)?;
            if header.batch != number {
                return Err(stop(Cause::OtherBatch));
            }
            if header.kind == RecordKind::Seal {
                let body = rest.get(header.body_range()).unwrap_or_default();
                let (seal, digest) = Seal::decode(body)
                    .filter(|(seal, _)| {
                        seal.batch == number && seal.start == offset && seal.length == at - offset
                    })
                    .ok_or_else(|| stop(Cause::SealMismatch))?;
                if chain.digest.is_some_and(|previous| previous != seal.previous) {
                    return Err(stop(Cause::BrokenChain));
                }
                let scanned = Scanned {
                    batch: Batch {
                        number,
                        commit: seal.commit,
                        digest,
                        records,
                    },
                    end: at + header.framed_bytes() as u64,
                    synced_upto: seal.synced_upto,
                };
                return Ok(Outline { scanned, seal });
            }
            // SCN-2: a body is a slice of the window, so no length in a header causes an allocation.
            let record = self.record(&header, at);
            records.push(record.ok_or_else(|| stop(Cause::CutOff))?);
            at += header.framed_bytes() as u64;
        }
    }

    /// Returns whether the digest in the seal is the digest of the batch.
    fn has_digest(&self, outline: &Outline) -> bool {
        let (seal, stated) = (&outline.seal, outline.scanned.batch.digest);
        let frames = self.rest(seal.start).get(..seal.length as usize);
        seal.digest(self.origin.suite, frames.unwrap_or_default()) == stated
    }

    /// Returns how many of the batches are valid before the first one that is not. Uses at most `threads` threads.
    fn intact(&self, outlines: &[Outline], threads: usize) -> usize {
        if threads > 1 && outlines.len() > 1 {
            let (first, last) = (&outlines[0], &outlines[outlines.len() - 1]);
            let middle = first.seal.start.midpoint(last.scanned.end);
            let middle = outlines.partition_point(|outline| outline.scanned.end <= middle);
            let (low, high) = outlines.split_at(middle.clamp(1, outlines.len() - 1));
            let (found, more) = beside(
                || self.intact(low, threads / 2),
                || self.intact(high, threads - threads / 2),
            );
            return if found < low.len() { found } else { found + more };
        }
        let is_intact = |outline: &&Outline| self.is_intact(outline);
        outlines.iter().take_while(is_intact).count()
    }

    fn is_intact(&self, outline: &Outline) -> bool {
        let (mut at, end) = (outline.seal.start, outline.scanned.end);
        while at < end {
            match parse_frame(self.rest(at), self.origin.seed, at) {
                Ok(header) => at += header.framed_bytes() as u64,
                Err(_) => return false,
            }
        }
        self.has_digest(outline)
    }

    /// Returns the frame at `offset`, which must belong to batch `batch`. Does not check the digest of the batch.
    pub(super) fn frame_at(&self, offset: u64, batch: u64) -> Result<Frame<'_>, Stop> {
        let rest = self.rest(offset);
        let stop = |cause| Stop { offset, cause };
        let header = parse_frame(rest, self.origin.seed, offset).map_err(stop)?;
        if header.batch != batch {
            return Err(stop(Cause::OtherBatch));
        }
        Ok(Frame {
            kind: header.kind,
            flags: header.flags,
            locator: Locator::new(self.origin.segment, offset),
            body: rest.get(header.body_range()).unwrap_or_default(),
        })
    }

    /// Returns the record of the frame at `offset`. Returns `None` if the window ends within the body of the frame.
    pub(super) fn record(&self, header: &FrameHeader, offset: u64) -> Option<Record> {
        let locator = Locator::new(self.origin.segment, offset);
        Record::of(header, &self.bytes, (offset - self.base) as usize, locator)
    }

    /// Iterates all valid seals from `offset` on, with their offsets. Does not check the frames of their batches.
    pub(super) fn seals_from(&self, offset: u64) -> impl Iterator<Item = (u64, Seal)> + '_ {
        let first = offset.next_multiple_of(FRAME_ALIGNMENT as u64);
        let places = (first..self.end()).step_by(FRAME_ALIGNMENT);
        let seal_tag = RecordKind::Seal.tag();
        places.filter_map(move |at| {
            let rest = self.rest(at);
            // Compares the kind before the checksum, because most offsets contain no seal.
            if rest.get(4) != Some(&seal_tag) {
                return None;
            }
            let header = parse_frame(rest, self.origin.seed, at).ok()?;
            let (seal, _) = Seal::decode(rest.get(header.body_range())?)?;
            (seal.batch == header.batch && seal.start.checked_add(seal.length) == Some(at))
                .then_some((at, seal))
        })
    }

    /// Returns the number of bytes from `offset` to the last nonzero byte.
    pub(super) fn used_bytes_from(&self, offset: u64) -> u64 {
        used_bytes(self.rest(offset)) as u64
    }
}

/// Returns the number of bytes up to the last nonzero byte.
fn used_bytes(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|byte| *byte != 0);
    last.map_or(0, |last| last + 1)
}

/// Reads the record at `place` of a file. Returns the damage if its checksums do not match.
pub(super) fn record_in(
    file: &dyn DiskFile,
    seed: FrameSeed,
    place: Locator,
) -> io::Result<Result<Record, Cause>> {
    let offset = place.offset();
    let mut frame = read_bytes(file, offset, FRAME_HEADER_BYTES)?;
    // Reads the body only if the file contains all its bytes. This limits the memory that a wrong length can cause.
    if let Ok(header) = FrameHeader::parse(&frame, seed, offset)
        && header.body_range().end as u64 <= file.length()?.saturating_sub(offset)
    {
        frame = read_bytes(file, offset, header.body_range().end)?;
    }
    Ok(Record::checked(&Bytes::from(frame), 0, seed, place))
}

/// A summary of the seals and the used bytes in a part of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// The highest offset that a seal declares durable.
    pub(super) synced_upto: u64,
    /// The highest batch number in a seal.
    pub(super) batch: u64,
    /// The offset after the last nonzero byte.
    pub(super) used: u64,
}

impl Survey {
    /// Adds the part of `window` from `from` on.
    pub(super) fn add(&mut self, window: &Window, from: u64) {
        for (_, seal) in window.seals_from(from) {
            self.synced_upto = self.synced_upto.max(seal.synced_upto);
            self.batch = self.batch.max(seal.batch);
        }
        self.used = self.used.max(from + window.used_bytes_from(from));
    }

    /// Returns the number of bytes from `from` to the last nonzero byte.
    pub(super) fn used_from(&self, from: u64) -> u64 {
        self.used.saturating_sub(from)
    }
}

/// Returns the offset up to which `places` prove the segment durable. `scanned` are the complete batches up to `end`.
/// Ignores a position before `end` at which no batch ends, because such a position belongs to another log.
pub(super) fn durable_by(places: &[Position], scanned: &[Scanned], end: u64) -> u64 {
    let ends_at = |scanned: &Scanned, place: &Position| {
        scanned.end == place.offset && *scanned.batch.digest.as_bytes() == place.digest
    };
    let ours = places
        .iter()
        .filter(|place| place.offset > end || scanned.iter().any(|scanned| ends_at(scanned, place)));
    ours.map(|place| place.offset).fold(0, u64::max)
}

/// The number of bytes that one step of the search for zeros compares.
const PAGE_BYTES: usize = 4096;
/// The number of bytes of one read, a multiple of the page size.
const STEP_BYTES: u64 = 1 << 20;
/// The number of zeros that an extent retains after its last nonzero byte, because a seal may end with zeros.
const ZEROS_AT_END: usize = 512;

/// Reads the extents of a file, in order.
pub(super) struct Windows<'a> {
    file: &'a dyn DiskFile,
    name: String,
    origin: Origin,
    /// The offset to read next.
    at: u64,
    end: u64,
    /// The bytes of the last read, which starts at `step_at`.
    step: Vec<u8>,
    step_at: u64,
    /// Whether pages that cannot be read count as zeros.
    passes_over: bool,
    /// The offset and the error of the first page that could not be read.
    unread: Option<(u64, Error)>,
}

impl<'a> Windows<'a> {
    /// Creates a reader for the range `between` of `file`. Reads nothing yet. The range must start at a multiple of the
    /// frame alignment.
    pub(super) fn new(file: &'a dyn DiskFile, name: String, origin: Origin, between: Range<u64>) -> Self {
        Self {
            file,
            name,
            origin,
            at: between.start,
            end: between.end,
            step: Vec::new(),
            step_at: between.start,
            passes_over: false,
            unread: None,
        }
    }

    /// Makes pages that cannot be read count as zeros, so that the pages after them are read.
    pub(super) fn passing_over(self) -> Self {
        Self {
            passes_over: true,
            ..self
        }
    }

    /// Returns the offset and the error of the first page that was passed over.
    pub(super) fn unread(&self) -> Option<&(u64, Error)> {
        self.unread.as_ref()
    }

    /// Skips zeros and returns the next extent. Returns `None` if only zeros follow.
    pub(super) fn next(&mut self) -> Result<Option<Window>> {
        loop {
            let page = self.page()?;
            if page.is_empty() {
                return Ok(None);
            }
            if !is_zero(page) {
                return self.here().map(Some);
            }
            self.at += page.len() as u64;
        }
    }

    /// Returns the extent that starts at the current offset. If no extent starts there, returns a window of zeros.
    pub(super) fn here(&mut self) -> Result<Window> {
        let (base, mut bytes) = (self.at, Vec::new());
        // The end of the last frame in `bytes`.
        let mut passed = 0;
        loop {
            let page = self.page()?;
            if page.is_empty() {
                break;
            }
            let (start, is_zero) = (bytes.len(), is_zero(page));
            bytes.extend_from_slice(page);
            self.at = base + bytes.len() as u64;
            if is_zero {
                passed = self.pass_frames(&bytes, base, passed, start);
                // INVARIANT RUN-1: no frame extends beyond the start of this page of zeros, so the extent ends here.
                if passed <= start {
                    break;
                }
            }
        }
        bytes.truncate(used_bytes(&bytes) + ZEROS_AT_END);
        bytes.shrink_to_fit();
        Ok(Window {
            bytes: Bytes::from(bytes),
            base,
            origin: self.origin,
        })
    }

    /// Follows the frame headers in `bytes` from `at` to `upto`, and skips all other bytes. Returns the end of the last
    /// frame, which may be after `upto`.
    fn pass_frames(&self, bytes: &[u8], base: u64, mut at: usize, upto: usize) -> usize {
        while at < upto {
            let rest = bytes.get(at..).unwrap_or_default();
            at += FrameHeader::parse(rest, self.origin.seed, base + at as u64)
                .map_or(FRAME_ALIGNMENT, |header| header.framed_bytes());
        }
        at
    }

    /// Reads the pages of a step one by one, after the whole step failed with `error`.
    fn read_pages(&mut self, error: Error) {
        let (mut length, mut first) = (0, None);
        for (index, page) in self.step.chunks_mut(PAGE_BYTES).enumerate() {
            let at = self.at + (index * PAGE_BYTES) as u64;
            match read_full(self.file, at, page) {
                Ok(count) => length += count,
                Err(_) => {
                    page.fill(0);
                    length += page.len();
                    first.get_or_insert(at);
                }
            }
        }
        self.step.truncate(length);
        if let Some(at) = first {
            self.unread.get_or_insert((at, error));
        }
    }

    /// Returns the page at the current offset. Returns no bytes at the end of the range.
    fn page(&mut self) -> Result<&[u8]> {
        if self.at >= self.step_at + self.step.len() as u64 {
            let wanted = STEP_BYTES.min(self.end.saturating_sub(self.at));
            self.step.resize(wanted as usize, 0);
            match read_full(self.file, self.at, &mut self.step) {
                Ok(count) => self.step.truncate(count),
                Err(error) => {
                    let error = Error::unreadable(&self.name, error);
                    if !(self.passes_over && error.is_unreadable()) {
                        return Err(error);
                    }
                    self.read_pages(error);
                }
            }
            self.step_at = self.at;
        }
        let rest = self.step.get((self.at - self.step_at) as usize..);
        let rest = rest.unwrap_or_default();
        Ok(rest.get(..PAGE_BYTES).unwrap_or(rest))
    }
}
