//! Reads the bytes of an index.
//!
//! The index is built through the same calls as memories are put in: every sum, session and name is made
//! again, and none is believed.
//!
//! # Layer
//! Knows the layout, as `encode` describes it.
//!
//! # Invariants
//! - ENC-1: what is decoded encodes to the same bytes; everything else is refused.
//! - ENC-2: no input panics or allocates more than a small multiple of its length.

use std::fmt;

use super::columns::{LIVE, Row};
use super::encode::{MAGIC, VERSION};
use super::{Entry, Index, Key, Posting, Quantised};
use crate::recall::text::analysis::Analysis;
use crate::recall::text::calendar::Span;
use crate::recall::text::marks::{CALLS_MAX, SPANS_MAX};
use crate::recall::text::terms::TERM_BYTES_MAX;

/// A term ends at the character that passes `TERM_BYTES_MAX`.
const TERM_BYTES_READ_MAX: usize = TERM_BYTES_MAX + 4;

/// Why bytes are not an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError(&'static str);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an index of recall: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

type Result<T> = std::result::Result<T, DecodeError>;

impl Index {
    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// If the bytes are anything else, to the last bit.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader { rest: bytes };
        if reader.array()? != *MAGIC {
            return Err(DecodeError("the first bytes are others"));
        }
        if reader.byte()? != VERSION {
            return Err(DecodeError("the version is not known"));
        }
        let mut tables: [Vec<(u32, &str)>; 4] = Default::default();
        for (at, table) in tables.iter_mut().enumerate() {
            for _ in 0..reader.number()? {
                let scope = if at == 1 || at == 2 { reader.number()? } else { 0 };
                table.push((scope, reader.text()?));
            }
        }
        let mut index = Self::default();
        let memories = reader.number()?;
        for _ in 0..memories {
            index.decode_memory(&mut reader, &tables)?;
        }
        index.decode_terms(&mut reader, memories)?;
        index.decode_vectors(&mut reader, memories)?;
        // One comparison checks what no rule above names: the order of tables, lengths of numbers, what is left.
        if index.encode() == bytes {
            Ok(index)
        } else {
            Err(DecodeError("it is not written as it should be"))
        }
    }

    fn decode_memory(&mut self, reader: &mut Reader<'_>, tables: &[Vec<(u32, &str)>; 4]) -> Result<()> {
        let row = |at: usize, number: u32| {
            tables[at]
                .get(number as usize)
                .copied()
                .ok_or(DecodeError("a number is in no table"))
        };
        let key = Key(reader.array()?);
        let time = i64::from_le_bytes(reader.array()?);
        let order = reader.number()?;
        let scope = row(0, reader.number()?)?.1;
        let session = match reader.number()?.checked_sub(1) {
            Some(session) => Some(row(2, session)?.1),
            None => None,
        };
        let speaker = row(1, reader.number()?)?.1;
        let length = reader.number()?;
        let mut analysis = Analysis {
            marks: reader.byte()?,
            spans: Vec::new(),
            calls: Vec::new(),
        };
        if analysis.marks >= LIVE {
            return Err(DecodeError("a mark is not known"));
        }
        for _ in 0..reader.count(SPANS_MAX)? {
            let first = reader.number()?;
            let first = (first >> 1).cast_signed() ^ -(first & 1).cast_signed();
            let last = i64::from(first) + i64::from(reader.number()?);
            let last = i32::try_from(last).map_err(|_| DecodeError("a span has no end"))?;
            analysis.spans.push(Span { first, last });
        }
        for _ in 0..reader.count(CALLS_MAX)? {
            analysis.calls.push(row(3, reader.number()?)?.1.to_owned());
        }
        let mut olds = Vec::new();
        for _ in 0..reader.number()? {
            olds.push(Key(reader.array()?));
        }
        if self.contains(&key) {
            return Err(DecodeError("a key is there twice"));
        }
        let row = Row {
            key,
            time,
            order,
            session: 0,
            speaker: 0,
            length,
            flags: analysis.marks,
        };
        let number = self.admit(
            &Entry {
                scope,
                session,
                speaker,
                row,
            },
            &analysis,
        );
        // Without this order the places of sessions would be searched for, in the worst case each one wholly.
        if number > 0 && self.columns.chronology(number - 1, number).is_ge() {
            return Err(DecodeError("memories are out of order"));
        }
        for old in olds {
            self.links.insert(key, old);
        }
        Ok(())
    }

    fn decode_terms(&mut self, reader: &mut Reader<'_>, memories: u32) -> Result<()> {
        for _ in 0..reader.number()? {
            let term = reader.text()?;
            if term.is_empty()
                || term.len() > TERM_BYTES_READ_MAX
                || self.postings.find(term.as_bytes()).is_some()
            {
                return Err(DecodeError("a term is empty, too long, or there twice"));
            }
            let number = self.postings.intern(term.as_bytes());
            let mut next = 0u32;
            for _ in 0..reader.number()? {
                let memory = next
                    .checked_add(reader.number()?)
                    .filter(|&memory| memory < memories);
                let memory = memory.ok_or(DecodeError("a posting is of no memory"))?;
                let quarters = reader.number()?;
                if quarters == 0 || self.postings.is_full() {
                    return Err(DecodeError("a posting counts nothing, or there are too many"));
                }
                self.postings.push(number, Posting { memory, quarters });
                next = memory + 1;
            }
        }
        Ok(())
    }

    fn decode_vectors(&mut self, reader: &mut Reader<'_>, memories: u32) -> Result<()> {
        let dimensions = reader.number()? as usize;
        for _ in 0..reader.number()? {
            let memory = reader.number()?;
            let scale = f32::from_le_bytes(reader.array()?);
            let parts = reader
                .bytes(dimensions)?
                .iter()
                .map(|&part| part.cast_signed())
                .collect();
            let vector = Quantised { parts, scale };
            if memory >= memories
                || !scale.is_finite()
                || dimensions == 0
                || !self.vectors.push(memory, &vector)
            {
                return Err(DecodeError("a vector is of no memory, or none"));
            }
        }
        Ok(())
    }
}

/// Reads off the front of bytes, never past their end.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(DecodeError("it ends early"))?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(DecodeError("it ends early"))?;
        self.rest = rest;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn number(&mut self) -> Result<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return u32::try_from(value).map_err(|_| DecodeError("a number is too large"));
            }
        }
        Err(DecodeError("a number does not end"))
    }

    fn count(&mut self, most: usize) -> Result<u32> {
        let count = self.number()?;
        if count as usize > most {
            return Err(DecodeError("a list is too long"));
        }
        Ok(count)
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.number()? as usize;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| DecodeError("text is not UTF-8"))
    }
}
