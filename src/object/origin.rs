//! The origin of an object: a class of trust that the engine sets.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object". The numbers are part of the format.

use crate::codec::{DecodeError, as_array};
use crate::error::{Error, ErrorCode};

named! {
    /// The class of source of an object or a commit, most trusted first.
    ///
    /// The last three classes are equally untrusted. They are separate because readers distinguish them.
    #[repr(u8)]
    pub enum Origin {
        /// A person who writes directly.
        DirectUser = 1 => "direct_user",
        /// The program that hosts the agent.
        Host = 2 => "host",
        /// A model that writes its own words.
        Model = 3 => "model",
        /// A tool that reads only internal data.
        ToolInternal = 4 => "tool_internal",
        /// A tool that returns external text.
        ToolExternal = 5 => "tool_external",
        /// A document ingested from outside.
        Document = 6 => "document",
        /// Another store or memory system.
        Import = 7 => "import",
    }
}

impl Origin {
    /// Returns the class with a name that a caller typed. Also accepts `untrusted`, which is `tool_external`.
    ///
    /// # Errors
    /// `InvalidInput` if the name is unknown. The error does not quote it, because it may be a secret.
    #[doc(hidden)]
    pub fn from_text(name: &str) -> crate::error::Result<Self> {
        let named = match name {
            "untrusted" => Some(Self::ToolExternal),
            name => Self::from_name(name),
        };
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid("the class of trust is unknown")
                .with_code(ErrorCode::InvalidInput)
                .with_hint(format!("use one of {names}, untrusted"))
        })
    }

    /// Returns the number in the format. Zero is unused.
    #[doc(hidden)]
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// Returns the class with this [`Self::tag`].
    #[doc(hidden)]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.tag() == tag)
    }

    /// Decodes the field of an origin.
    pub(super) fn decode(field: &[u8]) -> Result<Self, DecodeError> {
        let [tag] = as_array(field)?;
        Self::from_tag(tag).ok_or(DecodeError::Invalid("an origin is not known"))
    }

    /// Returns whether this origin is one of the four trusted classes.
    pub fn is_trusted(self) -> bool {
        self.distrust() <= Self::ToolInternal.tag()
    }

    /// Returns the less trusted of the two origins; `a` if they are equally trusted.
    #[must_use]
    #[doc(hidden)]
    pub fn least(a: Self, b: Self) -> Self {
        if b.distrust() > a.distrust() { b } else { a }
    }

    /// Returns whether this is more trusted than `other`.
    #[doc(hidden)]
    pub fn is_above(self, other: Self) -> bool {
        self.distrust() < other.distrust()
    }

    /// Returns a rank. A larger rank is less trusted; the untrusted classes have the same rank.
    pub(crate) fn distrust(self) -> u8 {
        self.tag().min(Self::ToolExternal.tag())
    }
}
