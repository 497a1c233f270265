//! An open file of a checkpoint: reads the rows of the file, and the bytes of its nodes.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{BLOCK_BYTES, Blocks};
use super::files::damaged;
use super::header::{Header, Link, LogId, Section, node_place};
use super::rows::Rows;
use crate::codec::{DecodeError, Reader};
use crate::digest::{DIGEST_LEN, HashSuite};
use crate::disk::{Access, Disk, DiskFile, if_there, read_bytes};
use crate::error::{Cause, Error, Result};
use crate::log::{Fixed, Position, undecodable};
use crate::object::HistoryTree;
use crate::trie::stored_digest;

/// The number of bytes of the length field before each node.
pub(super) const NODE_LENGTH_BYTES: usize = 2;
/// The number of bytes before the reference in a reference row: the batch number and the length.
pub(super) const REFERENCE_HEAD_BYTES: usize = 12;

/// An open checkpoint file. The first access to a block checks the block.
pub(super) struct Part {
    header: Header,
    blocks: Blocks,
}

impl Part {
    /// Opens a file. Reads only its header and its table of checksums.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist; `Corrupt` if the header, the table or the length is damaged; `Io`.
    pub(super) fn open(disk: &dyn Disk, name: &str, map: bool) -> Result<Self> {
        let (file, header) = open_head(disk, name)?;
        let blocks = Blocks::new(name, file, header.blocks(), header.table_sum, map)?;
        Ok(Self { header, blocks })
    }

    fn suite(&self) -> HashSuite {
        HashSuite::new(self.header.log.hash)
    }

    /// Returns the path of the file, relative to the store.
    pub(super) fn name(&self) -> &str {
        self.blocks.name()
    }

    /// Returns the size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.header.file_bytes()
    }

    /// Returns the number of commits up to the position of the file.
    pub(super) fn commits_until(&self) -> u64 {
        self.header.commits_before + self.header.extent(Section::Commits).rows
    }

    /// Returns the offset of the node at `place`. Returns `None` if the place belongs to another file.
    pub(super) fn node_offset(&self, place: u64) -> Option<u64> {
        self.header.node_offset(place)
    }

    /// Returns the references in the file, in the order of the log. Each item contains the batch number and the canonical
    /// bytes of the reference.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(super) fn references(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let extent = self.header.extent(Section::References);
        let (mut at, mut found) = (extent.offset, Vec::new());
        for _ in 0..extent.rows {
            let reference = self.reference(at, extent.end())?;
            at += (REFERENCE_HEAD_BYTES + reference.1.len()) as u64;
            found.push(reference);
        }
        Ok(found)
    }

    /// Returns the lines in the file, each as bytes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line cannot be read, or if the lines do not fill their section.
    pub(super) fn lines(&self) -> Result<Vec<&[u8]>> {
        let extent = self.header.extent(Section::Lines);
        let (mut at, mut found) = (extent.offset, Vec::new());
        let bad = |at| damaged(self.name(), at, Cause::BeyondSection);
        for _ in 0..extent.rows {
            let left = extent
                .end()
                .saturating_sub(at)
                .checked_sub(4)
                .ok_or_else(|| bad(at))?;
            let length = self.blocks.bytes(at, 4)?;
            let length = u64::from(Reader::new(length).u32().unwrap_or(u32::MAX));
            if length > left {
                return Err(bad(at));
            }
            found.push(self.blocks.bytes(at + 4, length as usize)?);
            at += 4 + length;
        }
        if at == extent.end() {
            Ok(found)
        } else {
            Err(bad(at))
        }
    }

    fn reference(&self, at: u64, end: u64) -> Result<(u64, Vec<u8>)> {
        let bad = |cause| damaged(self.name(), at, cause);
        let head = self.blocks.bytes(at, REFERENCE_HEAD_BYTES)?;
        let mut reader = Reader::new(head);
        let mut head = || Ok((reader.u64()?, reader.u32()?));
        let (batch, length) = head().map_err(|error: DecodeError| bad(undecodable(&error)))?;
        let start = at + REFERENCE_HEAD_BYTES as u64;
        if u64::from(length) > end.saturating_sub(start) {
            return Err(bad(Cause::BeyondSection));
        }
        let bytes = self.blocks.bytes(start, length as usize)?;
        Ok((batch, bytes.to_vec()))
    }

    /// Returns the history tree over all commits up to the file's position, including thinned commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the history tree cannot be read.
    pub(super) fn history(&self) -> Result<HistoryTree> {
        let extent = self.header.extent(Section::History);
        let bad = || damaged(self.name(), extent.offset, Cause::NoHistory);
        let size = self.blocks.bytes(extent.offset, 8)?;
        let size = Reader::new(size).u64().map_err(|_| bad())?;
        // Checks the length of the section before reading it. A tree has at most 64 peaks, so the section is small.
        let peaks = u64::from(size.count_ones());
        if extent.rows != peaks || extent.length != 8 + peaks * DIGEST_LEN as u64 {
            return Err(bad());
        }
        let bytes = self
            .blocks
            .bytes(extent.offset + 8, peaks as usize * DIGEST_LEN)?;
        let (peaks, _) = bytes.as_chunks::<DIGEST_LEN>();
        HistoryTree::from_peaks(self.suite(), size, peaks.to_vec()).ok_or_else(bad)
    }

    /// Returns the bytes of the node at an offset in the file.
    ///
    /// # Errors
    /// `Corrupt` if the offset is outside the section of nodes, or if the node's block is damaged.
    pub(super) fn node(&self, at: u64) -> Result<Vec<u8>> {
        let nodes = self.header.extent(Section::Nodes);
        let start = at.saturating_add(NODE_LENGTH_BYTES as u64);
        if at < nodes.offset || start > nodes.end() {
            return Err(damaged(self.name(), nodes.offset, Cause::NodeOutside));
        }
        let length = self.blocks.bytes(at, NODE_LENGTH_BYTES)?;
        let length = Reader::new(length).u16().unwrap_or_default();
        if u64::from(length) > nodes.end() - start {
            return Err(damaged(self.name(), at, Cause::BeyondSection));
        }
        Ok(self.blocks.bytes(start, usize::from(length))?.to_vec())
    }

    /// Returns the place of every node in the file by the node's digest.
    ///
    /// # Errors
    /// The errors of [`Self::node`].
    pub(super) fn nodes(&self) -> Result<HashMap<[u8; DIGEST_LEN], u64>> {
        let extent = self.header.extent(Section::Nodes);
        let (mut nodes, mut at) = (HashMap::new(), extent.offset);
        for _ in 0..extent.rows {
            let node = self.node(at)?;
            let place = node_place(self.header.log, self.header.number, at);
            let place = place.map_err(|error| damaged(self.name(), at, undecodable(&error)))?;
            nodes.extend(stored_digest(&node, self.suite()).map(|digest| (digest, place)));
            at += (NODE_LENGTH_BYTES + node.len()) as u64;
        }
        Ok(nodes)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(super) fn rows<R: Fixed>(&self, section: Section) -> Rows<'_, R> {
        Rows::new(&self.blocks, self.header.extent(section))
    }
}

/// Opens a file. Reads and checks its header.
fn open_head(disk: &dyn Disk, name: &str) -> Result<(Arc<dyn DiskFile>, Header)> {
    let reading = |error| Error::unreadable(name, error);
    let file = if_there(disk.open(name, Access::Read)).map_err(reading)?;
    let file = file.ok_or_else(|| Error::not_found(format!("{name} does not exist")))?;
    let length = file.length().map_err(reading)?;
    let bytes = read_bytes(&*file, 0, BLOCK_BYTES).map_err(reading)?;
    // `decode` compares the lengths in the header with the length of the file, so no section or table can exceed the
    // file.
    let header = Header::decode(&bytes, length).map_err(|error| damaged(name, 0, undecodable(&error)))?;
    Ok((file, header))
}

/// Reads only the header of a file. Returns the identity of the log, and the position up to which the checkpoint covers
/// the log.
///
/// # Errors
/// The errors of [`Part::open`].
pub(super) fn end_of(disk: &dyn Disk, name: &str) -> Result<(LogId, Position)> {
    let (_, header) = open_head(disk, name)?;
    Ok((header.log, header.position))
}

/// Reads only the header of a file. Returns the link to the file.
///
/// # Errors
/// The errors of [`Part::open`].
pub(super) fn link_of(disk: &dyn Disk, name: &str) -> Result<Link> {
    Ok(open_head(disk, name)?.1.link())
}
