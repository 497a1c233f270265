//! Stores the kept commits, which retention has not thinned, and the gaps between them. Finds commits by index, seq,
//! digest or root.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening. Handles commits, but no objects.
//!
//! # Invariants
//! - CTL-1: kept commits are in the order of seq. Between two neighbours, either no commit is missing, or a gap
//!   contains the thinned commits.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::log::{HeadMark, Locator};
use crate::object::Commit;
use crate::trie::Trie;

/// The numbers of ids that were added, changed and removed between two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ChangeCounts {
    /// The number of ids that only the newer state contains.
    pub added: u64,
    /// The number of ids that have different versions in the two states.
    pub changed: u64,
    /// The number of ids that only the older state contains.
    pub removed: u64,
}

impl ChangeCounts {
    /// Counts changes of ids. Each item belongs to one id: whether the older state contains the id, and whether the
    /// newer state contains the id.
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

/// A commit that retention has not thinned.
pub(crate) struct CommitEntry {
    pub(crate) digest: CommitDigest,
    pub(crate) commit: Commit,
    /// The number of the batch that contains the commit.
    pub(crate) batch: u64,
    /// The locator of the commit's record.
    pub(crate) place: Locator,
    /// In a rewritten log, the locator of the first record of the commit's map, or of the changes of the map.
    pub(crate) map_record: Option<Locator>,
    /// Whether the commit reuses the state of an older commit, because its batch contains no changes. False for a
    /// commit read from a checkpoint, because checkpoints do not store this fact.
    pub(super) takes_state: bool,
    /// The changes from the previous kept commit to this commit. Computed at the first use.
    pub(crate) counts: OnceLock<ChangeCounts>,
    /// The state of the commit. [`super::Store::state`] loads it at the first access.
    pub(super) trie: OnceLock<Trie>,
}

impl CommitEntry {
    pub(crate) fn seq(&self) -> u64 {
        self.commit.seq
    }

    /// Returns the head mark of this commit, to be written to `live`.
    pub(crate) fn mark(&self) -> HeadMark {
        HeadMark {
            commit: self.digest,
            root: self.commit.root,
            seq: self.commit.seq,
        }
    }
}

/// A run of consecutive thinned commits, whose digests are in one gap record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The seq of the first commit of the run.
    pub(crate) first: u64,
    /// The number of commits in the run.
    pub(crate) count: u64,
    /// The locator of the gap record.
    pub(crate) place: Locator,
}

/// The kept commits in the order of the log, with indexes by digest and by root.
#[derive(Default)]
pub(super) struct Line {
    /// The kept commits, oldest first. [`Self::push`] adds a commit.
    pub(super) kept: Vec<Arc<CommitEntry>>,
    /// Two indexes: each commit's position by its digest, and the position of the newest commit with each root.
    indexes: [BTreeMap<[u8; DIGEST_LEN], usize>; 2],
    /// The index of the first commit of the newest run of commits of one lane.
    newest_run: usize,
    pub(super) gaps: Vec<Gap>,
}

impl Line {
    /// Returns the index of commit `seq` in `kept`. If `kept` lacks the commit, returns as `Err` the index at which the
    /// commit would be inserted.
    pub(super) fn position(&self, seq: u64) -> Result<usize, usize> {
        self.kept.binary_search_by_key(&seq, |entry| entry.seq())
    }

    /// Returns the index of the commit with this digest. If `by_root` is true, returns the index of the newest commit
    /// with this root.
    pub(super) fn find(&self, by_root: bool, digest: &[u8; DIGEST_LEN]) -> Option<usize> {
        self.indexes[usize::from(by_root)].get(digest).copied()
    }

    /// Iterates the digests of commits between `low` and `high`, or the roots if `by_root` is true. Each item contains
    /// the index that [`Self::find`] returns.
    pub(super) fn between(
        &self,
        by_root: bool,
        low: [u8; DIGEST_LEN],
        high: [u8; DIGEST_LEN],
    ) -> impl Iterator<Item = ([u8; DIGEST_LEN], usize)> {
        let range = self.indexes[usize::from(by_root)].range(low..=high);
        range.map(|(&digest, &index)| (digest, index))
    }

    /// Returns the kept commits after a batch.
    pub(super) fn since(&self, batch: u64) -> &[Arc<CommitEntry>] {
        &self.kept[self.kept.partition_point(|entry| entry.batch <= batch)..]
    }

    /// Returns an index from which on all commits are of `lane`.
    pub(super) fn others_below(&self, lane: &str) -> usize {
        let newest = self.kept.last();
        let is_of_lane = newest.is_some_and(|newest| newest.commit.lane() == lane);
        if is_of_lane {
            self.newest_run
        } else {
            self.kept.len()
        }
    }

    pub(super) fn push(&mut self, entry: Arc<CommitEntry>) {
        let index = self.kept.len();
        if self.others_below(entry.commit.lane()) == index {
            self.newest_run = index;
        }
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
