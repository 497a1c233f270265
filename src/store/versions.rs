//! An index of the log: finds the locator of a record by its digest.
//!
//! An entry contains the first eight bytes of a digest and a locator, so a million versions use about twenty megabytes.
//! Two digests may start with the same eight bytes. So the reader hashes each candidate record to confirm the match.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening.

use std::collections::HashSet;

use hashbrown::HashTable;

use crate::digest::DIGEST_LEN;
use crate::log::Locator;

use super::checkpoint::{DigestRow, prefix_of};

/// An index of records by digest. The value of a row is a locator.
#[derive(Default)]
pub(super) struct DigestIndex {
    table: HashTable<DigestRow>,
    /// The rows of the batches after `recent_from`, with the numbers of their batches, in the order of the log: the rows
    /// that the next checkpoint adds. `None` if no checkpoint will be written.
    recent: Option<Vec<(u64, DigestRow)>>,
    recent_from: u64,
}

impl DigestIndex {
    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Adds a record of a batch. The index must not contain its digest yet.
    pub(super) fn insert(&mut self, digest: &[u8; DIGEST_LEN], place: Locator, batch: u64) {
        let prefix = prefix_of(digest);
        let value = place.to_u64();
        self.insert_row(batch, DigestRow { prefix, value });
    }

    fn insert_row(&mut self, batch: u64, row: DigestRow) {
        self.table.insert_unique(row.prefix.0, row, |row| row.prefix.0);
        if let Some(recent) = &mut self.recent {
            recent.push((batch, row));
        }
    }

    /// Keeps the rows of the batches after `from` in the order of the log for checkpoints. Must be called on an empty
    /// index.
    pub(super) fn keep_order(&mut self, from: u64) {
        (self.recent, self.recent_from) = (Some(Vec::new()), from);
    }

    /// Returns the rows of the batches after `from` up to `upto`. If their order is no longer known, also returns earlier
    /// rows.
    pub(super) fn rows(&self, from: u64, upto: u64) -> Vec<DigestRow> {
        let recent = self.recent.as_deref().unwrap_or_default();
        let later = &recent[recent.partition_point(|(batch, _)| *batch <= upto)..];
        if self.recent.is_some() && from >= self.recent_from {
            let start = recent.partition_point(|(batch, _)| *batch <= from);
            let rows = recent.get(start..recent.len() - later.len()).unwrap_or_default();
            return rows.iter().map(|(_, row)| *row).collect();
        }
        let later: HashSet<u64> = later.iter().map(|(_, row)| row.value).collect();
        let rows = self.table.iter().copied();
        rows.filter(|row| !later.contains(&row.value)).collect()
    }

    /// Forgets the order of the rows up to a batch, because a checkpoint contains them.
    pub(super) fn forget_order(&mut self, upto: u64) {
        if let Some(recent) = self.recent.as_mut().filter(|_| upto > self.recent_from) {
            let covered = recent.partition_point(|(batch, _)| *batch <= upto);
            recent.drain(..covered);
            self.recent_from = upto;
        }
    }

    /// Takes over the rows of another index after a batch. If their order is no longer known, takes over all rows.
    pub(super) fn take_over(&mut self, other: &Self, after: u64) {
        self.keep_order(after);
        match &other.recent {
            Some(recent) if after >= other.recent_from => {
                let start = recent.partition_point(|(batch, _)| *batch <= after);
                for (batch, row) in &recent[start..] {
                    self.insert_row(*batch, *row);
                }
            }
            _ => {
                self.recent = None;
                other.table.iter().for_each(|row| self.insert_row(0, *row));
            }
        }
    }

    /// Adds a record, unless the index already contains a record that may have the same digest. Returns whether the
    /// record was added.
    pub(super) fn insert_first(&mut self, digest: &[u8; DIGEST_LEN], place: Locator, batch: u64) -> bool {
        let is_first = self.candidates(digest).next().is_none();
        if is_first {
            self.insert(digest, place, batch);
        }
        is_first
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
        index.insert(&digest, Locator::from_u64(1), 1);
        index.insert(&digest, Locator::from_u64(2), 1);
        assert!(!index.insert_first(&digest, Locator::from_u64(3), 1));
        let mut found: Vec<_> = index.candidates(&digest).map(Locator::to_u64).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
        digest[0] ^= 1;
        assert_eq!(index.candidates(&digest).count(), 0);
        assert_eq!(index.len(), 2);
        assert!(index.insert_first(&digest, Locator::from_u64(3), 1));
        assert_eq!(index.candidates(&digest).next(), Some(Locator::from_u64(3)));
    }
}
