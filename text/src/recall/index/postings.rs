//! The terms, and for each term the documents that contain the term.
//!
//! A posting is the distance from the previous document number, and the count of the term in units of a quarter. The
//! most frequent count, one occurrence in prose, uses no space. A new document has the highest number, so its postings
//! are appended. Removing a document leaves its postings in place: readers check which numbers are live, and `Index`
//! rewrites itself when too many are vacant. The terms of an image have the first numbers, in the order of their bytes;
//! the postings that came since follow those of the image.
//!
//! # Layer
//! Uses terms and the numbers of documents, but not documents.
//!
//! # Invariants
//! - PST-1: the document numbers of a term are strictly ascending.
//! - PST-2: a term has exactly one number. Terms are compared as bytes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::blocks::Block;
use super::column::{Column, Fixed as _, Limits};
use super::compact::{append, grow};
use super::layout::Section;
use crate::recall::text::analysis::QUARTERS_PROSE;
use crate::tables::{Image, partition_point, row, u32_at, u64_at};

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

/// The postings of a term.
#[derive(Clone)]
pub(super) struct List {
    /// The end of the text of a term that is not in the image. The text starts where that of the previous term ends.
    text_end: u32,
    last: u32,
    bytes: Bytes,
}

impl Default for List {
    fn default() -> Self {
        Self {
            text_end: 0,
            last: u32::MAX,
            bytes: Bytes::Inline {
                used: 0,
                bytes: [0; INLINE],
            },
        }
    }
}

impl List {
    /// Appends a posting.
    pub(super) fn push(&mut self, posting: Posting) {
        debug_assert!(
            self.last == u32::MAX || posting.document > self.last,
            "PST-1: numbers ascend"
        );
        let distance = posting.document.wrapping_sub(self.last).wrapping_sub(1);
        let plain = posting.quarters == QUARTERS_PROSE;
        self.bytes
            .push_varint(u64::from(distance) << 1 | u64::from(plain));
        if !plain {
            self.bytes.push_varint(u64::from(posting.quarters));
        }
        self.last = posting.document;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

/// The terms and postings of an image.
#[derive(Clone)]
struct Base {
    image: Arc<Image>,
    /// The number of the first section of the index.
    first: usize,
    terms: u32,
    /// The number of documents. A posting of a higher number is hostile.
    documents: u32,
    blocks: Column<Block>,
}

/// The length of the row of a term: the ends of its text, 4 bytes, of its postings, 5 bytes, and of its blocks, 4 bytes.
const TERM_ROW: usize = 13;

/// Returns the row of a term.
pub(super) fn term_row(text_end: usize, postings_end: usize, blocks_end: usize) -> [u8; TERM_ROW] {
    let (text, postings, blocks) = (text_end as u32, postings_end as u64, blocks_end as u32);
    row([
        &text.to_le_bytes(),
        &postings.to_le_bytes()[..5],
        &blocks.to_le_bytes(),
    ])
}

/// The ends of the text, of the postings and of the blocks of a term.
#[derive(Clone, Copy, Default)]
struct Ends {
    text: usize,
    postings: usize,
    blocks: u32,
}

impl Base {
    fn section(&self, section: Section) -> usize {
        self.first + section as usize
    }

    /// Returns the ends of a term; zeros before the first one.
    fn ends(&self, number: Option<u32>) -> Ends {
        let bytes = number.and_then(|number| {
            let at = number as usize * TERM_ROW;
            self.image.read(self.section(Section::Terms), at, TERM_ROW)
        });
        bytes.map_or_else(Ends::default, |bytes| {
            let postings: [u8; 8] = row([&bytes[4..9]]);
            Ends {
                text: u32_at(bytes, 0) as usize,
                postings: u64_at(&postings, 0) as usize,
                blocks: u32_at(bytes, 9),
            }
        })
    }

    fn part(&self, section: Section, start: usize, end: usize) -> &[u8] {
        let length = end.checked_sub(start);
        let part = length.and_then(|length| self.image.read(self.section(section), start, length));
        part.unwrap_or_else(|| {
            self.image.fail();
            &[]
        })
    }

    fn term(&self, number: u32) -> &[u8] {
        let start = self.ends(number.checked_sub(1)).text;
        self.part(Section::TermTexts, start, self.ends(Some(number)).text)
    }

    fn postings(&self, number: u32) -> &[u8] {
        let start = self.ends(number.checked_sub(1)).postings;
        self.part(Section::Postings, start, self.ends(Some(number)).postings)
    }

    /// Calls `found` with postings of the image until it returns true. Returns whether it did.
    #[inline]
    fn any(&self, bytes: &[u8], before: Option<u32>, mut found: impl FnMut(Posting) -> bool) -> bool {
        let mut last = before;
        any_in(bytes, before, |posting| {
            // TAB-1: in a hostile file, the numbers may be of no document.
            if posting.document >= self.documents || last.is_some_and(|last| posting.document <= last) {
                self.image.fail();
                false
            } else {
                last = Some(posting.document);
                found(posting)
            }
        })
    }

    /// Returns the number of terms for which `is_before` is true.
    fn partition_point(&self, is_before: impl Fn(&[u8]) -> bool) -> u32 {
        partition_point(0..self.terms as usize, |at| is_before(self.term(at as u32))) as u32
    }

    fn find(&self, term: &[u8]) -> Option<u32> {
        let number = self.partition_point(|other| other < term);
        (number < self.terms && self.term(number) == term).then_some(number)
    }
}

/// The inverted index: the terms and their postings.
#[derive(Clone, Default)]
pub(crate) struct Postings {
    base: Option<Base>,
    /// The postings of terms of the image that came since.
    more: HashMap<u32, List>,
    /// The terms that are not in the image.
    rows: Vec<List>,
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
    /// Returns the terms and postings in an image. Returns `None` if the sections do not have `terms` terms.
    pub(super) fn of(image: &Arc<Image>, first: usize, terms: u32, documents: u32) -> Option<Self> {
        let length = image.length(first + Section::Terms as usize);
        let blocks = first + Section::Blocks as usize;
        let count = u32::try_from(image.length(blocks) / Block::BYTES).ok()?;
        let limits = Limits {
            documents,
            ..Limits::default()
        };
        let base = Base {
            image: Arc::clone(image),
            first,
            terms,
            documents,
            blocks: Column::of(image, blocks, count, limits)?,
        };
        (length == (terms as usize).checked_mul(TERM_ROW)?).then(|| Self {
            base: Some(base),
            ..Self::default()
        })
    }

    fn base_len(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.terms)
    }

    /// Returns the number of terms, including terms without live documents.
    pub(crate) fn len(&self) -> usize {
        self.base_len() as usize + self.rows.len()
    }

    /// Returns the text of the term with this number.
    pub(crate) fn term(&self, number: u32) -> &[u8] {
        match (&self.base, number.checked_sub(self.base_len())) {
            (Some(base), None) => base.term(number),
            (_, Some(at)) => self.new_term(at),
            (None, None) => &[],
        }
    }

    /// Returns the text of a term that is not in the image.
    fn new_term(&self, at: u32) -> &[u8] {
        let at = at as usize;
        let start = at
            .checked_sub(1)
            .map_or(0, |before| self.rows[before].text_end as usize);
        &self.text[start..self.rows[at].text_end as usize]
    }

    /// Returns the number of a term.
    pub(crate) fn find(&self, term: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(term);
        let found = self.table.find(hash, |&at| self.new_term(at) == term);
        let new = found.map(|at| at + self.base_len());
        new.or_else(|| self.base.as_ref()?.find(term))
    }

    /// Returns the numbers of the terms that begin with `prefix`.
    pub(crate) fn beginning_with<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let of_base = self.base.as_ref().map_or(0..0, |base| {
            let start = base.partition_point(|term| term < prefix);
            start..base.partition_point(|term| term < prefix || term.starts_with(prefix))
        });
        let new = self.base_len()..self.len() as u32;
        of_base.chain(new.filter(move |&number| self.term(number).starts_with(prefix)))
    }

    /// Returns the number of a term; adds the term if the term is new.
    pub(crate) fn intern(&mut self, term: &[u8]) -> u32 {
        if let Some(number) = self.find(term) {
            return number;
        }
        let hash = self.hasher.hash_one(term);
        let at = self.rows.len() as u32;
        grow(&mut self.text, term.len());
        self.text.extend_from_slice(term);
        let list = List {
            text_end: self.text.len() as u32,
            ..List::default()
        };
        append(&mut self.rows, list);
        let mut table = std::mem::take(&mut self.table);
        table.insert_unique(hash, at, |&at| self.hasher.hash_one(self.new_term(at)));
        self.table = table;
        at + self.base_len()
    }

    /// Appends a posting to the term with this number.
    pub(crate) fn push(&mut self, number: u32, posting: Posting) {
        match number.checked_sub(self.base_len()) {
            Some(at) => self.rows[at as usize].push(posting),
            None => self.more.entry(number).or_default().push(posting),
        }
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
        if let Some(base) = self.base.as_ref().filter(|base| number < base.terms)
            && base.any(base.postings(number), None, &mut found)
        {
            return true;
        }
        self.any_since(number, found)
    }

    /// Calls `found` with each posting that came since the image, in order.
    pub(crate) fn for_each_since(&self, number: u32, mut found: impl FnMut(Posting)) {
        self.any_since(number, |posting| {
            found(posting);
            false
        });
    }

    #[inline]
    fn any_since(&self, number: u32, found: impl FnMut(Posting) -> bool) -> bool {
        let own = match number.checked_sub(self.base_len()) {
            Some(at) => Some(&self.rows[at as usize]),
            None => self.more.get(&number),
        };
        any_in(own.map_or(&[], List::as_bytes), None, found)
    }

    /// Returns the number of documents of the image.
    pub(crate) fn base_documents(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.documents)
    }

    /// Returns the blocks of a term in the image, in order. Returns none if the term is not frequent.
    pub(crate) fn blocks(&self, number: u32) -> Vec<Block> {
        let Some(base) = self.base.as_ref().filter(|base| number < base.terms) else {
            return Vec::new();
        };
        let start = base.ends(number.checked_sub(1)).blocks;
        let end = base.ends(Some(number)).blocks;
        let end = end.min(base.blocks.len() as u32);
        (start..end).map(|at| base.blocks.get(at)).collect()
    }

    /// Calls `found` with each posting of the block at a place of [`Self::blocks`].
    #[inline]
    pub(crate) fn for_each_in(
        &self,
        number: u32,
        blocks: &[Block],
        at: usize,
        mut found: impl FnMut(Posting),
    ) {
        let Some(base) = &self.base else { return };
        let before = at.checked_sub(1).map(|before| blocks[before]);
        let start = before.map_or(0, |before| before.end as usize);
        let bytes = base.postings(number).get(start..blocks[at].end as usize);
        if bytes.is_none() {
            base.image.fail();
        }
        base.any(
            bytes.unwrap_or_default(),
            before.map(|before| before.last),
            |posting| {
                found(posting);
                false
            },
        );
    }

    /// Returns whether the space may be too small for the terms of another document.
    pub(crate) fn is_full(&self) -> bool {
        let base = self.base.as_ref();
        let mapped = base.map_or(0, |base| base.image.length(base.section(Section::TermTexts)));
        mapped + self.text.len() > (u32::MAX / 2) as usize
    }
}

/// Returns whether `found` holds for a posting of an encoded list, or of its part after the document `before`.
#[inline]
fn any_in(mut bytes: &[u8], before: Option<u32>, mut found: impl FnMut(Posting) -> bool) -> bool {
    let mut last = before.unwrap_or(u32::MAX);
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
        assert_eq!(size_of::<List>(), 32);
    }
}
