//! Reads and writes the blocks of a checkpoint file. The writer computes a checksum of each block, and the first access
//! to a block checks it.
//!
//! # Layer
//! Layer 4. Part of checkpoint/. Does not interpret the content of blocks.
//!
//! # Invariants
//! - CKB-1: a read returns bytes of a block only after the block's checksum matched.
//!
//! # Format
//! docs/format.md, "Checkpoint".

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::files::damaged;
use crate::disk::{DiskFile, read_bytes};
use crate::error::{Cause, Error, OrIo as _, Result};

/// The number of bytes in a block. The first block is the header, which has its own checksum.
pub(super) const BLOCK_BYTES: usize = 4096;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// The number of bytes of a checksum in the table.
pub(super) const SUM_BYTES: usize = 4;
/// The number of bytes that one write, or one read of a full check, processes.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads ranges of bytes from a checkpoint file, and checks the blocks that contain them.
pub(super) struct Blocks {
    name: String,
    file: Arc<dyn DiskFile>,
    /// The content of the whole file, either mapped or read into memory.
    content: Bytes,
    /// The number of blocks after the header.
    count: u64,
    /// One bit for each block. A set bit means that the block's checksum matched.
    checked: Vec<AtomicU64>,
    /// One bit for each block of the table. A set bit means that the checksum of these checksums matched.
    tables_checked: Vec<AtomicU64>,
}

impl Blocks {
    /// Opens a file that consists of a header, `count` blocks, the table of their checksums, and the checksums of the
    /// table's blocks. Checks the last ones against the checksum `table_sum`. Maps the file if `map` is true. Otherwise,
    /// or if mapping fails, reads the whole file into memory.
    ///
    /// # Errors
    /// `Corrupt` if the sums of the table are damaged; `Io`.
    pub(super) fn new(
        name: &str,
        file: Arc<dyn DiskFile>,
        count: u64,
        table_sum: u32,
        map: bool,
    ) -> Result<Self> {
        let table_at = (count + 1) * BLOCK;
        let sums_at = table_at + count * SUM_BYTES as u64;
        let tables = (count * SUM_BYTES as u64).div_ceil(BLOCK);
        let length = sums_at + tables * SUM_BYTES as u64;
        let content = match map.then(|| file.map(length)) {
            Some(Ok(mapped)) => mapped,
            _ => {
                let read = read_bytes(&*file, 0, length as usize);
                Bytes::from(read.or_io(format_args!("cannot read {name}"))?)
            }
        };
        let sums = content.get(sums_at as usize..);
        if sums.map(crc32c::crc32c) != Some(table_sum) {
            return Err(damaged(name, sums_at, Cause::TableChecksum));
        }
        Ok(Self {
            name: name.to_owned(),
            file,
            content,
            count,
            checked: bits(count),
            tables_checked: bits(tables),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of blocks that were checked.
    #[cfg(test)]
    pub(super) fn checked_count(&self) -> u32 {
        let words = self.checked.iter();
        words.map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }

    /// Returns `length` bytes from `offset` on. The first access to a block checks the block.
    ///
    /// # Errors
    /// `Corrupt` if a block of the range is damaged, or if the range is not within the blocks of the file.
    pub(super) fn bytes(&self, offset: u64, length: usize) -> Result<&[u8]> {
        if length == 0 {
            return Ok(&[]);
        }
        let end = offset.saturating_add(length as u64);
        if offset < BLOCK || end > (self.count + 1) * BLOCK {
            return Err(damaged(&self.name, offset, Cause::OutsideBlocks));
        }
        // CKB-1: the range is within the blocks of the file, so the table contains a checksum for each block of the
        // range.
        for block in offset / BLOCK..=(end - 1) / BLOCK {
            check_once(&self.checked, block - 1, || self.check_block(block))?;
        }
        Ok(&self.content[offset as usize..end as usize])
    }

    fn check_block(&self, block: u64) -> Result<()> {
        let at = (block * BLOCK) as usize;
        if self.matches(block, &self.content[at..at + BLOCK_BYTES])? {
            return Ok(());
        }
        Err(damaged(&self.name, block * BLOCK, Cause::BlockChecksum))
    }

    /// Returns whether the content of a block matches its checksum in the table.
    ///
    /// # Errors
    /// `Corrupt` if that part of the table is damaged.
    fn matches(&self, block: u64, content: &[u8]) -> Result<bool> {
        let at = (self.count + 1) * BLOCK + (block - 1) * SUM_BYTES as u64;
        let table = (block - 1) * SUM_BYTES as u64 / BLOCK;
        check_once(&self.tables_checked, table, || self.check_table(table))?;
        Ok(self.sum_at(at) == crc32c::crc32c(content))
    }

    /// Checks one block of the table of checksums.
    fn check_table(&self, table: u64) -> Result<()> {
        let (start, end) = ((self.count + 1) * BLOCK, self.count * SUM_BYTES as u64);
        let range = table * BLOCK..((table + 1) * BLOCK).min(end);
        let content = &self.content[(start + range.start) as usize..(start + range.end) as usize];
        if self.sum_at(start + end + table * SUM_BYTES as u64) == crc32c::crc32c(content) {
            return Ok(());
        }
        Err(damaged(&self.name, start + range.start, Cause::TableChecksum))
    }

    fn sum_at(&self, at: u64) -> u32 {
        let sum = self.content[at as usize..].first_chunk::<SUM_BYTES>();
        u32::from_le_bytes(*sum.expect("the table of checksums is in the file"))
    }

    /// Reads and checks all blocks of the file, without the map. Calls `progress` with the number of bytes after each
    /// read. Returns the offset of the first unreadable or damaged block, and the total number of bytes in such blocks.
    ///
    /// # Errors
    /// `Corrupt` if the table of checksums is damaged; the errors of `progress`.
    pub(super) fn check_all(
        &self,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Option<(u64, u64)>> {
        let step = (CHUNK_BYTES / BLOCK_BYTES) as u64;
        let (mut first_bad, mut bad) = (None, 0);
        for first in (1..=self.count).step_by(step as usize) {
            let blocks = first..(first + step).min(self.count + 1);
            let bytes = (blocks.end - first) * BLOCK;
            let piece = read_bytes(&*self.file, first * BLOCK, bytes as usize).unwrap_or_default();
            let mut contents = piece.chunks(BLOCK_BYTES);
            for block in blocks {
                let content = contents.next().unwrap_or_default();
                if !self.matches(block, content)? {
                    first_bad.get_or_insert(block * BLOCK);
                    bad += BLOCK;
                }
            }
            progress(bytes)?;
        }
        Ok(first_bad.map(|first| (first, bad)))
    }
}

/// Returns `count` unset bits.
fn bits(count: u64) -> Vec<AtomicU64> {
    (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// Calls `check` unless the bit is set. Sets the bit if the check succeeds.
fn check_once(bits: &[AtomicU64], index: u64, check: impl FnOnce() -> Result<()>) -> Result<()> {
    let (word, bit) = (&bits[(index / 64) as usize], 1_u64 << (index % 64));
    // Relaxed order is sufficient, because the bit protects no other data. At worst, two threads check the same block.
    if word.load(Ordering::Relaxed) & bit == 0 {
        check()?;
        word.fetch_or(bit, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes the blocks of a file in order, and the table of checksums after them. The caller writes the header last.
pub(super) struct BlockWriter<'a> {
    file: &'a dyn DiskFile,
    progress: &'a mut dyn FnMut(u64) -> Result<()>,
    /// The offset in the file at which `waiting` will be written, a multiple of the block size.
    at: u64,
    waiting: Vec<u8>,
    table: Vec<u8>,
}

impl<'a> BlockWriter<'a> {
    /// Creates a writer that starts after the header of an empty file. Calls `progress` with the number of bytes after
    /// each write.
    pub(super) fn new(file: &'a dyn DiskFile, progress: &'a mut dyn FnMut(u64) -> Result<()>) -> Self {
        Self {
            file,
            progress,
            at: BLOCK,
            waiting: Vec::with_capacity(CHUNK_BYTES + BLOCK_BYTES),
            table: Vec::new(),
        }
    }

    /// Returns the offset in the file of the next byte.
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

    /// Writes the complete blocks in `waiting`.
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

    /// Pads the last block with zeros, and writes the table of checksums and its sums after it. Returns the checksum of
    /// these sums.
    ///
    /// # Errors
    /// `Io`, and the errors of `progress`.
    pub(super) fn finish(mut self) -> Result<u32> {
        let length = self.waiting.len().next_multiple_of(BLOCK_BYTES);
        self.waiting.resize(length, 0);
        if length > 0 {
            self.write_blocks()?;
        }
        let sums = self.table.chunks(BLOCK_BYTES).map(crc32c::crc32c);
        let sums: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
        let sum = crc32c::crc32c(&sums);
        self.table.extend_from_slice(&sums);
        self.file.write_at(self.at, &self.table).map_err(write_error)?;
        Ok(sum)
    }
}

pub(super) fn write_error(error: std::io::Error) -> Error {
    Error::io("cannot write a checkpoint", error)
}
