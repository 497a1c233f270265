//! The columns of the documents, which contain all their fields except the terms.
//!
//! # Layer
//! Uses numbers and keys, but neither texts nor sessions.
//!
//! # Invariants
//! - COL-1: all columns have the same length, and the number of a document is its index in each column.
//! - COL-2: a live key has exactly one number. The order of [`Columns::chronology`] is total, and does not depend on
//!   numbers.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::compact::append;
use super::key::Key;
use super::stored::Entry;
use crate::recall::text::calendar::{Day, Span, day_at};
use crate::recall::text::marks::Marks;

/// Marks a document with a title, or with titles above it.
pub(crate) const TITLED: Marks = 32;
/// Marks a document that is in the index. Without this bit, its number is vacant.
pub(crate) const LIVE: Marks = 64;
/// Marks a document that mentions days. The days are in a separate table.
pub(crate) const HAS_SPANS: Marks = 128;

/// A document with the values of all columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) time: i64,
    pub(crate) order: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    /// The length of the document: the sum of the counts of its terms, in units of a quarter.
    pub(crate) length: u32,
    pub(crate) flags: Marks,
}

/// The columns of all documents.
#[derive(Clone, Default)]
pub(crate) struct Columns {
    pub(crate) keys: Vec<Key>,
    pub(crate) times: Vec<i64>,
    pub(crate) orders: Vec<u32>,
    pub(crate) sessions: Vec<u32>,
    pub(crate) speakers: Vec<u32>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) flags: Vec<Marks>,
    /// The days that documents mention, with the numbers of the documents.
    pub(crate) spans: Vec<(u32, Span)>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Columns {
    /// Returns how many document numbers exist, live and vacant.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the number of a live document.
    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.table
            .find(hash, |&number| self.keys[number as usize] == *key)
            .copied()
    }

    /// Appends a document and returns its number.
    pub(super) fn push(&mut self, entry: &Entry<'_>, session: u32, speaker: u32) -> u32 {
        debug_assert!(
            self.find(&entry.key).is_none(),
            "COL-2: the old number of a key is vacated before the key is added again"
        );
        let number = self.len() as u32;
        append(&mut self.keys, entry.key);
        append(&mut self.times, entry.time);
        append(&mut self.orders, entry.order);
        append(&mut self.sessions, session);
        append(&mut self.speakers, speaker);
        append(&mut self.lengths, entry.length);
        let spoken = if entry.spans.is_empty() { 0 } else { HAS_SPANS };
        append(&mut self.flags, entry.marks | LIVE | spoken);
        for &span in &entry.spans {
            append(&mut self.spans, (number, span));
        }
        debug_assert!(
            self.flags.len() == self.keys.len() && self.times.len() == self.keys.len(),
            "COL-1: all columns grow together"
        );
        let hash = self.hasher.hash_one(entry.key);
        let (keys, hasher) = (&self.keys, &self.hasher);
        self.table
            .insert_unique(hash, number, |&number| hasher.hash_one(keys[number as usize]));
        number
    }

    /// Makes the number of a live document vacant.
    pub(crate) fn vacate(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self.keys[number as usize]);
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == number) {
            entry.remove();
        }
        self.flags[number as usize] &= !LIVE;
    }

    pub(crate) fn is_live(&self, number: u32) -> bool {
        self.flags[number as usize] & LIVE != 0
    }

    pub(crate) fn day(&self, number: u32) -> Day {
        day_at(self.times[number as usize])
    }

    /// Returns a document with all its columns.
    pub(crate) fn row(&self, number: u32) -> Row {
        let at = number as usize;
        Row {
            key: self.keys[at],
            time: self.times[at],
            order: self.orders[at],
            session: self.sessions[at],
            speaker: self.speakers[at],
            length: self.lengths[at],
            flags: self.flags[at],
        }
    }

    /// Returns the days that a document mentions.
    pub(crate) fn spans_of(&self, number: u32) -> &[(u32, Span)] {
        if self.flags[number as usize] & HAS_SPANS == 0 {
            return &[];
        }
        let start = self.spans.partition_point(|&(other, _)| other < number);
        let end = self.spans.partition_point(|&(other, _)| other <= number);
        &self.spans[start..end]
    }

    /// Compares two documents by time, then by the order that the caller gave, then by key.
    pub(crate) fn chronology(&self, one: u32, two: u32) -> Ordering {
        let (one, two) = (one as usize, two as usize);
        self.times[one]
            .cmp(&self.times[two])
            .then_with(|| self.orders[one].cmp(&self.orders[two]))
            .then_with(|| self.keys[one].cmp(&self.keys[two]))
    }
}
