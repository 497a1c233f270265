//! The blocks of a checkpoint file. Their checksums are computed when the file is written, and checked at the first
//! access.
//!
//! # Layer
//! Layer 4. Part of checkpoint/. Knows blocks, not their content.
//!
//! # Invariants
//! - CKB-1: a block must match its checksum before any of its bytes is returned.
//!
//! # Format
//! docs/format.md, "Checkpoint".

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::damaged;
use crate::bytes::Buffer;
use crate::disk::{DiskFile, read_bytes};
use crate::error::{Cause, Error, Result};

/// The number of bytes in a block. The first block is the header, which has its own checksum.
pub(super) const BLOCK_BYTES: usize = 4096;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// The number of bytes of a checksum in the table.
pub(super) const SUM_BYTES: usize = 4;
/// The number of bytes collected before a write, and read at a time during a full check.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads ranges of a file whose blocks have checksums.
pub(super) struct Blocks {
    name: String,
    file: Arc<dyn DiskFile>,
    /// The map of the whole file, if it could be mapped.
    map: Option<Arc<dyn Buffer>>,
    /// The number of blocks after the header.
    count: u64,
    /// The checksum of each block, if the file is not mapped.
    table: Vec<u8>,
    /// One bit for each mapped block: whether it was already checked.
    checked: Vec<AtomicU64>,
}

impl Blocks {
    /// Opens the `count` blocks of `file` after the header. Reads the table of checksums after the blocks; its own
    /// checksum must be `table_sum`.
    ///
    /// # Errors
    /// `Corrupt` if the table is damaged; `Io`.
    pub(super) fn new(
        name: &str,
        file: Arc<dyn DiskFile>,
        count: u64,
        table_sum: u32,
        map: bool,
    ) -> Result<Self> {
        let at = (count + 1) * BLOCK;
        // If the file cannot be mapped, blocks are read from it.
        let map = if map {
            file.map(at + count * SUM_BYTES as u64).unwrap_or_default()
        } else {
            None
        };
        let mut table = Vec::new();
        if map.is_none() {
            table = read_bytes(&*file, at, count as usize * SUM_BYTES)
                .map_err(|error| Error::io(format!("cannot read {name}"), error))?;
        }
        let words = if map.is_some() { count.div_ceil(64) } else { 0 };
        let blocks = Self {
            name: name.to_owned(),
            file,
            map,
            count,
            table,
            checked: (0..words).map(|_| AtomicU64::new(0)).collect(),
        };
        if crc32c::crc32c(blocks.table()) != table_sum {
            return Err(damaged(name, at, Cause::TableChecksum));
        }
        Ok(blocks)
    }

    fn table(&self) -> &[u8] {
        match &self.map {
            Some(map) => &map.bytes()[((self.count + 1) * BLOCK) as usize..],
            None => &self.table,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of mapped blocks that were checked.
    #[cfg(test)]
    pub(super) fn checked_count(&self) -> u32 {
        let words = self.checked.iter();
        words.map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }

    /// Returns `length` bytes from `offset` on.
    ///
    /// # Errors
    /// `Corrupt` if one of their blocks is damaged, or the range ends after the file; `Io`.
    pub(super) fn bytes(&self, offset: u64, length: usize) -> Result<Cow<'_, [u8]>> {
        if length == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let end = offset.saturating_add(length as u64);
        if offset < BLOCK || end > (self.count + 1) * BLOCK {
            return Err(damaged(&self.name, offset, Cause::OutsideBlocks));
        }
        // CKB-1: the range was checked against the file, so each of its blocks has a checksum.
        let blocks = offset / BLOCK..=(end - 1) / BLOCK;
        let within = (offset % BLOCK) as usize..(offset % BLOCK) as usize + length;
        let Some(map) = &self.map else {
            let mut bytes = self.read(blocks)?;
            bytes.truncate(within.end);
            bytes.drain(..within.start);
            return Ok(Cow::Owned(bytes));
        };
        let bytes = &map.bytes()[(blocks.start() * BLOCK) as usize..];
        for (block, content) in blocks.zip(bytes.chunks(BLOCK_BYTES)) {
            self.check_once(block, content)?;
        }
        Ok(Cow::Borrowed(&bytes[within]))
    }

    /// Checks a mapped block at the first access.
    fn check_once(&self, block: u64, content: &[u8]) -> Result<()> {
        let index = (block - 1) as usize;
        let (word, bit) = (&self.checked[index / 64], 1_u64 << (index % 64));
        // The bit protects no other data, so relaxed order is enough: at worst, two threads check the same block.
        if word.load(Ordering::Relaxed) & bit == 0 {
            self.check(block, content)?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    fn check(&self, block: u64, content: &[u8]) -> Result<()> {
        let at = (block - 1) as usize * SUM_BYTES;
        let sum = crc32c::crc32c(content).to_le_bytes();
        if self.table().get(at..at + SUM_BYTES) == Some(&sum[..]) {
            return Ok(());
        }
        Err(damaged(&self.name, block * BLOCK, Cause::BlockChecksum))
    }

    /// Reads whole blocks from the file.
    fn read(&self, blocks: RangeInclusive<u64>) -> Result<Vec<u8>> {
        let bytes = self.read_unchecked(blocks.clone())?;
        for (block, content) in blocks.zip(bytes.chunks(BLOCK_BYTES)) {
            self.check(block, content)?;
        }
        Ok(bytes)
    }

    fn read_unchecked(&self, blocks: RangeInclusive<u64>) -> Result<Vec<u8>> {
        let (first, last) = blocks.into_inner();
        let offset = first * BLOCK;
        let length = ((last - first + 1) * BLOCK) as usize;
        let bytes = read_bytes(&*self.file, offset, length)
            .map_err(|error| Error::io(format!("cannot read {}", self.name), error))?;
        if bytes.len() < length {
            let end = offset + bytes.len() as u64;
            return Err(damaged(&self.name, end, Cause::CutOff));
        }
        Ok(bytes)
    }

    /// Reads all blocks from the file, never from the map. Passes the offset and the length of each run of unreadable
    /// or damaged blocks to `visit`. Passes the number of bytes of each piece read to `progress`.
    ///
    /// # Errors
    /// The errors of `progress`.
    pub(super) fn check_all(
        &self,
        visit: &mut dyn FnMut(u64, u64),
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let count = self.count;
        let step = (CHUNK_BYTES / BLOCK_BYTES) as u64;
        let (mut start, mut bytes) = (0, 0);
        for first in (1..=count).step_by(step as usize) {
            let blocks = first..=(first + step - 1).min(count);
            let piece = self.read_unchecked(blocks.clone()).unwrap_or_default();
            let mut contents = piece.chunks(BLOCK_BYTES);
            for block in blocks.clone() {
                let content = contents.next();
                if content.is_some_and(|content| self.check(block, content).is_ok()) {
                    if bytes > 0 {
                        visit(start, bytes);
                    }
                    (start, bytes) = (0, 0);
                } else {
                    start = if bytes == 0 { block * BLOCK } else { start };
                    bytes += BLOCK;
                }
            }
            progress(blocks.count() as u64 * BLOCK)?;
        }
        if bytes > 0 {
            visit(start, bytes);
        }
        Ok(())
    }
}

/// Writes blocks in sequence; the header is written last.
pub(super) struct BlockWriter<'a> {
    file: &'a dyn DiskFile,
    progress: &'a mut dyn FnMut(u64) -> Result<()>,
    /// The offset of `waiting` in the file, which is the start of a block.
    at: u64,
    waiting: Vec<u8>,
    table: Vec<u8>,
}

impl<'a> BlockWriter<'a> {
    /// Makes a writer that starts after the header of an empty file. `progress` gets the number of bytes of each write.
    pub(super) fn new(file: &'a dyn DiskFile, progress: &'a mut dyn FnMut(u64) -> Result<()>) -> Self {
        Self {
            file,
            progress,
            at: BLOCK,
            waiting: Vec::with_capacity(CHUNK_BYTES + BLOCK_BYTES),
            table: Vec::new(),
        }
    }

    /// Returns the offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.at + self.waiting.len() as u64
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// `Io`, and the errors of `progress`.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK_BYTES {
            self.write_blocks()?;
        }
        Ok(())
    }

    /// Writes the complete blocks that wait.
    fn write_blocks(&mut self) -> Result<()> {
        let (blocks, _) = self.waiting.as_chunks::<BLOCK_BYTES>();
        for block in blocks {
            self.table.extend_from_slice(&crc32c::crc32c(block).to_le_bytes());
        }
        let bytes = blocks.as_flattened();
        self.file.write_at(self.at, bytes).map_err(write_error)?;
        let count = bytes.len();
        self.waiting.drain(..count);
        self.at += count as u64;
        (self.progress)(count as u64)
    }

    /// Fills the last block with zeros, writes the table after it, and returns the table.
    ///
    /// # Errors
    /// `Io`, and the errors of `progress`.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        let length = self.waiting.len().next_multiple_of(BLOCK_BYTES);
        self.waiting.resize(length, 0);
        if length > 0 {
            self.write_blocks()?;
        }
        self.file.write_at(self.at, &self.table).map_err(write_error)?;
        Ok(self.table)
    }
}

pub(super) fn write_error(error: std::io::Error) -> Error {
    Error::io("cannot write a checkpoint", error)
}
