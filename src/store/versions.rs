//! An index of the log: finds the locator of a record by its digest.
//!
//! An entry contains the first eight bytes of a digest and a locator, so a million versions use about twenty megabytes.
//! Two digests may start with the same eight bytes. So the reader hashes each candidate record to confirm the match.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::digest::DIGEST_LEN;
use crate::log::Locator;

use super::checkpoint::{DigestRow, prefix_of};

/// An index of records by digest. The value of a row is a locator.
#[derive(Default)]
pub(super) struct DigestIndex {
    table: HashTable<DigestRow>,
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
        self.table
            .insert_unique(prefix.0, DigestRow { prefix, value }, |row| row.prefix.0);
    }

    /// Adds a record, unless the index already contains a record that may have the same digest. Returns whether the
    /// record was added.
    pub(super) fn insert_first(&mut self, digest: &[u8; DIGEST_LEN], place: Locator) -> bool {
        let prefix = prefix_of(digest);
        let value = place.to_u64();
        let entry = self
            .table
            .entry(prefix.0, |row| row.prefix == prefix, |row| row.prefix.0);
        match entry {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(DigestRow { prefix, value });
                true
            }
        }
    }

    /// Iterates the rows in an undefined order.
    pub(super) fn iter(&self) -> impl Iterator<Item = DigestRow> + '_ {
        self.table.iter().copied()
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
        assert!(!index.insert_first(&digest, Locator::from_u64(3)));
        let mut found: Vec<_> = index.candidates(&digest).map(Locator::to_u64).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
        digest[0] ^= 1;
        assert_eq!(index.candidates(&digest).count(), 0);
        assert_eq!(index.len(), 2);
        assert!(index.insert_first(&digest, Locator::from_u64(3)));
        assert_eq!(index.candidates(&digest).next(), Some(Locator::from_u64(3)));
    }
}
