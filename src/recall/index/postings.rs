//! The terms, and for each term the documents that contain the term.
//!
//! A posting is the distance from the previous document number, and the count of the term in units of a quarter. The
//! most frequent count, one occurrence in prose, uses no space. A new document has the highest number, so its postings
//! are appended. Removing a document leaves its postings in place: readers check which numbers are live, and `Index`
//! rewrites itself when too many are vacant.
//!
//! # Layer
//! Uses terms and the numbers of documents, but not documents.
//!
//! # Invariants
//! - PST-1: the document numbers of a term are strictly ascending.
//! - PST-2: a term has exactly one number. Terms are compared as bytes.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::compact::{append, grow};
use crate::recall::text::analysis::QUARTERS_PROSE;

/// A document that contains a term, and the count of the term in that document, in units of a quarter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) quarters: u32,
}

/// The encoded postings of a term. Most terms have only a few postings, which are stored inline without an allocation.
#[derive(Clone)]
enum Bytes {
    Inline { used: u8, bytes: [u8; INLINE] },
    Heap(Vec<u8>),
}

/// The number of inline bytes. An inline list of this size is no larger than a `Vec`.
const INLINE: usize = 15;

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline { used, bytes } => &bytes[..usize::from(*used)],
            Self::Heap(bytes) => bytes,
        }
    }

    /// Appends `value` in base 128, with the low part first.
    fn push_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn push(&mut self, byte: u8) {
        match self {
            Self::Inline { used, bytes } if usize::from(*used) < INLINE => {
                bytes[usize::from(*used)] = byte;
                *used += 1;
            }
            Self::Inline { bytes, .. } => *self = Self::Heap([&bytes[..], &[byte]].concat()),
            Self::Heap(bytes) => {
                if bytes.len() == bytes.capacity() {
                    bytes.reserve_exact(16.max(bytes.len() / 8));
                }
                bytes.push(byte);
            }
        }
    }
}

#[derive(Clone)]
struct Row {
    /// The end of the term's text, which starts where the text of the previous term ends.
    text_end: u32,
    last: u32,
    postings: Bytes,
}

/// The inverted index: the terms and their postings.
#[derive(Clone, Default)]
pub(crate) struct Postings {
    rows: Vec<Row>,
    text: Vec<u8>,
    table: HashTable<u32>,
    hasher: RandomState,
}

/// Reads a number from the front of `bytes`. If the number is damaged, consumes all bytes.
#[inline]
fn take_varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0u64, 0u32);
    while let [byte, rest @ ..] = *bytes {
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << (shift & 63);
        if *byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

impl Postings {
    /// Returns the number of terms, including terms without live documents.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the text of the term with this number.
    pub(crate) fn term(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = at
            .checked_sub(1)
            .map_or(0, |before| self.rows[before].text_end as usize);
        &self.text[start..self.rows[at].text_end as usize]
    }

    /// Returns the number of a term.
    pub(crate) fn find(&self, term: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(term);
        self.table
            .find(hash, |&number| self.term(number) == term)
            .copied()
    }

    /// Returns the number of a term; adds the term if the term is new.
    pub(crate) fn intern(&mut self, term: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(term);
        if let Some(&number) = self.table.find(hash, |&number| self.term(number) == term) {
            return number;
        }
        let number = self.rows.len() as u32;
        grow(&mut self.text, term.len());
        self.text.extend_from_slice(term);
        let row = Row {
            text_end: self.text.len() as u32,
            last: u32::MAX,
            postings: Bytes::Inline {
                used: 0,
                bytes: [0; INLINE],
            },
        };
        append(&mut self.rows, row);
        let mut table = std::mem::take(&mut self.table);
        table.insert_unique(hash, number, |&number| self.hasher.hash_one(self.term(number)));
        self.table = table;
        number
    }

    /// Appends a posting to the term with this number.
    pub(crate) fn push(&mut self, number: u32, posting: Posting) {
        let row = &mut self.rows[number as usize];
        debug_assert!(
            row.last == u32::MAX || posting.document > row.last,
            "PST-1: numbers ascend"
        );
        let distance = posting.document.wrapping_sub(row.last).wrapping_sub(1);
        let plain = posting.quarters == QUARTERS_PROSE;
        row.postings
            .push_varint(u64::from(distance) << 1 | u64::from(plain));
        if !plain {
            row.postings.push_varint(u64::from(posting.quarters));
        }
        row.last = posting.document;
    }

    /// Calls `found` with each posting of the term with this number, in order.
    #[inline]
    pub(crate) fn for_each(&self, number: u32, mut found: impl FnMut(Posting)) {
        self.any(number, |posting| {
            found(posting);
            false
        });
    }

    /// Returns whether `found` holds for a posting of the term with this number. Reads no posting after the first such
    /// one.
    #[inline]
    pub(crate) fn any(&self, number: u32, mut found: impl FnMut(Posting) -> bool) -> bool {
        let mut bytes = self.rows[number as usize].postings.as_slice();
        let mut last = u32::MAX;
        while !bytes.is_empty() {
            let head = take_varint(&mut bytes);
            last = last.wrapping_add((head >> 1) as u32).wrapping_add(1);
            let quarters = if head & 1 == 1 {
                QUARTERS_PROSE
            } else {
                take_varint(&mut bytes) as u32
            };
            let posting = Posting {
                document: last,
                quarters,
            };
            if found(posting) {
                return true;
            }
        }
        false
    }

    /// Returns whether the space may be too small for the terms of another document.
    pub(crate) fn is_full(&self) -> bool {
        self.text.len() > (u32::MAX / 2) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(postings: &Postings, term: &str) -> Vec<(u32, u32)> {
        let mut out = Vec::new();
        if let Some(number) = postings.find(term.as_bytes()) {
            postings.for_each(number, |posting| out.push((posting.document, posting.quarters)));
        }
        out
    }

    #[test]
    fn what_is_put_in_comes_out_in_order() {
        let mut postings = Postings::default();
        let dog = postings.intern(b"dog");
        let cat = postings.intern(b"cat");
        assert_eq!(postings.intern(b"dog"), dog, "PST-2");
        let wanted: Vec<(u32, u32)> = (0..3000).map(|at| (at * at, 1 + at % 9)).collect();
        for &(document, quarters) in &wanted {
            postings.push(dog, Posting { document, quarters });
        }
        postings.push(
            cat,
            Posting {
                document: u32::MAX - 1,
                quarters: 4,
            },
        );
        assert_eq!(all(&postings, "dog"), wanted);
        assert_eq!(all(&postings, "cat"), [(u32::MAX - 1, 4)]);
        assert_eq!(all(&postings, "cow"), []);
    }

    #[test]
    fn a_term_takes_few_bytes() {
        assert_eq!(size_of::<Row>(), 32);
    }
}
