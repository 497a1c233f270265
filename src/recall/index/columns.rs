//! The columns of the documents, which contain all their fields except the terms.
//!
//! # Layer
//! Uses numbers and keys, but neither texts nor sessions.
//!
//! # Invariants
//! - COL-1: all columns have the same length, and the number of a document is its index in each column.
//! - COL-2: a live key has exactly one number. The order of [`Columns::chronology`] is total, and does not depend on
//!   numbers.
//! - COL-3: the numbers of an image are in the order of [`Columns::chronology`].

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::column::{Column, Fixed, Limits};
use super::key::Key;
use super::layout::Section;
use crate::recall::text::calendar::{Day, Span, day_at};
use crate::recall::text::marks::Marks;
use crate::tables::{Image, SortedRows, begin_with, rising_u32, row, u32_at, u32_of_rising, u64_at};

/// Marks a document with a title, or with titles above it.
pub(crate) const TITLED: Marks = 32;
/// Marks a document that is in the index. Without this bit, its number is vacant.
pub(crate) const LIVE: Marks = 64;
/// Marks a document that mentions days. The days are in a separate table.
pub(crate) const HAS_SPANS: Marks = 128;

/// The largest distance of a day from 1970. No time is further away.
const DAYS_MAX: Day = 1 << 40;

/// A document with the values of all columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) time: i64,
    pub(crate) order: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    pub(crate) scope: u32,
    /// The length of the document: the sum of the counts of its terms, in units of a quarter.
    pub(crate) length: u32,
    pub(crate) flags: Marks,
}

/// The fields that the base score reads, for each document with a word of a question.
#[derive(Clone, Copy, Default)]
pub(crate) struct Scored {
    pub(crate) session: u32,
    pub(crate) scope: u32,
    pub(crate) length: u32,
    pub(crate) flags: Marks,
}

impl Fixed for Scored {
    const BYTES: usize = 16;

    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Self {
            session: u32_at(bytes, 0),
            scope: u32_at(bytes, 4),
            length: u32_at(bytes, 8),
            flags: u32_at(bytes, 12) as Marks,
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        for number in [self.session, self.scope, self.length, u32::from(self.flags)] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    #[inline]
    fn is_within(&self, limits: &Limits) -> bool {
        self.session < limits.sessions && self.scope < limits.scopes
    }
}

/// The other fields.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    key: Key,
    time: i64,
    order: u32,
    speaker: u32,
}

impl Fixed for Told {
    const BYTES: usize = 32;

    fn read(bytes: &[u8]) -> Self {
        Self {
            key: bytes.first_chunk().map_or_else(Key::default, |key| Key(*key)),
            time: u64_at(bytes, 16).cast_signed(),
            order: u32_at(bytes, 24),
            speaker: u32_at(bytes, 28),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.key.0);
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(&self.order.to_le_bytes());
        bytes.extend_from_slice(&self.speaker.to_le_bytes());
    }

    fn is_within(&self, limits: &Limits) -> bool {
        self.speaker < limits.speakers
    }
}

impl Row {
    pub(super) fn scored(&self) -> Scored {
        Scored {
            session: self.session,
            scope: self.scope,
            length: self.length,
            flags: self.flags,
        }
    }

    pub(super) fn told(&self) -> Told {
        Told {
            key: self.key,
            time: self.time,
            order: self.order,
            speaker: self.speaker,
        }
    }
}

/// The columns of all documents.
#[derive(Clone, Default)]
pub(crate) struct Columns {
    scored: Column<Scored>,
    told: Column<Told>,
    /// The days that documents mention: the number of the document, the place of the span, its first and last day.
    pub(super) spans: SortedRows<21>,
    /// The key and the number of each document of the image.
    numbers: SortedRows<20>,
    /// The numbers of the live documents that are not in the image, by key.
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Columns {
    /// Returns the columns in an image.
    pub(super) fn of(image: &Arc<Image>, first: usize, documents: u32, limits: Limits) -> Option<Self> {
        Some(Self {
            scored: Column::of(image, first + Section::Scored as usize, documents, limits)?,
            told: Column::of(image, first + Section::Told as usize, documents, limits)?,
            spans: SortedRows::of(image, first + Section::Spans as usize),
            numbers: SortedRows::of(image, first + Section::Numbers as usize),
            ..Self::default()
        })
    }

    /// Returns how many document numbers exist, live and vacant.
    pub(crate) fn len(&self) -> usize {
        self.told.len()
    }

    /// Returns the number of a live document.
    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let new = self.table.find(hash, |&number| self.key(number) == *key);
        new.copied().or_else(|| self.find_in_image(key))
    }

    fn find_in_image(&self, key: &Key) -> Option<u32> {
        let (first, last) = begin_with(&key.0);
        let found = self.numbers.range(first, last).next()?;
        let number = found.last_chunk().map(|number| u32_of_rising(*number))?;
        // In a hostile file, the number may be of another document.
        let is_it = number < self.told.base_len() && self.key(number) == *key;
        (is_it && self.is_live(number)).then_some(number)
    }

    /// Appends a document and returns its number.
    pub(super) fn push(&mut self, mut of: Row, spans: &[Span]) -> u32 {
        debug_assert!(
            self.find(&of.key).is_none(),
            "COL-2: the old number of a key is vacated before the key is added again"
        );
        let number = self.len() as u32;
        let spoken = if spans.is_empty() { 0 } else { HAS_SPANS };
        of.flags |= LIVE | spoken;
        self.scored.push(of.scored());
        self.told.push(of.told());
        debug_assert!(
            self.scored.len() == self.told.len(),
            "COL-1: all columns grow together"
        );
        for (place, span) in (0..).zip(spans) {
            self.spans.insert(span_row(number, place, *span));
        }
        let hash = self.hasher.hash_one(of.key);
        let (told, hasher) = (&self.told, &self.hasher);
        self.table
            .insert_unique(hash, number, |&number| hasher.hash_one(told.get(number).key));
        number
    }

    /// Makes the number of a live document vacant.
    pub(crate) fn vacate(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self.key(number));
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == number) {
            entry.remove();
        }
        let mut scored = self.scored.get(number);
        scored.flags &= !LIVE;
        self.scored.set(number, scored);
    }

    /// Moves a document to another session.
    pub(super) fn set_session(&mut self, number: u32, session: u32) {
        let mut scored = self.scored.get(number);
        scored.session = session;
        self.scored.set(number, scored);
    }

    pub(crate) fn is_live(&self, number: u32) -> bool {
        self.scored.get(number).flags & LIVE != 0
    }

    /// Returns the fields that the base score reads.
    #[inline]
    pub(crate) fn scored(&self, number: u32) -> Scored {
        self.scored.get(number)
    }

    pub(crate) fn key(&self, number: u32) -> Key {
        self.told.get(number).key
    }

    pub(crate) fn time(&self, number: u32) -> i64 {
        self.told.get(number).time
    }

    pub(crate) fn speaker(&self, number: u32) -> u32 {
        self.told.get(number).speaker
    }

    pub(crate) fn session(&self, number: u32) -> u32 {
        self.scored.get(number).session
    }

    pub(crate) fn day(&self, number: u32) -> Day {
        day_at(self.time(number))
    }

    /// Returns a document with all its columns.
    pub(crate) fn row(&self, number: u32) -> Row {
        let (scored, told) = (self.scored.get(number), self.told.get(number));
        Row {
            key: told.key,
            time: told.time,
            order: told.order,
            session: scored.session,
            speaker: told.speaker,
            scope: scored.scope,
            length: scored.length,
            flags: scored.flags,
        }
    }

    /// Returns the days that a document mentions.
    pub(crate) fn spans_of(&self, number: u32) -> Vec<(u32, Span)> {
        if self.scored.get(number).flags & HAS_SPANS == 0 {
            return Vec::new();
        }
        let (first, last) = begin_with(&rising_u32(number));
        let rows = self.spans.range(first, last);
        // In a hostile file, a day may be so far away that counting from it would overflow.
        let day = |found: &[u8], at| u64_at(found, at).cast_signed().clamp(-DAYS_MAX, DAYS_MAX);
        let span = |found: [u8; 21]| Span {
            first: day(&found, 5),
            last: day(&found, 13),
        };
        let spans = rows.map(|found| (number, span(found)));
        spans.filter(|(_, span)| span.first <= span.last).collect()
    }

    /// Returns whether a document comes before another one in the order of [`Self::chronology`]. COL-3 spares reading two
    /// documents of an image.
    pub(super) fn is_before(&self, one: u32, two: u32) -> bool {
        if one.max(two) < self.told.base_len() {
            return one < two;
        }
        self.chronology(one, two).is_lt()
    }

    /// Compares two documents by time, then by the order that the caller gave, then by key. The order is total even in a
    /// hostile file.
    pub(crate) fn chronology(&self, one: u32, two: u32) -> Ordering {
        let (one, two) = (self.told.get(one), self.told.get(two));
        one.time
            .cmp(&two.time)
            .then_with(|| one.order.cmp(&two.order))
            .then_with(|| one.key.cmp(&two.key))
    }
}

/// Returns the row of a span. Only the number and the place decide the order of rows.
pub(super) fn span_row(number: u32, place: u8, span: Span) -> [u8; 21] {
    let (first, last) = (span.first.to_le_bytes(), span.last.to_le_bytes());
    row([&rising_u32(number), &[place], &first, &last])
}
