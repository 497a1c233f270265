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
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::column::{Column, Fixed, Limits};
use super::key::Key;
use super::layout::Section;
use crate::recall::text::calendar::{Day, Span, day_at};
use crate::recall::text::marks::Marks;
use crate::recall::vectors::TextKey;
use crate::tables::{Image, SortedRows, begin_with, rising_u32, row, u32_at, u32_of_rising, u64_at};

/// Marks a document with a title, or with titles above it.
pub(crate) const TITLED: Marks = 32;
/// Marks a document that is in the index. Without this bit, its number is vacant.
pub(crate) const LIVE: Marks = 64;
/// Marks a document that a speaker said, or that retells what was said.
pub(crate) const SAID: Marks = 512;
/// Marks a trusted document that somebody stated to be kept.
pub(crate) const STATED: Marks = 1024;
/// Marks a document that mentions days. The days are in a separate table.
pub(crate) const HAS_SPANS: Marks = 128;

/// The largest distance of a day from 1970. No time is further away.
const DAYS_MAX: Day = 1 << 40;
/// The number that stands in an image for no session.
const NO_SESSION: u32 = u32::MAX;

/// The fields that the base score reads, for each document with a word of a question.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Scored {
    /// The named session of the document.
    pub(crate) session: Option<u32>,
    /// The speaker, who belongs to one scope.
    pub(crate) speaker: u32,
    /// The length of the document: the sum of the counts of its terms, in units of a quarter.
    pub(crate) length: u32,
    pub(crate) flags: Marks,
}

impl Fixed for Scored {
    const BYTES: usize = 14;

    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let session = u32_at(bytes, 0);
        Self {
            session: (session != NO_SESSION).then_some(session),
            speaker: u32_at(bytes, 4),
            length: u32_at(bytes, 8),
            flags: bytes
                .get(12..14)
                .map_or(0, |flags| Marks::from_le_bytes([flags[0], flags[1]])),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        for number in [self.session.unwrap_or(NO_SESSION), self.speaker, self.length] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.flags.to_le_bytes());
    }

    #[inline]
    fn is_within(&self, limits: &Limits) -> bool {
        self.session.is_none_or(|session| session < limits.sessions) && self.speaker < limits.speakers
    }
}

/// The key of a document, and its place in time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Stamp {
    pub(crate) time: i64,
    pub(crate) order: u32,
    pub(crate) key: Key,
    /// The digest of the text, all zero if there is none.
    pub(crate) text: TextKey,
}

impl Fixed for Stamp {
    const BYTES: usize = 44;

    fn read(bytes: &[u8]) -> Self {
        Self {
            key: bytes.first_chunk().map_or_else(Key::default, |key| Key(*key)),
            time: u64_at(bytes, 16).cast_signed(),
            order: u32_at(bytes, 24),
            text: bytes
                .get(28..)
                .and_then(<[u8]>::first_chunk)
                .copied()
                .unwrap_or_default(),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.key.0);
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes.extend_from_slice(&self.order.to_le_bytes());
        bytes.extend_from_slice(&self.text);
    }

    fn is_within(&self, _: &Limits) -> bool {
        true
    }
}

/// The columns of all documents.
#[derive(Clone, Default)]
pub(crate) struct Columns {
    scored: Column<Scored>,
    stamps: Column<Stamp>,
    /// The days that documents mention: the number of the document, the place of the span, its first and last day.
    pub(super) spans: SortedRows<21>,
    /// The start of the key and the number of each document of the image.
    numbers: SortedRows<NUMBER_ROW>,
    /// The numbers of the live documents that are not in the image, by key.
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Columns {
    /// Returns the columns in an image.
    pub(super) fn of(image: &Arc<Image>, first: usize, documents: u32, limits: Limits) -> Option<Self> {
        Some(Self {
            scored: Column::of(image, first + Section::Scored as usize, documents, limits)?,
            stamps: Column::of(image, first + Section::Stamps as usize, documents, limits)?,
            spans: SortedRows::of(image, first + Section::Spans as usize),
            numbers: SortedRows::of(image, first + Section::Numbers as usize),
            ..Self::default()
        })
    }

    /// Returns how many document numbers exist, live and vacant.
    pub(crate) fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Returns the number of a live document.
    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let new = self.table.find(hash, |&number| self.key(number) == *key);
        new.copied().or_else(|| self.find_in_image(key))
    }

    fn find_in_image(&self, key: &Key) -> Option<u32> {
        let (first, last) = begin_with(&key.0[..KEY_START]);
        let found = self.numbers.range(first, last);
        let mut numbers = found.filter_map(|row| row.last_chunk().map(|number| u32_of_rising(*number)));
        // In a hostile file, the number may be of no document of the image.
        let is_it = |&number: &u32| number < self.stamps.base_len() && self.key(number) == *key;
        numbers.find(is_it).filter(|&number| self.is_live(number))
    }

    /// Appends a document and returns its number.
    pub(super) fn push(&mut self, mut scored: Scored, stamp: Stamp, spans: &[Span]) -> u32 {
        debug_assert!(
            self.find(&stamp.key).is_none(),
            "COL-2: the old number of a key is vacated before the key is added again"
        );
        let number = self.len() as u32;
        let spoken = if spans.is_empty() { 0 } else { HAS_SPANS };
        scored.flags |= LIVE | spoken;
        self.scored.push(scored);
        self.stamps.push(stamp);
        debug_assert!(
            self.scored.len() == self.stamps.len(),
            "COL-1: all columns grow together"
        );
        for (place, span) in (0..).zip(spans) {
            self.spans.insert(span_row(number, place, *span));
        }
        let hash = self.hasher.hash_one(stamp.key);
        let (stamps, hasher) = (&self.stamps, &self.hasher);
        self.table
            .insert_unique(hash, number, |&number| hasher.hash_one(stamps.get(number).key));
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

    /// Returns the windows of `width` numbers of the image that have vacant numbers.
    pub(crate) fn windows_with_vacant(&self, width: u32) -> HashSet<u32> {
        let changed = self.scored.changed();
        let vacant = changed.filter(|(_, of)| of.flags & LIVE == 0);
        vacant.map(|(number, _)| number / width).collect()
    }

    pub(crate) fn is_live(&self, number: u32) -> bool {
        self.scored.get(number).flags & LIVE != 0
    }

    /// Returns the fields that the base score reads.
    #[inline]
    pub(crate) fn scored(&self, number: u32) -> Scored {
        self.scored.get(number)
    }

    /// Returns the key and the place in time.
    pub(crate) fn stamp(&self, number: u32) -> Stamp {
        self.stamps.get(number)
    }

    pub(crate) fn key(&self, number: u32) -> Key {
        self.stamp(number).key
    }

    pub(crate) fn day(&self, number: u32) -> Day {
        day_at(self.stamp(number).time)
    }

    /// Returns the days that a document mentions.
    pub(crate) fn spans_of(&self, number: u32) -> Vec<Span> {
        if self.scored.get(number).flags & HAS_SPANS == 0 {
            return Vec::new();
        }
        let (first, last) = begin_with(&rising_u32(number));
        let rows = self.spans.range(first, last);
        // In a hostile file, a day may be so far away that counting from it would overflow.
        let day = |found: &[u8], at| u64_at(found, at).cast_signed().clamp(-DAYS_MAX, DAYS_MAX);
        let spans = rows.map(|found| Span {
            first: day(&found, 5),
            last: day(&found, 13),
        });
        spans.filter(|span| span.first <= span.last).collect()
    }

    /// Returns whether a document comes before another one in the order of [`Self::chronology`]. COL-3 spares reading two
    /// documents of an image. The order is not total in a hostile file, so a sort may not use it.
    pub(crate) fn is_before(&self, one: u32, two: u32) -> bool {
        if one.max(two) < self.stamps.base_len() {
            return one < two;
        }
        self.chronology(one, two).is_lt()
    }

    /// Compares two documents by time, then by the order that the caller gave, then by key. The order is total even in a
    /// hostile file.
    pub(crate) fn chronology(&self, one: u32, two: u32) -> Ordering {
        let (one, two) = (self.stamp(one), self.stamp(two));
        one.time
            .cmp(&two.time)
            .then_with(|| one.order.cmp(&two.order))
            .then_with(|| one.key.cmp(&two.key))
    }
}

/// The number of bytes of a key in the row of its number. So few documents have an equal start that each is compared.
const KEY_START: usize = 4;
/// The length of the row of a number.
pub(super) const NUMBER_ROW: usize = KEY_START + 4;

/// Returns the row of a number. Bytes that sort like the keys and the numbers.
pub(super) fn number_row(key: &Key, number: u32) -> [u8; NUMBER_ROW] {
    row([&key.0[..KEY_START], &rising_u32(number)])
}

/// Returns the row of a span. Only the number and the place decide the order of rows.
pub(super) fn span_row(number: u32, place: u8, span: Span) -> [u8; 21] {
    let (first, last) = (span.first.to_le_bytes(), span.last.to_le_bytes());
    row([&rising_u32(number), &[place], &first, &last])
}
