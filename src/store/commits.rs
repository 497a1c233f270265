//! The kept commits, by index in their line, seq, digest and root; and the gaps between them.
//!
//! # Layer
//! L4. Derived: rebuilt from the log at open. Knows commits, not objects.
//!
//! # Invariants
//! - CTL-1: kept commits are in the order of seq. Two neighbours are consecutive, or one gap with the thinned commits
//!   is between them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, Root};
use crate::log::{HeadMark, Locator};
use crate::object::Commit;
use crate::trie::Trie;

/// The lane of commits without session and actor.
const DEFAULT_LANE: &str = "default";

/// Number of ids that differ between two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ChangeCounts {
    /// Ids that only the newer state has.
    pub added: u64,
    /// Ids with another version in the newer state.
    pub changed: u64,
    /// Ids that only the older state has.
    pub removed: u64,
}

impl ChangeCounts {
    /// Counts changes of ids, each given as whether the older and the newer state have it.
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

    /// Returns the sum of all three.
    pub(crate) fn total(self) -> u64 {
        self.added + self.changed + self.removed
    }
}

/// A kept commit.
pub(crate) struct CommitEntry {
    pub(crate) digest: CommitDigest,
    pub(crate) commit: Commit,
    /// The batch that holds the commit.
    pub(crate) batch: u64,
    /// The place of its record.
    pub(crate) place: Locator,
    /// The place of the first record of its map, or of the changes to it, in a rewritten log.
    pub(crate) map_record: Option<Locator>,
    /// Whether it has the state of an older commit, because its batch holds no changes. Unknown, and false, for a commit in a
    /// checkpoint.
    pub(super) takes_state: bool,
    /// Its changes against the kept commit before it, counted on first use.
    pub(crate) counts: OnceLock<ChangeCounts>,
    /// The state of the commit, loaded at the first access through [`super::Store::state`].
    pub(super) trie: OnceLock<Trie>,
}

/// Returns the lane of a commit or reference: its session, else its actor, else `default`.
pub(crate) fn lane_of<'a>(session: Option<&'a str>, actor: Option<&'a str>) -> &'a str {
    session.or(actor).unwrap_or(DEFAULT_LANE)
}

impl CommitEntry {
    pub(crate) fn lane(&self) -> &str {
        lane_of(self.commit.session.as_deref(), self.commit.actor.as_deref())
    }

    pub(crate) fn seq(&self) -> u64 {
        self.commit.seq
    }

    /// The mark of this commit as the head.
    pub(crate) fn mark(&self) -> HeadMark {
        HeadMark {
            commit: self.digest,
            root: self.commit.root,
            seq: self.commit.seq,
        }
    }
}

/// A run of thinned commits: one record holds their digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The seq of the first one.
    pub(crate) first: u64,
    /// Number of commits.
    pub(crate) count: u64,
    /// The place of the record.
    pub(crate) place: Locator,
}

/// The line of kept commits.
#[derive(Default)]
pub(super) struct Line {
    kept: Vec<Arc<CommitEntry>>,
    by_digest: BTreeMap<CommitDigest, usize>,
    /// The newest commit with each root.
    by_root: BTreeMap<Root, usize>,
    gaps: Vec<Gap>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Arc<CommitEntry>> {
        self.kept.get(index)
    }

    /// Returns the index of commit `seq` in the line, or the index for inserting it.
    pub(super) fn position(&self, seq: u64) -> Result<usize, usize> {
        self.kept.binary_search_by_key(&seq, |entry| entry.seq())
    }

    pub(super) fn by_digest(&self, digest: CommitDigest) -> Option<usize> {
        self.by_digest.get(&digest).copied()
    }

    pub(super) fn by_root(&self, root: Root) -> Option<usize> {
        self.by_root.get(&root).copied()
    }

    /// Returns the indexes of the commits whose digest is between `low` and `high`.
    pub(super) fn commits_between(&self, low: CommitDigest, high: CommitDigest) -> Vec<usize> {
        self.by_digest
            .range(low..=high)
            .map(|(_, &index)| index)
            .collect()
    }

    /// Returns the newest commit of each root from `low` to `high`.
    pub(super) fn roots_between(&self, low: Root, high: Root) -> Vec<(Root, usize)> {
        let range = self.by_root.range(low..=high);
        range.map(|(&root, &index)| (root, index)).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<CommitEntry>> {
        self.kept.iter()
    }

    pub(super) fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    pub(super) fn push_gap(&mut self, gap: Gap) {
        self.gaps.push(gap);
    }

    pub(super) fn push(&mut self, entry: Arc<CommitEntry>) {
        let index = self.kept.len();
        debug_assert!(
            self.kept.last().is_none_or(|last| last.seq() < entry.seq()),
            "CTL-1"
        );
        self.by_digest.insert(entry.digest, index);
        self.by_root.insert(entry.commit.root, index);
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
