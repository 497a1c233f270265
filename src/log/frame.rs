//! Frames: the envelope of one record.
//!
//! Both checksums of a frame start from the store's instance, the segment's nonce and the frame's offset. So the
//! checksums do not match if a frame was copied from another store, segment or offset, except in a segment that a clone
//! copied as a whole (SEG-2). The header has a separate checksum, which verifies the length of the body before a reader
//! uses the length.
//!
//! # Layer
//! Layer 2. Defines the tag of each record kind, but does not interpret the bodies of records.
//!
//! # Invariants
//! - FRM-1: frames start on 16-byte boundaries, and the bytes between a body and the next boundary are zero.
//! - FRM-2: a reader uses the length of a body only after the checksum of the header matched.
//!
//! # Format
//! docs/format.md, "Frame".

use std::ops::Range;

use super::fixed::is_zero;
use crate::error::Cause;

/// The number of bytes of a frame before its body.
pub(super) const FRAME_HEADER_BYTES: usize = 32;
/// The offset of every frame is a multiple of this number.
pub(super) const FRAME_ALIGNMENT: usize = 16;
/// The maximal length of a body in bytes.
pub const BODY_BYTES_MAX: usize = 64 << 20;
/// The first tag of the kinds that a reader may skip without support for these kinds.
const IGNORABLE_KIND: u8 = 0x80;

const MAGIC: &[u8; 4] = b"TRf1";

/// The flag of an object record that stores a version without making it current.
pub const UNLINKED: u8 = 4;

/// The flags of an object or commit record with the class of trust that its version or commit has at most.
const CAP: u8 = 0x38;
const CAP_SHIFT: u32 = 3;

/// Returns the number of the class of trust in the flags of a record; zero if they limit nothing.
pub fn cap_in(flags: u8) -> u8 {
    (flags & CAP) >> CAP_SHIFT
}

/// Returns flags with the number of a class of trust. Zero limits nothing.
#[must_use]
pub fn with_cap(flags: u8, class: u8) -> u8 {
    (flags & !CAP) | ((class << CAP_SHIFT) & CAP)
}

/// The length in bytes of an entry of a [`RecordKind::Link`] record: a key path and a version.
pub const LINK_BYTES: usize = 64;
/// The length in bytes of an entry of a [`RecordKind::Unlink`] record: a key path.
pub const UNLINK_BYTES: usize = 32;
// A list that is too long for one record is split between two entries. So the limit of a body must be a multiple of an
// entry's length.
const _: () =
    assert!(BODY_BYTES_MAX.is_multiple_of(LINK_BYTES) && BODY_BYTES_MAX.is_multiple_of(UNLINK_BYTES));

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// The canonical bytes of an object.
    Object,
    /// The text of an object, as a separate record.
    Content,
    /// The text of a reason or source.
    Text,
    /// Ids to be set to versions that were stored earlier.
    Link,
    /// Ids to be removed from the state.
    Unlink,
    /// The canonical bytes of a commit.
    Commit,
    /// The canonical bytes of a reference.
    Reference,
    /// The end of a batch.
    Seal,
    /// The digests of commits that retention thinned.
    Gap,
    /// The marker that replaces an erased record.
    Erased,
    /// The complete map of a commit, with the time of each entry.
    Base,
    /// The changes of the map since the previous retained commit, with the time of each entry.
    Delta,
    /// The newest commit of another line than the main one. The canonical bytes of a reference.
    Line,
    /// A kind that a newer version defines and that this version may ignore. Contains the tag of the kind.
    Ignorable(u8),
}

/// The kinds that this version supports, with their tags and names. The tag 13 is reserved.
const KNOWN: [(u8, RecordKind, &str); 13] = [
    (1, RecordKind::Object, "object"),
    (2, RecordKind::Content, "content"),
    (3, RecordKind::Text, "text"),
    (4, RecordKind::Link, "link"),
    (5, RecordKind::Unlink, "unlink"),
    (6, RecordKind::Commit, "commit"),
    (7, RecordKind::Reference, "reference"),
    (8, RecordKind::Seal, "seal"),
    (9, RecordKind::Gap, "gap"),
    (10, RecordKind::Erased, "erased"),
    (11, RecordKind::Base, "base"),
    (12, RecordKind::Delta, "delta"),
    (14, RecordKind::Line, "line"),
];

impl RecordKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        let known = KNOWN.iter().find(|(_, kind, _)| *kind == self);
        known.map_or("unknown", |(.., name)| name)
    }

    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        if tag >= IGNORABLE_KIND {
            return Some(Self::Ignorable(tag));
        }
        let known = KNOWN.iter().find(|(known, ..)| *known == tag);
        known.map(|(_, kind, _)| *kind)
    }

    /// Returns the byte that represents the kind in a frame's header. The byte is never 0.
    pub(super) fn tag(self) -> u8 {
        match self {
            Self::Ignorable(tag) => tag,
            known => KNOWN
                .iter()
                .find_map(|(tag, kind, _)| (*kind == known).then_some(*tag))
                .expect("the table contains every kind"),
        }
    }
}

/// The initial value of the checksums of a segment's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameSeed(u32);

impl FrameSeed {
    pub(super) fn new(instance: &[u8; 16], nonce: &[u8; 16]) -> Self {
        Self(crc32c::crc32c_append(crc32c::crc32c(instance), nonce))
    }

    /// Returns the nonce of a segment of `instance` that has this seed. Its first twelve bytes are random ones.
    #[cfg(feature = "remote")]
    pub(super) fn nonce(self, instance: &[u8; 16], random: [u8; 16]) -> [u8; 16] {
        let (mut nonce, before) = (random, crc32c::crc32c(instance));
        let before = crc32c::crc32c_append(before, &random[..12]);
        // A CRC over four more bytes takes each value once.
        nonce[12..].copy_from_slice(&(crc_before(self.0, &[0; 4]) ^ before).to_le_bytes());
        nonce
    }

    fn at(self, offset: u64) -> u32 {
        crc32c::crc32c_append(self.0, &offset.to_le_bytes())
    }

    /// Computes the seed for which the stored checksum of the frame header at the start of `bytes` matches. Such a seed
    /// exists even for damaged bytes, so the caller must check the body's checksum with the seed.
    pub(super) fn of_frame(bytes: &[u8], offset: u64) -> Option<Self> {
        let header = bytes.first_chunk::<FRAME_HEADER_BYTES>()?;
        let (covered, rest) = header.split_at(24);
        let stated = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        let at = crc_before(stated, covered);
        header
            .starts_with(MAGIC)
            .then(|| Self(crc_before(at, &offset.to_le_bytes())))
    }
}

/// Returns the CRC32C before `bytes` were appended, from `crc`, the CRC32C after `bytes`. This is possible because each
/// step of a CRC can be reversed.
fn crc_before(crc: u32, bytes: &[u8]) -> u32 {
    /// The polynomial of CRC32C with its bits reversed.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut state = !crc;
    for byte in bytes.iter().rev() {
        for _ in 0..8 {
            // The highest bit shows whether the forward step applied the polynomial.
            state = if state >> 31 == 1 {
                (state ^ POLYNOMIAL) << 1 | 1
            } else {
                state << 1
            };
        }
        state ^= u32::from(*byte);
    }
    !state
}

/// A parsed header of a frame. The checksum of the header matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) kind: RecordKind,
    pub(super) flags: u8,
    pub(super) body_length: usize,
    pub(super) batch: u64,
    body_checksum: u32,
}

/// Returns the length of a frame with a body of `length` bytes, including header and padding.
pub(crate) const fn framed_bytes(length: usize) -> usize {
    (FRAME_HEADER_BYTES + length).next_multiple_of(FRAME_ALIGNMENT)
}

impl FrameHeader {
    /// Parses the frame header at the start of `bytes`. `offset` is the position of `bytes` in the file.
    pub(super) fn parse(bytes: &[u8], seed: FrameSeed, offset: u64) -> Result<Self, Cause> {
        let header = bytes.first_chunk::<FRAME_HEADER_BYTES>().ok_or(Cause::CutOff)?;
        if !header.starts_with(MAGIC) {
            return Err(Cause::NoFrame);
        }
        let checksum = crc32c::crc32c_append(seed.at(offset), &header[..24]);
        if checksum.to_le_bytes() != header[24..28] {
            return Err(Cause::HeaderChecksum);
        }
        Self::parse_verified(bytes)
    }

    /// Parses the frame header at the start of `bytes`, whose checksum matched before.
    pub(super) fn parse_verified(bytes: &[u8]) -> Result<Self, Cause> {
        let header = bytes.first_chunk::<FRAME_HEADER_BYTES>().ok_or(Cause::CutOff)?;
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        // INVARIANT FRM-2: the checksum matched, so the fields below contain the values that were written.
        let body_length = word(8) as usize;
        let (tag, flags) = (header[4], header[5]);
        if tag == 0 || body_length > BODY_BYTES_MAX {
            return Err(Cause::HeaderLimit);
        }
        let kind = RecordKind::from_tag(tag).ok_or(Cause::UnknownKind(tag))?;
        let known = match kind {
            RecordKind::Object | RecordKind::Commit => UNLINKED | CAP,
            _ => UNLINKED,
        };
        if flags & !known != 0 || header[6..8] != [0; 2] || word(12) != word(8) {
            return Err(Cause::UnknownFlags(flags));
        }
        let batch = u64::from(word(16)) | u64::from(word(20)) << 32;
        Ok(Self {
            kind,
            flags,
            body_length,
            batch,
            body_checksum: word(28),
        })
    }

    /// Returns whether `body` matches the checksum of this frame at `offset`.
    pub(super) fn matches(&self, body: &[u8], seed: FrameSeed, offset: u64) -> bool {
        crc32c::crc32c_append(seed.at(offset), body) == self.body_checksum
    }

    /// Returns the range of the body, counted from the frame's first byte.
    pub(super) fn body_range(&self) -> Range<usize> {
        FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + self.body_length
    }

    /// Returns the length of the whole frame, including padding.
    pub(super) fn framed_bytes(&self) -> usize {
        framed_bytes(self.body_length)
    }
}

/// Parses and checks the whole frame at the start of `bytes`: header, body and padding.
pub(super) fn parse_frame(bytes: &[u8], seed: FrameSeed, offset: u64) -> Result<FrameHeader, Cause> {
    let header = parse_record(bytes, seed, offset)?;
    // INVARIANT FRM-1: frames start on 16-byte boundaries, and the bytes between a body and the next boundary are zero.
    let padding = bytes.get(header.body_range().end..header.framed_bytes());
    if !is_zero(padding.ok_or(Cause::CutOff)?) {
        return Err(Cause::Padding);
    }
    Ok(header)
}

/// Parses and checks the header and the body at the start of `bytes`. Salvage saves such a record even if the padding is
/// damaged.
pub(super) fn parse_record(bytes: &[u8], seed: FrameSeed, offset: u64) -> Result<FrameHeader, Cause> {
    let header = FrameHeader::parse(bytes, seed, offset)?;
    let body = bytes.get(header.body_range()).ok_or(Cause::CutOff)?;
    if header.matches(body, seed, offset) {
        Ok(header)
    } else {
        Err(Cause::BodyChecksum)
    }
}

/// Appends a frame without batch number and checksums. [`finish_frame`] sets them later.
///
/// # Panics
/// Panics if the length of the body does not fit in a u32. Callers limit the length.
pub(super) fn put_frame(out: &mut Vec<u8>, kind: RecordKind, flags: u8, body: &[u8]) {
    let length = u32::try_from(body.len()).expect("bodies are bounded far below 4 GiB");
    let length = length.to_le_bytes();
    let end = out.len() + framed_bytes(body.len());
    out.reserve(end - out.len());
    let mut header = [0; FRAME_HEADER_BYTES];
    header[..4].copy_from_slice(MAGIC);
    header[4..6].copy_from_slice(&[kind.tag(), flags]);
    header[8..12].copy_from_slice(&length);
    header[12..16].copy_from_slice(&length);
    out.extend_from_slice(&header);
    out.extend_from_slice(body);
    out.resize(end, 0);
}

/// Sets the batch number and the checksums of the frame at the start of `bytes`, which will be written at `offset`.
/// Returns the frame's header, or `None` if the frame is not complete.
pub(super) fn finish_frame(
    bytes: &mut [u8],
    seed: FrameSeed,
    offset: u64,
    batch: u64,
) -> Option<FrameHeader> {
    let (header, rest) = bytes.split_first_chunk_mut::<FRAME_HEADER_BYTES>()?;
    let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let body = rest.get(..length)?;
    let seed = seed.at(offset);
    header[16..24].copy_from_slice(&batch.to_le_bytes());
    let checksum = crc32c::crc32c_append(seed, &header[..24]);
    header[24..28].copy_from_slice(&checksum.to_le_bytes());
    let body_checksum = crc32c::crc32c_append(seed, body);
    header[28..32].copy_from_slice(&body_checksum.to_le_bytes());
    Some(FrameHeader {
        kind: RecordKind::from_tag(header[4]).unwrap_or(RecordKind::Ignorable(header[4])),
        flags: header[5],
        body_length: length,
        batch,
        body_checksum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "remote")]
    fn a_segment_of_another_store_can_have_the_same_seed() {
        for number in 0..=u8::MAX {
            let seed = FrameSeed::new(&[number; 16], &[7; 16]);
            let nonce = seed.nonce(&[3; 16], [number ^ 0x5a; 16]);
            assert_eq!(FrameSeed::new(&[3; 16], &nonce), seed);
            assert_eq!(nonce[..12], [number ^ 0x5a; 12]);
        }
    }

    #[test]
    fn the_table_of_kinds_is_in_the_order_of_their_tags() {
        for (tag, kind, name) in KNOWN {
            assert_eq!((kind.tag(), kind.name()), (tag, name));
            assert_eq!(RecordKind::from_tag(tag), Some(kind));
        }
        assert_eq!(RecordKind::from_tag(0), None);
        assert_eq!(RecordKind::Ignorable(IGNORABLE_KIND).tag(), IGNORABLE_KIND);
    }

    #[test]
    fn a_frame_that_breaks_a_limit_is_none_and_one_of_an_unknown_kind_is_of_the_future() {
        let seed = FrameSeed::new(&[1; 16], &[2; 16]);
        let mut bytes = Vec::new();
        put_frame(&mut bytes, RecordKind::Object, 0, b"body");
        let refusal = |change: fn(&mut [u8])| {
            let mut header: [u8; 32] = bytes[..32].try_into().unwrap();
            change(&mut header);
            let checksum = crc32c::crc32c_append(seed.at(64), &header[..24]);
            header[24..28].copy_from_slice(&checksum.to_le_bytes());
            FrameHeader::parse(&header, seed, 64).err()
        };
        assert!(refusal(|_| {}).is_none());
        let breaks_a_limit: [fn(&mut [u8]); 3] = [
            |header| header[4] = 0,
            |header| header[11] = 0xff,
            |header| (header[4], header[11]) = (0, 0xff),
        ];
        for change in breaks_a_limit {
            assert_eq!(refusal(change), Some(Cause::HeaderLimit));
        }
        assert!(refusal(|header| header[5] = with_cap(UNLINKED, 7)).is_none());
        let of_the_future: [fn(&mut [u8]); 6] = [
            |header| header[4] = 99,
            |header| header[5] |= 0x80,
            |header| header[5] |= 0x40,
            // A text has no class.
            |header| header[4..6].copy_from_slice(&[RecordKind::Text.tag(), with_cap(0, 1)]),
            |header| header[7] = 1,
            |header| header[12] ^= 1,
        ];
        for change in of_the_future {
            assert!(refusal(change).is_some_and(|cause| cause.is_of_newer_version()));
        }
    }
}
