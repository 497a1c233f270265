//! Iterates the frames of a segment and the gaps between them, in order.
//!
//! # Layer
//! Layer 2. Holds at most one record in memory.

use std::sync::Arc;

use super::parts::{FRAME_PARTS, Part, name_parts};
use crate::disk::{DiskFile, read_bytes};
use crate::error::{Cause, OrIo as _, Result};
use crate::log::fixed::is_zero;
use crate::log::frame::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameHeader, FrameSeed, RecordKind};

/// The number of bytes of each read in the search for the next frame.
const STEP: usize = 1 << 18;

/// A part of a segment: a frame or a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A frame with a valid header.
    Frame(Frame),
    /// Bytes that do not form a valid frame.
    Gap {
        /// The offset of the gap's first byte.
        offset: u64,
        /// The number of bytes in the gap.
        bytes: u64,
        /// The reason why the first bytes of the gap are not a frame. `None` if all bytes are zero, because then no
        /// writer has used them yet.
        trouble: Option<Cause>,
    },
}

/// One frame: its header and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The offset of the frame in the file.
    pub offset: u64,
    /// The length of the frame in bytes, including padding.
    pub framed_bytes: u64,
    /// The kind of the frame's record.
    pub kind: RecordKind,
    /// The flags of the frame.
    pub flags: u8,
    /// The number of the batch that contains the record.
    pub batch: u64,
    /// The named parts of the header.
    pub header: Vec<Part>,
    /// The body of the frame.
    pub body: Vec<u8>,
    /// The damage of the body, if there is any.
    pub trouble: Option<Cause>,
}

/// The frames of a segment; see [`super::Inspection::frames`]. The iterator ends after an error.
pub struct Frames {
    pub(super) name: String,
    pub(super) file: Arc<dyn DiskFile>,
    /// The seed of the frames' checksums.
    pub(super) seed: FrameSeed,
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Frames {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        read_bytes(&*self.file, offset, length).or_io(format_args!("cannot read {}", self.name))
    }

    fn step(&mut self) -> Result<Option<Found>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let offset = self.at;
        let bytes = self.read(offset, FRAME_HEADER_BYTES)?;
        match FrameHeader::parse(&bytes, self.seed, offset) {
            Ok(header) => self.frame(offset, &bytes, header).map(Some),
            Err(trouble) => self.gap(offset, trouble).map(Some),
        }
    }

    fn frame(&mut self, offset: u64, header_bytes: &[u8], header: FrameHeader) -> Result<Found> {
        let body = self.read(offset + FRAME_HEADER_BYTES as u64, header.body_length)?;
        let trouble = if body.len() < header.body_length {
            Some(Cause::CutOff)
        } else if header.matches(&body, self.seed, offset) {
            None
        } else {
            Some(Cause::BodyChecksum)
        };
        let framed_bytes = header.framed_bytes() as u64;
        self.at = offset + framed_bytes;
        Ok(Found::Frame(Frame {
            offset,
            framed_bytes,
            kind: header.kind,
            flags: header.flags,
            batch: header.batch,
            header: name_parts(header_bytes, offset, FRAME_PARTS, "rest"),
            body,
            trouble,
        }))
    }

    /// Searches for the next frame header, or the end of the file. Returns the skipped bytes as a gap.
    fn gap(&mut self, offset: u64, trouble: Cause) -> Result<Found> {
        let (mut at, mut all_zero) = (offset, true);
        'search: while at < self.end {
            let chunk = self.read(at, STEP + FRAME_HEADER_BYTES)?;
            let places = chunk.len().min(STEP);
            for place in (0..places).step_by(FRAME_ALIGNMENT) {
                let rest = chunk.get(place..).unwrap_or_default();
                let here = at + place as u64;
                if here > offset && FrameHeader::parse(rest, self.seed, here).is_ok() {
                    at = here;
                    break 'search;
                }
                all_zero &= is_zero(rest.get(..FRAME_ALIGNMENT).unwrap_or(rest));
            }
            if places == 0 {
                break;
            }
            at += places as u64;
        }
        self.at = at.min(self.end);
        Ok(Found::Gap {
            offset,
            bytes: self.at - offset,
            trouble: (!all_zero).then_some(trouble),
        })
    }
}

impl Iterator for Frames {
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.step();
        if found.is_err() {
            self.at = self.end;
        }
        found.transpose()
    }
}
