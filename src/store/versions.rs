//! The index of history: where the record of a digest is.
//!
//! An entry is the first eight bytes of a digest and a place, so a million versions take some twenty
//! megabytes. Two digests may share eight bytes; whoever looks one up confirms a candidate by hashing
//! the record, which also means that nothing is found that is not what it claims to be.
//!
//! # Layer
//! L4. Derived: rebuilt from the log at open.

use hashbrown::HashTable;

use crate::digest::DIGEST_LEN;
use crate::log::Locator;

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

fn prefix(digest: &[u8; DIGEST_LEN]) -> u64 {
    let (head, _) = digest.split_first_chunk::<8>().expect("a digest has 32 bytes");
    u64::from_le_bytes(*head)
}

impl DigestIndex {
    /// How many records are known.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Adds the record of a digest that [`Self::find`] did not find.
    pub(super) fn insert(&mut self, digest: &[u8; DIGEST_LEN], place: Locator) {
        let prefix = prefix(digest);
        self.table
            .insert_unique(prefix, Slot { prefix, place }, |slot| slot.prefix);
    }

    /// The start of each digest, as [`prefix`] gives it, with the place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Locator)> + '_ {
        self.table.iter().map(|slot| (slot.prefix, slot.place))
    }

    /// The places that may hold the digest: nearly always none or one.
    pub(super) fn candidates(&self, digest: &[u8; DIGEST_LEN]) -> impl Iterator<Item = Locator> + '_ {
        let prefix = prefix(digest);
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
