//! Reading what a segment holds without its holes: memory goes by what is there, and not by the length of the file.
//!
//! Zeros belong to what is around them where a frame goes on over them. Elsewhere no batch does, so a page of zeros ends
//! what is read together; what stands behind is another run.
//!
//! # Layer
//! L2.
//!
//! # Invariants
//! - RUN-1: the bytes of a batch that is whole are in one run.
//! - RUN-2: a run has no more bytes than pages that are not zero, and bodies that whole headers of frames speak of.

use std::io;

use super::frame::{FRAME_ALIGNMENT, FrameHeader, FrameSeed};
use crate::disk::{DiskFile, read_full};

/// Bytes that are zero or not together.
const PAGE_BYTES: usize = 4096;
static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
/// Bytes that are read at a time: whole pages.
const STEP_BYTES: u64 = 1 << 20;
/// Zeros behind the last byte that is not one: the end of a seal may consist of them.
const ZEROS_AT_END: usize = 512;

/// Bytes that belong together.
pub(super) struct Run {
    /// Offset of the first one.
    pub(super) base: u64,
    pub(super) bytes: Vec<u8>,
}

/// The runs of a file, in order.
pub(super) struct Runs<'a> {
    file: &'a dyn DiskFile,
    seed: FrameSeed,
    /// What comes next.
    at: u64,
    end: u64,
    /// What was read from the file last, and from where.
    step: Vec<u8>,
    step_at: u64,
}

impl<'a> Runs<'a> {
    /// Nothing is read yet. Frames begin at multiples of their alignment from `from` on.
    pub(super) fn new(file: &'a dyn DiskFile, seed: FrameSeed, from: u64, end: u64) -> Self {
        Self {
            file,
            seed,
            at: from,
            end,
            step: Vec::new(),
            step_at: from,
        }
    }

    /// The next run behind zeros; `None` if there are only zeros.
    pub(super) fn next(&mut self) -> io::Result<Option<Run>> {
        loop {
            let page = self.page()?;
            if page.is_empty() {
                return Ok(None);
            }
            if !is_zero(page) {
                break;
            }
            self.at += page.len() as u64;
        }
        let base = self.at;
        let bytes = self.here()?;
        Ok(Some(Run { base, bytes }))
    }

    /// The run that stands where reading is; nothing but zeros if there is none.
    pub(super) fn here(&mut self) -> io::Result<Vec<u8>> {
        let (base, mut bytes) = (self.at, Vec::new());
        // Offset behind the frames that were passed.
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
                // INVARIANT RUN-1: no frame goes on here.
                if passed <= start {
                    break;
                }
            }
        }
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        bytes.truncate(used + ZEROS_AT_END);
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// Where the frames end that begin in `bytes` before `upto`, from `at` on; what is no frame is passed over.
    fn pass_frames(&self, bytes: &[u8], base: u64, mut at: usize, upto: usize) -> usize {
        while at < upto {
            let rest = bytes.get(at..).unwrap_or_default();
            at += FrameHeader::parse(rest, self.seed, base + at as u64)
                .map_or(FRAME_ALIGNMENT, |header| header.framed_bytes());
        }
        at
    }

    /// The page that comes next; empty at the end.
    fn page(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.step_at + self.step.len() as u64 {
            let wanted = STEP_BYTES.min(self.end.saturating_sub(self.at));
            self.step.resize(wanted as usize, 0);
            let count = read_full(self.file, self.at, &mut self.step)?;
            self.step.truncate(count);
            self.step_at = self.at;
        }
        let rest = self
            .step
            .get((self.at - self.step_at) as usize..)
            .unwrap_or_default();
        Ok(rest.get(..PAGE_BYTES).unwrap_or(rest))
    }
}

fn is_zero(page: &[u8]) -> bool {
    // Compared as a whole, which is many times as fast as byte by byte.
    ZEROS.get(..page.len()) == Some(page)
}
