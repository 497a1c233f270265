//! The header of a checkpoint file: the identity of its log, the position that it covers, and the extents of its
//! sections.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKH-1: the sections follow each other without a gap, from the first block after the header to the last block. Only
//!   the table of checksums follows the last block. The section of lines is the last one, and only version 3 has it.
//!
//! # Format
//! docs/format.md, "Checkpoint".

use super::blocks::{BLOCK_BYTES, SUM_BYTES};
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, StateRow};
use crate::codec::{DecodeError, Reader};
use crate::digest::{HashAlgorithm, KeyPath};
use crate::disk::Disk;
use crate::log::{Fixed, Log, Position, epoch_in};
use crate::store::commits::Gap;

const MAGIC: &[u8; 8] = b"TRckpt01";
/// The version of the layout. Readers ignore a file of another version, and the next checkpoint replaces it.
const VERSION: u32 = 2;
/// The version of the layout of a file with lines. Programs that know no lines refuse the store anyway.
const VERSION_WITH_LINES: u32 = 3;
/// The maximal number of files on which a file builds.
pub(super) const LINKS_MAX: usize = 64;
const CRC_BYTES: usize = 4;

/// The identity of the log from which a derived file was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogId {
    pub(crate) instance: [u8; 16],
    pub(crate) hash: HashAlgorithm,
    /// The number of rewrites of the log. Locators are valid only within one epoch.
    pub(crate) epoch: u64,
}

impl LogId {
    /// Returns the identity of an open log.
    pub(crate) fn of(log: &Log) -> Self {
        Self {
            instance: log.format().instance,
            hash: log.format().hash,
            epoch: u64::from(log.epoch()),
        }
    }

    /// Returns whether this is the log that the store on a disk has now. It is not after a rewrite.
    pub(crate) fn is_in(&self, disk: &dyn Disk) -> bool {
        let found = epoch_in(disk);
        found.is_ok_and(|(instance, epoch)| (instance, u64::from(epoch)) == (self.instance, self.epoch))
    }
}

/// The sections of a checkpoint file, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Nodes,
    States,
    Objects,
    Texts,
    Commits,
    CommitsByDigest,
    CommitsByRoot,
    FirstWritten,
    Replaced,
    Children,
    Gaps,
    References,
    History,
    Lines,
}

/// All sections of every version. Each has the length of its rows in bytes, or `None` if the rows have different lengths.
pub(super) const SECTIONS: [(Section, Option<usize>); 13] = [
    (Section::Nodes, None),
    (Section::States, Some(StateRow::BYTES)),
    (Section::Objects, Some(DigestRow::BYTES)),
    (Section::Texts, Some(DigestRow::BYTES)),
    (Section::Commits, Some(CommitRow::BYTES)),
    (Section::CommitsByDigest, Some(DigestRow::BYTES)),
    (Section::CommitsByRoot, Some(DigestRow::BYTES)),
    (Section::FirstWritten, Some(FirstWritten::BYTES)),
    (Section::Replaced, Some(KeyPath::BYTES)),
    (Section::Children, Some(ChildRow::BYTES)),
    (Section::Gaps, Some(Gap::BYTES)),
    (Section::References, None),
    (Section::History, None),
];

/// The extent of a section in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) rows: u64,
}

impl Extent {
    /// Returns the offset of the first byte after the section.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// Identifies a file on which another file builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) number: u64,
    /// The checksum of the file's header.
    pub(super) sum: u32,
}

/// The first block of a checkpoint file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) log: LogId,
    /// The position up to which the checkpoint covers the log.
    pub(super) position: Position,
    /// The number of kept versions of objects.
    pub(super) versions: u64,
    /// The number of erased versions of objects.
    pub(super) erased: u64,
    /// The number of the file. The place of each node in the file contains this number.
    pub(super) number: u64,
    /// The number of commits in the files on which this file builds.
    pub(super) commits_before: u64,
    pub(super) sections: [Extent; SECTIONS.len()],
    /// The lines of the store. Empty if it has none.
    pub(super) lines: Extent,
    /// The checksum of the sums of the table of checksums.
    pub(super) table_sum: u32,
    /// The files on which this file builds, oldest first.
    pub(super) links: Vec<Link>,
}

/// The number of low bits in a node's place that contain the node's offset in the file.
const OFFSET_BITS: u32 = 40;
/// The mask of the bits in a node's place that contain the file's tag. The tag prevents the lookup of a node in another
/// file. The highest bit is reserved for other sources of nodes.
const NUMBER_MASK: u64 = (1 << (63 - OFFSET_BITS)) - 1;

/// Returns the tag of a file, which is part of the places of its nodes. The tag includes the epoch, because file
/// numbers may repeat after a rewrite. The multiplication keeps the tags of neighbouring epochs far apart.
fn file_tag(log: LogId, number: u64) -> u64 {
    (log.epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (OFFSET_BITS + 1)).wrapping_add(number) & NUMBER_MASK
}

/// Returns the place of the node at `offset` in file `number`. A place combines the file's tag and the offset.
pub(super) fn node_place(log: LogId, number: u64, offset: u64) -> Result<u64, DecodeError> {
    if offset >> OFFSET_BITS != 0 {
        return Err(DecodeError::Invalid(
            "the file is longer than the limit of a checkpoint",
        ));
    }
    Ok(file_tag(log, number) << OFFSET_BITS | offset)
}

impl Header {
    /// Returns the offset of the node at `place`. Returns `None` if the place belongs to another file.
    pub(super) fn node_offset(&self, place: u64) -> Option<u64> {
        (place >> OFFSET_BITS == file_tag(self.log, self.number)).then_some(place & ((1 << OFFSET_BITS) - 1))
    }

    pub(super) fn extent(&self, section: Section) -> Extent {
        self.sections.get(section as usize).copied().unwrap_or(self.lines)
    }

    /// Returns the number of blocks after the header.
    pub(super) fn blocks(&self) -> u64 {
        let end = self.extent(Section::History).end().max(self.lines.end());
        end.div_ceil(BLOCK_BYTES as u64) - 1
    }

    /// Returns the offset of the table of checksums.
    pub(super) fn table_offset(&self) -> u64 {
        (self.blocks() + 1) * BLOCK_BYTES as u64
    }

    /// Returns the length of the whole file in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        let table = self.blocks() * SUM_BYTES as u64;
        self.table_offset() + table + table.div_ceil(BLOCK_BYTES as u64) * SUM_BYTES as u64
    }

    /// Returns the link to this file.
    pub(super) fn link(&self) -> Link {
        let bytes = self.encode();
        let sum = bytes.last_chunk::<CRC_BYTES>().expect("a header has a checksum");
        Link {
            number: self.number,
            sum: u32::from_le_bytes(*sum),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_BYTES);
        bytes.extend_from_slice(MAGIC);
        let has_lines = self.lines.rows > 0;
        let version = if has_lines { VERSION_WITH_LINES } else { VERSION };
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&[self.log.hash.tag(), 0, 0, 0]);
        bytes.extend_from_slice(&self.log.instance);
        let numbers = [self.log.epoch, self.versions, self.erased, self.number];
        for number in numbers.into_iter().chain([self.commits_before]) {
            number.put(&mut bytes);
        }
        self.position.put(&mut bytes);
        for extent in &self.sections {
            extent.put(&mut bytes);
        }
        if has_lines {
            self.lines.put(&mut bytes);
        }
        bytes.extend_from_slice(&self.table_sum.to_le_bytes());
        bytes.extend_from_slice(&(self.links.len() as u32).to_le_bytes());
        for link in &self.links {
            bytes.extend_from_slice(&link.number.to_le_bytes());
            bytes.extend_from_slice(&link.sum.to_le_bytes());
        }
        bytes.resize(BLOCK_BYTES - CRC_BYTES, 0);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes the header of a file of `length` bytes.
    pub(super) fn decode(bytes: &[u8], length: u64) -> Result<Self, DecodeError> {
        let (covered, stored) = bytes
            .split_at_checked(BLOCK_BYTES - CRC_BYTES)
            .unwrap_or_default();
        if crc32c::crc32c(covered).to_le_bytes() != *stored {
            return Err(DecodeError::Invalid("the checksum of the header does not match"));
        }
        let mut reader = Reader::new(covered);
        let (magic, version) = (reader.bytes(MAGIC.len())?, reader.u32()?);
        if magic != MAGIC || ![VERSION, VERSION_WITH_LINES].contains(&version) {
            return Err(DecodeError::Invalid(
                "the first bytes are not those of a checkpoint",
            ));
        }
        let hash = HashAlgorithm::from_tag(reader.u8()?);
        let hash = hash.ok_or(DecodeError::Invalid("the hash function is unknown"))?;
        if reader.array::<3>()? != [0; 3] {
            return Err(DecodeError::Invalid("reserved bytes are not zero"));
        }
        let mut header = Self {
            log: LogId {
                hash,
                instance: reader.array()?,
                epoch: reader.u64()?,
            },
            versions: reader.u64()?,
            erased: reader.u64()?,
            number: reader.u64()?,
            commits_before: reader.u64()?,
            position: Position::take(&mut reader)?,
            sections: take_sections(&mut reader, length)?,
            lines: Extent::default(),
            table_sum: 0,
            links: Vec::new(),
        };
        if version == VERSION_WITH_LINES {
            let (lines, next) = (Extent::take(&mut reader)?, header.extent(Section::History).end());
            let fits = lines.offset == next && lines.length <= length.saturating_sub(next);
            if !fits || lines.rows == 0 || lines.rows > lines.length {
                return Err(DecodeError::Invalid("a section has a wrong offset or length"));
            }
            header.lines = lines;
        }
        header.table_sum = reader.u32()?;
        header.links = take_links(&mut reader)?;
        if header.file_bytes() != length {
            return Err(DecodeError::Invalid(
                "the length of the file does not match its header",
            ));
        }
        Ok(header)
    }
}

/// Decodes the extents of the sections, and checks them (CKH-1). No extent may end after `length`, the length of the
/// file.
fn take_sections(reader: &mut Reader<'_>, length: u64) -> Result<[Extent; SECTIONS.len()], DecodeError> {
    let mut next = BLOCK_BYTES as u64;
    let mut extents = [Extent::default(); SECTIONS.len()];
    for (section, row_bytes) in SECTIONS {
        let extent = Extent::take(reader)?;
        let rows_fit = match row_bytes {
            Some(bytes) => extent.rows.checked_mul(bytes as u64) == Some(extent.length),
            None => extent.rows <= extent.length,
        };
        let fits = extent.offset == next && extent.length <= length.saturating_sub(next);
        if !fits || !rows_fit {
            return Err(DecodeError::Invalid("a section has a wrong offset or length"));
        }
        next = extent.end();
        extents[section as usize] = extent;
    }
    Ok(extents)
}

/// Decodes the links of a file.
fn take_links(reader: &mut Reader<'_>) -> Result<Vec<Link>, DecodeError> {
    let count = reader.u32()? as usize;
    let mut links: Vec<Link> = Vec::new();
    for _ in 0..count {
        let (number, sum) = (reader.u64()?, reader.u32()?);
        if links.len() == LINKS_MAX || links.iter().any(|link| link.number == number) {
            return Err(DecodeError::Invalid("a file builds on wrong files"));
        }
        links.push(Link { number, sum });
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_in_the_file_of_one_number_and_epoch() {
        let log = |epoch| LogId {
            instance: [7; 16],
            hash: HashAlgorithm::Blake3,
            epoch,
        };
        let mut places = std::collections::HashSet::new();
        for (epoch, number) in [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1)] {
            for offset in [0, 64, (1 << OFFSET_BITS) - 1] {
                let place = node_place(log(epoch), number, offset).unwrap();
                assert_eq!(place >> 63, 0, "the highest bit is reserved");
                assert!(places.insert(place), "{epoch} {number} {offset}");
            }
            node_place(log(epoch), number, 1 << OFFSET_BITS).unwrap_err();
        }
    }
}
