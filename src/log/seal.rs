//! Seals: the last frame of a batch, which makes it valid as a whole.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - SEA-1: a batch is valid completely or not at all, because its digest covers the seal's fields and every byte of
//!   its frames.
//! - SEA-2: the seal's `synced_upto` is never after the start of its batch.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use super::frame::framed_bytes;
use super::segment::SEGMENT_HEADER_BYTES;
use crate::codec::Reader;
use crate::digest::{BatchDigest, CommitDigest, Domain, HashSuite};

/// The number of bytes in a seal's body.
pub(super) const SEAL_BYTES: usize = 128;
/// The number of bytes in a seal's frame.
pub(super) const SEAL_FRAME_BYTES: u64 = framed_bytes(SEAL_BYTES) as u64;
const COVERED_BYTES: usize = 96;

/// The end of the chain of batches, which the next batch continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) batch: u64,
    /// The digest of the last batch; `None` if only the manifest names that batch.
    pub(super) digest: Option<[u8; 32]>,
}

/// The last frame of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) batch: u64,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) synced_upto: u64,
    pub(super) previous: [u8; 32],
    pub(super) commit: CommitDigest,
}

impl Chain {
    /// The chain before the first batch of a log.
    pub(super) const START: Self = Self {
        batch: 0,
        digest: Some([0; 32]),
    };

    /// The chain before a batch of this number, with the digest before it left open.
    pub(super) fn before(number: u64) -> Self {
        Self {
            batch: number.wrapping_sub(1),
            digest: None,
        }
    }

    /// The chain after a batch.
    pub(super) fn after(batch: u64, digest: BatchDigest) -> Self {
        Self {
            batch,
            digest: Some(*digest.as_bytes()),
        }
    }
}

impl Seal {
    fn encode_covered(&self) -> [u8; COVERED_BYTES] {
        let mut bytes = [0; COVERED_BYTES];
        bytes[0..8].copy_from_slice(&self.batch.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.start.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.synced_upto.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.previous);
        bytes[64..96].copy_from_slice(self.commit.as_bytes());
        bytes
    }

    /// Returns the digest of the batch that this seal ends, computed over the bytes of its frames (SEA-1).
    pub(super) fn digest(&self, suite: HashSuite, frames: &[u8]) -> BatchDigest {
        let length = (COVERED_BYTES + frames.len()) as u64;
        let parts: [&[u8]; 3] = [&length.to_le_bytes(), &self.encode_covered(), frames];
        BatchDigest::from_bytes(suite.hash_fixed(Domain::Batch, &parts))
    }

    /// Returns the body of the seal's frame.
    pub(super) fn encode(&self, digest: BatchDigest) -> [u8; SEAL_BYTES] {
        let mut bytes = [0; SEAL_BYTES];
        bytes[..COVERED_BYTES].copy_from_slice(&self.encode_covered());
        bytes[COVERED_BYTES..].copy_from_slice(digest.as_bytes());
        bytes
    }

    /// Decodes a seal and its digest; returns `None` if the fields contradict each other.
    pub(super) fn decode(body: &[u8]) -> Option<(Self, BatchDigest)> {
        if body.len() != SEAL_BYTES {
            return None;
        }
        let mut reader = Reader::new(body);
        let seal = Self {
            batch: reader.u64().ok()?,
            start: reader.u64().ok()?,
            length: reader.u64().ok()?,
            synced_upto: reader.u64().ok()?,
            previous: reader.array().ok()?,
            commit: CommitDigest::from_bytes(reader.array().ok()?),
        };
        let digest = BatchDigest::from_bytes(reader.array().ok()?);
        // INVARIANT SEA-2: the seal's `synced_upto` is never after the start of its batch.
        let plausible = seal.synced_upto <= seal.start && seal.synced_upto >= SEGMENT_HEADER_BYTES as u64;
        (plausible && seal.start.checked_add(seal.length).is_some()).then_some((seal, digest))
    }
}
