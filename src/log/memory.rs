//! Bytes of a segment in memory: buffers of the active part and maps. Many threads read them and share no counter.
//!
//! # Layer
//! Layer 2. Knows offsets and lengths, but no frames.
//!
//! # Invariants
//! - BUF-1: a reader waits for no thread, and writes to no memory that the readers of other threads use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

use super::frame::FRAME_ALIGNMENT;

/// The maximal number of handles of the same bytes.
const HANDLES_MAX: usize = 16;
/// The number of bytes for which one more handle is worth its memory.
const BYTES_A_HANDLE: usize = 64 << 10;

/// Shared bytes with several handles. Each handle has its own reference count, so the processors of threads that use
/// different handles do not compete for the memory of one count.
pub(super) struct Shared {
    first: Bytes,
    more: Box<[Bytes]>,
}

/// The owner of one handle. The alignment separates its reference count from other data.
#[repr(align(128))]
struct Apart(Bytes);

impl AsRef<[u8]> for Apart {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Shared {
    pub(super) fn new(bytes: Bytes) -> Self {
        let handles = (bytes.len() / BYTES_A_HANDLE).min(HANDLES_MAX);
        let more = (0..handles).map(|_| Bytes::from_owner(Apart(bytes.clone())));
        Self {
            more: more.collect(),
            first: bytes,
        }
    }

    /// Returns the handle of this thread.
    pub(super) fn handle(&self) -> &Bytes {
        match self.more.len() {
            0 => &self.first,
            handles => self.more.get(thread_number() % handles).unwrap_or(&self.first),
        }
    }
}

/// Returns the number of this thread, counted from 0 in the order of the first calls.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.try_with(|number| *number).unwrap_or_default()
}

/// Buffers of a segment in the order of their offsets. One thread adds buffers while others read.
pub(super) struct Buffers {
    /// The blocks of a growing list. Block `n` has 2^n places, so no place ever moves.
    blocks: [OnceLock<Box<[OnceLock<Buffer>]>>; usize::BITS as usize],
    count: AtomicUsize,
}

struct Buffer {
    start: u64,
    bytes: Shared,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            blocks: [const { OnceLock::new() }; usize::BITS as usize],
            count: AtomicUsize::new(0),
        }
    }
}

impl Buffers {
    /// Adds the bytes at `start`, after all earlier ones. Bytes that are not after them may not be found later.
    pub(super) fn add(&self, start: u64, bytes: Bytes) {
        let index = self.count.load(Ordering::Relaxed);
        let (block, at) = place_of(index);
        let block = self.blocks[block].get_or_init(|| (0..1 << block).map(|_| OnceLock::new()).collect());
        let bytes = Shared::new(bytes);
        if block[at].set(Buffer { start, bytes }).is_ok() {
            self.count.store(index + 1, Ordering::Release);
        }
    }

    fn get(&self, index: usize) -> Option<&Buffer> {
        let (block, at) = place_of(index);
        self.blocks[block].get()?.get(at)?.get()
    }

    /// Returns the buffer that contains `offset`, and the offset of its first byte.
    pub(super) fn find(&self, offset: u64) -> Option<(u64, &Shared)> {
        // The number of buffers that start at or before `offset`.
        let (mut low, mut high) = (0, self.count.load(Ordering::Acquire));
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle)?.start <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = self.get(low.checked_sub(1)?)?;
        let end = found.start + found.bytes.first.len() as u64;
        (offset < end).then_some((found.start, &found.bytes))
    }
}

/// Returns the block of a place in the list, and the place's index in the block.
fn place_of(index: usize) -> (usize, usize) {
    let block = (index + 1).ilog2();
    (block as usize, index + 1 - (1 << block))
}

/// A mapped part of a segment, from the start of its file, and which of its frames were verified.
pub(super) struct Map {
    bytes: Shared,
    verified: Verified,
}

impl Map {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self {
            verified: Verified::new(bytes.len()),
            bytes: Shared::new(bytes),
        }
    }

    /// Returns the mapped bytes.
    pub(super) fn bytes(&self) -> &Bytes {
        self.bytes.handle()
    }

    pub(super) fn holds(&self, offset: u64) -> bool {
        offset < self.bytes.first.len() as u64
    }

    pub(super) fn verified(&self) -> &Verified {
        &self.verified
    }
}

/// The number of words in a chunk of a set of frames. A chunk covers 512 KiB of a segment.
const CHUNK_WORDS: usize = 512;
const CHUNK_BITS: usize = CHUNK_WORDS * 64;

/// A set of frames, with one bit for each offset at which a frame may start. Allocates only the chunks it needs.
pub(super) struct Verified {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
}

type Chunk = [AtomicU64; CHUNK_WORDS];

impl Verified {
    fn new(bytes: usize) -> Self {
        let chunks = bytes.div_ceil(FRAME_ALIGNMENT * CHUNK_BITS);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns whether the set contains the frame at `offset`.
    pub(super) fn contains(&self, offset: u64) -> bool {
        let (chunk, word, bit) = bit_of(offset);
        let chunk = self.chunks.get(chunk).and_then(|chunk| chunk.get());
        // The bytes of a map never change, so no other memory depends on the bit.
        chunk.is_some_and(|chunk| chunk[word].load(Ordering::Relaxed) & bit != 0)
    }

    pub(super) fn add(&self, offset: u64) {
        let (chunk, word, bit) = bit_of(offset);
        if let Some(chunk) = self.chunks.get(chunk) {
            let chunk = chunk.get_or_init(|| Box::new([const { AtomicU64::new(0) }; CHUNK_WORDS]));
            chunk[word].fetch_or(bit, Ordering::Relaxed);
        }
    }
}

/// Returns the chunk, the word in the chunk and the bit of the frame at `offset`.
fn bit_of(offset: u64) -> (usize, usize, u64) {
    let step = (offset / FRAME_ALIGNMENT as u64) as usize;
    let within = step % CHUNK_BITS;
    (step / CHUNK_BITS, within / 64, 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(buffers: &Buffers, offset: u64) -> Option<(u64, u8)> {
        let (start, bytes) = buffers.find(offset)?;
        Some((start, bytes.handle()[(offset - start) as usize]))
    }

    #[test]
    fn a_buffer_is_found_by_every_offset_in_it_and_by_no_other() {
        let buffers = Buffers::default();
        assert_eq!(found(&buffers, 0), None);
        // Buffer `n` has the bytes `n` at 100 n to 100 n + 50.
        for number in 1..=100_u8 {
            buffers.add(u64::from(number) * 100, Bytes::from(vec![number; 50]));
            for known in 1..=number {
                let start = u64::from(known) * 100;
                assert_eq!(found(&buffers, start), Some((start, known)));
                assert_eq!(found(&buffers, start + 49), Some((start, known)));
                assert_eq!(found(&buffers, start + 50), None);
                assert_eq!(found(&buffers, start - 1), None);
            }
        }
    }

    #[test]
    fn readers_find_every_buffer_that_was_added_before() {
        let buffers = Buffers::default();
        let added = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=5_000 {
                    buffers.add(number * 16, Bytes::from(vec![number as u8; 16]));
                    added.store(number, Ordering::Release);
                }
            });
            let mut seen = 0;
            while seen < 5_000 {
                seen = added.load(Ordering::Acquire);
                for number in [seen, seen.div_ceil(2)].into_iter().filter(|number| *number > 0) {
                    let (start, byte) = (number * 16, number as u8);
                    assert_eq!(found(&buffers, start + 15), Some((start, byte)));
                }
            }
        });
    }

    #[test]
    fn threads_read_large_bytes_by_different_handles() {
        let shared = Shared::new(Bytes::from(vec![7; BYTES_A_HANDLE * HANDLES_MAX]));
        let handle = || std::ptr::from_ref(shared.handle()).addr();
        let mine = handle();
        assert_eq!(handle(), mine, "one thread, one handle");
        // Other tests of the process take numbers too, so one thread may get the handle of this one.
        let others = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(handle)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(others.iter().any(|other| *other != mine), "BUF-1");
        assert!(shared.more.iter().all(|handle| **handle == *shared.first));
        assert!(Shared::new(Bytes::from_static(b"short")).more.is_empty());
    }

    #[test]
    fn a_set_contains_exactly_the_frames_that_were_added() {
        let length = 3 * FRAME_ALIGNMENT * CHUNK_BITS / 2;
        let set = Verified::new(length);
        let offsets: Vec<u64> = (0..length as u64).step_by(FRAME_ALIGNMENT).collect();
        let chosen = |offset: &u64| offset.is_multiple_of(7);
        offsets
            .iter()
            .copied()
            .filter(chosen)
            .for_each(|offset| set.add(offset));
        assert!(
            offsets
                .iter()
                .all(|offset| set.contains(*offset) == chosen(offset))
        );
        set.add(u64::MAX);
        assert!(!set.contains(u64::MAX));
    }
}
