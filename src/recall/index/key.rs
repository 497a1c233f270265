//! Keys of documents.
//!
//! # Layer
//! L6, inside `recall`. Pure: imports nothing of the crate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The key of a document: 16 bytes that the caller chooses, such as the first half of the digest of an id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Key(pub [u8; Self::BYTES]);

impl Key {
    /// The length of a key.
    pub const BYTES: usize = 16;
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
