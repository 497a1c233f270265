//! Stores the kept commits, which retention has not thinned, and the gaps between them. Finds commits by index, seq,
//! digest or root.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening. Handles commits, but no objects.
//!
//! # Invariants
//! - CTL-1: kept commits are in the order of seq. Between two neighbours, either no commit is missing, or a gap
//!   contains the thinned commits.
//! - CTL-4: in memory are the states of the newest commits, of the commits that references name, and of some earlier
//!   commits (marks). Between two marks are at most about as many changes as the state has objects, or 4,096; a commit that
//!   reuses a state that is not recent is a mark, too. Other states are computed from the log. A store that read its log
//!   at once (BLK-1) begins without marks.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, DIGEST_LEN, Root};
use crate::log::{HeadMark, Locator};
use crate::object::Commit;
use crate::threads::RwLock;
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
    #[doc(hidden)]
    pub fn of(changes: impl Iterator<Item = (bool, bool)>) -> Self {
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
    #[doc(hidden)]
    pub fn total(self) -> u64 {
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
    /// Whether the changes of the commit may change the tree of parents.
    pub(super) touches_tree: bool,
    /// The number of changes in the batch of the commit; 0 for a commit read from a checkpoint.
    pub(super) changes: u64,
    /// The changes from the previous kept commit to this commit. Computed at the first use.
    pub(crate) counts: OnceLock<ChangeCounts>,
    /// The state of the commit, if it is in memory. [`super::Store::state`] computes it otherwise.
    pub(super) trie: StateSlot,
}

/// The place of a commit's state in memory.
#[derive(Default)]
pub(super) struct StateSlot(RwLock<Option<Trie>>);

impl StateSlot {
    pub(super) fn get(&self) -> Option<Trie> {
        self.0.read().clone()
    }

    pub(super) fn set(&self, state: &Trie) {
        *self.0.write() = Some(state.clone());
    }

    pub(super) fn take(&self) -> Option<Trie> {
        self.0.write().take()
    }
}

impl From<Trie> for StateSlot {
    fn from(state: Trie) -> Self {
        Self(RwLock::new(Some(state)))
    }
}

impl CommitEntry {
    pub(crate) fn seq(&self) -> u64 {
        self.commit.seq
    }

    /// Returns a copy of the entry that keeps this state in memory.
    pub(super) fn with_state(&self, state: Trie) -> Self {
        Self {
            commit: self.commit.clone(),
            counts: self.counts.clone(),
            trie: state.into(),
            ..*self
        }
    }

    /// Returns the fields that the log and a checkpoint determine, as text.
    #[cfg(test)]
    pub(crate) fn facts(&self) -> String {
        let (digest, commit, map_record) = (self.digest, &self.commit, self.map_record);
        format!(
            "{digest} {commit:?} {} {:?} {map_record:?}",
            self.batch, self.place
        )
    }

    /// Returns the fields that only the log determines, as text.
    #[cfg(test)]
    pub(crate) fn effect(&self) -> String {
        format!("{} {}", self.takes_state, self.changes)
    }

    /// Returns whether the state is in memory.
    #[cfg(test)]
    pub(crate) fn has_state(&self) -> bool {
        self.trie.get().is_some()
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

/// The numbers have the order of the digests.
#[expect(clippy::big_endian_bytes, reason = "digests are ordered by their first bytes")]
fn first_bytes(digest: &[u8; DIGEST_LEN]) -> u64 {
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// Returns the range of the rows of an index that may have a digest from `low` to `high`.
fn rows(low: &[u8; DIGEST_LEN], high: &[u8; DIGEST_LEN]) -> RangeInclusive<(u64, u32)> {
    (first_bytes(low), 0)..=(first_bytes(high), u32::MAX)
}

/// The kept commits in the order of the log, with indexes by digest and by root.
#[derive(Default)]
pub(super) struct Line {
    /// The kept commits, oldest first. [`Self::push`] adds a commit.
    pub(super) kept: Vec<Arc<CommitEntry>>,
    /// Two indexes: the position of each commit by the first bytes of its digest, and by those of its root.
    indexes: [BTreeSet<(u64, u32)>; 2],
    /// The index of the first commit of the newest run of commits of one lane.
    newest_run: usize,
    pub(super) gaps: Vec<Gap>,
    /// The number of changes up to each kept commit, from the first kept commit on.
    changes: Vec<u64>,
    /// The number of commits that were examined by [`Self::next_outdated`].
    examined: usize,
    /// The indexes of the examined commits that keep their states so that a replay begins near every commit.
    marks: Vec<usize>,
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
        let same = self.indexes[usize::from(by_root)].range(rows(digest, digest));
        let mut same = same.rev().map(|(_, index)| *index as usize);
        same.find(|index| self.indexed(by_root, *index) == digest)
    }

    /// Returns the digest of the commit at an index of `kept`, or its root.
    fn indexed(&self, by_root: bool, index: usize) -> &[u8; DIGEST_LEN] {
        let entry = &self.kept[index];
        if by_root {
            entry.commit.root.as_bytes()
        } else {
            entry.digest.as_bytes()
        }
    }

    /// Returns the index that [`Self::find`] returns, among the commits before the index `end`.
    pub(super) fn newest_before(
        &self,
        by_root: bool,
        digest: &[u8; DIGEST_LEN],
        end: usize,
    ) -> Option<usize> {
        let newest = self.find(by_root, digest)?;
        if newest < end {
            return Some(newest);
        }
        let mut older = self.kept.get(..end)?.iter();
        older.rposition(|entry| by_root && entry.commit.root.as_bytes() == digest)
    }

    /// Iterates the digests of commits between `low` and `high`, or the roots if `by_root` is true. Each item contains
    /// the index that [`Self::find`] returns.
    pub(super) fn between(
        &self,
        by_root: bool,
        low: [u8; DIGEST_LEN],
        high: [u8; DIGEST_LEN],
    ) -> impl Iterator<Item = ([u8; DIGEST_LEN], usize)> {
        let range = self.indexes[usize::from(by_root)].range(rows(&low, &high));
        let found = range.map(move |(_, index)| (*self.indexed(by_root, *index as usize), *index as usize));
        found.filter(move |(digest, index)| {
            (low..=high).contains(digest) && self.find(by_root, digest) == Some(*index)
        })
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
            known.insert((first_bytes(digest), index as u32));
        }
        self.changes.push(self.changes_until(index) + entry.changes);
        self.kept.push(entry);
    }

    /// Returns the number of changes in the commits before the index `end`.
    fn changes_until(&self, end: usize) -> u64 {
        end.checked_sub(1).map_or(0, |last| self.changes[last])
    }

    /// Returns the next commit whose state is no longer recent, because `recent` changes follow the next commit, if there is
    /// one (CTL-4). Each commit is returned at most
    /// once, and a commit whose state is a mark never.
    pub(super) fn next_outdated(&mut self, recent: u64) -> Option<Arc<CommitEntry>> {
        loop {
            let index = self.examined;
            let after_next = self.changes_until(self.kept.len()) - self.changes.get(index + 1)?;
            if after_next < recent {
                return None;
            }
            self.examined += 1;
            let entry = &self.kept[index];
            let Some(state) = entry.trie.get() else { continue };
            let marked = self.marks.last().map_or(0, |mark| self.changes[*mark]);
            let is_far = self.changes[index] - marked >= recent.max(state.len());
            if !is_far && !self.goes_far_back(index, recent) {
                return Some(Arc::clone(entry));
            }
            self.marks.push(index);
        }
    }

    /// Returns whether a commit reuses a state that was no longer recent. A replay over such a commit would first replay
    /// the log before that state.
    fn goes_far_back(&self, index: usize, recent: u64) -> bool {
        let entry = &self.kept[index];
        if !entry.takes_state {
            return false;
        }
        let mut older = self.kept[..index].iter();
        let target = older.rposition(|older| older.commit.root == entry.commit.root);
        target.is_none_or(|target| self.changes[index] - self.changes[target] >= recent)
    }

    /// Returns the commit with this digest, if its state is neither recent nor a mark.
    pub(super) fn outdated(&self, digest: &CommitDigest) -> Option<Arc<CommitEntry>> {
        let index = self.find(false, digest.as_bytes())?;
        let is_kept = index >= self.examined || self.marks.binary_search(&index).is_ok();
        (!is_kept).then(|| Arc::clone(&self.kept[index]))
    }

    /// Returns the newest commit before commit `seq` whose state is in memory, with that state, and the last batch before
    /// the next commit whose state is in memory.
    pub(super) fn around(&self, seq: u64) -> (Option<(Arc<CommitEntry>, Trie)>, u64) {
        let (Ok(index) | Err(index)) = self.position(seq);
        let (before, after) = self.kept.split_at(index);
        let in_memory = |entry: &Arc<CommitEntry>| Some((Arc::clone(entry), entry.trie.get()?));
        let without = after.iter().take_while(|entry| entry.trie.get().is_none());
        let upto = without.last().map_or(0, |last| last.batch);
        (before.iter().rev().find_map(in_memory), upto)
    }

    /// Returns the newest commit with this root among those before the index `end`.
    pub(super) fn newest_with_root(&self, root: Root, end: usize) -> Option<&Arc<CommitEntry>> {
        let newest = self.find(true, root.as_bytes())?;
        if newest < end {
            return self.kept.get(newest);
        }
        self.kept[..end].iter().rfind(|entry| entry.commit.root == root)
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
