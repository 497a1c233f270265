//! Bounded little-endian reading and writing: the basis of every byte layout in the crate.
//!
//! A [`Reader`] never panics, never reads past its input, and never allocates more memory than its input occupies.
//! [`Fields`] reads the tagged fields of objects, commits and references. It accepts exactly one encoding of each
//! value, so accepted bytes re-encode to themselves.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.
//!
//! # Invariants
//! - COD-1: tags are strictly ascending; a tag is never zero.
//! - COD-2: every byte of the input belongs to exactly one field.
//!
//! # Format
//! docs/format.md, "Tagged fields".
#![cfg_attr(
    feature = "testing",
    expect(
        clippy::missing_errors_doc,
        reason = "every error is a `DecodeError`, whose variants document the causes"
    )
)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

/// The bit of a tag that allows a reader to ignore the field. A reader keeps ignored fields byte for byte.
pub(crate) const IGNORABLE: u16 = 0x8000;

/// The reason why bytes are not a valid encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ends before the end of the value.
    Truncated {
        /// The number of bytes needed.
        wanted: usize,
        /// The number of bytes left.
        left: usize,
    },
    /// Bytes follow the value.
    Trailing {
        /// The number of extra bytes.
        extra: usize,
    },
    /// The first byte names an unknown version of the encoding.
    Version(u8),
    /// Tags are not strictly ascending, or a tag is zero.
    TagOrder(u16),
    /// An unknown tag does not have the ignorable bit.
    UnknownTag(u16),
    /// A required field is missing.
    MissingTag(u16),
    /// A value breaks the named rule.
    Invalid(&'static str),
    /// A short text breaks its rule. The fields are the kind of text and the fault.
    Text(&'static str, &'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { wanted, left } => write!(f, "{wanted} bytes are needed, but {left} are left"),
            Self::Trailing { extra } => write!(f, "{extra} bytes too many"),
            Self::Version(version) => write!(f, "encoding version {version} is not known"),
            Self::TagOrder(tag) => write!(f, "tag {tag:#06x} is out of order"),
            Self::UnknownTag(tag) => write!(f, "tag {tag:#06x} is not known"),
            Self::MissingTag(tag) => write!(f, "tag {tag:#06x} is missing"),
            Self::Invalid(rule) => f.write_str(rule),
            Self::Text(what, fault) => write!(f, "{what} {fault}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads little-endian values of fixed width from the front of a byte slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Makes a reader that starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of unread bytes.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated {
            wanted: count,
            left: self.rest.len(),
        })?;
        self.rest = tail;
        Ok(head)
    }

    /// Reads the next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated {
            wanted: N,
            left: self.rest.len(),
        })?;
        self.rest = tail;
        Ok(*head)
    }

    /// Reads the next byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Reads the next u16.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads the next u32.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads the next u64.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads the next i64.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Reads a u32, then that many bytes.
    pub fn sized(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.u32()? as usize;
        self.bytes(length)
    }

    /// Reads a u32, then that many bytes of UTF-8.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        as_text(self.sized()?)
    }

    /// Checks that no input is left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(DecodeError::Trailing { extra }),
        }
    }
}

/// Reads `bytes` as UTF-8.
pub fn as_text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::Invalid("text is not UTF-8"))
}

/// Converts `bytes` to an array. Refuses any other length than `N`.
pub fn as_array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    bytes
        .try_into()
        .map_err(|_| DecodeError::Invalid("a field has the wrong length"))
}

/// Splits `bytes` into arrays of `N` bytes; refuses a remainder.
pub fn as_arrays<const N: usize>(bytes: &[u8]) -> Result<Vec<[u8; N]>, DecodeError> {
    let (arrays, rest) = bytes.as_chunks::<N>();
    if rest.is_empty() {
        Ok(arrays.to_vec())
    } else {
        Err(DecodeError::Invalid("a list has a partial entry"))
    }
}

/// Appends a u32 length, then the bytes.
///
/// # Panics
/// If `bytes` is longer than `u32::MAX`. Every caller limits its values far below that.
pub fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&length_bytes(bytes.len()));
    out.extend_from_slice(bytes);
}

fn length_bytes(length: usize) -> [u8; 4] {
    let length = u32::try_from(length).expect("values are bounded below 4 GiB");
    length.to_le_bytes()
}

/// Writes tagged fields in ascending order of their tags.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    last: u16,
}

impl<'a> FieldWriter<'a> {
    /// Makes a writer, and writes the version byte.
    pub fn new(out: &'a mut Vec<u8>, version: u8) -> Self {
        out.push(version);
        Self { out, last: 0 }
    }

    /// Appends one field.
    ///
    /// # Panics
    /// If the tags are not strictly ascending (COD-1), which is a bug of the caller.
    pub fn put(&mut self, tag: u16, bytes: &[u8]) {
        assert!(tag > self.last, "COD-1: tags are strictly ascending");
        self.last = tag;
        self.out.extend_from_slice(&tag.to_le_bytes());
        put_sized(self.out, bytes);
    }

    /// Appends one field whose bytes `encode` appends to the vector that it gets.
    ///
    /// # Errors
    /// The error of `encode`. The encoding is then incomplete.
    ///
    /// # Panics
    /// As [`Self::put`].
    pub fn put_with<E>(
        &mut self,
        tag: u16,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.put(tag, &[]);
        let start = self.out.len();
        encode(self.out)?;
        let length = length_bytes(self.out.len().saturating_sub(start));
        let (before, _) = self.out.split_at_mut(start);
        if let Some(written) = before.last_chunk_mut() {
            *written = length;
        }
        Ok(())
    }

    /// Appends one field if its value is present.
    pub fn put_some(&mut self, tag: u16, value: Option<impl AsRef<[u8]>>) {
        if let Some(value) = value {
            self.put(tag, value.as_ref());
        }
    }
}

/// Walks the tagged fields of an encoding and checks their order.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    last: u16,
    /// The tags below 64 that were read, as bits.
    seen: u64,
}

impl<'a> Fields<'a> {
    /// Checks the version byte, and starts at the first field.
    pub fn new(bytes: &'a [u8], version: u8) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let found = reader.u8()?;
        if found != version {
            return Err(DecodeError::Version(found));
        }
        Ok(Self {
            reader,
            last: 0,
            seen: 0,
        })
    }

    /// Reads the next field; returns `None` at the end.
    pub fn next_field(&mut self) -> Result<Option<(u16, &'a [u8])>, DecodeError> {
        if self.reader.left() == 0 {
            return Ok(None);
        }
        let tag = self.reader.u16()?;
        if tag <= self.last {
            return Err(DecodeError::TagOrder(tag));
        }
        self.last = tag;
        self.seen |= bit(tag);
        Ok(Some((tag, self.reader.sized()?)))
    }

    /// Refuses the encoding if one of the `required` tags, which are below 64, was not read.
    pub fn require(&self, required: &[u16]) -> Result<(), DecodeError> {
        match required.iter().find(|tag| self.seen & bit(**tag) == 0) {
            Some(tag) => Err(DecodeError::MissingTag(*tag)),
            None => Ok(()),
        }
    }
}

/// Returns the bit of a tag below 64; 0 for other tags.
fn bit(tag: u16) -> u64 {
    1_u64.checked_shl(tag.into()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
