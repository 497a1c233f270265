//! Segments: their names and their headers.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - SEG-1: the file of a segment grows only by an append to the active segment, under the lock. It never shrinks, because
//!   other processes may have mapped its durable bytes.
//! - SEG-2: the nonce of a segment is random, so old bytes of another file are never valid frames of the segment. A segment
//!   that a clone copies has the seed of the other one, and the same frames. Nobody appends to it.
//!
//! # Format
//! docs/format.md, "Segment".

use super::fixed::{Fixed, checked, layout, with_checksum, zeros_left};
use super::frame::FrameSeed;
use crate::codec::DecodeError;

/// The length of a segment's header in bytes. The first batch follows the header.
pub(super) const SEGMENT_HEADER_BYTES: usize = 4096;
/// The offset of the first batch in a segment.
pub(super) const FIRST_OFFSET: u64 = SEGMENT_HEADER_BYTES as u64;
/// The folder that contains the segments.
pub(crate) const LOG_FOLDER: &str = "log";
/// The maximal length of a segment in bytes, because a locator stores an offset as a 32-bit number of 16-byte steps.
pub(super) const SEGMENT_BYTES_LIMIT: u64 = 16 << 32;

const MAGIC: &[u8; 8] = b"TRsegm01";
const FORMAT: u32 = 1;

/// The end of a sealed segment. All fields are zero if there is no such segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentEnd {
    pub(super) id: u64,
    pub(super) length: u64,
    pub(super) last_batch: u64,
    pub(super) last_digest: [u8; 32],
}

/// The header at the start of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) instance: [u8; 16],
    pub(super) id: u64,
    pub(super) nonce: [u8; 16],
    pub(super) previous: SegmentEnd,
}

layout! {
    SegmentEnd {
        id as "previous segment": u64,
        length as "previous length": u64,
        last_batch as "previous batch": u64,
        last_digest as "previous digest": [u8; 32],
    }
    SegmentHeader { instance: [u8; 16], id as "segment": u64, nonce: [u8; 16], previous: SegmentEnd }
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &FORMAT.to_le_bytes(), &[0; 4]].concat();
        self.put(&mut bytes);
        with_checksum(bytes, SEGMENT_HEADER_BYTES)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = checked(bytes, SEGMENT_HEADER_BYTES, MAGIC)?;
        if reader.u32()? != FORMAT || reader.u32()? != 0 {
            return Err(DecodeError::Invalid(
                "the header of the segment has an unsupported format version",
            ));
        }
        let header = Self::take(&mut reader)?;
        zeros_left(&mut reader)?;
        Ok(header)
    }

    /// Returns whether this is the first segment of a store or of a rewrite, so no segment precedes it.
    pub(super) fn begins_log(&self) -> bool {
        self.previous == SegmentEnd::default()
    }

    pub(super) fn seed(&self) -> FrameSeed {
        FrameSeed::new(&self.instance, &self.nonce)
    }
}

/// Returns the name of a segment's file, relative to the store.
pub fn segment_name(id: u64) -> String {
    format!("{LOG_FOLDER}/{id:08}.seg")
}

/// Parses the segment number in a file name without its folder. The flag is true if the file has its temporary name.
/// Returns `None` if the name is not the name of a segment.
pub(super) fn parse_segment_name(name: &str) -> Option<(u64, bool)> {
    let finished = name.strip_suffix(".tmp");
    let digits = finished.unwrap_or(name).strip_suffix(".seg")?;
    let id: u64 = digits.parse().ok()?;
    (format!("{id:08}") == digits).then_some((id, finished.is_some()))
}

/// Returns the name of file `number` of an unpublished rewrite.
pub(super) fn rewrite_name(number: usize) -> String {
    format!("{LOG_FOLDER}/rewrite-{number}.tmp")
}

/// Returns whether a file in the log's folder belongs to an unpublished rewrite.
pub(super) fn is_rewrite_name(name: &str) -> bool {
    name.starts_with("rewrite-") && name.strip_suffix(".tmp").is_some()
}
