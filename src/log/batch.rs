//! Batches: groups of records that are appended together and are valid only as a whole. Defines a batch under
//! construction and a batch that was read from the log.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - BAT-1: encoding a batch copies each body once, into a buffer. The log writes that buffer and later reads from it.

use bytes::Bytes;

use super::frame::{self, FrameHeader, FrameSeed, RecordKind};
use super::manifest::SegmentEntry;
use super::seal::{Chain, SEAL_FRAME_BYTES, Seal};
use super::segment::{FIRST_OFFSET, SegmentEnd, SegmentHeader};
use crate::digest::{BatchDigest, CommitDigest, HashSuite, Root};
use crate::error::{Cause, Error, Result};

/// The segment and the offset of a record, combined into one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(u64);

impl Locator {
    /// # Panics
    /// Panics if the segment number or the offset exceeds the limits of a log. Every caller checks both limits first.
    pub(super) fn new(segment: u64, offset: u64) -> Self {
        let segment = u32::try_from(segment).expect("segment numbers fit in 32 bits");
        let step =
            u32::try_from(offset / frame::FRAME_ALIGNMENT as u64).expect("segments are at most 64 GiB");
        Self(u64::from(segment) << 32 | u64::from(step))
    }

    /// Converts a number that [`Locator::to_u64`] returned back to a locator.
    pub fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// Returns the locator as one number.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// Returns the locator that is `bytes` bytes behind this one, which must be whole frames. The result names another
    /// segment if no segment is that long.
    pub(crate) fn plus(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes / frame::FRAME_ALIGNMENT as u64))
    }

    /// Returns the number of the segment.
    pub fn segment(self) -> u64 {
        self.0 >> 32
    }

    /// Returns the locator right after the record at this locator, whose body has `body_bytes` bytes.
    pub(super) fn behind(self, body_bytes: usize) -> Self {
        let framed = frame::framed_bytes(body_bytes) as u64;
        Self::new(self.segment(), self.offset() + framed)
    }

    /// Returns the offset of the frame in the segment's file.
    pub fn offset(self) -> u64 {
        (self.0 & u64::from(u32::MAX)) * frame::FRAME_ALIGNMENT as u64
    }
}

/// A position between two batches of a log. A position is valid only within one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the segment that contains the batch before the position; 0 if there is no such batch.
    pub segment: u64,
    /// The offset of the first byte after the batch before the position.
    pub offset: u64,
    /// The number of the batch before the position.
    pub batch: u64,
    /// The digest of the batch before the position.
    pub digest: [u8; 32],
    /// The head commit after the batch before the position.
    pub commit: CommitDigest,
}

impl Position {
    /// The position before the first batch of the log.
    pub const START: Self = Self {
        segment: 0,
        offset: 0,
        batch: 0,
        digest: [0; 32],
        commit: CommitDigest::from_bytes([0; 32]),
    };

    /// Returns the position before the first batch of a segment. `commit` is the head at that position.
    pub(super) fn start_of((before, entry): (SegmentEnd, &SegmentEntry), commit: CommitDigest) -> Self {
        Self {
            segment: entry.id,
            offset: FIRST_OFFSET,
            batch: entry.batch_before(),
            digest: before.last_digest,
            commit,
        }
    }

    /// Returns the position after `batch`, which ends at `offset` of this position's segment.
    pub(super) fn after(&self, batch: &Batch, offset: u64) -> Self {
        Self {
            segment: self.segment,
            offset,
            batch: batch.number,
            digest: *batch.digest.as_bytes(),
            commit: batch.commit,
        }
    }

    /// Returns the number and the digest of the batch before the position. The next batch continues this chain.
    pub(super) fn chain(&self) -> Chain {
        Chain {
            batch: self.batch,
            digest: Some(self.digest),
        }
    }
}

/// A record that was read from the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The flags of the record's frame.
    pub flags: u8,
    /// The segment and the offset of the record.
    pub locator: Locator,
    /// The number of the batch that contains the record.
    pub batch: u64,
    /// The bytes of the record, shared with the log.
    pub body: Bytes,
}

impl Record {
    /// Returns the record at `locator` whose frame begins at `start` in `bytes`. Returns `None` if the bytes end within
    /// the body.
    pub(super) fn of(header: &FrameHeader, bytes: &Bytes, start: usize, locator: Locator) -> Option<Self> {
        let body = header.body_range();
        let body = bytes.get(start + body.start..start + body.end)?;
        Some(Self {
            kind: header.kind,
            flags: header.flags,
            locator,
            batch: header.batch,
            body: bytes.slice_ref(body),
        })
    }

    /// Returns the record at `locator` whose frame begins at `start` in `bytes`, after checking the checksums of the
    /// frame.
    pub(super) fn checked(
        bytes: &Bytes,
        start: usize,
        seed: FrameSeed,
        locator: Locator,
    ) -> Result<Self, Cause> {
        let frame = bytes.get(start..).unwrap_or_default();
        let header = FrameHeader::parse(frame, seed, locator.offset())?;
        let record = Self::of(&header, bytes, start, locator).ok_or(Cause::CutOff)?;
        let matches = header.matches(&record.body, seed, locator.offset());
        matches.then_some(record).ok_or(Cause::BodyChecksum)
    }

    /// Returns the record as [`Self::checked`] does, from a frame that [`Self::checked`] verified before at `locator`.
    pub(super) fn verified(bytes: &Bytes, start: usize, locator: Locator) -> Result<Self, Cause> {
        let frame = bytes.get(start..).unwrap_or_default();
        let header = FrameHeader::parse_verified(frame)?;
        Self::of(&header, bytes, start, locator).ok_or(Cause::CutOff)
    }

    /// Returns the record as [`Self::checked`] does, from bytes whose frames were all verified or written by this
    /// process. Checks the header, because `locator` may not name a frame.
    pub(super) fn kept(
        bytes: &Bytes,
        start: usize,
        seed: FrameSeed,
        locator: Locator,
    ) -> Result<Self, Cause> {
        let frame = bytes.get(start..).unwrap_or_default();
        let header = FrameHeader::parse(frame, seed, locator.offset())?;
        Self::of(&header, bytes, start, locator).ok_or(Cause::CutOff)
    }

    /// Returns the locator of the next record in the segment.
    pub fn next(&self) -> Locator {
        self.locator.behind(self.body.len())
    }
}

/// A batch that was read from the log, without its seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the batch. The first batch of a log has the number 1.
    pub number: u64,
    /// The head commit after the batch.
    pub commit: CommitDigest,
    /// The digest of the batch.
    pub digest: BatchDigest,
    /// The records of the batch, in order, including kinds that this version may ignore.
    pub records: Vec<Record>,
}

impl Batch {
    /// Returns a sum of what the batch says, which does not depend on its place: its head, its commit with the root of the
    /// state, its line and its references.
    pub(super) fn sum(&self) -> u64 {
        let says = |record: &&Record| {
            matches!(
                record.kind,
                RecordKind::Commit | RecordKind::Line | RecordKind::Reference
            )
        };
        let bodies = self.records.iter().filter(says).map(|record| &record.body[..]);
        let first = crc32c::crc32c(self.commit.as_bytes());
        let sum = bodies.fold(first, crc32c::crc32c_append);
        u64::from(sum) << 32 | self.records.len() as u64
    }

    /// Returns whether `other` has the same head commit and the same records. Ignores where the two batches are stored.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let content = |record: &Record| (record.kind, record.flags, record.body.clone());
        let (mine, others) = (self.records.iter(), other.records.iter());
        self.commit == other.commit && mine.map(content).eq(others.map(content))
    }
}

/// The head commit after a batch, as stored in the file `live`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadMark {
    /// The head commit.
    pub commit: CommitDigest,
    /// The root of the head's state.
    pub root: Root,
    /// The seq of the head commit.
    pub seq: u64,
}

/// The usual size of a record and its frame.
const RECORD_BYTES: usize = 512;

/// A batch under construction.
///
/// `add` copies each body into the buffer that the log later writes. Bodies are not copied again.
#[derive(Clone, Debug, Default)]
pub struct BatchBuilder {
    frames: Vec<u8>,
    longest: usize,
    has_line: bool,
}

impl BatchBuilder {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a record. [`Log::append`](super::Log::append) later refuses the batch if a body exceeds 64 MiB.
    pub fn add(&mut self, kind: RecordKind, flags: u8, body: &[u8]) {
        // The marker of an erased object takes over its flags, and has no class.
        let flags = match kind {
            RecordKind::Object | RecordKind::Commit => flags,
            _ => frame::with_cap(flags, 0),
        };
        self.longest = self.longest.max(body.len());
        self.has_line |= kind == RecordKind::Line;
        if body.len() <= frame::BODY_BYTES_MAX {
            if self.frames.is_empty() {
                // A batch of one record needs no more room than its seal.
                self.frames
                    .reserve_exact(frame::framed_bytes(body.len()) + SEAL_FRAME_BYTES as usize);
            }
            frame::put_frame(&mut self.frames, kind, flags, body);
        }
    }

    /// Makes room for records of `bytes` bytes in all.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.frames
            .reserve_exact(bytes as usize + SEAL_FRAME_BYTES as usize);
    }

    /// Returns a batch with the records of a batch that was read.
    #[cfg(feature = "remote")]
    pub(crate) fn copy_of(batch: &Batch) -> Self {
        let mut copy = Self::new();
        for record in &batch.records {
            copy.add(record.kind, record.flags, &record.body);
        }
        copy
    }

    /// Returns this batch with the records of `next` added at its end.
    #[must_use]
    pub fn followed_by(mut self, next: Self) -> Self {
        if self.is_empty() {
            return next;
        }
        self.frames.extend_from_slice(&next.frames);
        self.longest = self.longest.max(next.longest);
        self.has_line |= next.has_line;
        self
    }

    /// Returns whether the batch belongs to another line than the main one.
    pub(crate) fn has_line(&self) -> bool {
        self.has_line
    }

    /// Returns whether the batch contains no record.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.longest == 0
    }

    /// Returns the length of the records that were added, in bytes. The next record begins that far behind the start of
    /// the batch.
    pub(crate) fn frames_bytes(&self) -> u64 {
        self.frames.len() as u64
    }

    /// Returns the length of the encoded batch in bytes, including its seal.
    pub fn encoded_bytes(&self) -> u64 {
        self.frames.len() as u64 + SEAL_FRAME_BYTES
    }

    /// Checks the limits that `append` enforces.
    ///
    /// # Errors
    /// `InvalidInput` if a record exceeds the limit.
    pub fn check(&self) -> Result<()> {
        let (longest, limit) = (self.longest, frame::BODY_BYTES_MAX);
        if longest <= limit {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a record of {longest} bytes exceeds the limit of {limit} bytes"
        )))
    }
}

/// The place in the log where a group of batches is appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Continue {
    pub(super) segment: u64,
    pub(super) seed: FrameSeed,
    /// The offset of the group's first byte. All bytes before this offset are durable.
    pub(super) start: u64,
    /// The offset up to which the group's seals declare the segment durable. Equals the group's start, except that a
    /// recovery declares fewer bytes.
    pub(super) synced_upto: u64,
    /// The end of the chain before the group.
    pub(super) chain: Chain,
}

impl Continue {
    /// Returns the place right after the header of a new segment, whose bytes are not durable yet.
    pub(super) fn start(header: &SegmentHeader, chain: Chain) -> Self {
        Self {
            segment: header.id,
            seed: header.seed(),
            start: FIRST_OFFSET,
            synced_upto: FIRST_OFFSET,
            chain,
        }
    }
}

/// Encodes a group of batches into one buffer (BAT-1). Returns the buffer and the batches, whose records have their
/// final locators.
pub(super) fn encode_group(
    group: impl IntoIterator<Item = (BatchBuilder, CommitDigest)>,
    suite: HashSuite,
    after: Continue,
) -> Result<(Bytes, Vec<Batch>)> {
    let mut buffer = Vec::new();
    let mut sealed = Vec::new();
    let mut chain = after.chain;
    for (builder, commit) in group {
        let at = buffer.len();
        if at == 0 {
            buffer = builder.frames;
            buffer.reserve_exact(SEAL_FRAME_BYTES as usize);
        } else {
            buffer.extend_from_slice(&builder.frames);
        }
        let number = chain.batch + 1;
        let headers = finish_frames(&mut buffer, at, after, number)?;
        let frames = buffer.get(at..).unwrap_or_default();
        let seal = Seal {
            batch: number,
            start: after.start + at as u64,
            length: frames.len() as u64,
            synced_upto: after.synced_upto,
            previous: chain.digest.unwrap_or_default(),
            commit,
        };
        let digest = seal.digest(suite, frames);
        let seal_at = buffer.len();
        frame::put_frame(&mut buffer, RecordKind::Seal, 0, &seal.encode(digest));
        finish_frames(&mut buffer, seal_at, after, number)?;
        chain = Chain::after(number, digest);
        sealed.push((number, commit, digest, headers));
    }
    // The log keeps the buffer for reads, so the buffer must not keep the room for more records.
    buffer.shrink_to_fit();
    let bytes = Bytes::from(buffer);
    let record = |(at, header): (usize, FrameHeader)| {
        let locator = Locator::new(after.segment, after.start + at as u64);
        Record::of(&header, &bytes, at, locator)
    };
    let batches = sealed.into_iter().map(|(number, commit, digest, headers)| Batch {
        number,
        commit,
        digest,
        records: headers.into_iter().filter_map(record).collect(),
    });
    let batches = batches.collect();
    Ok((bytes, batches))
}

/// Sets the batch number and the checksums of every frame from `start` on. Returns each frame's position in the buffer
/// and its header.
fn finish_frames(
    buffer: &mut [u8],
    start: usize,
    after: Continue,
    batch: u64,
) -> Result<Vec<(usize, FrameHeader)>> {
    let mut headers = Vec::with_capacity((buffer.len() - start) / RECORD_BYTES + 4);
    let mut at = start;
    while let Some(frame) = buffer.get_mut(at..).filter(|frame| !frame.is_empty()) {
        let header = frame::finish_frame(frame, after.seed, after.start + at as u64, batch)
            .ok_or_else(|| Error::internal("the buffer of a batch does not consist of whole frames"))?;
        headers.push((at, header));
        at += header.framed_bytes();
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::HashAlgorithm;

    /// CAT-3: the batches of two forks repeat the head of the main line, so that head does not tell them apart.
    #[test]
    fn a_batch_is_told_from_another_one_with_the_same_head() {
        let batches = |start: u64, lines: [&[u8]; 2]| {
            let after = Continue {
                segment: 1,
                seed: FrameSeed::new(&[1; 16], &[2; 16]),
                start,
                synced_upto: FIRST_OFFSET,
                chain: Chain::START,
            };
            let builder = |body| {
                let mut builder = BatchBuilder::new();
                builder.add(RecordKind::Line, 0, body);
                (builder, CommitDigest::from_bytes([7; 32]))
            };
            let suite = HashSuite::new(HashAlgorithm::Blake3);
            encode_group(lines.map(builder), suite, after).unwrap().1
        };
        let (there, moved) = (batches(FIRST_OFFSET, [b"a", b"b"]), batches(8_192, [b"a", b"c"]));
        assert_eq!(there[0].sum(), moved[0].sum(), "a copy at another place");
        assert_ne!(there[0].digest, moved[0].digest);
        assert_ne!(there[0].sum(), there[1].sum());
        assert_ne!(there[1].sum(), moved[1].sum());
    }
}
