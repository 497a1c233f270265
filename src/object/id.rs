//! The id of an object: its permanent name.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object", tags 1 and 4.

use super::names::{Rule, name_type};

name_type! {
    /// The permanent name of an object: 1 to 256 bytes of UTF-8 in normal form NFC without control characters.
    ///
    /// An id may contain any other character, because the store never uses it as a path.
    Id, Rule { nfc: true, ..Rule::new("an id", 256) }
}

impl Id {
    /// Makes an id of a text that was checked before.
    pub(super) fn from_verified(text: &str) -> Self {
        Self(std::sync::Arc::from(text))
    }
}
