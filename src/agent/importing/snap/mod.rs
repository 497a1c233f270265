//! Reads `memory.snap`, the file of the published memory core: data as a Lisp system prints it.
//!
//! The file is read as data and never evaluated. Lists, texts, symbols, keywords, numbers, characters, vectors and
//! structures are understood; every reader macro that could run code or build a cycle is refused with the byte at which
//! it stands. What the data says of objects becomes [`SnapObject`]s.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - SNP-1: nothing of the file is evaluated, and nothing is built that it does not spell out.
//! - SNP-2: depth, number of values and memory are bounded by the limits; reading does not recurse.

mod objects;
mod reader;
mod token;
mod value;

use std::fmt;

pub use self::objects::{Snap, SnapFinding, SnapObject, SnapTable, read_snap};
pub use self::reader::read_value;
pub use self::value::LispValue;

/// Limits of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapLimits {
    /// Bytes of a file.
    pub bytes_max: usize,
    /// How deep lists may be nested; more than 256 is never read, since values are given up one inside the other.
    pub depth_max: usize,
    /// Values in a file, each list and each part of it counted.
    pub values_max: usize,
}

impl Default for SnapLimits {
    /// 256 MiB, 64 deep, 4 million values.
    fn default() -> Self {
        Self {
            bytes_max: 256 * 1024 * 1024,
            depth_max: 64,
            values_max: 4_000_000,
        }
    }
}

/// Why a file is not read, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapError {
    /// The byte at which it stands.
    pub offset: usize,
    /// What it is.
    pub reason: SnapReason,
}

/// Why a file is not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapReason {
    /// The file has more bytes than allowed.
    TooLong,
    /// It is not text in UTF-8 from here on.
    NotText,
    /// There is no value in it.
    Empty,
    /// A reader macro that could evaluate, or that no printed data needs.
    Refused(String),
    /// Lists are nested deeper than allowed.
    TooDeep,
    /// There are more values than allowed.
    TooMany,
    /// What begins here has no end.
    Open,
    /// A parenthesis closes nothing.
    Closes,
    /// A stop stands where no pair can be.
    Dot,
    /// A symbol or number is malformed.
    Token,
    /// A structure has no name, or a field without a value.
    Structure,
    /// A character has no such name.
    Character,
    /// Something follows the value.
    Trailing,
    /// The value is not a list of tables by name.
    NoTables,
}

impl fmt::Display for SnapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.reason {
            SnapReason::TooLong => "the file is too long",
            SnapReason::NotText => "the file is not text",
            SnapReason::Empty => "the file holds no value",
            SnapReason::Refused(sign) => {
                return write!(
                    f,
                    "byte {}: `{sign}` is refused: data is read, never evaluated",
                    self.offset
                );
            }
            SnapReason::TooDeep => "lists are nested too deep",
            SnapReason::TooMany => "there are too many values",
            SnapReason::Open => "what begins here has no end",
            SnapReason::Closes => "a parenthesis closes nothing",
            SnapReason::Dot => "a stop stands where no pair can be",
            SnapReason::Token => "a symbol or number is malformed",
            SnapReason::Structure => "a structure has no name, or a field without a value",
            SnapReason::Character => "a character has no such name",
            SnapReason::Trailing => "something follows the value",
            SnapReason::NoTables => "the value is not `(:memory ... :history-store ...)`",
        };
        write!(f, "byte {}: {text}", self.offset)
    }
}

impl std::error::Error for SnapError {}

#[cfg(test)]
mod tests;
