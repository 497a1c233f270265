//! How a store reads the places of the main line, and notes what a commit changes.
//!
//! # Layer
//! Layer 4. Part of store/.

use std::sync::Arc;

use crate::digest::{KeyPath, Root};
use crate::log::Batch;
use crate::object::{Id, Object};
use crate::trie::Trie;

use super::changed::{ChangedIds, Coming};
use super::commits::CommitEntry;
use super::places::{Found, IdHash, PlaceCache};
use super::{Below, Store};

/// The least number of entries that are beside an entry.
const BESIDE_MIN: u64 = 8;
/// The most entries beside an entry that a reader notes. A node with few below each child has fewer.
const BESIDE_MAX: usize = 96;

impl Store {
    /// Returns the object named `id` in the state of the batch `batch`, if the cache has its place.
    pub(crate) fn cached(&self, id: &Id, hash: IdHash, batch: u64) -> Option<Object> {
        let (main, upto) = self.unchanged_since(hash, batch)?;
        let cache = main.places.load();
        let cache = cache.as_ref()?;
        self.object_found(id, cache, (cache.find(hash, upto)?, upto))
    }

    /// Returns the objects with these ids that [`Self::cached`] returns. Waits for all of them at the same time.
    pub(crate) fn cached_together(&self, ids: &[&Id], hashes: &[IdHash], batch: u64) -> Vec<Option<Object>> {
        let cache = self.line_of_cache().places.load();
        let Some(cache) = cache.as_ref() else {
            return vec![None; ids.len()];
        };
        let find = |hash: &IdHash| {
            let (_, upto) = self.unchanged_since(*hash, batch)?;
            Some((cache.find(*hash, upto)?, upto))
        };
        let found: Vec<Option<(Found, u64)>> = hashes.iter().map(find).collect();
        self.records
            .touch(found.iter().flatten().map(|(found, _)| found.place));
        let of = |(id, found): (&&Id, Option<(Found, u64)>)| self.object_found(id, cache, found?);
        ids.iter().zip(found).map(of).collect()
    }

    /// Returns the object at the place that was found for its id in the state of the batch `upto`. `None` if it cannot be read:
    /// then a read of the trie returns the error.
    fn object_found(&self, id: &Id, cache: &PlaceCache, (found, upto): (Found, u64)) -> Option<Object> {
        let is_served = |batch| batch <= upto && cache.serves(found, batch);
        self.records.object_named(id, found.place, is_served).ok()?
    }

    /// Notes the place of an id in the state of a commit of the batch `batch`, which has `objects` objects. Returns whether that
    /// took no place of another id.
    pub(crate) fn cache_place(
        &self,
        id: &Id,
        hash: IdHash,
        place: u64,
        (batch, objects): (u64, u64),
    ) -> bool {
        let Some((main, upto)) = self.unchanged_since(hash, batch) else {
            return false;
        };
        let (Some(cache), Some(head)) = (main.places.load_full(), main.head.load_full()) else {
            return false;
        };
        // INVARIANT PCH-1: a line may have linked a version of an id that its base lacks, so the main line is asked.
        let is_of_main = || {
            let key = self.suite.key_path(id.as_str());
            let entry = main.state(&head).ok()?.get(&key, main).ok()?;
            Some(entry?.place == place)
        };
        (self.own.is_none() || upto == head.batch && is_of_main() == Some(true))
            && cache.keep([(hash, place)], (upto, objects), head.batch)
    }

    /// Notes the places of the entries beside `key` in `state`, which is that of a commit of the batch `batch`, if the main line
    /// is read much. Reads only records that somebody has read before.
    pub(crate) fn cache_beside(&self, key: &KeyPath, state: &Trie, batch: u64) {
        let (Some(cache), Some(head)) = (self.places.load_full(), self.head.load_full()) else {
            return;
        };
        if head.batch != batch || !cache.looks_beside() {
            return;
        }
        // In place: an allocation of this size would let the allocator sort what was freed before.
        let (mut places, mut count) = ([0; BESIDE_MAX], 0);
        state.around(key, BESIDE_MIN, &mut |entry| {
            if let Some(place) = places.get_mut(count) {
                (*place, count) = (entry.place, count + 1);
            }
        });
        let beside = &places[..count];
        self.records.touch(beside.iter().copied());
        // Before `keep` takes its lock, for which a commit waits.
        let mut known = [None; BESIDE_MAX];
        for (known, place) in known.iter_mut().zip(beside) {
            *known = self.records.id_hash_again(*place).map(|hash| (hash, *place));
        }
        let known = known.into_iter().flatten();
        let found = known.clone().count();
        cache.keep(known, (batch, state.len()), head.batch);
        if found * 2 < count {
            cache.found_little();
        }
    }

    fn line_of_cache(&self) -> &Self {
        let mut line = self;
        while let Below::Line(below) = &line.below {
            line = &below.store;
        }
        line
    }

    /// Returns the main line, and the batch of a state of it that has the same version of an id as the state of the batch
    /// `batch`. `None` if this line, or one below it, may have changed the id (CHD-1).
    fn unchanged_since(&self, hash: IdHash, batch: u64) -> Option<(&Self, u64)> {
        let (mut line, mut upto) = (self, batch);
        while let Below::Line(below) = &line.below {
            if line.own.as_ref()?.changed.may_have(hash) {
                return None;
            }
            (line, upto) = (&below.store, upto.min(below.base.batch));
        }
        Some((line, upto))
    }

    /// Notes which ids a commit changes, before the commit is published. `named` are the ids that the batch links or unlinks,
    /// if they are known.
    pub(super) fn note_changes(&self, batch: &Batch, named: Option<&[IdHash]>, next: &CommitEntry) {
        match &self.own {
            Some(own) => self.note_changed(&own.changed, (batch, named), next),
            None => self.forget_places((batch, named), next),
        }
    }

    /// Makes the cache of places forget what a commit changes.
    fn forget_places(&self, (batch, named): (&Batch, Option<&[IdHash]>), next: &CommitEntry) {
        let Some(cache) = self.places.load_full() else {
            return;
        };
        let objects = next.trie.get().map_or(0, |after| after.len());
        let anew = cache.take_in((batch.number, objects), |cache| {
            self.with_changes((batch, named), next, |coming| match self.target_of(next) {
                Some(target) => cache.go_back(target.batch, batch.number),
                None => cache.forget_changes(coming, next),
            })
        });
        if let Some(anew) = anew {
            self.places.store(Some(Arc::new(anew)));
        }
    }

    /// Returns the commit whose state, with its places, a coming commit takes.
    fn target_of(&self, next: &CommitEntry) -> Option<Arc<CommitEntry>> {
        if !next.takes_state {
            return None;
        }
        let target = self.by_root(next.commit.root).ok()??;
        target.trie.get()?.is_same(&next.trie.get()?).then_some(target)
    }

    /// Adds what a commit changes to the changed ids of this line.
    fn note_changed(
        &self,
        changed: &ChangedIds,
        (batch, named): (&Batch, Option<&[IdHash]>),
        next: &CommitEntry,
    ) {
        if !changed.is_known() {
            return;
        }
        let noted = self.with_changes((batch, named), next, |coming| {
            if next.takes_state {
                self.is_state_of_line(next.commit.root).then_some(())
            } else {
                changed.take_in(coming)
            }
        });
        if noted.is_none() {
            changed.give_up();
        }
    }

    /// Returns whether the base or a commit of the line has this root: then the line has noted what it changed.
    fn is_state_of_line(&self, root: Root) -> bool {
        let catalog = self.catalog.read_recursive();
        let is_base = self.base().is_some_and(|base| base.commit.root == root);
        is_base
            || catalog
                .line
                .newest_with_root(root, catalog.line.kept.len())
                .is_some()
    }

    /// Calls `change` with a commit if it changes the state. Returns `None` if `change` does, or if the state before it cannot
    /// be read.
    fn with_changes(
        &self,
        (batch, named): (&Batch, Option<&[IdHash]>),
        next: &CommitEntry,
        change: impl FnOnce(&Coming<'_>) -> Option<()>,
    ) -> Option<()> {
        let head = self.head.load_full()?;
        if head.commit.root == next.commit.root {
            return Some(());
        }
        change(&Coming {
            batch,
            named,
            before: &self.state(&head).ok()?,
            records: &self.records,
            nodes: self,
        })
    }

    /// Makes readers note what is beside, as after many reads.
    #[cfg(test)]
    pub(crate) fn seems_read_much(&self) {
        if let Some(cache) = self.places.load_full() {
            while !cache.looks_beside() {}
        }
    }
}
