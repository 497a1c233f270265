//! Splits the files of a log into named parts.
//!
//! # Layer
//! Layer 2. Tests compare the tables with the encoders.
//!
//! # Format
//! docs/format.md, from "Files of a store" on.

use crate::digest::BatchDigest;
use crate::log::Fixed as _;
use crate::log::frame::{LINK_BYTES, UNLINK_BYTES};
use crate::log::live::Live;
use crate::log::manifest::SegmentEntry;
use crate::log::seal::Seal;
use crate::log::segment::SegmentHeader;

/// A named part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the part.
    pub name: &'static str,
    /// The offset of the part's first byte in the file.
    pub offset: u64,
    /// The bytes of the part.
    pub bytes: Vec<u8>,
    /// Whether the bytes may be printed as text. False for numbers and checksums, even if their bytes look like text.
    pub may_be_text: bool,
}

pub(super) const FORMAT_PARTS: &[(&str, usize)] = &[
    ("magic", 8),
    ("format", 4),
    ("least reader", 4),
    ("compatible", 8),
    ("read compatible", 8),
    ("incompatible", 8),
    ("hash", 1),
    ("cipher", 1),
    ("zeros", 6),
    ("lineage", 16),
    ("instance", 16),
];
const MANIFEST_PARTS: &[(&str, usize)] = &[
    ("magic", 8),
    ("instance", 16),
    ("generation", 8),
    ("segments", 4),
    ("epoch", 4),
];
pub(super) const FRAME_PARTS: &[(&str, usize)] = &[
    ("magic", 4),
    ("kind", 1),
    ("flags", 1),
    ("key", 2),
    ("length", 4),
    ("raw length", 4),
    ("batch", 8),
    ("header checksum", 4),
    ("body checksum", 4),
];
const LINK_PARTS: &[(&str, usize)] = &[("key path", UNLINK_BYTES), ("version", LINK_BYTES - UNLINK_BYTES)];
const UNLINK_PARTS: &[(&str, usize)] = &[("key path", UNLINK_BYTES)];

/// Splits `bytes` into parts with the names and lengths in `names`. `offset` is the position of `bytes` in the file.
/// The last part is called `rest` and contains all further bytes.
pub(super) fn name_parts(
    bytes: &[u8],
    offset: u64,
    names: &[(&'static str, usize)],
    rest: &'static str,
) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    let mut push = |name, from: usize, to: usize| {
        let part = bytes.get(from..to.min(bytes.len()));
        if let Some(bytes) = part.filter(|part| !part.is_empty()) {
            parts.push(Part {
                name,
                offset: offset + from as u64,
                bytes: bytes.to_vec(),
                may_be_text: name == "magic",
            });
        }
    };
    for (name, length) in names {
        push(name, at, at + length);
        at += length;
    }
    push(rest, at, usize::MAX);
    parts
}

/// Splits consecutive entries of the same layout into named parts.
fn name_entries(bytes: &[u8], offset: u64, names: &[(&'static str, usize)]) -> Vec<Part> {
    let entry = names.iter().map(|(_, length)| length).sum::<usize>();
    let entries = bytes.chunks(entry).zip((offset..).step_by(entry));
    entries
        .flat_map(|(bytes, at)| name_parts(bytes, at, names, "rest"))
        .collect()
}

/// Splits the file `live` into named parts.
pub(super) fn live_parts(bytes: &[u8]) -> Vec<Part> {
    with_checksum(bytes, &[vec![("magic", 8)], Live::parts("")].concat())
}

/// Splits the header of a segment into named parts.
pub(super) fn segment_parts(bytes: &[u8]) -> Vec<Part> {
    let start = vec![("magic", 8), ("format", 4), ("zeros", 4)];
    with_checksum(bytes, &[start, SegmentHeader::parts("")].concat())
}

/// Splits a file that ends with a checksum of four bytes into named parts. Calls bytes without a name before the
/// checksum `reserved`.
pub(super) fn with_checksum(bytes: &[u8], names: &[(&'static str, usize)]) -> Vec<Part> {
    let (covered, checksum) = bytes.split_at(bytes.len().saturating_sub(4));
    let mut parts = name_parts(covered, 0, names, "reserved");
    parts.extend(checksum_part(checksum, covered.len()));
    parts
}

fn checksum_part(checksum: &[u8], offset: usize) -> Vec<Part> {
    name_parts(checksum, offset as u64, &[("checksum", 4)], "rest")
}

/// Returns the parts of a seal's body, which begins at `offset`.
pub fn seal_parts(body: &[u8], offset: u64) -> Vec<Part> {
    let parts = [Seal::parts(""), BatchDigest::parts("digest")].concat();
    name_parts(body, offset, &parts, "rest")
}

/// Returns the parts of a link record's body, which begins at `offset`.
pub fn link_parts(body: &[u8], offset: u64) -> Vec<Part> {
    name_entries(body, offset, LINK_PARTS)
}

/// Returns the parts of an unlink record's body, which begins at `offset`.
pub fn unlink_parts(body: &[u8], offset: u64) -> Vec<Part> {
    name_entries(body, offset, UNLINK_PARTS)
}

/// Returns the parts of a manifest: its header, its entries and its checksum.
pub(super) fn manifest_parts(bytes: &[u8]) -> Vec<Part> {
    let (covered, checksum) = bytes.split_at(bytes.len().saturating_sub(4));
    let header: usize = MANIFEST_PARTS.iter().map(|(_, length)| length).sum();
    let (head, entries) = covered.split_at(header.min(covered.len()));
    let mut parts = name_parts(head, 0, MANIFEST_PARTS, "rest");
    parts.extend(name_entries(entries, head.len() as u64, &SegmentEntry::parts("")));
    parts.extend(checksum_part(checksum, covered.len()));
    parts
}
