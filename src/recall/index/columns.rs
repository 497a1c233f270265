//! What is kept of each memory besides its terms, column by column.
//!
//! # Layer
//! Knows numbers and keys; not text, not sessions' meaning.
//!
//! # Invariants
//! - COL-1: all columns have one length; a number is a place in each of them.
//! - COL-2: a live key has one number; the order of [`Columns::chronology`] is total and depends on no number.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::Key;
use crate::recall::text::calendar::{Day, Span, day_of};
use crate::recall::text::marks::Marks;

/// The memory is in the index; without it the number is vacant.
pub(crate) const LIVE: Marks = 64;
/// The memory speaks of days, which are in the side table.
pub(crate) const HAS_SPANS: Marks = 128;

/// What is known of one memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) time: i64,
    pub(crate) order: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    /// The terms it counts, in quarters.
    pub(crate) length: u32,
    pub(crate) flags: Marks,
}

/// The columns.
#[derive(Clone, Default)]
pub(crate) struct Columns {
    pub(crate) keys: Vec<Key>,
    pub(crate) times: Vec<i64>,
    pub(crate) orders: Vec<u32>,
    pub(crate) sessions: Vec<u32>,
    pub(crate) speakers: Vec<u32>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) flags: Vec<Marks>,
    /// Days spoken of, by number.
    pub(crate) spans: Vec<(u32, Span)>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Columns {
    /// Numbers, live and vacant.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of a live memory.
    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.table
            .find(hash, |&number| self.keys[number as usize] == *key)
            .copied()
    }

    /// Appends a memory and returns its number.
    pub(crate) fn push(&mut self, row: Row, spans: &[Span]) -> u32 {
        debug_assert!(
            self.find(&row.key).is_none(),
            "COL-2: a key is vacated before it comes again"
        );
        let number = self.len() as u32;
        super::grow(&mut self.keys, 1);
        super::grow(&mut self.times, 1);
        super::grow(&mut self.orders, 1);
        super::grow(&mut self.sessions, 1);
        super::grow(&mut self.speakers, 1);
        super::grow(&mut self.lengths, 1);
        super::grow(&mut self.flags, 1);
        self.keys.push(row.key);
        self.times.push(row.time);
        self.orders.push(row.order);
        self.sessions.push(row.session);
        self.speakers.push(row.speaker);
        self.lengths.push(row.length);
        let spoken = if spans.is_empty() { 0 } else { HAS_SPANS };
        self.flags.push(row.flags | LIVE | spoken);
        super::grow(&mut self.spans, spans.len());
        self.spans.extend(spans.iter().map(|&span| (number, span)));
        debug_assert!(
            self.flags.len() == self.keys.len() && self.times.len() == self.keys.len(),
            "COL-1: all columns grow together"
        );
        let hash = self.hasher.hash_one(row.key);
        let (keys, hasher) = (&self.keys, &self.hasher);
        self.table
            .insert_unique(hash, number, |&number| hasher.hash_one(keys[number as usize]));
        number
    }

    /// Makes the number of a live memory vacant.
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
        day_of(self.times[number as usize])
    }

    /// One memory with all its columns.
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

    /// The days that a memory speaks of.
    pub(crate) fn spans_of(&self, number: u32) -> &[(u32, Span)] {
        if self.flags[number as usize] & HAS_SPANS == 0 {
            return &[];
        }
        let start = self.spans.partition_point(|&(other, _)| other < number);
        let end = self.spans.partition_point(|&(other, _)| other <= number);
        &self.spans[start..end]
    }

    /// Which of two memories came first: time, then the order given, then the key.
    pub(crate) fn chronology(&self, one: u32, two: u32) -> Ordering {
        let (one, two) = (one as usize, two as usize);
        self.times[one]
            .cmp(&self.times[two])
            .then_with(|| self.orders[one].cmp(&self.orders[two]))
            .then_with(|| self.keys[one].cmp(&self.keys[two]))
    }
}
