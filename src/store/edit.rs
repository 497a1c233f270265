//! Applies the changes of one batch to a state. Commits, catching up, opening, salvage and the computation of past states all
//! use this one edit.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::collections::BTreeMap;

use crate::digest::{KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::Locator;
use crate::trie::{Entry, NodeSource, Trie};

/// A change of an id in a batch.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) key: KeyPath,
    /// The new version; `None` if the batch removes the id.
    pub(super) digest: Option<ObjectDigest>,
    /// The locator of the version's record, if the batch contains it.
    pub(super) place: Option<u64>,
    /// The time of the first write of the id, if the batch contains it.
    pub(super) created: Option<i64>,
}

impl Change {
    pub(super) fn new(
        key: KeyPath,
        digest: Option<ObjectDigest>,
        place: Option<Locator>,
        created: Option<i64>,
    ) -> Self {
        let place = place.map(Locator::to_u64);
        Self {
            key,
            digest,
            place,
            created,
        }
    }
}

/// The ids that were removed, with the times of their first writes. The order is fixed, because checkpoints store it.
pub(super) type Removed = BTreeMap<KeyPath, i64>;

/// Notes the time of the first write of an id that a commit removed.
pub(super) fn note(removed: &mut Removed, key: KeyPath, created: i64) {
    let known = removed.entry(key).or_insert(created);
    *known = (*known).min(created);
}

/// The data outside a batch that an edit needs.
pub(super) struct Edit<'a> {
    pub(super) nodes: &'a dyn NodeSource,
    /// Returns the time of the first write of an id that neither the state nor the removed ids contain.
    pub(super) first_written: &'a dyn Fn(&KeyPath) -> Result<Option<i64>>,
    /// Returns the locator of a version whose record is not in the batch.
    pub(super) place: &'a dyn Fn(ObjectDigest) -> Result<u64>,
    /// The time of the commit, which is the time of the first write of new ids.
    pub(super) time: i64,
}

impl Edit<'_> {
    /// Applies the changes of several commits, each with the time of its commit, in the order of the commits. The result is
    /// that of [`Self::apply`] for one commit after the other.
    pub(super) fn apply_all<'c>(
        &self,
        before: Trie,
        changes: impl Iterator<Item = (i64, &'c Change)>,
        removed: &mut Removed,
    ) -> Result<Trie> {
        let mut changes: Vec<(i64, &Change)> = changes.collect();
        // The sort is stable, so the changes of a key stay in the order of the log.
        changes.sort_by_key(|(_, change)| change.key);
        let groups: Vec<_> = changes.chunk_by(|one, next| one.1.key == next.1.key).collect();
        let keys: Vec<KeyPath> = groups.iter().map(|group| group[0].1.key).collect();
        let mut change = |index: usize, old: Option<&Entry>| {
            let mut entry = old.copied();
            // Times rise from commit to commit. The last change of a commit counts.
            for of_commit in groups[index].chunk_by(|one, next| one.0 == next.0) {
                let (time, last) = of_commit[of_commit.len() - 1];
                let edit = Self { time, ..*self };
                entry = edit.entry(last, entry.as_ref(), removed)?;
            }
            Ok(entry)
        };
        before.updated(&keys, self.nodes, &mut change)
    }

    /// Applies changes to the state `before`. The last change of each id counts. Adds the ids that the changes remove to
    /// `removed`.
    pub(super) fn apply<'c>(
        &self,
        before: Trie,
        changes: impl Iterator<Item = &'c Change>,
        removed: &mut Removed,
    ) -> Result<Trie> {
        let mut changes: Vec<&Change> = changes.collect();
        // The sort is stable, so the last change of a key, which counts, is the last of its group.
        changes.sort_by_key(|change| change.key);
        let groups = changes.chunk_by(|one, next| one.key == next.key);
        let changes: Vec<&Change> = groups.filter_map(|group| group.last().copied()).collect();
        let keys: Vec<KeyPath> = changes.iter().map(|change| change.key).collect();
        let mut change = |index: usize, old: Option<&Entry>| self.entry(changes[index], old, removed);
        before.updated(&keys, self.nodes, &mut change)
    }

    /// Returns the entry after a change; `None` if the change removes the id.
    fn entry(&self, change: &Change, old: Option<&Entry>, removed: &mut Removed) -> Result<Option<Entry>> {
        let key = change.key;
        let mut created = change.created.or(old.map(|old| old.created));
        let Some(digest) = change.digest else {
            if let Some(created) = created {
                note(removed, key, created);
            }
            return Ok(None);
        };
        if created.is_none() {
            created = match removed.get(&key) {
                Some(created) => Some(*created),
                None => (self.first_written)(&key)?,
            };
        }
        Ok(Some(Entry {
            key,
            digest: *digest.as_bytes(),
            place: change.place.map_or_else(|| (self.place)(digest), Ok)?,
            created: created.unwrap_or(self.time),
        }))
    }
}
