//! The origin of an object: a class of trust that the engine stamps.
//!
//! # Layer
//! L3, inside `object`.
//!
//! # Format
//! docs/format.md, "Object": the numbers are part of the format.

use std::fmt;

use crate::codec::{DecodeError, as_array};

/// The class of source of an object or a commit, most trusted first.
///
/// The last three are equally untrusted. They are separate classes because readers distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Origin {
    /// A person, directly.
    DirectUser = 1,
    /// The program that hosts the agent.
    Host = 2,
    /// The model's own words.
    Model = 3,
    /// A tool that reads only internal data.
    ToolInternal = 4,
    /// A tool that returns external text.
    ToolExternal = 5,
    /// A document ingested from outside.
    Document = 6,
    /// Another store or memory system.
    Import = 7,
}

impl Origin {
    /// All classes, most trusted first.
    pub(crate) const ALL: [Self; 7] = [
        Self::DirectUser,
        Self::Host,
        Self::Model,
        Self::ToolInternal,
        Self::ToolExternal,
        Self::Document,
        Self::Import,
    ];

    /// Returns the name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DirectUser => "direct_user",
            Self::Host => "host",
            Self::Model => "model",
            Self::ToolInternal => "tool_internal",
            Self::ToolExternal => "tool_external",
            Self::Document => "document",
            Self::Import => "import",
        }
    }

    /// Returns the class with this [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
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

    /// Returns whether this is one of the four trusted classes.
    pub fn is_trusted(self) -> bool {
        self.distrust() <= Self::ToolInternal.tag()
    }

    /// Returns the less trusted of the two; `a` if they are equally trusted.
    #[must_use]
    pub(crate) fn least(a: Self, b: Self) -> Self {
        if b.distrust() > a.distrust() { b } else { a }
    }

    /// Returns whether this is more trusted than `other`.
    pub(crate) fn is_above(self, other: Self) -> bool {
        self.distrust() < other.distrust()
    }

    /// Returns a rank: larger is less trusted; the untrusted classes are equal.
    fn distrust(self) -> u8 {
        self.tag().min(Self::ToolExternal.tag())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
