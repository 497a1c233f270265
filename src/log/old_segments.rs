//! The old segments of a rewrite: those that it writes anew, and those that it keeps as they are.
//!
//! A rewrite that keeps segments needs only the room of the segments that it writes anew.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RWR-5: a kept segment has the same batch numbers as before.

use super::handle::Log;
use super::manifest::{SegmentEntry, chained};
use super::rewrite::{BUFFER_BYTES, Rewrite};
use super::segment::FIRST_OFFSET;
use crate::digest::CommitDigest;
use crate::disk::read_full;
use crate::error::{Error, Result};

/// A sealed segment that a rewrite replaces or keeps.
#[derive(Clone, Debug)]
pub struct OldSegment {
    /// The number of the segment.
    pub id: u64,
    /// The number of the segment's first batch.
    pub first_batch: u64,
    /// The number of the segment's last batch.
    pub last_batch: u64,
    /// The digest of the segment's last batch.
    pub last_digest: [u8; 32],
    /// The length of the segment up to the end of its last batch.
    pub bytes: u64,
}

impl OldSegment {
    /// Returns the number of bytes of the segment's batches.
    pub fn batch_bytes(&self) -> u64 {
        self.bytes.saturating_sub(FIRST_OFFSET)
    }
}

impl Log {
    /// Returns the segments that a rewrite of this log replaces or keeps, in the order of the log.
    pub fn old_segments(&self) -> Vec<OldSegment> {
        let (sealed, _) = self.sealed_at_cursor();
        let old = |entry: SegmentEntry| OldSegment {
            id: entry.id,
            first_batch: entry.first_batch,
            last_batch: entry.last_batch,
            last_digest: entry.last_digest,
            bytes: entry.length,
        };
        sealed.into_iter().map(old).collect()
    }

    /// Returns whether the file of a segment has bytes after its last batch. They may be copies of batches that a
    /// recovery moved, or a torn batch.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub fn has_tail(&self, old: &OldSegment) -> Result<bool> {
        let segment = self.segment(old.id)?;
        let (mut at, mut buffer) = (old.bytes, vec![0; BUFFER_BYTES]);
        loop {
            let count =
                read_full(&*segment.file, at, &mut buffer).map_err(|error| segment.cannot_read(error))?;
            if buffer[..count].iter().any(|byte| *byte != 0) {
                return Ok(true);
            }
            if count < buffer.len() {
                return Ok(false);
            }
            at += count as u64;
        }
    }
}

impl Rewrite {
    /// Limits the rewrite to the first `count` segments, so later segments stay as they are. `head` is the head after
    /// these segments. Call this before any batch is pushed.
    ///
    /// # Errors
    /// `Internal` if there are fewer segments, or if the batch numbers have a gap after them: a log may skip numbers only
    /// once (MAN-1).
    pub fn limit(&mut self, count: usize, head: CommitDigest) -> Result<()> {
        let whole = self.replaced.len();
        let gap = chained(&self.replaced)
            .skip(count + 1)
            .any(|(before, entry)| entry.batch_before() != before.last_batch);
        self.replaced.truncate(count);
        let last = self.replaced.last().filter(|_| !gap && count <= whole);
        let last = last.ok_or_else(|| Error::internal("a rewrite cannot end at this segment"))?;
        (self.cut, self.head) = (last.last_batch, head);
        Ok(())
    }

    /// Keeps the next old segment as it is.
    ///
    /// # Errors
    /// `Internal` if no segment is left, or if the new batches have more numbers than the old ones before the segment.
    pub fn keep(&mut self) -> Result<()> {
        let entry = self.next_old()?;
        self.write_buffer()?;
        self.kept.push((self.files.len(), entry));
        Ok(())
    }

    /// Begins to write the next old segment anew: the next batch gets the number of the first batch of that segment.
    ///
    /// # Errors
    /// The errors of [`Self::keep`].
    pub fn replace(&mut self) -> Result<()> {
        let entry = self.next_old()?;
        self.batch_before = entry.batch_before();
        Ok(())
    }

    fn next_old(&mut self) -> Result<SegmentEntry> {
        // INVARIANT RWR-5: a kept segment has the same batch numbers as before.
        let entry = self.replaced.get(self.passed).copied();
        let fits = entry.filter(|entry| self.chain().batch <= entry.batch_before());
        let entry = fits.ok_or_else(|| Error::internal("a rewrite cannot keep this segment"))?;
        self.passed += 1;
        Ok(entry)
    }

    /// Returns the kept segments that follow the first `files` new files directly.
    pub(super) fn kept_before(&self, files: usize) -> impl Iterator<Item = SegmentEntry> + '_ {
        let kept = self.kept.iter().filter(move |(before, _)| *before == files);
        kept.map(|(_, entry)| *entry)
    }
}
