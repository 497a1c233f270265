//! The `manifest`: lists the segments of the log in order, and the end of each sealed segment.
//!
//! Writers replace the small file atomically, so after a crash the file contains either the old or the new manifest.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - MAN-1: batch numbers rise by one from segment to segment, starting at 1. Numbers may be skipped at one place:
//!   after the rewritten segments.
//! - MAN-2: the manifest lists a segment before a batch in the segment is acknowledged, and only after the segment's
//!   file is durable.
//! - MAN-3: a segment number is used only once.
//!
//! # Format
//! docs/format.md, "manifest".

use std::collections::BTreeSet;

use super::fixed::{Fixed, checked, layout, with_checksum};
use super::seal::Chain;
use super::segment::{SEGMENT_BYTES_LIMIT, SEGMENT_HEADER_BYTES, SegmentEnd};
use crate::codec::DecodeError;

/// The name of the manifest's file.
pub(super) const MANIFEST_NAME: &str = "manifest";
/// The maximal length of a manifest in bytes. Limits the bytes that are read from a damaged file.
pub(super) const MANIFEST_BYTES_MAX: usize = PLAIN_BYTES_MAX + SECTION_BYTES_MAX;
/// The maximal length of a manifest without the section of a closed log.
const PLAIN_BYTES_MAX: usize = HEADER_BYTES + SEGMENTS_MAX * ENTRY_BYTES + CHECKSUM_BYTES;
/// The maximal length of the section of a closed log.
const SECTION_BYTES_MAX: usize = SEGMENTS_MAX * 160;
/// The start of the section that only a closed log has, behind the manifest.
pub(super) const SECTION_MAGIC: &[u8; 8] = b"TRclosed";

/// The maximal number of segments of a log.
const SEGMENTS_MAX: usize = 1 << 20;

const MAGIC: &[u8; 8] = b"TRmanif1";
/// The largest generation and batch number.
const NUMBER_MAX: u64 = u64::MAX / 2;
const HEADER_BYTES: usize = 40;
const ENTRY_BYTES: usize = SegmentEntry::BYTES;
const CHECKSUM_BYTES: usize = 4;

/// One segment in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentEntry {
    pub(super) id: u64,
    /// The number of the segment's first batch. The number is set even before that batch is written.
    pub(super) first_batch: u64,
    /// The sealed length; 0 for the active segment.
    pub(super) length: u64,
    pub(super) last_batch: u64,
    pub(super) last_digest: [u8; 32],
}

layout! {
    SegmentEntry {
        id as "segment": u64,
        first_batch as "first batch": u64,
        length: u64,
        last_batch as "last batch": u64,
        last_digest as "last digest": [u8; 32],
    }
}

impl SegmentEntry {
    pub(super) fn active(id: u64, first_batch: u64) -> Self {
        Self {
            id,
            first_batch,
            length: 0,
            last_batch: 0,
            last_digest: [0; 32],
        }
    }

    /// Returns the number of the batch before the segment's first batch.
    pub(super) fn batch_before(&self) -> u64 {
        self.first_batch.saturating_sub(1)
    }

    pub(super) fn is_active(&self) -> bool {
        self.length == 0
    }

    /// Returns the chain after the segment's last batch. Valid only for a sealed segment.
    pub(super) fn end_chain(&self) -> Chain {
        Chain {
            batch: self.last_batch,
            digest: Some(self.last_digest),
        }
    }

    /// Returns an error if no sealed segment can end like this.
    pub(super) fn check_end(&self) -> Result<(), DecodeError> {
        let lengths = SEGMENT_HEADER_BYTES as u64 + 1..=SEGMENT_BYTES_LIMIT;
        let is_end = (self.first_batch..=NUMBER_MAX).contains(&self.last_batch)
            && lengths.contains(&self.length)
            && self.length.is_multiple_of(16);
        let fault = DecodeError::Invalid("the end of a segment is out of range");
        is_end.then_some(()).ok_or(fault)
    }

    pub(super) fn end(&self) -> SegmentEnd {
        SegmentEnd {
            id: self.id,
            length: self.length,
            last_batch: self.last_batch,
            last_digest: self.last_digest,
        }
    }
}

/// The segments of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) instance: [u8; 16],
    pub(super) generation: u64,
    /// The number of rewrites of the log.
    pub(super) epoch: u32,
    /// Whether the section of a closed log is behind it.
    pub(super) is_closed: bool,
    sealed: Vec<SegmentEntry>,
    active: SegmentEntry,
}

impl Manifest {
    pub(super) fn new(
        instance: [u8; 16],
        generation: u64,
        epoch: u32,
        sealed: Vec<SegmentEntry>,
        active: SegmentEntry,
    ) -> Self {
        Self {
            instance,
            generation,
            epoch,
            is_closed: false,
            sealed,
            active,
        }
    }

    /// Iterates the segments in the order of the log, the active segment last.
    pub(super) fn entries(&self) -> impl Iterator<Item = &SegmentEntry> {
        self.sealed.iter().chain([&self.active])
    }

    pub(super) fn sealed(&self) -> &[SegmentEntry] {
        &self.sealed
    }

    pub(super) fn active(&self) -> &SegmentEntry {
        &self.active
    }

    /// Returns the end of the segment before the active segment; all zero if there is no such segment.
    pub(super) fn before_active(&self) -> SegmentEnd {
        self.sealed.last().map(SegmentEntry::end).unwrap_or_default()
    }

    /// Returns the end of the segment before the active segment, and the active segment.
    pub(super) fn active_place(&self) -> (SegmentEnd, &SegmentEntry) {
        (self.before_active(), &self.active)
    }

    pub(super) fn lists(&self, id: u64) -> bool {
        self.entries().any(|entry| entry.id == id)
    }

    pub(super) fn highest_id(&self) -> u64 {
        self.entries().map(|entry| entry.id).fold(0, u64::max)
    }

    /// Returns whether the manifest lists more segments than a reader accepts.
    pub(super) fn is_over_limit(&self) -> bool {
        self.sealed.len() >= SEGMENTS_MAX
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let count = self.sealed.len() + 1;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + count * ENTRY_BYTES + CHECKSUM_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.instance);
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        for entry in self.entries() {
            entry.put(&mut bytes);
        }
        let length = bytes.len() + CHECKSUM_BYTES;
        with_checksum(bytes, length)
    }

    /// Decodes a manifest. Ignores the section of a closed log behind it.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let plain = plain_length(bytes).and_then(|length| bytes.split_at_checked(length));
        let (bytes, is_closed) = match plain {
            Some((plain, section)) if section.starts_with(SECTION_MAGIC) => (plain, true),
            _ => (bytes, false),
        };
        let mut reader = checked(bytes, bytes.len(), MAGIC)?;
        let instance = reader.array()?;
        let generation = reader.u64()?;
        let count = reader.u32()? as usize;
        let epoch = reader.u32()?;
        if reader.left() != count.saturating_mul(ENTRY_BYTES) {
            return Err(DecodeError::Invalid(
                "the length of the manifest does not match its number of segments",
            ));
        }
        let mut sealed = Vec::with_capacity(count);
        for _ in 0..count {
            sealed.push(SegmentEntry::take(&mut reader)?);
        }
        reader.finish()?;
        let active = sealed
            .pop()
            .ok_or(DecodeError::Invalid("the manifest lists no segment"))?;
        let manifest = Self::new(instance, generation, epoch, sealed, active);
        manifest.validate()?;
        Ok(Self {
            is_closed,
            ..manifest
        })
    }

    fn validate(&self) -> Result<(), DecodeError> {
        let must = |holds: bool, fault: &'static str| holds.then_some(()).ok_or(DecodeError::Invalid(fault));
        let ids: BTreeSet<u64> = self.entries().map(|entry| entry.id).collect();
        let in_range = |id: &u64| (1..=u64::from(u32::MAX)).contains(id);
        must(
            ids.len() > self.sealed.len() && ids.iter().all(in_range),
            "a segment number is out of range or occurs twice",
        )?;
        // No log reaches numbers this large. This limit prevents overflows below.
        let mut numbers = self
            .entries()
            .flat_map(|entry| [entry.first_batch, entry.last_batch]);
        must(
            self.generation <= NUMBER_MAX
                && self.epoch <= u32::MAX / 2
                && numbers.all(|number| number <= NUMBER_MAX),
            "a number in the manifest is out of range",
        )?;
        // Every rewrite publishes a new generation, so there are fewer rewrites than generations.
        must(
            u64::from(self.epoch) < self.generation,
            "the manifest counts at least as many rewrites as generations",
        )?;
        // INVARIANT MAN-1: batch numbers rise by one from segment to segment, starting at 1.
        let mut next = 1;
        let mut may_skip = false;
        for entry in &self.sealed {
            must(
                follows(entry, next, &mut may_skip),
                "a sealed segment does not continue the previous segment",
            )?;
            entry.check_end()?;
            // The first segment begins with batch 1. So numbers may be skipped only before a later segment, and only
            // after a rewrite.
            may_skip |= next == 1 && self.epoch > 0;
            next = entry.last_batch + 1;
        }
        let empty = SegmentEntry::active(self.active.id, self.active.first_batch);
        must(
            follows(&self.active, next, &mut may_skip) && self.active == empty,
            "the active segment does not continue the sealed segments",
        )
    }
}

/// Returns the length of the manifest at the start of `bytes`, by its number of segments.
pub(super) fn plain_length(bytes: &[u8]) -> Option<usize> {
    let count = u32::from_le_bytes(*bytes.get(32..)?.first_chunk()?) as usize;
    Some(HEADER_BYTES + CHECKSUM_BYTES + count.checked_mul(ENTRY_BYTES)?)
}

/// Iterates segments, each with the end of the previous segment.
pub(super) fn chained<'a>(
    entries: impl IntoIterator<Item = &'a SegmentEntry>,
) -> impl Iterator<Item = (SegmentEnd, &'a SegmentEntry)> {
    entries.into_iter().scan(SegmentEnd::default(), |before, entry| {
        Some((std::mem::replace(before, entry.end()), entry))
    })
}

/// Returns whether the first batch of a segment continues a log whose next batch is `next`. Accepts a larger number
/// only if `may_skip` is true, and then clears `may_skip`.
fn follows(entry: &SegmentEntry, next: u64, may_skip: &mut bool) -> bool {
    entry.first_batch == next || entry.first_batch > next && std::mem::take(may_skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(id: u64, first_batch: u64, last_batch: u64) -> SegmentEntry {
        SegmentEntry {
            id,
            first_batch,
            length: 8_192,
            last_batch,
            last_digest: [7; 32],
        }
    }

    fn is_read(generation: u64, epoch: u32, sealed: Vec<SegmentEntry>, active: SegmentEntry) -> bool {
        let manifest = Manifest::new([1; 16], generation, epoch, sealed, active);
        let read = Manifest::decode(&manifest.encode());
        assert!(
            read.as_ref()
                .map_or(true, |read| read.encode() == manifest.encode())
        );
        read.is_ok()
    }

    #[test]
    fn as_many_segments_are_read_as_may_be_written() {
        let of = |count: u64| {
            let sealed = (1..count).map(|id| sealed(id, id, id)).collect();
            Manifest::new([1; 16], count, 0, sealed, SegmentEntry::active(count, count))
        };
        let most = of(SEGMENTS_MAX as u64);
        assert!(!most.is_over_limit());
        assert_eq!(most.encode().len(), PLAIN_BYTES_MAX);
        assert!(of(SEGMENTS_MAX as u64 + 1).is_over_limit());
    }

    /// INVARIANT MAN-1: each limit is tested on both sides.
    #[test]
    fn a_manifest_is_read_up_to_its_bounds_and_not_beyond() {
        let active = SegmentEntry::active;
        let three = || vec![sealed(1, 1, 4), sealed(2, 5, 5)];
        assert!(is_read(2, 1, three(), active(3, 6)));
        // Tests the limits of generations, rewrites and batch numbers.
        assert!(is_read(NUMBER_MAX, 1, three(), active(3, 6)));
        assert!(!is_read(NUMBER_MAX + 1, 1, three(), active(3, 6)));
        assert!(is_read(NUMBER_MAX, u32::MAX / 2, three(), active(3, 6)));
        assert!(!is_read(NUMBER_MAX, u32::MAX / 2 + 1, three(), active(3, 6)));
        assert!(
            !is_read(1, 1, three(), active(3, 6)),
            "each rewrite publishes a generation"
        );
        let far = |last| vec![sealed(1, 1, last)];
        assert!(is_read(2, 0, far(NUMBER_MAX - 1), active(2, NUMBER_MAX)));
        assert!(!is_read(2, 0, far(NUMBER_MAX), active(2, NUMBER_MAX + 1)));
        // Tests the limits of segment numbers, and that a number occurs only once.
        for (id, is_whole) in [
            (0, false),
            (1, false),
            (2, false),
            (u64::from(u32::MAX), true),
            (1 << 32, false),
        ] {
            assert_eq!(is_read(2, 0, three(), active(id, 6)), is_whole, "{id}");
        }
        // Batch numbers may be skipped only after a rewrite, only once, and not before the first segment.
        for (epoch, first, is_whole) in [(0, 6, true), (0, 7, false), (1, 7, true), (1, 5, false)] {
            assert_eq!(
                is_read(3, epoch, vec![sealed(1, 1, 5)], active(2, first)),
                is_whole,
                "{epoch} {first}"
            );
        }
        assert!(is_read(
            3,
            1,
            vec![sealed(1, 1, 4), sealed(2, 9, 9)],
            active(3, 10)
        ));
        assert!(!is_read(
            3,
            1,
            vec![sealed(1, 1, 4), sealed(2, 9, 9)],
            active(3, 11)
        ));
        assert!(
            !is_read(3, 1, vec![sealed(1, 2, 4)], active(2, 5)),
            "the first segment begins with batch 1"
        );
        assert!(
            !is_read(3, 0, vec![sealed(1, 1, 0)], active(2, 1)),
            "a sealed segment contains a batch"
        );
        // Tests the limits of a sealed length.
        let long = |length| {
            vec![SegmentEntry {
                length,
                ..sealed(1, 1, 4)
            }]
        };
        let most = SEGMENT_BYTES_LIMIT / 16 * 16;
        for (length, is_whole) in [
            (SEGMENT_HEADER_BYTES as u64, false),
            (SEGMENT_HEADER_BYTES as u64 + 16, true),
            (SEGMENT_HEADER_BYTES as u64 + 8, false),
            (most, true),
            (SEGMENT_BYTES_LIMIT + 16, false),
        ] {
            assert_eq!(is_read(2, 0, long(length), active(2, 5)), is_whole, "{length}");
        }
        // Tests that the entry of the active segment contains no end.
        for wrong in [
            SegmentEntry {
                length: 16,
                ..active(3, 6)
            },
            SegmentEntry {
                last_batch: 6,
                ..active(3, 6)
            },
            SegmentEntry {
                last_digest: [1; 32],
                ..active(3, 6)
            },
        ] {
            assert!(!is_read(2, 0, three(), wrong));
        }
    }
}
