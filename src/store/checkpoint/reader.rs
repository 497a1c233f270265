//! An open checkpoint: reads the rows of a checkpoint, and loads the nodes of stored tries.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{BLOCK_BYTES, Blocks};
use super::files::damaged;
use super::header::{Header, LogId, Section};
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Rows, StateRow, prefix_of};
use crate::codec::{DecodeError, Reader};
use crate::digest::{DIGEST_LEN, HashSuite, KeyPath};
use crate::disk::{Access, Disk, DiskFile, if_there, read_bytes};
use crate::error::{Cause, Error, Result};
use crate::log::{Fixed, Position, undecodable};
use crate::object::HistoryTree;
use crate::store::commits::Gap;
use crate::trie::{NodeSource, StoredNode, Trie, stored_digest};

/// The number of bytes of the length field before each node.
pub(super) const NODE_LENGTH_BYTES: usize = 2;
/// The number of bytes before the reference in a reference row: the batch number and the length.
pub(super) const REFERENCE_HEAD_BYTES: usize = 12;

/// An open checkpoint file. The first access to a block checks the block.
pub(crate) struct Checkpoint {
    header: Header,
    blocks: Blocks,
}

impl Checkpoint {
    /// Opens a file. Reads only its header and its table of checksums.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist; `Corrupt` if the header, the table or the length is damaged; `Io`.
    pub(super) fn open(disk: &dyn Disk, name: &str, map: bool) -> Result<Self> {
        let (file, header) = open_head(disk, name)?;
        let blocks = Blocks::new(name, file, header.blocks(), header.table_sum, map)?;
        Ok(Self { header, blocks })
    }

    /// Returns the path of the file, relative to the store.
    pub(crate) fn name(&self) -> &str {
        self.blocks.name()
    }

    /// Returns the number of the file. Newer files have higher numbers.
    #[cfg(test)]
    pub(crate) fn number(&self) -> u64 {
        self.header.number
    }

    /// Returns the identity of the log from which the checkpoint was made.
    pub(crate) fn log(&self) -> LogId {
        self.header.log
    }

    /// Returns the position up to which the checkpoint covers the log. Opening the store reads the log from this
    /// position on.
    pub(crate) fn position(&self) -> Position {
        self.header.position
    }

    /// Returns the number of kept versions of objects up to the position.
    pub(crate) fn versions(&self) -> u64 {
        self.header.versions
    }

    /// Returns the number of erased versions of objects up to the position.
    pub(crate) fn erased(&self) -> u64 {
        self.header.erased
    }

    /// Returns whether this file contains the node.
    pub(crate) fn has_node(&self, stored: &StoredNode) -> bool {
        self.header.node_offset(stored.place).is_some()
    }

    /// Returns the states in this checkpoint, by rising `seq`. The last state is the state of the head.
    pub(crate) fn states(&self) -> Rows<'_, StateRow> {
        self.rows(Section::States)
    }

    /// Opens a state as a trie whose nodes are loaded from this checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state has one entry and its node cannot be read.
    pub(crate) fn trie(&self, state: &StateRow) -> Result<Trie> {
        Trie::from_stored(state.top(), self)
    }

    /// Returns the locators of records by digest: of objects if `of_objects` is true, or else of contents and texts.
    pub(crate) fn digests(&self, of_objects: bool) -> Rows<'_, DigestRow> {
        self.rows(if of_objects {
            Section::Objects
        } else {
            Section::Texts
        })
    }

    /// Returns an index of [`Self::commits`] by root if `by_root` is true, or else by digest. The values are row
    /// numbers, which rise among rows with the same root.
    pub(crate) fn commit_index(&self, by_root: bool) -> Rows<'_, DigestRow> {
        self.rows(if by_root {
            Section::CommitsByRoot
        } else {
            Section::CommitsByDigest
        })
    }

    /// Returns the kept commits, by rising `seq`.
    pub(crate) fn commits(&self) -> Rows<'_, CommitRow> {
        self.rows(Section::Commits)
    }

    /// Returns the commit with this seq, if it is kept.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit's row cannot be read.
    pub(crate) fn commit(&self, seq: u64) -> Result<Option<CommitRow>> {
        self.commits().find(&seq, |row| row.seq)
    }

    /// Returns the first write times of ids that the newest state lacks, sorted by key.
    pub(crate) fn first_written_rows(&self) -> Rows<'_, FirstWritten> {
        self.rows(Section::FirstWritten)
    }

    /// Returns the first write time of an id that an earlier state contained and the newest state lacks.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a row cannot be read.
    pub(crate) fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        let found = self.first_written_rows().find(key, |row| row.key)?;
        Ok(found.map(|row| row.created))
    }

    /// Returns the pairs of parent and child in the newest state, sorted by parent.
    pub(crate) fn child_rows(&self) -> Rows<'_, ChildRow> {
        self.rows(Section::Children)
    }

    /// Returns the objects in the newest state that may be children of `parent`. The caller must confirm each object,
    /// because only the start of the parent's key path is stored.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a row cannot be read.
    pub(crate) fn children(&self, parent: &KeyPath) -> Result<Vec<KeyPath>> {
        let (rows, prefix) = (self.child_rows(), prefix_of(parent.as_bytes()));
        let first = rows.count_before(|row| row.parent < prefix)?;
        let is_of = |row: &Result<ChildRow>| row.as_ref().map_or(true, |row| row.parent == prefix);
        let found = rows.iter_from(first).take_while(is_of);
        found.map(|row| Ok(row?.child)).collect()
    }

    /// Returns the runs of thinned commits, in rising order.
    pub(crate) fn gaps(&self) -> Rows<'_, Gap> {
        self.rows(Section::Gaps)
    }

    /// Returns the references in the checkpoint, in the order of the log. Each item contains the batch number and the
    /// canonical bytes of the reference.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn references(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let extent = self.header.extent(Section::References);
        let (mut at, mut found) = (extent.offset, Vec::new());
        for _ in 0..extent.rows {
            let reference = self.reference(at, extent.end())?;
            at += (REFERENCE_HEAD_BYTES + reference.1.len()) as u64;
            found.push(reference);
        }
        Ok(found)
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

    /// Returns the history tree over all commits up to the checkpoint's position, including thinned commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the history tree cannot be read.
    pub(crate) fn history(&self) -> Result<HistoryTree> {
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
    pub(crate) fn node(&self, at: u64) -> Result<Vec<u8>> {
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

    /// Returns the offset of every node in the file by the node's digest.
    ///
    /// # Errors
    /// The errors of [`Self::node`].
    pub(crate) fn nodes(&self) -> Result<HashMap<[u8; DIGEST_LEN], u64>> {
        let extent = self.header.extent(Section::Nodes);
        let (mut nodes, mut at) = (HashMap::new(), extent.offset);
        for _ in 0..extent.rows {
            let node = self.node(at)?;
            nodes.extend(stored_digest(&node, self.suite()).map(|digest| (digest, at)));
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
/// The errors of [`Checkpoint::open`].
pub(super) fn end_of(disk: &dyn Disk, name: &str) -> Result<(LogId, Position)> {
    let (_, header) = open_head(disk, name)?;
    Ok((header.log, header.position))
}

impl NodeSource for Checkpoint {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        // If the place belongs to another file, offset 0 makes `node` return an error, because no node is at offset 0.
        self.node(self.header.node_offset(stored.place).unwrap_or_default())
    }

    fn suite(&self) -> HashSuite {
        HashSuite::new(self.header.log.hash)
    }
}
