//! An index of the log: finds the locator of a record by its digest.
//!
//! An entry contains the first eight bytes of a digest and a locator, so a million versions use about twenty megabytes.
//! Two digests may start with the same eight bytes. So the reader hashes each candidate record to confirm the match.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening.

use hashbrown::HashTable;

use crate::digest::DIGEST_LEN;
use crate::log::Locator;

use super::checkpoint::{DigestRow, prefix_of};

/// An index of records by digest. The value of a row is a locator.
#[derive(Default)]
pub(super) struct DigestIndex {
    table: HashTable<DigestRow>,
    /// The rows of the table from locator `recent_from` on, in the order of the log: the rows that the next checkpoint
    /// adds. `None` if no checkpoint will be written.
    recent: Option<Vec<DigestRow>>,
    recent_from: u64,
}

impl DigestIndex {
    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Adds a record. The index must not contain its digest yet.
    pub(super) fn insert(&mut self, digest: &[u8; DIGEST_LEN], place: Locator) {
        let prefix = prefix_of(digest);
        let value = place.to_u64();
        self.insert_row(DigestRow { prefix, value });
    }

    /// Adds a row of another index.
    pub(super) fn insert_row(&mut self, row: DigestRow) {
        self.table.insert_unique(row.prefix.0, row, |row| row.prefix.0);
        if let Some(recent) = &mut self.recent {
            recent.push(row);
        }
    }

    /// Keeps the rows in the order of the log for checkpoints. Must be called on an empty index.
    pub(super) fn keep_order(&mut self) {
        self.recent = Some(Vec::new());
    }

    /// Returns the rows whose locators are between `from` and `to`.
    pub(super) fn rows(&self, from: u64, to: u64) -> Vec<DigestRow> {
        match &self.recent {
            Some(recent) if from >= self.recent_from => {
                let start = recent.partition_point(|row| row.value < from);
                let end = recent.partition_point(|row| row.value < to);
                recent.get(start..end).unwrap_or_default().to_vec()
            }
            _ => {
                let rows = self.table.iter().copied();
                rows.filter(|row| (from..to).contains(&row.value)).collect()
            }
        }
    }

    /// Forgets the order of the rows before `from`, because a checkpoint contains them.
    pub(super) fn forget_order(&mut self, from: u64) {
        if let Some(recent) = self.recent.as_mut().filter(|_| from > self.recent_from) {
            let covered = recent.partition_point(|row| row.value < from);
            recent.drain(..covered);
            self.recent_from = from;
        }
    }

    /// Returns the locators of the records that may have this digest. Nearly always, there is at most one such record.
    pub(super) fn candidates(&self, digest: &[u8; DIGEST_LEN]) -> impl Iterator<Item = Locator> + '_ {
        let prefix = prefix_of(digest);
        let rows = self.table.iter_hash(prefix.0);
        rows.filter(move |row| row.prefix == prefix)
            .map(|row| Locator::from_u64(row.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_that_share_eight_bytes_are_told_apart_by_their_records() {
        let mut index = DigestIndex::default();
        let mut digest = [7; DIGEST_LEN];
        index.insert(&digest, Locator::from_u64(1));
        index.insert(&digest, Locator::from_u64(2));
        let mut found: Vec<_> = index.candidates(&digest).map(Locator::to_u64).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
        digest[0] ^= 1;
        assert_eq!(index.candidates(&digest).count(), 0);
        assert_eq!(index.len(), 2);
    }
}
