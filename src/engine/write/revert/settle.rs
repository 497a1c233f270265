//! Fits a planned revert into the tree of parents.
//!
//! The standing versions come from different moments, so together they may form no tree. Three cases occur:
//!
//! - The parent of an earlier version is gone, because others removed it. Without the selected commits, the object would
//!   have been removed with that parent. So it goes.
//! - An object would go, and others have put an object below it. Then it stays as it is.
//! - An object would be below itself, because others have put its earlier parent below it. Then it stays as it is.
//!
//! If later work of others gives way, the object in the way gets the version that it had at the newest selected change,
//! or goes. Then the parent comes back, and what is below goes or moves back.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STL-1: the state after the planned changes has every parent, and no cycle of parents.
//! - STL-2: a change that was given up is never planned again. Between two of them, objects only go or are added. So the
//!   settling ends.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::without::{Track, is_erased, is_same};
use crate::digest::KeyPath;
use crate::engine::read::{State, View};
use crate::error::Result;
use crate::object::{Id, Object};
use crate::trie::Entry;

/// One planned change: the present version of an id, and the version that it gets.
pub(super) struct Planned {
    pub(super) id: Id,
    pub(super) now: Option<Entry>,
    then: Option<Entry>,
    /// The parent of the version `then`.
    parent: Option<Id>,
    /// The seq of the newest selected change of the id, or of the id that this one gives way to.
    since: u64,
    /// The parent that is gone, if the object goes because of it.
    pub(super) gone_with: Option<Id>,
}

impl Planned {
    /// Returns the version that the id gets; `None` if the object goes.
    pub(super) fn then(&self) -> Option<Entry> {
        self.then.filter(|_| self.gone_with.is_none())
    }
}

/// A change that was given up: the id stays as it is, because the object `below` needs it.
pub(super) struct GivenUp {
    pub(super) id: Id,
    pub(super) below: Id,
    /// The version of `below` that needs the id.
    pub(super) version: Option<Entry>,
}

/// The planned changes by key path.
pub(super) struct Plan<'a> {
    base: &'a View,
    /// The ids that the selected commits changed. What they get is decided, also if it is no change.
    tracks: &'a HashMap<KeyPath, Track>,
    pub(super) changes: BTreeMap<KeyPath, Planned>,
    pub(super) given_up: BTreeMap<KeyPath, GivenUp>,
    /// Whether later work of others gives way.
    others_give_way: bool,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a View, tracks: &'a HashMap<KeyPath, Track>, others_give_way: bool) -> Self {
        Self {
            base,
            tracks,
            changes: BTreeMap::new(),
            given_up: BTreeMap::new(),
            others_give_way,
        }
    }

    /// Plans that the id gets the version `then`, or goes. `since` is the seq of its newest selected change.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(super) fn add(&mut self, id: Id, now: Option<Entry>, then: Option<Entry>, since: u64) -> Result<()> {
        let object = then.map(|then| self.base.state.load(&then)).transpose()?;
        let planned = Planned {
            now,
            then,
            parent: parent_of(object.as_ref())?,
            since,
            gone_with: None,
            id,
        };
        self.changes.insert(self.base.key(&planned.id), planned);
        Ok(())
    }

    /// Changes the plan until the tree of parents is whole (STL-1).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(super) fn settle(&mut self) -> Result<()> {
        loop {
            let (given_up, mut is_whole) = (self.given_up.len(), true);
            let keys: Vec<KeyPath> = self.changes.keys().copied().collect();
            for key in keys {
                is_whole &= self.is_settled(&key)?;
            }
            if self.given_up.len() > given_up {
                // An object may have gone with one that now stays.
                self.changes
                    .values_mut()
                    .for_each(|planned| planned.gone_with = None);
            } else if is_whole {
                return Ok(());
            }
        }
    }

    /// Returns whether a planned change fits. Changes the plan if not.
    fn is_settled(&mut self, key: &KeyPath) -> Result<bool> {
        let Some(planned) = self.changes.get(key) else {
            return Ok(true);
        };
        let (id, since) = (planned.id.clone(), planned.since);
        match (planned.then(), planned.parent.clone()) {
            (None, _) => self.is_settled_above(*key, &id, since),
            (Some(_), None) => Ok(true),
            (Some(_), Some(parent)) => self.is_settled_below(*key, &id, parent, since),
        }
    }

    /// Settles an object that gets a version below `parent`.
    fn is_settled_below(&mut self, key: KeyPath, id: &Id, parent: Id, since: u64) -> Result<bool> {
        let above = self.base.key(&parent);
        if self.exists(&above)? {
            let Some(below) = self.below_itself(&key)? else {
                return Ok(true);
            };
            if !self.makes_way(&below, since)? {
                self.give_up(key, &below)?;
            }
            return Ok(false);
        }
        let above_goes = self.changes.get(&above);
        let gone_with = match above_goes.map(|above| above.gone_with.clone()) {
            Some(Some(gone)) => gone,
            Some(None) if !self.others_give_way => {
                self.give_up(above, id)?;
                return Ok(false);
            }
            None if self.makes_way(&parent, since)? => return Ok(false),
            _ => parent,
        };
        if let Some(planned) = self.changes.get_mut(&key) {
            planned.gone_with = Some(gone_with);
        }
        Ok(false)
    }

    /// Settles an object that goes, which others may have put objects below.
    fn is_settled_above(&mut self, key: KeyPath, id: &Id, since: u64) -> Result<bool> {
        let mut is_settled = true;
        for child in self.base.children(id, None)? {
            let below = self.base.key(&child);
            if self.changes.contains_key(&below) {
                continue;
            }
            is_settled = false;
            if !self.others_give_way || self.given_up.contains_key(&below) {
                self.give_up(key, &child)?;
                break;
            }
            if !self.makes_way(&child, since)? {
                // It goes with its parent in the next round.
                let now = self.base.state.entry_at(&below)?;
                self.add(child, now, now, since)?;
            }
        }
        Ok(is_settled)
    }

    /// Plans that an object in the way gets the version that it had after commit `since`. Returns whether it does.
    fn makes_way(&mut self, id: &Id, since: u64) -> Result<bool> {
        let key = self.base.key(id);
        let is_decided = self.tracks.contains_key(&key)
            || self.changes.contains_key(&key)
            || self.given_up.contains_key(&key);
        if !self.others_give_way || is_decided {
            return Ok(false);
        }
        let (store, state) = (&self.base.state.store, &self.base.state);
        let earlier = store.by_seq(since)?.map(|commit| State::of(store, &commit));
        let then = earlier.map_or(Ok(None), |earlier| earlier?.entry_at(&key))?;
        let now = state.entry_at(&key)?;
        match then {
            Some(entry) if !is_same(now, then) && !is_erased(state, &entry)? => {
                self.add(id.clone(), now, then, since)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Gives up a change, because the object `below` needs the id as it is.
    fn give_up(&mut self, key: KeyPath, below: &Id) -> Result<()> {
        let needs = self.base.key(below);
        let version = match self.changes.get(&needs) {
            Some(planned) => planned.then(),
            None => self.base.state.entry_at(&needs)?,
        };
        // STL-2
        if let Some(Planned { id, .. }) = self.changes.remove(&key) {
            let below = below.clone();
            self.given_up.insert(key, GivenUp { id, below, version });
        }
        Ok(())
    }

    fn exists(&self, key: &KeyPath) -> Result<bool> {
        match self.changes.get(key) {
            Some(planned) => Ok(planned.then().is_some()),
            None => Ok(self.base.state.entry_at(key)?.is_some()),
        }
    }

    /// If the object would be below itself, returns the object directly below it on that circle.
    fn below_itself(&self, key: &KeyPath) -> Result<Option<Id>> {
        let (mut seen, mut below) = (HashSet::new(), None);
        let mut next = self.parent(key)?;
        while let Some(above) = next {
            let above_key = self.base.key(&above);
            if above_key == *key {
                return Ok(below);
            }
            if !seen.insert(above_key) {
                break;
            }
            next = self.parent(&above_key)?;
            below = Some(above);
        }
        Ok(None)
    }

    fn parent(&self, key: &KeyPath) -> Result<Option<Id>> {
        match self.changes.get(key) {
            Some(planned) => Ok(planned.then().and(planned.parent.clone())),
            None => parent_of(self.base.state.object_at(key)?.as_ref()),
        }
    }
}

fn parent_of(object: Option<&Object>) -> Result<Option<Id>> {
    object.and_then(Object::parent).map(Id::new).transpose()
}
