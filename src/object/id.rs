//! The id of an object: the name that it has for ever.
//!
//! # Layer
//! L3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object", tags 1 and 4.

use super::names::{name_type, rule};

name_type! {
    /// Names an object for ever: 1 to 256 bytes of UTF-8 in normal form NFC without control characters.
    ///
    /// An id is never read as a path, whatever characters it holds.
    Id, rule!("an id", 256, nfc: true)
}

#[cfg(feature = "serde")]
impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
