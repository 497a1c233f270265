//! Fits planned changes into the tree of parents: those of a revert, and those of a merge.
//!
//! The planned versions come from different moments or lines, so together they may form no tree. Three cases occur:
//!
//! - The parent of a planned version is gone, because others removed it. Then the object stays as it is.
//! - An object would be removed, and others have put an object below it. Then it stays as it is.
//! - An object would be below itself, because others have put its earlier parent below it. Then it stays as it is.
//!
//! A revert may make what is in the way give way ([`GivesWay`]): the object in the way gets an earlier version, or is
//! removed. Then a parent that others removed comes back, and what is below a removed parent is removed or moves back. A
//! merge only brings parents back.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STL-1: the state after the planned changes has every parent, and no circle of parents.
//! - STL-2: a change that was given up is never planned again. Between two of them, changes are only added, or an object
//!   is removed with its parent. So the settling ends.
//! - STL-3: only if later work of others gives way, an object is removed with its parent.
//!
//! # Cost
//! A round is proportional to the number of planned changes and their ancestors, whatever the depth of the tree. Further
//! rounds are only needed if one of the three cases leads to another one.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::digest::KeyPath;
use crate::engine::read::{State, View};
use crate::error::Result;
use crate::object::{Id, Object};
use crate::trie::Entry;

#[cfg(test)]
thread_local! {
    /// The number of steps up the tree that plans of this thread took.
    pub(crate) static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts a step up the tree, for the tests of the cost.
fn count_step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The later work of others because of which an object stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptBecause {
    /// They changed the object.
    Changed,
    /// They put this object below it.
    Below(Id),
    /// They removed this object, which the version that would come back needs above it.
    NoParent(Id),
}

impl KeptBecause {
    /// Returns the name of the cause in JSON, and the other object.
    pub fn name_and_other(&self) -> (&'static str, Option<&Id>) {
        match self {
            Self::Changed => ("changed", None),
            Self::Below(other) => ("below", Some(other)),
            Self::NoParent(other) => ("no_parent", Some(other)),
        }
    }
}

/// Decides about the objects that are in the way of a plan.
pub(super) trait GivesWay {
    /// Returns whether the objects in the way give way.
    fn gives_way(&self) -> bool;

    /// Returns whether a parent that others removed comes back.
    fn brings_back(&self) -> bool {
        self.gives_way()
    }

    /// Returns the object of a circle that keeps the parent which it had before; `None` if the first planned one gives
    /// way. Each object of a circle is below the next one.
    fn keeps_parent(&self, _base: &View, _circle: &[(KeyPath, Id)]) -> Result<Option<Keeps>> {
        Ok(None)
    }

    /// Returns whether it is decided what the id gets, even if that is no change.
    fn is_decided(&self, key: &KeyPath) -> bool;

    /// Returns the version to which an id in the way goes back. `since` is the moment of the change that it gives way to.
    fn earlier(&self, base: &View, key: &KeyPath, since: u64) -> Result<Option<Entry>>;
}

/// An object that keeps the parent which it had before.
pub(super) struct Keeps {
    pub(super) key: KeyPath,
    pub(super) parent: Option<Id>,
    /// Whether the object gets its other changes all the same. Otherwise it stays as it was before.
    pub(super) is_changed: bool,
}

/// One planned change: the present version of an id, and the version that it gets.
pub(super) struct Planned {
    pub(super) id: Id,
    pub(super) now: Option<Entry>,
    then: Option<Entry>,
    /// The parent of the version `then`.
    parent: Option<Id>,
    /// The moment of the change, or of the change that this one gives way to.
    since: u64,
    /// The missing parent, if the object is removed because of it.
    pub(super) gone_with: Option<Id>,
}

impl Planned {
    /// Returns the change of an id from the version `now` to `then`, which has this parent.
    pub(super) fn new(
        id: Id,
        parent: Option<Id>,
        (now, then): (Option<Entry>, Option<Entry>),
        since: u64,
    ) -> Self {
        Self {
            now,
            then,
            parent,
            since,
            gone_with: None,
            id,
        }
    }

    fn is_below_another(&self) -> bool {
        self.parent.is_some() && self.then().is_some()
    }

    /// Returns the version that the id gets; `None` if the object is removed.
    pub(super) fn then(&self) -> Option<Entry> {
        self.then.filter(|_| self.gone_with.is_none())
    }
}

/// A change that was given up, so the id stays as it is.
pub(super) struct GivenUp {
    pub(super) id: Id,
    pub(super) because: KeptBecause,
    /// The version of the object in the way; `None` if its absence is in the way.
    pub(super) version: Option<Entry>,
}

/// The planned changes by key path.
pub(super) struct Plan<'a> {
    base: &'a View,
    way: &'a dyn GivesWay,
    pub(super) changes: BTreeMap<KeyPath, Planned>,
    pub(super) given_up: BTreeMap<KeyPath, GivenUp>,
    /// The planned objects that get the parent which they had before, in place of that of their version.
    pub(super) moved_back: BTreeMap<KeyPath, Option<Id>>,
    /// The number of times that the plan changed.
    edits: u64,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a View, way: &'a dyn GivesWay) -> Self {
        Self {
            base,
            way,
            changes: BTreeMap::new(),
            given_up: BTreeMap::new(),
            moved_back: BTreeMap::new(),
            edits: 0,
        }
    }

    /// Plans that the id gets the version `then`, or is removed. `since` is the moment of that change.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(super) fn add(&mut self, id: Id, now: Option<Entry>, then: Option<Entry>, since: u64) -> Result<()> {
        let object = then.map(|then| self.base.state.load(&then)).transpose()?;
        self.add_below(id, parent_of(object.as_ref())?, (now, then), since);
        Ok(())
    }

    /// Plans what [`Self::add`] plans, for a version that has this parent and may not be stored yet.
    pub(super) fn add_below(
        &mut self,
        id: Id,
        parent: Option<Id>,
        (now, then): (Option<Entry>, Option<Entry>),
        since: u64,
    ) {
        self.add_at(self.base.key(&id), id, parent, (now, then), since);
    }

    /// Plans what [`Self::add_below`] plans at a key path. The id of an erased version is not known.
    pub(super) fn add_at(
        &mut self,
        key: KeyPath,
        id: Id,
        parent: Option<Id>,
        (now, then): (Option<Entry>, Option<Entry>),
        since: u64,
    ) {
        self.changes
            .insert(key, Planned::new(id, parent, (now, then), since));
        self.edits += 1;
    }

    /// Changes the plan until the tree of parents is whole (STL-1).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read. The host may stop it.
    pub(super) fn settle(&mut self) -> Result<()> {
        loop {
            self.base.settings().check_stop()?;
            let (edits, given_up) = (self.edits, self.given_up.len());
            self.settle_parents()?;
            self.settle_circles()?;
            self.settle_children()?;
            if self.given_up.len() > given_up {
                // An object may have been removed with one that now stays.
                let planned = self.changes.values_mut();
                planned.for_each(|planned| planned.gone_with = None);
            } else if self.edits == edits {
                return Ok(());
            }
        }
    }

    /// Plans changes as [`Self::add_at`] does, in any order.
    pub(super) fn add_all(&mut self, changes: Vec<(KeyPath, Planned)>) {
        self.edits += changes.len() as u64;
        if self.changes.is_empty() {
            self.changes = changes.into_iter().collect();
        } else {
            self.changes.extend(changes);
        }
    }

    /// Returns the ids whose change is of a kind.
    fn keys_of(&self, is_of_kind: impl Fn(&Planned) -> bool) -> Vec<KeyPath> {
        let all = self.changes.iter().inspect(|_| count_step());
        all.filter(|(_, planned)| is_of_kind(planned))
            .map(|(key, _)| *key)
            .collect()
    }

    /// Settles the objects whose new version has a parent. Walks up from each of them once, then decides from the top.
    fn settle_parents(&mut self) -> Result<()> {
        let mut reached = HashSet::new();
        for key in self.keys_of(Planned::is_below_another) {
            let (mut walked, mut next) = (Vec::new(), key);
            while let Some((above, since)) = self.planned_parent(&next)
                && reached.insert(next)
            {
                let above_key = self.base.key(&above);
                if !self.exists(&above_key)? && self.way.brings_back() {
                    self.makes_way(&above, since)?;
                }
                walked.push((next, above));
                next = above_key;
            }
            for (key, above) in walked.into_iter().rev() {
                self.settle_below(key, above)?;
            }
        }
        Ok(())
    }

    /// Returns the parent of the version that the id gets, and the moment of that change.
    fn planned_parent(&self, key: &KeyPath) -> Option<(Id, u64)> {
        count_step();
        let planned = self.changes.get(key)?;
        let parent = planned.then().and(planned.parent.clone());
        parent.map(|parent| (parent, planned.since))
    }

    /// Settles an object that gets a version below `above`. What is above it is settled.
    fn settle_below(&mut self, key: KeyPath, above: Id) -> Result<()> {
        let above_key = self.base.key(&above);
        if self.exists(&above_key)? {
            return Ok(());
        }
        if self.way.gives_way() {
            let gone_with = self.missing(&above_key, above);
            if let Some(planned) = self.changes.get_mut(&key) {
                planned.gone_with = Some(gone_with);
                self.edits += 1;
            }
            return Ok(());
        }
        // STL-3
        if self.changes.contains_key(&above_key)
            && let Some(below) = self.changes.get(&key)
        {
            let below = below.id.clone();
            return self.give_up(above_key, KeptBecause::Below(below));
        }
        let missing = self.missing(&above_key, above);
        self.give_up(key, KeptBecause::NoParent(missing))
    }

    /// Returns the first missing object on the way up from an object that does not exist.
    fn missing(&self, key: &KeyPath, id: Id) -> Id {
        let gone_with = self
            .changes
            .get(key)
            .and_then(|planned| planned.gone_with.clone());
        match self.given_up.get(key).map(|given_up| &given_up.because) {
            Some(KeptBecause::NoParent(missing)) => missing.clone(),
            _ => gone_with.unwrap_or(id),
        }
    }

    /// Settles the objects that would be below themselves. Every new circle contains an id that gets another version.
    fn settle_circles(&mut self) -> Result<()> {
        // The ids from which no circle is reached. A change of an id on a circle affects none of them.
        let mut ends = HashSet::new();
        // An object without a parent is on no circle.
        for key in self.keys_of(Planned::is_below_another) {
            let planned = self.changes.get(&key);
            let planned = planned.filter(|planned| planned.is_below_another());
            if let Some(id) = planned.map(|planned| planned.id.clone()) {
                self.settle_circles_above((key, id), &mut ends)?;
            }
        }
        Ok(())
    }

    /// Walks up from an id until no circle is left. Adds what it walked over to `ends`.
    fn settle_circles_above(&mut self, from: (KeyPath, Id), ends: &mut HashSet<KeyPath>) -> Result<()> {
        let (mut walked, mut positions) = (Vec::new(), HashMap::new());
        let mut next = Some(from);
        while let Some((key, id)) = next.take().filter(|(key, _)| !ends.contains(key)) {
            if let Some(start) = positions.get(&key).copied() {
                let circle = walked.split_off(start);
                if !self.break_circle(&circle)? {
                    break;
                }
                // What leads to the circle is as it was, so the walk goes on where the circle began.
                for (key, _) in &circle {
                    positions.remove(key);
                }
                next = Some((key, id));
                continue;
            }
            let above = self.parent(&key)?;
            positions.insert(key, walked.len());
            walked.push((key, id));
            next = above.map(|above| (self.base.key(&above), above));
        }
        ends.extend(walked.into_iter().map(|(key, _)| key));
        Ok(())
    }

    /// Settles the first planned id of a circle, on which each id is the parent of the one before. Returns whether there
    /// is one.
    fn break_circle(&mut self, circle: &[(KeyPath, Id)]) -> Result<bool> {
        if let Some(keeps) = self.way.keeps_parent(self.base, circle)?
            && let Some(at) = circle.iter().position(|(key, _)| *key == keeps.key)
        {
            let (id, above) = (&circle[at].1, &circle[(at + 1) % circle.len()].1);
            // STL-2
            if keeps.is_changed && !self.given_up.contains_key(&keeps.key) {
                self.move_back(keeps, id)?;
                return Ok(true);
            }
            if self.changes.contains_key(&keeps.key) {
                self.give_up(keeps.key, KeptBecause::Below(above.clone()))?;
                return Ok(true);
            }
            if self.makes_way(id, 0)? {
                return Ok(true);
            }
        }
        let below = circle.iter().cycle().skip(circle.len() - 1);
        let planned = circle.iter().zip(below);
        let planned =
            planned.filter_map(|((key, _), below)| Some((*key, self.changes.get(key)?.since, below)));
        let first = planned.min_by_key(|(key, ..)| *key);
        let Some((key, since, (_, below))) = first else {
            return Ok(false);
        };
        if !self.way.gives_way() || !self.makes_way(below, since)? {
            self.give_up(key, KeptBecause::Below(below.clone()))?;
        }
        Ok(true)
    }

    /// Plans that an object gets the parent which it had before, and its other changes.
    fn move_back(&mut self, Keeps { key, parent, .. }: Keeps, id: &Id) -> Result<()> {
        if let Some(planned) = self.changes.get_mut(&key) {
            planned.parent.clone_from(&parent);
        } else {
            let now = self.base.state.entry_at(&key)?;
            self.add_at(key, id.clone(), parent.clone(), (now, now), 0);
        }
        self.moved_back.insert(key, parent);
        self.edits += 1;
        Ok(())
    }

    /// Settles the objects that are removed, which others may have put objects below.
    fn settle_children(&mut self) -> Result<()> {
        let mut removed = self.keys_of(|planned| planned.then().is_none());
        while let Some(key) = removed.pop() {
            let planned = self.changes.get(&key);
            let Some(planned) = planned.filter(|planned| planned.then().is_none()) else {
                continue;
            };
            let (id, since) = (planned.id.clone(), planned.since);
            for child in self.base.children(&id, None)? {
                let below = self.base.key(&child);
                if self.changes.contains_key(&below) {
                    continue;
                }
                if !self.way.gives_way() || self.given_up.contains_key(&below) {
                    self.give_up(key, KeptBecause::Below(child))?;
                    break;
                }
                if !self.makes_way(&child, since)? {
                    let now = self.base.state.entry_at(&below)?;
                    self.add(child, now, now, since)?;
                    self.settle_below(below, id.clone())?;
                    removed.push(below);
                }
            }
        }
        Ok(())
    }

    /// Plans that an object in the way gets the version that it had at the moment `since`. Returns whether it does.
    fn makes_way(&mut self, id: &Id, since: u64) -> Result<bool> {
        let key = self.base.key(id);
        let is_decided =
            self.way.is_decided(&key) || self.changes.contains_key(&key) || self.given_up.contains_key(&key);
        if is_decided {
            return Ok(false);
        }
        let state = &self.base.state;
        let (now, then) = (state.entry_at(&key)?, self.way.earlier(self.base, &key, since)?);
        match then {
            Some(entry) if !is_same(now, then) && !is_erased(state, &entry)? => {
                self.add(id.clone(), now, then, since)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Gives up a change. If the object is there now, it stays, and so does every object above it.
    fn give_up(&mut self, key: KeyPath, because: KeptBecause) -> Result<()> {
        let mut next = Some((key, because));
        while let Some((key, because)) = next.take() {
            let version = match &because {
                KeptBecause::Below(below) => self.version(&self.base.key(below))?,
                _ => None,
            };
            // STL-2
            let Some(Planned { id, .. }) = self.changes.remove(&key) else {
                return Ok(());
            };
            if let Some(above) = self.parent(&key)? {
                let above_key = self.base.key(&above);
                if !self.exists(&above_key)? {
                    next = Some((above_key, KeptBecause::Below(id.clone())));
                }
            }
            let given_up = GivenUp { id, because, version };
            self.given_up.insert(key, given_up);
            self.edits += 1;
        }
        Ok(())
    }

    /// Returns the version that the id has after the planned changes.
    fn version(&self, key: &KeyPath) -> Result<Option<Entry>> {
        match self.changes.get(key) {
            Some(planned) => Ok(planned.then()),
            None => self.base.state.entry_at(key),
        }
    }

    fn exists(&self, key: &KeyPath) -> Result<bool> {
        Ok(self.version(key)?.is_some())
    }

    /// Returns the parent that the id has after the planned changes.
    fn parent(&self, key: &KeyPath) -> Result<Option<Id>> {
        count_step();
        match self.changes.get(key) {
            Some(planned) => Ok(planned.then().and(planned.parent.clone())),
            None => parent_of(self.base.state.object_at(key)?.as_ref()),
        }
    }
}

fn parent_of(object: Option<&Object>) -> Result<Option<Id>> {
    object.and_then(Object::parent).map(Id::new).transpose()
}

/// Returns whether the version, or its content, was erased or lost.
pub(super) fn is_erased(state: &State, entry: &Entry) -> Result<bool> {
    let object = state.load(entry)?;
    Ok(object.is_placeholder() || object.lacks_content())
}

pub(super) fn is_same(one: Option<Entry>, other: Option<Entry>) -> bool {
    one.map(|entry| entry.digest) == other.map(|entry| entry.digest)
}
