//! The index of history: finds the place of each record by its digest.
//!
//! An entry is the first eight bytes of a digest and a place, so a million versions use about twenty megabytes. Two
//! digests may have the same eight bytes, so the reader hashes each candidate to confirm it. The hash also detects a
//! wrong record.
//!
//! # Layer
//! Layer 4. Derived: built again from the log at each opening.

use hashbrown::HashTable;

use crate::digest::DIGEST_LEN;
use crate::log::Locator;

use super::checkpoint::prefix_of;

#[derive(Clone, Copy)]
struct Slot {
    prefix: u64,
    place: Locator,
}

/// Finds records by digest.
#[derive(Default)]
pub(super) struct DigestIndex {
    table: HashTable<Slot>,
}

impl DigestIndex {
    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Adds the record of a digest that the index does not have.
    pub(super) fn insert(&mut self, digest: &[u8; DIGEST_LEN], place: Locator) {
        let prefix = prefix_of(digest);
        self.table
            .insert_unique(prefix, Slot { prefix, place }, |slot| slot.prefix);
    }

    /// Iterates the entries: the start of the digest, from [`prefix_of`], and the place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Locator)> + '_ {
        self.table.iter().map(|slot| (slot.prefix, slot.place))
    }

    /// Returns the places where the digest's record may be, nearly always at most one.
    pub(super) fn candidates(&self, digest: &[u8; DIGEST_LEN]) -> impl Iterator<Item = Locator> + '_ {
        let prefix = prefix_of(digest);
        self.table
            .iter_hash(prefix)
            .filter(move |slot| slot.prefix == prefix)
            .map(|slot| slot.place)
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
