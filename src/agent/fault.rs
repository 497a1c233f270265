//! Faults of an input. A fault is a cause from a fixed list, with the faulty part of the input.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::fmt;

/// A fault. The text of its cause is a sentence in which the faulty part replaces `{}`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault<C> {
    /// The cause of the fault.
    pub cause: C,
    /// The faulty part of the input. Empty if the cause does not mention a part.
    pub part: String,
}

impl<C> Fault<C> {
    /// Creates a fault from a cause and the faulty part of the input.
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
