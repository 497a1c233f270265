//! Short texts with rules: the kind, scope and position of an object, and the rule that all names share.
//!
//! Two functions check a rule and must agree. `check` checks a text from a caller, and reports the fault and its
//! position in a sentence. `decode` checks stored bytes, and reports only the broken rule.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object".

use std::sync::Arc;

use unicode_normalization::is_nfc;

use crate::codec::{DecodeError, as_text};
use crate::error::{Error, ErrorCode, Result};

/// The rule of a short text: 1 to `bytes_max` bytes without control characters.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The kind of text with its article for messages, such as `an id`.
    pub(super) what: &'static str,
    pub(crate) bytes_max: usize,
    /// Whether the text must be in normal form NFC.
    pub(super) nfc: bool,
}

/// The fault of a text in three forms: a short description, the end of a sentence that begins with the kind of text,
/// and a hint.
type Fault = (&'static str, String, String);

impl Rule {
    pub(super) const fn new(what: &'static str, bytes_max: usize) -> Self {
        Self {
            what,
            bytes_max,
            nfc: false,
        }
    }

    fn broken_by(&self, text: &str) -> Option<Fault> {
        if text.is_empty() {
            let hint = format!("give {} of 1 to {} bytes", self.what, self.bytes_max);
            return Some(("is empty", "is empty".to_owned(), hint));
        }
        if text.len() > self.bytes_max {
            let why = format!("of {} bytes is too long", text.len());
            let hint = format!("use at most {} bytes of UTF-8", self.bytes_max);
            return Some(("is too long", why, hint));
        }
        // Printable ASCII has no control characters and is in normal form. Most names are of this kind.
        if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            return None;
        }
        if let Some((at, character)) = text.char_indices().find(|(_, character)| character.is_control()) {
            let code = u32::from(character);
            let why = format!("contains the control character U+{code:04X} at byte {at}");
            let hint =
                "remove the character: line breaks, tabs and other control characters are not allowed here";
            return Some(("contains a control character", why, hint.to_owned()));
        }
        (self.nfc && !is_nfc(text)).then(|| {
            let hint = "normalise the text to NFC first, so that one name has one spelling";
            (
                "is not in normal form NFC",
                "is not in Unicode normal form NFC".to_owned(),
                hint.to_owned(),
            )
        })
    }

    /// Checks a text from a caller.
    pub(super) fn check(&self, text: &str) -> Result<()> {
        let Some((_, why, hint)) = self.broken_by(text) else {
            return Ok(());
        };
        let error = Error::invalid(format!("{} {why}", self.what)).with_hint(hint);
        Err(if text.len() > self.bytes_max {
            error.with_code(ErrorCode::OverLimit)
        } else {
            error
        })
    }

    /// Checks a decoded text.
    pub(super) fn decode<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, DecodeError> {
        let text = as_text(bytes)?;
        match self.broken_by(text) {
            None => Ok(text),
            Some((fault, ..)) => Err(DecodeError::Text(self.what, fault)),
        }
    }
}

/// Declares a text type that is cheap to clone and obeys a [`Rule`].
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $rule:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The rule for texts of this type; `RULE.bytes_max` is their maximal length.
            pub(crate) const RULE: $crate::object::names::Rule = $rule;

            /// Checks `text` and stores it unchanged.
            ///
            /// # Errors
            /// `InvalidInput`, naming the broken rule and its position in `text`.
            pub fn new(text: &str) -> $crate::error::Result<Self> {
                Self::RULE.check(text)?;
                Ok(Self(std::sync::Arc::from(text)))
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_in_json!($name, { "type": "string" });

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        // Equality, order and hash are the same as for the text, so a map with these keys can be searched with a plain
        // `&str`.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                &*self.0 == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                *self == **text
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                Self::new(text)
            }
        }
    };
}
pub(super) use name_type;

name_type! {
    /// The kind of an object: 1 to 64 bytes without control characters, such as `fact`.
    Kind, Rule::new("a kind", 64)
}
name_type! {
    /// The scope of an object: 1 to 128 bytes of free text without control characters.
    ///
    /// A scope is compared byte by byte and is never derived from a folder. The default is [`Scope::GLOBAL`].
    Scope, Rule::new("a scope", 128)
}
name_type! {
    /// The position of an object among its siblings: 1 to 64 bytes without control characters.
    ///
    /// Siblings sort by these bytes. Objects without a position follow all other objects, sorted by id.
    Position, Rule::new("a position", 64)
}

impl Scope {
    /// The scope of an object without an explicit scope.
    pub const GLOBAL: &'static str = "global";
}

impl Default for Scope {
    fn default() -> Self {
        Self(Arc::from(Self::GLOBAL))
    }
}
