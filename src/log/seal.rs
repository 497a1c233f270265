//! Seals: the last frame of a batch. A batch is valid only with its seal.
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

use super::fixed::{Fixed, layout};
use super::frame::framed_bytes;
use super::segment::SEGMENT_HEADER_BYTES;
use crate::codec::Reader;
use crate::digest::{BatchDigest, CommitDigest, Domain, HashSuite};

/// The number of bytes in a seal's body.
pub(super) const SEAL_BYTES: usize = Seal::BYTES + BatchDigest::BYTES;
/// The number of bytes in a seal's frame.
pub(super) const SEAL_FRAME_BYTES: u64 = framed_bytes(SEAL_BYTES) as u64;

/// The number and the digest of the last batch. The next batch continues this chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) batch: u64,
    /// The digest of the last batch; `None` if the digest is unknown.
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
    /// The chain before the first batch of a log. This chain has batch number 0 and a digest of zeros.
    pub(super) const START: Self = Self {
        batch: 0,
        digest: Some([0; 32]),
    };

    /// Returns the chain before batch `number`. The digest of the previous batch is unknown.
    pub(super) fn before(number: u64) -> Self {
        Self {
            batch: number.wrapping_sub(1),
            digest: None,
        }
    }

    /// Returns the chain after a batch.
    pub(super) fn after(batch: u64, digest: BatchDigest) -> Self {
        Self {
            batch,
            digest: Some(*digest.as_bytes()),
        }
    }
}

layout! {
    Seal {
        batch: u64,
        start: u64,
        length: u64,
        synced_upto as "synced up to": u64,
        previous as "previous digest": [u8; 32],
        commit: CommitDigest,
    }
}

impl Seal {
    /// Computes the digest of the batch that this seal ends. The digest covers the seal's fields and the bytes of the
    /// batch's `frames` (SEA-1).
    pub(super) fn digest(&self, suite: HashSuite, frames: &[u8]) -> BatchDigest {
        let length = (Self::BYTES + frames.len()) as u64;
        let mut covered = Vec::with_capacity(Self::BYTES);
        self.put(&mut covered);
        let parts: [&[u8]; 3] = [&length.to_le_bytes(), &covered, frames];
        BatchDigest::from_bytes(suite.hash_fixed(Domain::Batch, &parts))
    }

    /// Returns the body of the seal's frame.
    pub(super) fn encode(&self, digest: BatchDigest) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SEAL_BYTES);
        self.put(&mut bytes);
        digest.put(&mut bytes);
        bytes
    }

    /// Decodes a seal and its digest. Returns `None` if the length is wrong or the fields contradict each other.
    pub(super) fn decode(body: &[u8]) -> Option<(Self, BatchDigest)> {
        let mut reader = Reader::new(body);
        let seal = Self::take(&mut reader).ok()?;
        let digest = BatchDigest::take(&mut reader).ok()?;
        reader.finish().ok()?;
        // INVARIANT SEA-2: the seal's `synced_upto` is never after the start of its batch.
        let plausible = seal.synced_upto <= seal.start && seal.synced_upto >= SEGMENT_HEADER_BYTES as u64;
        (plausible && seal.start.checked_add(seal.length).is_some()).then_some((seal, digest))
    }
}
