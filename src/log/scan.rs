//! Reading batches out of a run of bytes, and looking ahead for later seals.
//!
//! # Layer
//! L2.
//!
//! # Invariants
//! - SCN-1: what is not a whole batch at its place is never handed out in part.
//! - SCN-2: memory taken is bounded by the bytes scanned, whatever they say.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use super::batch::{Batch, Ignorable, Locator, Record};
use super::frame::{FRAME_ALIGNMENT, FrameError, FrameSeed, RecordKind, parse_frame};
use super::seal::Seal;
use crate::bytes::Bytes;
use crate::digest::HashSuite;

/// A part of a segment that is in memory.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) bytes: Bytes,
    /// Offset of the first byte in its file.
    pub(super) base: u64,
    pub(super) segment: u64,
    pub(super) seed: FrameSeed,
    pub(super) suite: HashSuite,
}

/// What the next batch continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) batch: u64,
    /// `None` where the manifest alone decides what comes before.
    pub(super) digest: Option<[u8; 32]>,
}

/// A batch that was found whole.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) batch: Batch,
    pub(super) start: u64,
    /// Offset of the first byte after its seal.
    pub(super) end: u64,
    /// Length of its frames without the seal.
    pub(super) length: u64,
    pub(super) synced_upto: u64,
}

/// Where and why a scan stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) offset: u64,
    pub(super) reason: FrameError,
}

impl Scanned {
    /// What the batch behind it continues.
    pub(super) fn chain(&self) -> Chain {
        Chain {
            batch: self.batch.number,
            digest: Some(*self.batch.digest.as_bytes()),
        }
    }
}

impl Window {
    /// Offset of the first byte after the window.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub(super) fn rest(&self, offset: u64) -> &[u8] {
        let skip = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.bytes.get(skip..).unwrap_or_default()
    }

    /// The batch that starts at `offset` and continues `chain`.
    pub(super) fn batch_at(&self, offset: u64, chain: Chain) -> Result<Scanned, Stop> {
        let number = chain.batch.wrapping_add(1);
        let mut records = Vec::new();
        let mut ignorable = Vec::new();
        let mut at = offset;
        loop {
            let rest = self.rest(at);
            let stop = |reason| Stop { offset: at, reason };
            let header = parse_frame(rest, self.seed, at).map_err(stop)?;
            if header.batch != number {
                return Err(stop(FrameError::Invalid(
                    "a frame is of another batch than the one expected here",
                )));
            }
            let body = rest.get(header.body_range()).unwrap_or_default();
            if header.kind == RecordKind::Seal as u8 {
                let (seal, digest) = Seal::decode(body)
                    .filter(|(seal, _)| {
                        seal.batch == number && seal.start == offset && seal.length == at - offset
                    })
                    .ok_or_else(|| stop(FrameError::Invalid("a seal does not fit its batch")))?;
                if chain.digest.is_some_and(|previous| previous != seal.previous) {
                    return Err(stop(FrameError::Invalid(
                        "a batch does not continue the one before it",
                    )));
                }
                let length = at - offset;
                let frames = self.rest(offset).get(..length as usize).unwrap_or_default();
                if seal.digest(self.suite, frames) != digest {
                    return Err(stop(FrameError::Invalid("the digest of a batch does not match")));
                }
                // SCN-1: only now, with a seal that covers all of it, is the batch handed out.
                let batch = Batch {
                    number,
                    commit: seal.commit,
                    digest,
                    records,
                    ignorable,
                };
                let end = at + header.framed_bytes() as u64;
                return Ok(Scanned {
                    batch,
                    start: offset,
                    end,
                    length,
                    synced_upto: seal.synced_upto,
                });
            }
            let start = (at - self.base) as usize + header.body_range().start;
            // SCN-2: a body is a view into the window.
            let body = self.bytes.slice(start..start + header.body_length);
            let body = body.ok_or_else(|| stop(FrameError::Invalid("a frame is cut off")))?;
            match RecordKind::from_tag(header.kind) {
                Some(kind) => records.push(Record {
                    kind,
                    flags: header.flags,
                    locator: Locator::new(self.segment, at),
                    batch: number,
                    body,
                }),
                None => ignorable.push(Ignorable::new(header.kind, header.flags, body)),
            }
            at += header.framed_bytes() as u64;
        }
    }

    /// Every frame from `offset` on that is a valid seal by itself, with its offset, whatever is around it.
    pub(super) fn seals_from(&self, offset: u64) -> impl Iterator<Item = (u64, Seal)> + '_ {
        let first = offset.next_multiple_of(FRAME_ALIGNMENT as u64);
        let places = (first..self.end()).step_by(FRAME_ALIGNMENT);
        places.filter_map(|at| {
            let rest = self.rest(at);
            // Most places are no seal: look at the kind before anything is computed.
            if rest.get(4) != Some(&(RecordKind::Seal as u8)) {
                return None;
            }
            let header = parse_frame(rest, self.seed, at).ok()?;
            let (seal, _) = Seal::decode(rest.get(header.body_range())?)?;
            (seal.batch == header.batch && seal.start.checked_add(seal.length) == Some(at))
                .then_some((at, seal))
        })
    }

    /// Every frame of a batch that was found whole, ignorable ones too, without its seal.
    pub(super) fn raw_frames(&self, scanned: &Scanned) -> Vec<(u8, u8, Bytes)> {
        let mut frames = Vec::new();
        let mut at = scanned.start;
        while at < scanned.start + scanned.length {
            let rest = self.rest(at);
            let Ok(header) = parse_frame(rest, self.seed, at) else {
                break;
            };
            let start = (at - self.base) as usize + header.body_range().start;
            frames.extend(
                self.bytes
                    .slice(start..start + header.body_length)
                    .map(|b| (header.kind, header.flags, b)),
            );
            at += header.framed_bytes() as u64;
        }
        frames
    }

    /// Bytes from `offset` to the last one that is not zero.
    pub(super) fn used_bytes_from(&self, offset: u64) -> u64 {
        self.rest(offset)
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last as u64 + 1)
    }
}
