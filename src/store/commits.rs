//! The kept commits, found by index in their line, by seq, by digest and by root; and the gaps between them.
//!
//! # Layer
//! Layer 4. Derived: built again from the log at each opening. Knows commits, not objects.
//!
//! # Invariants
//! - CTL-1: kept commits are in the order of seq. Two neighbours are consecutive, or a gap between them has the thinned
//!   commits.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::log::{HeadMark, Locator};
use crate::object::Commit;
use crate::trie::Trie;

/// The number of ids that differ between two states, by the kind of difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ChangeCounts {
    /// The number of ids that only the newer state has.
    pub added: u64,
    /// The number of ids that have another version in the newer state.
    pub changed: u64,
    /// The number of ids that only the older state has.
    pub removed: u64,
}

impl ChangeCounts {
    /// Counts changes of ids. Each change states whether the older and the newer state have the id.
    pub(crate) fn of(changes: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        changes.for_each(|(old, new)| counts.add(old, new));
        counts
    }

    /// Counts one id whose versions in the two states differ.
    pub(crate) fn add(&mut self, old: bool, new: bool) {
        match (old, new) {
            (false, _) => self.added += 1,
            (true, true) => self.changed += 1,
            (true, false) => self.removed += 1,
        }
    }

    /// Returns the sum of the three counts.
    pub(crate) fn total(self) -> u64 {
        self.added + self.changed + self.removed
    }
}

/// A kept commit.
pub(crate) struct CommitEntry {
    pub(crate) digest: CommitDigest,
    pub(crate) commit: Commit,
    /// The number of the batch that contains the commit.
    pub(crate) batch: u64,
    /// The place of the commit's record.
    pub(crate) place: Locator,
    /// In a rewritten log, the place of the first record of the commit's map or of the changes to it.
    pub(crate) map_record: Option<Locator>,
    /// Whether the commit has the state of an older commit, because its batch contains no changes. False for a commit
    /// in a checkpoint, where this is unknown.
    pub(super) takes_state: bool,
    /// The counts of its changes, compared with the kept commit before it. They are computed at the first use.
    pub(crate) counts: OnceLock<ChangeCounts>,
    /// The state of the commit, loaded at the first access through [`super::Store::state`].
    pub(super) trie: OnceLock<Trie>,
}

impl CommitEntry {
    pub(crate) fn seq(&self) -> u64 {
        self.commit.seq
    }

    /// Returns this commit as the head that `live` names.
    pub(crate) fn mark(&self) -> HeadMark {
        HeadMark {
            commit: self.digest,
            root: self.commit.root,
            seq: self.commit.seq,
        }
    }
}

/// A run of thinned commits, whose digests are in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The seq of the first commit of the run.
    pub(crate) first: u64,
    /// The number of commits.
    pub(crate) count: u64,
    /// The place of the record.
    pub(crate) place: Locator,
}

/// The line of kept commits.
#[derive(Default)]
pub(super) struct Line {
    /// The kept commits; [`Self::push`] adds one.
    pub(super) kept: Vec<Arc<CommitEntry>>,
    /// The index of each commit by its digest, and of the newest commit of each root by the root.
    indexes: [BTreeMap<[u8; DIGEST_LEN], usize>; 2],
    pub(super) gaps: Vec<Gap>,
}

impl Line {
    /// Returns the index of commit `seq` in the line, or the index at which it would be inserted.
    pub(super) fn position(&self, seq: u64) -> Result<usize, usize> {
        self.kept.binary_search_by_key(&seq, |entry| entry.seq())
    }

    /// Returns the index of the commit with this digest, or of the newest one with this root.
    pub(super) fn find(&self, by_root: bool, digest: &[u8; DIGEST_LEN]) -> Option<usize> {
        self.indexes[usize::from(by_root)].get(digest).copied()
    }

    /// Iterates the digests of commits between `low` and `high`, or their roots, each with the index that
    /// [`Self::find`] returns.
    pub(super) fn between(
        &self,
        by_root: bool,
        low: [u8; DIGEST_LEN],
        high: [u8; DIGEST_LEN],
    ) -> impl Iterator<Item = ([u8; DIGEST_LEN], usize)> {
        let range = self.indexes[usize::from(by_root)].range(low..=high);
        range.map(|(&digest, &index)| (digest, index))
    }

    pub(super) fn push(&mut self, entry: Arc<CommitEntry>) {
        let index = self.kept.len();
        debug_assert!(
            self.kept.last().is_none_or(|last| last.seq() < entry.seq()),
            "CTL-1"
        );
        let digests = [entry.digest.as_bytes(), entry.commit.root.as_bytes()];
        for (known, digest) in self.indexes.iter_mut().zip(digests) {
            known.insert(*digest, index);
        }
        self.kept.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_counts_every_id_once() {
        let mut counts = ChangeCounts::default();
        for (old, new) in [
            (false, true),
            (true, true),
            (true, false),
            (true, false),
            (true, false),
        ] {
            counts.add(old, new);
        }
        assert_eq!(
            (counts.added, counts.changed, counts.removed, counts.total()),
            (1, 1, 3, 5)
        );
    }
}
