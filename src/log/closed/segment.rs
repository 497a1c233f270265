//! The segments of a closed log: encoded at once, and read back at once.
//!
//! # Layer
//! Layer 2, part of `log/closed`.

use bytes::Bytes;

use super::{ClosedLog, ClosedSegment, Group, Leaving, is_id};
use crate::digest::Domain;
use crate::error::{Cause, Error, Result};
use crate::log::batch::{Batch, Continue, encode_group};
use crate::log::files::{damage, undecodable};
use crate::log::frame::FrameSeed;
use crate::log::seal::Chain;
use crate::log::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, parse_segment_name,
    segment_name,
};
use crate::log::walk::{Origin, Window};
use crate::threads::{BESIDE_BYTES, beside_if};

/// A segment that no manifest lists yet.
pub(crate) struct NewSegment {
    header: SegmentHeader,
    bytes: Vec<u8>,
    pub(crate) listed: ClosedSegment,
}

impl NewSegment {
    /// Encodes the batches behind the newest segment of `log`. The first one has the number `first`. A manifest can list
    /// the segment only after [`Self::number`].
    ///
    /// # Errors
    /// `InvalidInput` if a record exceeds a limit; `Internal` without a batch.
    pub(crate) fn encode(
        log: &ClosedLog,
        id: u64,
        nonce: [u8; 16],
        first: u64,
        group: Group,
    ) -> Result<Self> {
        Ok(Self::encode_with(log, id, nonce, first, group)?.0)
    }

    /// Encodes batches as [`Self::encode`] does, and returns them at their places, too.
    pub(super) fn encode_with(
        log: &ClosedLog,
        id: u64,
        nonce: [u8; 16],
        first: u64,
        group: Group,
    ) -> Result<(Self, Vec<Batch>)> {
        for (batch, _) in &group {
            batch.check()?;
        }
        let previous = log.end();
        let header = SegmentHeader {
            instance: log.format.instance,
            id,
            nonce,
            previous,
        };
        let chain = Chain {
            batch: first - 1,
            digest: Some(previous.last_digest),
        };
        let (body, batches) = encode_group(group, log.suite(), Continue::start(&header, chain))?;
        let last = batches
            .last()
            .ok_or_else(|| Error::internal("a segment of a closed log has no batch"))?;
        let mut bytes = header.encode();
        bytes.extend_from_slice(&body);
        let listed = ClosedSegment {
            id,
            first_batch: first,
            last_batch: last.number,
            last_digest: *last.digest.as_bytes(),
            length: bytes.len() as u64,
            digest: [0; 32],
        };
        let new = Self {
            header,
            bytes,
            listed,
        };
        Ok((new, batches))
    }

    /// Gives the segment a number, and computes the digest of its file.
    pub(crate) fn number(&mut self, log: &ClosedLog, id: u64) {
        self.header.id = id;
        self.bytes[..SEGMENT_HEADER_BYTES].copy_from_slice(&self.header.encode());
        self.listed.id = id;
        self.listed.digest = log.suite().hash_bytes(Domain::Segment, &self.bytes);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Leaving {
    /// Returns the name of the segment's file.
    pub(crate) fn name(&self) -> String {
        segment_name(self.id)
    }
}

impl ClosedSegment {
    /// Returns the name of the segment's file.
    pub(crate) fn name(&self) -> String {
        segment_name(self.id)
    }

    /// Returns the number in the name of the file of a segment. Returns `None` if the name is none of a segment.
    pub(crate) fn id_in(name: &str) -> Option<u64> {
        let file = name.strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        let (id, is_unfinished) = parse_segment_name(file)?;
        (!is_unfinished && is_id(id)).then_some(id)
    }
}

impl ClosedLog {
    /// Reads the segment at `index`, whose file has these bytes.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not those that the manifest names, or are no such segment (CLO-1).
    pub(crate) fn read(&self, index: usize, bytes: Vec<u8>) -> Result<ReadSegment> {
        let segment = &self.segments[index];
        let bytes = Bytes::from(bytes);
        let before = index
            .checked_sub(1)
            .map(|before| self.segments[before].entry().end());
        let place = Expected {
            id: segment.id,
            before: before.unwrap_or_default(),
            first: segment.first_batch,
            // INVARIANT CLO-2
            may_be_moved: index + 1 < self.segments.len(),
        };
        let (checked, read) = beside_if(
            bytes.len() as u64 >= BESIDE_BYTES,
            || self.check_bytes(index, &bytes),
            || read_segment(self, &place, bytes.clone()),
        );
        // INVARIANT CLO-1: compares length and digest before anything of the segment is used.
        checked?;
        let read = read?;
        if read.end != segment.entry().end() {
            return Err(damage(&segment.name(), segment.length, Cause::LastBatch));
        }
        Ok(read)
    }

    /// Returns an error if a segment has other bytes than the section names.
    pub(super) fn check_bytes(&self, index: usize, bytes: &[u8]) -> Result<()> {
        let segment = &self.segments[index];
        if bytes.len() as u64 == segment.length
            && self.suite().hash_bytes(Domain::Segment, bytes) == segment.digest
        {
            return Ok(());
        }
        Err(damage(&segment.name(), 0, Cause::SegmentDigest))
    }
}

/// A segment that was read.
#[derive(Debug)]
pub(crate) struct ReadSegment {
    pub(crate) batches: Vec<Batch>,
    pub(super) end: SegmentEnd,
    /// The end of the segment before it, if its batches continue it.
    pub(super) before: Option<SegmentEnd>,
    /// The bytes of the whole file, and the seed of its frames.
    pub(super) bytes: Bytes,
    pub(super) seed: FrameSeed,
}

/// The place of a segment in its log.
pub(super) struct Expected {
    pub(super) id: u64,
    pub(super) before: SegmentEnd,
    /// The number of its first batch.
    pub(super) first: u64,
    /// Whether the segment before it may have been written anew.
    pub(super) may_be_moved: bool,
}

/// Decodes a whole segment of a closed log.
pub(super) fn read_segment(log: &ClosedLog, place: &Expected, bytes: Bytes) -> Result<ReadSegment> {
    let &Expected {
        id, before, first, ..
    } = place;
    let name = segment_name(id);
    let header = bytes.get(..SEGMENT_HEADER_BYTES).unwrap_or(&bytes);
    let header = SegmentHeader::decode(header).map_err(|error| damage(&name, 0, undecodable(&error)))?;
    if (header.instance, header.id) != (log.format.instance, id) {
        return Err(damage(&name, 0, Cause::Foreign));
    }
    let continues = header.previous == before;
    if !continues && !place.may_be_moved {
        return Err(damage(&name, 0, Cause::NotContinued));
    }
    let window = Window {
        origin: Origin {
            segment: id,
            seed: header.seed(),
            suite: log.suite(),
        },
        base: 0,
        bytes,
    };
    let chain = Chain {
        batch: first.saturating_sub(1),
        digest: continues.then_some(before.last_digest),
    };
    let mut walk = window.batches(FIRST_OFFSET..window.end(), chain);
    let mut batches = Vec::new();
    for scanned in &mut walk {
        batches.push(
            scanned
                .map_err(|stop| damage(&name, stop.offset, stop.cause))?
                .batch,
        );
    }
    let end = SegmentEnd {
        id,
        length: walk.at,
        last_batch: walk.chain.batch,
        last_digest: walk.chain.digest.unwrap_or_default(),
    };
    Ok(ReadSegment {
        batches,
        end,
        before: continues.then_some(before),
        seed: window.origin.seed,
        bytes: window.bytes,
    })
}
