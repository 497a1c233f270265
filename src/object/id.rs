//! The id of an object: its permanent name.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object", tags 1 and 4.

use super::names::{Rule, name_type};
use crate::digest::{DIGEST_LEN, KeyPath};
use crate::error::Result;

/// The prefix of the ids that stand for erased ones.
const ERASED: &str = "erased:";

name_type! {
    /// The permanent name of an object: 1 to 256 bytes of UTF-8 in normal form NFC without control characters.
    ///
    /// An id may contain any other character, because the store never uses it as a path.
    Id, Rule { nfc: true, ..Rule::new("an id", 256) }
}

impl Id {
    /// Returns the id that stands for an erased one, of which only the key path is known.
    ///
    /// # Errors
    /// None in practice: the id is valid.
    pub(crate) fn of_erased(key: &KeyPath) -> Result<Self> {
        Self::new(&format!("{ERASED}{}", key.to_hex()))
    }

    /// Returns the digits of the key path, if this id stands for an erased one.
    #[doc(hidden)]
    pub fn erased_key(&self) -> Option<&str> {
        let digits = self.as_str().strip_prefix(ERASED)?;
        let is_key = digits.len() == 2 * DIGEST_LEN && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_key.then_some(digits)
    }

    /// Makes an id of a text that was checked before.
    pub(super) fn from_verified(text: &str) -> Self {
        Self(std::sync::Arc::from(text))
    }
}
