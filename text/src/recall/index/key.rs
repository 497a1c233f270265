//! The keys of documents.
//!
//! # Layer
//! Layer 6, inside `recall`. Pure: imports nothing of the crate.

/// The key of a document: 16 bytes that the caller chooses, such as the first half of the digest of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub [u8; Self::BYTES]);

impl Key {
    /// The length of a key.
    pub const BYTES: usize = 16;
}
