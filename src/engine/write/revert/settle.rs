//! Fits a planned revert into the tree of parents.
//!
//! The standing versions come from different moments. So an object may need a parent that goes, or be below itself.
//! Then the work of others depends on the selected commits, and the object that it needs stays as it is.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STL-1: the state after the planned changes has every parent, and no cycle of parents.
//! - STL-2: a change that was given up is never planned again, so the settling ends.

use std::collections::{BTreeMap, HashSet};

use crate::digest::KeyPath;
use crate::engine::read::View;
use crate::error::Result;
use crate::object::{Id, Object};
use crate::trie::Entry;

/// One planned change: the present version of an id, and the version that it gets.
pub(super) struct Planned {
    pub(super) id: Id,
    pub(super) now: Option<Entry>,
    pub(super) then: Option<Entry>,
    /// The parent of the version that the id gets.
    parent: Option<KeyPath>,
}

/// A change that was given up: the id stays as it is because of another object.
pub(super) struct GivenUp {
    pub(super) key: KeyPath,
    pub(super) id: Id,
    pub(super) because_of: KeyPath,
}

/// The planned changes by key path.
pub(super) struct Plan<'a> {
    base: &'a View,
    pub(super) changes: BTreeMap<KeyPath, Planned>,
    pub(super) given_up: Vec<GivenUp>,
    /// Whether objects below an object that goes go too, whoever wrote them.
    takes_below: bool,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a View, takes_below: bool) -> Self {
        Self {
            base,
            changes: BTreeMap::new(),
            given_up: Vec::new(),
            takes_below,
        }
    }

    /// Plans that the id gets the version `then`, or goes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(super) fn add(
        &mut self,
        id: Id,
        key: KeyPath,
        now: Option<Entry>,
        then: Option<Entry>,
    ) -> Result<()> {
        let object = then.map(|then| self.base.state.load(&then)).transpose()?;
        let parent = object.as_ref().and_then(Object::parent);
        let parent = parent.map(|parent| self.base.state.store.suite.key_path(parent));
        let planned = Planned {
            id,
            now,
            then,
            parent,
        };
        self.changes.insert(key, planned);
        Ok(())
    }

    /// Gives up changes until the tree of parents is whole (STL-1).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(super) fn settle(&mut self) -> Result<()> {
        loop {
            let before = (self.changes.len(), self.given_up.len(), self.going());
            let keys: Vec<KeyPath> = self.changes.keys().copied().collect();
            for key in keys {
                self.settle_one(&key)?;
            }
            if before == (self.changes.len(), self.given_up.len(), self.going()) {
                return Ok(());
            }
        }
    }

    fn going(&self) -> usize {
        self.changes
            .values()
            .filter(|planned| planned.then.is_none())
            .count()
    }

    fn settle_one(&mut self, key: &KeyPath) -> Result<()> {
        match self.changes.get(key) {
            None => Ok(()),
            Some(planned) if planned.then.is_some() => {
                let parent = planned.parent;
                self.settle_below(key, parent)
            }
            Some(planned) => {
                let id = planned.id.clone();
                self.settle_above(key, &id)
            }
        }
    }

    /// Settles an object that gets a version below `parent`.
    fn settle_below(&mut self, key: &KeyPath, parent: Option<KeyPath>) -> Result<()> {
        let Some(parent) = parent else { return Ok(()) };
        if self.exists(&parent)? {
            if let Some(moved) = self.cycle(key)? {
                self.give_up(key, moved);
            }
        } else if !self.changes.contains_key(&parent) {
            self.give_up(key, parent);
        } else if self.takes_below {
            self.take(key);
        } else {
            self.give_up(&parent, *key);
        }
        Ok(())
    }

    /// Makes an object go with its parent. An object that is absent now stays absent.
    fn take(&mut self, key: &KeyPath) {
        if let Some(planned) = self.changes.get_mut(key) {
            (planned.then, planned.parent) = (None, None);
            if planned.now.is_none() {
                self.changes.remove(key);
            }
        }
    }

    /// Settles an object that goes, whose children may stay.
    fn settle_above(&mut self, key: &KeyPath, id: &Id) -> Result<()> {
        for child in self.base.children(id, None)? {
            let below = self.base.key(&child);
            if self.changes.contains_key(&below) {
                continue;
            }
            if !self.takes_below || self.given_up.iter().any(|given| given.key == below) {
                self.give_up(key, below);
                return Ok(());
            }
            let now = self.base.state.entry_at(&below)?;
            self.add(child, below, now, None)?;
        }
        Ok(())
    }

    fn give_up(&mut self, key: &KeyPath, because_of: KeyPath) {
        // STL-2
        if let Some(Planned { id, .. }) = self.changes.remove(key) {
            self.given_up.push(GivenUp {
                key: *key,
                id,
                because_of,
            });
        }
    }

    fn exists(&self, key: &KeyPath) -> Result<bool> {
        match self.changes.get(key) {
            Some(planned) => Ok(planned.then.is_some()),
            None => Ok(self.base.state.entry_at(key)?.is_some()),
        }
    }

    /// Returns the parent of the object if the object would be below itself.
    fn cycle(&self, key: &KeyPath) -> Result<Option<KeyPath>> {
        let (mut seen, mut next) = (HashSet::new(), self.parent(key)?);
        while let Some(above) = next.filter(|above| seen.insert(*above)) {
            if above == *key {
                return self.parent(key);
            }
            next = self.parent(&above)?;
        }
        Ok(None)
    }

    fn parent(&self, key: &KeyPath) -> Result<Option<KeyPath>> {
        if let Some(planned) = self.changes.get(key) {
            return Ok(planned.parent);
        }
        let object = self.base.state.object_at(key)?;
        let parent = object.as_ref().and_then(Object::parent);
        Ok(parent.map(|parent| self.base.state.store.suite.key_path(parent)))
    }
}
