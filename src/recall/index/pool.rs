//! Many short byte lists that grow at their ends, in one allocation.
//!
//! Most terms occur once or twice, so a `Vec` for each would take more than its content. A list of up to eight bytes is
//! in its record; a longer one is a chain of blocks, each about a quarter larger than the one before. A growing list
//! moves nothing, and nothing is freed: an index with many removals is rewritten.
//!
//! # Layer
//! Knows bytes, not their meaning.
//!
//! # Invariants
//! - POO-1: blocks do not overlap, and each belongs to one list.
//! - POO-2: no push is split between two blocks.

/// Bytes in the record itself.
const INLINE: usize = 8;
/// The sizes of the first block of a chain and of the largest blocks, in bytes.
const BLOCK_MIN: usize = 14;
const BLOCK_MAX: usize = 4096;
/// The head of a block: the offset of the next block, and the bytes in use.
const HEAD: usize = 6;
/// Marks a record as a chain.
const CHAINED: u8 = u8::MAX;

/// A byte list of a [`Pool`].
#[derive(Clone, Copy, Default)]
pub(crate) struct List {
    /// The bytes, or the offsets of the first and the last block.
    data: [u8; INLINE],
    /// Free bytes of the last block.
    room: u16,
    /// The number of blocks, until they have their largest size.
    blocks: u8,
    /// Bytes in use of `data`, or [`CHAINED`].
    used: u8,
}

/// The document of many lists.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
}

/// The size of the block after `blocks` others.
fn block_bytes(blocks: u8) -> usize {
    let mut bytes = BLOCK_MIN;
    for _ in 0..blocks {
        bytes = (bytes + bytes / 4).min(BLOCK_MAX);
    }
    bytes
}

impl List {
    fn ends(&self) -> (usize, usize) {
        let both = u64::from_le_bytes(self.data);
        ((both & 0xFFFF_FFFF) as usize, (both >> 32) as usize)
    }

    /// Calls `found` with the bytes of this list, piece by piece.
    pub(crate) fn for_each_piece(&self, pool: &Pool, mut found: impl FnMut(&[u8])) {
        if self.used != CHAINED {
            found(&self.data[..usize::from(self.used)]);
            return;
        }
        let (mut at, last) = self.ends();
        loop {
            let (next, used) = pool.head(at);
            found(&pool.bytes[at + HEAD..at + HEAD + used]);
            if at == last {
                return;
            }
            at = next;
        }
    }

    /// Appends a few bytes.
    pub(crate) fn push(&mut self, pool: &mut Pool, bytes: &[u8]) {
        if self.used != CHAINED {
            let used = usize::from(self.used);
            if used + bytes.len() <= INLINE {
                self.data[used..used + bytes.len()].copy_from_slice(bytes);
                self.used += bytes.len() as u8;
                return;
            }
            let inline = self.data;
            let first = pool.take(block_bytes(0));
            self.data[..4].copy_from_slice(&(first as u32).to_le_bytes());
            self.data[4..].copy_from_slice(&(first as u32).to_le_bytes());
            (self.used, self.blocks, self.room) = (CHAINED, 1, block_bytes(0) as u16);
            self.append(pool, &inline[..used]);
        }
        if usize::from(self.room) < bytes.len() {
            let size = block_bytes(self.blocks);
            let next = pool.take(size);
            let (_, last) = self.ends();
            pool.bytes[last..last + 4].copy_from_slice(&(next as u32).to_le_bytes());
            self.data[4..].copy_from_slice(&(next as u32).to_le_bytes());
            self.room = size as u16;
            // The blocks reach their largest size long before this count saturates.
            self.blocks = self.blocks.saturating_add(1);
        }
        self.append(pool, bytes);
    }

    /// Writes into the last block, which has room.
    fn append(&mut self, pool: &mut Pool, bytes: &[u8]) {
        let (_, last) = self.ends();
        let (_, used) = pool.head(last);
        let at = last + HEAD + used;
        pool.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        let used = (used + bytes.len()) as u16;
        pool.bytes[last + 4..last + HEAD].copy_from_slice(&used.to_le_bytes());
        self.room -= bytes.len() as u16;
    }
}

impl Pool {
    /// The offset of the next block, and the bytes in use.
    fn head(&self, at: usize) -> (usize, usize) {
        let head: [u8; HEAD] = *self.bytes[at..].first_chunk().unwrap_or(&[0; HEAD]);
        let both = head
            .iter()
            .rev()
            .fold(0u64, |both, &byte| both << 8 | u64::from(byte));
        ((both & 0xFFFF_FFFF) as usize, (both >> 32) as usize)
    }

    fn take(&mut self, bytes: usize) -> usize {
        let start = self.bytes.len();
        super::grow(&mut self.bytes, HEAD + bytes);
        self.bytes.resize(start + HEAD + bytes, 0);
        start
    }

    /// Whether another list may have no room.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > (u32::MAX / 2) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_grow_together_keep_their_bytes() {
        let mut pool = Pool::default();
        let mut lists = vec![List::default(); 50];
        let mut wanted = vec![Vec::new(); 50];
        let mut seed = 7u64;
        for _ in 0..60_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % 50;
            let more: Vec<u8> = (0..(seed >> 40) as usize % 6)
                .map(|_| (seed >> 50) as u8)
                .collect();
            lists[at].push(&mut pool, &more);
            wanted[at].push(more);
        }
        for (list, wanted) in lists.iter().zip(&wanted) {
            let (mut found, mut ends) = (Vec::new(), vec![0]);
            list.for_each_piece(&pool, |piece| {
                found.extend_from_slice(piece);
                ends.push(found.len());
            });
            assert_eq!(found, wanted.concat(), "POO-1");
            let mut at = 0;
            for pushed in wanted {
                let inside = ends.iter().all(|&end| end <= at || end >= at + pushed.len());
                assert!(inside, "POO-2");
                at += pushed.len();
            }
        }
        let held: usize = wanted.iter().flatten().map(Vec::len).sum();
        assert!(pool.bytes.len() < held * 3 / 2, "{} for {held}", pool.bytes.len());
    }

    #[test]
    fn a_record_is_small() {
        assert_eq!(size_of::<List>(), 12);
    }
}
