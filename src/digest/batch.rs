//! Hashes many short messages in one pass of the processor's vector unit.
//!
//! BLAKE3 hashes one short message at a time at a tenth of the speed at which it hashes sixteen. The preimages of this
//! crate are padded to whole blocks, so all preimages of one length run in the lanes of one pass.
//!
//! # Layer
//! Layer 0. Part of digest.
//!
//! # Invariants
//! - BTC-1: a batch returns the digests that [`HashSuite::hash_fixed`] returns for each preimage alone.
//!
//! # Source
//! BLAKE3 specification, section 2: a message of at most one chunk is a chain of block compressions, whose last one
//! has the root flag. `blake3::platform` is outside the crate's stable interface, so Cargo.toml accepts only one minor version.

use std::ops::Range;

use blake3::IncrementCounter;
use blake3::platform::{MAX_SIMD_DEGREE, Platform, le_bytes_from_words_32, words_from_le_bytes_32};

use super::{BLOCK, CONTEXT_KEYS, DIGEST_LEN, Domain, HashAlgorithm, HashSuite, ZEROS};

/// The longest message that is one chunk of BLAKE3. A longer message fills the lanes by itself.
pub(super) const CHUNK: usize = 1024;

/// The number of bytes of the length at the start of a preimage of variable length.
const LENGTH: usize = 8;

/// The flags of the BLAKE3 compression function.
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 1 << 1;
const ROOT: u8 = 1 << 3;
const DERIVE_KEY_MATERIAL: u8 = 1 << 6;

/// The words of a chaining value.
type Words = [u32; 8];

fn key_words(domain: Domain) -> Words {
    words_from_le_bytes_32(&CONTEXT_KEYS[domain as usize])
}

/// Returns the BLAKE3 digest of a preimage of at most one chunk. The preimage is passed in parts, and not empty.
pub(super) fn hash_short(domain: Domain, parts: &[&[u8]], length: usize) -> [u8; DIGEST_LEN] {
    debug_assert!((1..=CHUNK).contains(&length));
    let (platform, mut words) = (Platform::detect(), key_words(domain));
    let mut flags = DERIVE_KEY_MATERIAL | CHUNK_START;
    let (mut block, mut filled, mut blocks_left) = (ZEROS, 0, length.div_ceil(BLOCK));
    let mut compress = |block: &[u8; BLOCK]| {
        blocks_left -= 1;
        let last = if blocks_left == 0 { CHUNK_END | ROOT } else { 0 };
        platform.compress_in_place(&mut words, block, BLOCK as u8, 0, flags | last);
        flags = DERIVE_KEY_MATERIAL;
    };
    for part in parts {
        let mut part = *part;
        while !part.is_empty() {
            let (now, later) = part.split_at(part.len().min(BLOCK - filled));
            block[filled..filled + now.len()].copy_from_slice(now);
            (filled, part) = (filled + now.len(), later);
            if filled == BLOCK {
                compress(&block);
                (block, filled) = (ZEROS, 0);
            }
        }
    }
    if filled > 0 {
        compress(&block);
    }
    le_bytes_from_words_32(&words)
}

/// Messages of one domain that are hashed together.
pub(crate) struct HashBatch {
    suite: HashSuite,
    domain: Domain,
    /// The padded preimages, one behind the other.
    padded: Vec<u8>,
    /// The end of each preimage in `padded`.
    ends: Vec<usize>,
}

impl HashBatch {
    /// Makes an empty batch.
    pub(crate) fn new(suite: HashSuite, domain: Domain) -> Self {
        Self {
            suite,
            domain,
            padded: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a preimage of fixed length, in parts; see [`HashSuite::hash_fixed`].
    #[inline]
    pub(crate) fn push_fixed(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.padded.extend_from_slice(part);
        }
        let end = self.padded.len().next_multiple_of(BLOCK);
        self.padded.resize(end, 0);
        self.ends.push(end);
    }

    /// Adds a preimage of variable length; see [`HashSuite::hash_bytes`].
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.push_fixed(&[&(bytes.len() as u64).to_le_bytes(), bytes]);
    }

    /// Adds a preimage of variable length, which `write` appends to the vector that it gets. Returns the place of its bytes
    /// in the vector that [`Self::finish_all`] returns, and the result of `write`. After an error, nothing is added.
    pub(crate) fn push_bytes_with<T, E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
    ) -> Result<(Range<usize>, T), E> {
        let start = self.padded.len();
        self.padded.extend_from_slice(&[0; LENGTH]);
        let written = write(&mut self.padded).inspect_err(|_| self.padded.truncate(start))?;
        let range = start + LENGTH..self.padded.len();
        self.padded[start..range.start].copy_from_slice(&(range.len() as u64).to_le_bytes());
        self.push_fixed(&[]);
        Ok((range, written))
    }

    /// Returns the digests of all messages, in the order in which the messages were added, and the vector of their bytes.
    pub(crate) fn finish_all(self) -> (Vec<[u8; DIGEST_LEN]>, Vec<u8>) {
        let mut digests = Vec::new();
        self.hash(&mut digests);
        (digests, self.padded)
    }

    /// Removes all messages, and appends their digests to `digests` in the order in which the messages were added.
    pub(crate) fn finish(&mut self, digests: &mut Vec<[u8; DIGEST_LEN]>) {
        self.hash(digests);
        self.padded.clear();
        self.ends.clear();
    }

    fn hash(&self, digests: &mut Vec<[u8; DIGEST_LEN]>) {
        let first = digests.len();
        digests.resize(first + self.ends.len(), [0; DIGEST_LEN]);
        let (digests, mut messages) = (&mut digests[first..], Vec::with_capacity(self.ends.len()));
        let mut start = 0;
        for (place, &end) in self.ends.iter().enumerate() {
            let message = &self.padded[start..end];
            start = end;
            let is_short =
                self.suite.algorithm == HashAlgorithm::Blake3 && (1..=CHUNK).contains(&message.len());
            if is_short {
                messages.push((message, place));
            } else {
                digests[place] = self.suite.hash_fixed(self.domain, &[message]);
            }
        }
        if !messages.is_sorted_by_key(|(message, _)| message.len()) {
            messages.sort_by_key(|(message, _)| message.len());
        }
        let key = key_words(self.domain);
        for group in messages.chunk_by(|(one, _), (next, _)| one.len() == next.len()) {
            hash_equally_long(&key, group, digests);
        }
    }
}

/// The number of messages that [`hash_each`] copies before it hashes them. Their copies are still in the processor's second
/// cache then, and messages of eight lengths fill sixteen lanes each.
const TOGETHER: usize = 128;

/// Returns the digest of each preimage of variable length, in their order.
pub(crate) fn hash_each<'a>(
    suite: HashSuite,
    domain: Domain,
    all: impl Iterator<Item = &'a [u8]>,
) -> Vec<[u8; DIGEST_LEN]> {
    let (mut batch, mut digests) = (
        HashBatch::new(suite, domain),
        Vec::with_capacity(all.size_hint().0),
    );
    for bytes in all {
        batch.push_bytes(bytes);
        if batch.ends.len() == TOGETHER {
            batch.finish(&mut digests);
        }
    }
    batch.finish(&mut digests);
    digests
}

/// Hashes messages of one length, and writes each digest to its place.
fn hash_equally_long(key: &Words, group: &[(&[u8], usize)], digests: &mut [[u8; DIGEST_LEN]]) {
    macro_rules! of_blocks {
        ($($blocks:literal)*) => {
            match group[0].0.len() / BLOCK {
                $($blocks => hash_group::<{ $blocks * BLOCK }>(key, group, digests),)*
                _ => unreachable!("a short message has one to sixteen whole blocks"),
            }
        };
    }
    of_blocks!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

fn hash_group<const N: usize>(key: &Words, group: &[(&[u8], usize)], digests: &mut [[u8; DIGEST_LEN]]) {
    let platform = Platform::detect();
    let lanes = platform.simd_degree();
    for run in group.chunks(lanes) {
        // A pass costs about as much as one message alone. So the unused lanes hash the first message again.
        let used = if run.len() == 1 { 1 } else { lanes };
        let message = |lane: usize| run.get(lane).unwrap_or(&run[0]).0.first_chunk::<N>();
        let inputs: [&[u8; N]; MAX_SIMD_DEGREE] =
            std::array::from_fn(|lane| message(lane).expect("every message of a group has N bytes"));
        let mut out = [0; MAX_SIMD_DEGREE * DIGEST_LEN];
        platform.hash_many(
            &inputs[..used],
            key,
            0,
            IncrementCounter::No,
            DERIVE_KEY_MATERIAL,
            CHUNK_START,
            CHUNK_END | ROOT,
            &mut out,
        );
        for ((_, place), digest) in run.iter().zip(out.as_chunks::<DIGEST_LEN>().0) {
            digests[*place] = *digest;
        }
    }
}
