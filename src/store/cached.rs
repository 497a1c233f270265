//! How a store reads the places of the main line, and notes what a commit changes.
//!
//! # Layer
//! Layer 4. Part of store/.

use std::sync::Arc;

use crate::digest::Root;
use crate::log::Batch;
use crate::object::Id;

use super::changed::{ChangedIds, Coming};
use super::commits::CommitEntry;
use super::places::IdHash;
use super::{Below, Store};

impl Store {
    /// Returns the cached place of an id for the state of the batch `batch`, and the batch up to which it holds. The caller
    /// must check that the record has this id, and that its batch is not newer.
    pub(crate) fn cached_place(&self, hash: IdHash, batch: u64) -> Option<(u64, u64)> {
        let (main, upto) = self.unchanged_since(hash, batch)?;
        Some((main.places.load().as_ref()?.find(hash, upto)?, upto))
    }

    /// Notes the place of an id in the state of a commit of the batch `batch`, which has `objects` objects.
    pub(crate) fn cache_place(&self, id: &Id, hash: IdHash, place: u64, (batch, objects): (u64, u64)) {
        let Some((main, upto)) = self.unchanged_since(hash, batch) else {
            return;
        };
        let (Some(cache), Some(head)) = (main.places.load_full(), main.head.load_full()) else {
            return;
        };
        // INVARIANT PCH-1: a line may have linked a version of an id that its base lacks, so the main line is asked.
        let is_of_main = || {
            let key = self.suite.key_path(id.as_str());
            let entry = main.state(&head).ok()?.get(&key, main).ok()?;
            Some(entry?.place == place)
        };
        if self.own.is_none() || upto == head.batch && is_of_main() == Some(true) {
            cache.keep(hash, place, (upto, objects), head.batch);
        }
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

    /// Notes which ids a commit changes, before the commit is published.
    pub(super) fn note_changes(&self, batch: &Batch, next: &CommitEntry) {
        match &self.own {
            Some(own) => self.note_changed(&own.changed, batch, next),
            None => self.forget_places(batch, next),
        }
    }

    /// Makes the cache of places forget what a commit changes.
    fn forget_places(&self, batch: &Batch, next: &CommitEntry) {
        let Some(cache) = self.places.load_full() else {
            return;
        };
        let objects = next.trie.get().map_or(0, |after| after.len());
        let anew = cache.take_in((batch.number, objects), |cache| {
            self.with_changes(batch, next, |coming| cache.forget_changes(coming, next))
        });
        if let Some(anew) = anew {
            self.places.store(Some(Arc::new(anew)));
        }
    }

    /// Adds what a commit changes to the changed ids of this line.
    fn note_changed(&self, changed: &ChangedIds, batch: &Batch, next: &CommitEntry) {
        if !changed.is_known() {
            return;
        }
        let noted = self.with_changes(batch, next, |coming| {
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
        batch: &Batch,
        next: &CommitEntry,
        change: impl FnOnce(&Coming<'_>) -> Option<()>,
    ) -> Option<()> {
        let head = self.head.load_full()?;
        if head.commit.root == next.commit.root {
            return Some(());
        }
        change(&Coming {
            batch,
            before: &self.state(&head).ok()?,
            records: &self.records,
            nodes: self,
        })
    }
}
