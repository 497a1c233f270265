//! The rows of a table of vectors in which the documents of an index have theirs.
//!
//! # Layer
//! Inside `recall::vectors`. Knows numbers of documents and digests of texts, and no index.
//!
//! # Invariants
//! - VPL-1: a document has a place only in the row of its own text.

use std::sync::{Arc, PoisonError, RwLock};

use super::table::{RowsByText, TextKey, VectorTable};

/// The number of searches in a table that cost as much as a look at all of its rows does for each of these.
const ROWS_PER_SEARCH: usize = 16;

/// Stands for a document without a vector.
pub(super) const NONE: u32 = u32::MAX;

/// The places of the documents of one index. They are found again when the table changes.
#[derive(Default)]
pub(crate) struct Places(RwLock<Arc<Found>>);

/// The places that were found in one table.
#[derive(Clone, Default)]
pub(crate) struct Found {
    /// The table, and the number of its changes.
    table: (u64, u64),
    /// The row of each document, by its number.
    pub(super) rows: Vec<u32>,
    /// The documents with a text whose vector is not in the table.
    pub(super) missing: Vec<u32>,
}

impl Clone for Places {
    fn clone(&self) -> Self {
        Self(RwLock::new(self.read()))
    }
}

impl Places {
    fn read(&self) -> Arc<Found> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the places of `documents` documents. `text` returns the digest of the text of a document, all zero if it
    /// has no text.
    pub(crate) fn of(
        &self,
        table: &VectorTable,
        documents: usize,
        text: impl Fn(u32) -> TextKey,
    ) -> Arc<Found> {
        let known = self.read();
        if known.is_of(table, documents) {
            return known;
        }
        drop(known);
        let mut found = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !found.is_of(table, documents) {
            Arc::make_mut(&mut found).update(table, documents, text);
        }
        // INVARIANT VPL-1: these are the places of this table, whatever other threads read meanwhile.
        Arc::clone(&found)
    }
}

impl Found {
    fn is_of(&self, table: &VectorTable, documents: usize) -> bool {
        self.table == table.id() && self.rows.len() == documents
    }

    fn update(&mut self, table: &VectorTable, documents: usize, text: impl Fn(u32) -> TextKey) {
        if self.table.0 != table.id().0 || self.rows.len() > documents {
            *self = Self::default();
        }
        // A new process finds the places of all documents. One look at all rows is then cheaper than a search for each.
        let new = documents - self.rows.len();
        let rows = (new * ROWS_PER_SEARCH > table.len()).then(|| table.rows());
        let missing = std::mem::take(&mut self.missing);
        for number in missing {
            self.place(number, table, rows.as_ref(), text(number));
        }
        let mut near: u32 = 0;
        for number in self.rows.len() as u32..documents as u32 {
            self.rows.push(NONE);
            let key = text(number);
            if key == TextKey::default() {
                continue;
            }
            // Texts that were stored together have rows that lie together, the newest text first or last.
            let guesses = [near.wrapping_sub(1), near, near.saturating_add(1)];
            match guesses.into_iter().find(|&row| table.key(row) == Some(&key)) {
                Some(row) => self.rows[number as usize] = row,
                None => self.place(number, table, rows.as_ref(), key),
            }
            let row = self.rows[number as usize];
            if row != NONE {
                near = row;
            }
        }
        self.table = table.id();
    }

    fn place(&mut self, number: u32, table: &VectorTable, rows: Option<&RowsByText>, key: TextKey) {
        let row = match rows {
            Some(rows) => rows.get(&key).copied(),
            None => table.find(&key),
        };
        match row {
            Some(row) => self.rows[number as usize] = row,
            None if table.knows(&key) => {}
            None => self.missing.push(number),
        }
    }

    /// Returns the row of a document.
    pub(super) fn row(&self, number: u32) -> Option<u32> {
        let row = self.rows.get(number as usize).copied();
        row.filter(|&row| row != NONE)
    }

    /// Returns the documents with a text whose vector is not in the table.
    pub(crate) fn missing(&self) -> &[u32] {
        &self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> TextKey {
        let mut key = [1; 16];
        key[..4].copy_from_slice(&number.to_le_bytes());
        key
    }

    #[test]
    fn places_follow_the_table_and_the_documents() {
        let mut table = VectorTable::new("m");
        (0..50).for_each(|number| table.insert(key(number), &[1.0, number as f32]));
        let places = Places::default();
        // The documents have the texts in another order, and some have none.
        let text = |number: u32| {
            if number.is_multiple_of(10) {
                TextKey::default()
            } else {
                key(99 - number)
            }
        };
        let check = |table: &VectorTable, documents: usize| {
            let found = places.of(table, documents, text);
            let mut missing = found.missing().to_vec();
            missing.sort_unstable();
            let all = 0..documents as u32;
            let expected: Vec<u32> = all
                .clone()
                .filter(|&number| !number.is_multiple_of(10) && !table.knows(&key(99 - number)))
                .collect();
            assert_eq!(missing, expected);
            for number in all {
                let key = text(number);
                assert_eq!(found.row(number), table.find(&key), "VPL-1");
            }
        };
        check(&table, 30);
        check(&table, 60);
        (50..70).for_each(|number| table.insert(key(number), &[1.0, number as f32]));
        check(&table, 60);
        check(&table, 100);
        // Another table has other rows.
        let mut other = VectorTable::new("m");
        (0..70)
            .rev()
            .for_each(|number| other.insert(key(number), &[1.0, 2.0]));
        check(&other, 100);
    }
}
