//! Faults of an input: a cause out of a table, and the part of the input that the cause names.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::fmt;

/// A fault. The name of its cause is a sentence, in which the part takes the place of `{}`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault<C> {
    /// Its cause.
    pub cause: C,
    /// The part of the input.
    pub part: String,
}

impl<C> Fault<C> {
    /// Returns the fault of a part of the input.
    pub(crate) fn of(cause: C, part: impl Into<String>) -> Self {
        let part = part.into();
        Self { cause, part }
    }
}

impl<C> From<C> for Fault<C> {
    fn from(cause: C) -> Self {
        Self::of(cause, "")
    }
}

impl<C: fmt::Display> fmt::Display for Fault<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause.to_string().replace("{}", &self.part))
    }
}
