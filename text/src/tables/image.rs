//! Images: sections of bytes with a checksum for each block, checked at the first access.
//!
//! # Layer
//! Layer 0, inside `tables`. Knows sections, not rows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;

/// The length of a block, which has a checksum of its own.
const BLOCK: usize = 4096;
/// The length of the trailer: the length of the sections u64, the number of sections u32, and the checksum of
/// everything behind the sections u32.
pub const TRAILER: usize = 16;

/// Sections of bytes, checked block by block.
#[derive(Debug)]
pub struct Image {
    bytes: Bytes,
    /// The start and the end of each section.
    sections: Vec<(usize, usize)>,
    /// The end of the last section.
    content: usize,
    /// The start of the checksums.
    sums: usize,
    /// One bit for each block that matched its checksum.
    checked: Box<[AtomicU64]>,
    is_damaged: AtomicBool,
}

impl Image {
    /// Opens an image. Checks the table of sections and the checksums of the blocks, but not the blocks. Returns `None`
    /// if these are damaged.
    pub fn open(bytes: Bytes) -> Option<Self> {
        let (rest, trailer) = bytes.split_last_chunk::<TRAILER>()?;
        let content = usize::try_from(u64_at(trailer, 0)).ok()?;
        let count = u32_at(trailer, 8) as usize;
        let table = rest.get(content..)?;
        let blocks = content.div_ceil(BLOCK);
        let length = count.checked_mul(8)?.checked_add(blocks.checked_mul(4)?)?;
        let sum = crc32c::crc32c_append(crc32c::crc32c(table), &trailer[..12]);
        if table.len() != length || sum != u32_at(trailer, 12) {
            return None;
        }
        let mut sections = Vec::with_capacity(count);
        let mut start = 0;
        for end in table[..count * 8].chunks_exact(8) {
            let end = usize::try_from(u64_at(end, 0)).ok()?;
            if end < start || end > content {
                return None;
            }
            sections.push((start, end));
            start = end;
        }
        let checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0));
        Some(Self {
            sections,
            content,
            sums: content + count * 8,
            checked: checked.collect(),
            is_damaged: AtomicBool::new(false),
            bytes,
        })
    }

    /// Returns the length of a section, or 0 if there is no such section.
    pub fn length(&self, section: usize) -> usize {
        self.sections.get(section).map_or(0, |(start, end)| end - start)
    }

    /// Returns `length` bytes of a section. Returns `None` and marks the image as damaged if the bytes do not exist or
    /// do not match their checksums.
    #[inline]
    pub fn read(&self, section: usize, at: usize, length: usize) -> Option<&[u8]> {
        self.place(section, at, length).or_else(|| {
            self.fail();
            None
        })
    }

    #[inline]
    fn place(&self, section: usize, at: usize, length: usize) -> Option<&[u8]> {
        let &(start, end) = self.sections.get(section)?;
        let first = start.checked_add(at)?;
        let last = first.checked_add(length)?;
        if last > end {
            return None;
        }
        if length == 0 {
            return Some(&[]);
        }
        let blocks = first / BLOCK..=(last - 1) / BLOCK;
        for block in blocks {
            let bit = 1 << (block % 64);
            if self.checked.get(block / 64)?.load(Ordering::Relaxed) & bit == 0 {
                self.check(block)?;
            }
        }
        self.bytes.get(first..last)
    }

    /// Checks a block. Returns `None` if the block does not match its checksum (TAB-2).
    #[cold]
    fn check(&self, block: usize) -> Option<()> {
        let start = block * BLOCK;
        let bytes = self.bytes.get(start..self.content.min(start + BLOCK))?;
        let sum = self.bytes.get(self.sums + block * 4..)?.get(..4)?;
        if crc32c::crc32c(bytes) != u32_at(sum, 0) {
            return None;
        }
        self.checked
            .get(block / 64)?
            .fetch_or(1 << (block % 64), Ordering::Relaxed);
        Some(())
    }

    /// Checks every block.
    pub fn is_whole(&self) -> bool {
        (0..self.content.div_ceil(BLOCK)).all(|block| self.check(block).is_some())
    }

    /// Marks the image as damaged, because its content contradicts itself.
    pub(crate) fn fail(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    /// Returns whether a read found damage. What was read from the image since it was opened may then be wrong.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }
}

/// Returns the number at this offset, or 0 if the bytes end before it.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.map_or(0, |number| u32::from_le_bytes(*number))
}

/// Returns the number at this offset, or 0 if the bytes end before it.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.map_or(0, |number| u64::from_le_bytes(*number))
}

/// Writes an image, section by section.
#[derive(Default)]
pub struct Builder {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Builder {
    /// Appends a section.
    pub fn section(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Returns the image.
    pub fn finish(self) -> Vec<u8> {
        let Self { mut bytes, ends } = self;
        let content = bytes.len();
        let sums: Vec<u32> = bytes.chunks(BLOCK).map(crc32c::crc32c).collect();
        for end in &ends {
            bytes.extend_from_slice(&(*end as u64).to_le_bytes());
        }
        for sum in sums {
            bytes.extend_from_slice(&sum.to_le_bytes());
        }
        bytes.extend_from_slice(&(content as u64).to_le_bytes());
        bytes.extend_from_slice(&(ends.len() as u32).to_le_bytes());
        let sum = crc32c::crc32c(&bytes[content..]);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        let mut builder = Builder::default();
        builder.section(|bytes| bytes.extend((0..10_000u32).map(|at| (at % 251) as u8)));
        builder.section(|_| {});
        builder.section(|bytes| bytes.extend(b"the last section"));
        builder.finish()
    }

    fn read_all(image: &Image) -> Vec<Option<Vec<u8>>> {
        let read = |section| image.read(section, 0, image.length(section)).map(<[u8]>::to_vec);
        (0..3).map(read).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let image = Image::open(image().into()).unwrap();
        assert_eq!(read_all(&image)[2].as_deref(), Some(&b"the last section"[..]));
        assert_eq!(image.read(0, 5000, 3), Some(&[231, 232, 233][..]));
        assert!(image.is_whole() && !image.is_damaged());
        for (section, at, length) in [(0, 9_999, 2), (0, usize::MAX, 2), (1, 0, 1), (3, 0, 0)] {
            assert!(image.read(section, at, length).is_none(), "TAB-1");
        }
        assert!(image.is_damaged());
    }

    /// INVARIANT TAB-2: a byte of a block that does not match its checksum is never returned, and marks the image.
    #[test]
    fn every_changed_or_missing_byte_is_noticed() {
        let whole = image();
        let expected = read_all(&Image::open(whole.clone().into()).unwrap());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            if let Some(image) = Image::open(bytes.into()) {
                let read = read_all(&image);
                assert!(image.is_damaged() && !image.is_whole(), "byte {at}");
                for (found, expected) in read.iter().zip(&expected) {
                    assert!(found.is_none() || found == expected, "byte {at}");
                }
            }
        }
        for length in 0..whole.len() {
            assert!(Image::open(Bytes::copy_from_slice(&whole[..length])).is_none());
        }
    }
}
