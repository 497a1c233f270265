//! Decides what an object gets in a merge.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - MSD-1: no version takes the place of a more trusted one by itself, and no less trusted commit removes an object. A
//!   version that a merge makes has the class of its least trusted side. A strategy or function drops nothing that is
//!   more trusted than the writer of the merge.
//! - MSD-2: without an open conflict, the result does not depend on which side merges.
//! - MSD-3: a class that only this machine lowers decides nothing for others. A version or removal of a remote that is not
//!   taken only because of a cap is refused (CFL-3), and a removal wins only if it does so without the caps, too.
//! - MSD-4: a version that only has a lower class than the common one is no change of ours. So the removals and decisions of
//!   others reach a machine with a cap.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::bases::Was;
use super::conflict::{Named, REFUSED, digest_of, is_conflict_id};
use super::fields::{Base, EXPIRES, Side, merge_fields};
use super::graph::Commit;
use super::{Choice, Conflicting};
use crate::digest::{KeyPath, ObjectDigest};
use crate::engine::read::State;
use crate::engine::write::settle::is_same;
use crate::error::{Error, Result};
use crate::log::Locator;
use crate::object::{Id, NewObject, Object, Origin, Time};
use crate::store::{CommitEntry, IdChanges, Store};
use crate::trie::Entry;

/// The field of a conflict about an object that a side removed.
pub(super) const REMOVED: &str = "removed";

/// What an object gets.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Our version, or none.
    Keep,
    /// Their version, or none.
    Take,
    /// No version, whatever the sides show.
    Remove,
    /// A new version of this class.
    New(Box<NewObject>, Origin),
    /// A version that the writer made. It is at most of this class, and no more trusted than the writer.
    Said(Box<NewObject>, Origin),
}

/// What is decided about an object.
pub(super) struct Decided {
    pub(super) outcome: Outcome,
    /// The fields that somebody must decide about; empty if nothing is left open.
    pub(super) open: BTreeSet<String>,
    /// Whether somebody decided about a conflict, so that an earlier one is closed too.
    pub(super) is_settled: bool,
    /// The id of the object, and the parent of their version.
    pub(super) of: Option<(Id, Option<Id>)>,
    /// Our version and theirs, if they are there and nothing of them was erased.
    pub(super) sides: [Option<Object>; 2],
    /// The place of the record of their version, if it was read from there and limits no class.
    pub(super) read_at: Option<Locator>,
}

impl Decided {
    fn clear(outcome: Outcome) -> Self {
        Self::open(outcome, BTreeSet::new())
    }

    fn open(outcome: Outcome, open: BTreeSet<String>) -> Self {
        Self {
            outcome,
            open,
            is_settled: false,
            of: None,
            sides: [None, None],
            read_at: None,
        }
    }

    fn settled(outcome: Outcome) -> Self {
        Self {
            is_settled: true,
            ..Self::clear(outcome)
        }
    }
}

/// Our version of an object and theirs.
#[derive(Clone, Copy)]
pub(super) struct Versions {
    pub(super) ours: Option<Entry>,
    pub(super) theirs: Option<Entry>,
}

/// The two states of a merge, and who decides about conflicts.
pub(super) struct Deciding<'a> {
    pub(super) ours: &'a State,
    pub(super) head: Arc<CommitEntry>,
    pub(super) theirs: &'a Commit,
    pub(super) their_state: &'a State,
    pub(super) choose: &'a dyn Fn(&Conflicting<'_>) -> Result<Choice>,
    /// The class of the writer of the merge.
    pub(super) class: Origin,
    /// The most trusted class of what comes from the other line.
    pub(super) their_cap: Origin,
    /// Whether the other line is that of a remote.
    pub(super) is_of_remote: bool,
    /// The objects with children in our state and in theirs, if somebody asked.
    pub(super) parents: [OnceCell<HashSet<KeyPath>>; 2],
}

impl Deciding<'_> {
    /// Returns both versions of an object.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read.
    pub(super) fn versions(&self, key: &KeyPath) -> Result<Versions> {
        Ok(Versions {
            ours: self.ours.entry_at(key)?,
            theirs: self.their_state.entry_at(key)?,
        })
    }

    /// Decides about an object. Returns `None` if they did not change it, or both sides changed it alike.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a version cannot be read; the errors of the chooser.
    pub(super) fn decide(&self, key: &KeyPath, was: &Was, versions: Versions) -> Result<Option<Decided>> {
        if is_same(versions.ours, versions.theirs) || was.is(versions.theirs) {
            return Ok(None);
        }
        let stamped = self.stamped_since(was, versions.ours)?;
        let was = stamped.as_ref().unwrap_or(was);
        let ours = self.kept(versions.ours)?;
        let (theirs, read_at) = self.kept_of_theirs(versions.theirs)?;
        let either = theirs.as_ref().or(ours.as_ref());
        let of = match (either, versions.ours.or(versions.theirs)) {
            (Some(either), _) => Some(either.id().clone()),
            (None, Some(erased)) => Some(self.ours.load(&erased)?.id().clone()),
            (None, None) => None,
        };
        let parent = theirs.as_ref().and_then(Object::parent);
        let of = of.zip(Some(parent.map(Id::new).transpose()?));
        let decided = self.decide_kept(key, was, versions, (ours.as_ref(), theirs.as_ref()))?;
        let sides = [ours, theirs];
        Ok(decided.map(|decided| Decided {
            of,
            sides,
            read_at,
            ..decided
        }))
    }

    /// Returns our version as the common one, if it differs from that only in a class that is no higher: a pull with a cap
    /// stamps what it takes anew, and changes nothing (MSD-4).
    fn stamped_since(&self, was: &Was, ours: Option<Entry>) -> Result<Option<Was>> {
        let (Some(base), Some(entry)) = (was.entry(), ours) else {
            return Ok(None);
        };
        if is_same(Some(base), ours) {
            return Ok(None);
        }
        let (Some(base), Some(ours)) = (self.kept(Some(base))?, self.kept(ours)?) else {
            return Ok(None);
        };
        let is_stamped = !ours.stored_origin().is_above(base.stored_origin())
            && is_equal(&base.to_new()?, &ours.to_new()?);
        Ok(is_stamped.then_some(Was::Version(entry)))
    }

    /// Decides about the versions of which nothing was erased.
    fn decide_kept(
        &self,
        key: &KeyPath,
        was: &Was,
        versions: Versions,
        (ours, theirs): (Option<&Object>, Option<&Object>),
    ) -> Result<Option<Decided>> {
        // Both have the same id.
        let is_of_conflict = |object: &Object| is_conflict_id(object.id().as_str());
        if theirs.or(ours).is_some_and(is_of_conflict) {
            return self.of_conflicts(was, versions, (ours, theirs));
        }
        match (ours, theirs) {
            // The state of a line shows a placeholder, until a merge brings in that the id is gone. Above a child, it stays,
            // also for the side that has neither.
            (None, None) if versions.ours.is_none() => {
                let is_above = self.has_children(Side::Theirs, key)?;
                Ok(is_above.then(|| Decided::clear(Outcome::Take)))
            }
            (None, None) => {
                // Of two placeholders, each machine would go on to show its own.
                let is_gone = !self.has_children(Side::Ours, key)?;
                Ok(is_gone.then(|| Decided::clear(Outcome::Remove)))
            }
            // What was erased stays erased, unless it was put again afterwards.
            (Some(_), None) if versions.theirs.is_some() => Ok(None),
            (None, Some(_)) if versions.ours.is_some() || was.is(None) => {
                Ok(Some(Decided::clear(Outcome::Take)))
            }
            (None, Some(_)) if was.entry().is_some() && self.kept(was.entry())?.is_none() => {
                Ok(Some(Decided::clear(Outcome::Take)))
            }
            (None, Some(theirs)) => {
                let ours = (Arc::clone(&self.ours.store), Arc::clone(&self.head));
                let remover = remover(&ours, key)?;
                self.removed(key, was, Side::Ours, (theirs, remover)).map(Some)
            }
            (Some(ours), None) => {
                let remover = remover(self.theirs, key)?;
                let trust = Origin::least(self.trust_of(remover.as_deref())?, self.their_cap);
                if was.is(versions.ours) && !ours.origin().is_above(trust) {
                    return Ok(Some(Decided::clear(Outcome::Take)));
                }
                self.removed(key, was, Side::Theirs, (ours, remover)).map(Some)
            }
            (Some(ours), Some(theirs)) => self.both(key, was, versions, (ours, theirs)).map(Some),
        }
    }

    /// Returns how their version is taken: as it is, or stamped anew with the cap of their line.
    ///
    /// # Errors
    /// `Corrupt` if it cannot be decoded.
    pub(super) fn stamped(&self, theirs: Option<&Object>) -> Result<Outcome> {
        let may_be_above = Origin::DirectUser.is_above(self.their_cap);
        let above = theirs.filter(|object| may_be_above && object.stored_origin().is_above(self.their_cap));
        let Some(object) = above else {
            return Ok(Outcome::Take);
        };
        // INVARIANT RCS-3: its record may limit it further.
        let class = Origin::least(object.origin(), self.their_cap);
        Ok(Outcome::New(Box::new(object.to_new()?), class))
    }

    /// Returns whether a side has an object below this one. Its id may be erased, so this reads every object, once a merge.
    fn has_children(&self, side: Side, key: &KeyPath) -> Result<bool> {
        let (state, known) = match side {
            Side::Ours => (self.ours, &self.parents[0]),
            Side::Theirs => (self.their_state, &self.parents[1]),
        };
        if known.get().is_none() {
            let mut parents = HashSet::new();
            for entry in state.entries() {
                let object = state.load(&entry?)?;
                parents.extend(object.parent().map(|parent| state.store.suite.key_path(parent)));
            }
            drop(known.set(parents));
        }
        Ok(known.get().is_some_and(|parents| parents.contains(key)))
    }

    /// Returns the version, unless it or its content was erased.
    fn kept(&self, entry: Option<Entry>) -> Result<Option<Object>> {
        let object = entry.map(|entry| self.ours.load(&entry)).transpose()?;
        Ok(object.filter(is_kept))
    }

    /// Returns their version as [`Self::kept`] does, with the cap of their line, and the place of its record if it limits no class.
    fn kept_of_theirs(&self, entry: Option<Entry>) -> Result<(Option<Object>, Option<Locator>)> {
        let Some(entry) = entry else {
            return Ok((None, None));
        };
        let (object, is_placed) = self.ours.load_placed(&entry)?;
        let place = is_placed.then(|| Locator::from_u64(entry.place));
        let object = Some(object).filter(is_kept);
        Ok((
            object.map(|object| object.with_best_origin(self.their_cap)),
            place,
        ))
    }

    /// Decides about an object that one side removed and the other changed. `by` is the side that removed it.
    fn removed(
        &self,
        key: &KeyPath,
        was: &Was,
        by: Side,
        (changed, remover): (&Object, Option<Arc<CommitEntry>>),
    ) -> Result<Decided> {
        let (keeps, removes) = match by {
            Side::Ours => (Outcome::Take, Outcome::Keep),
            Side::Theirs => (Outcome::Keep, Outcome::Take),
        };
        let trust = match by {
            Side::Ours => self.trust_of(remover.as_deref())?,
            Side::Theirs => Origin::least(self.trust_of(remover.as_deref())?, self.their_cap),
        };
        // MSD-3
        let stored = remover
            .as_ref()
            .map_or(Origin::Import, |remover| remover.commit.trust);
        if trust.is_above(changed.origin()) && stored.is_above(changed.stored_origin()) {
            return Ok(Decided::clear(removes));
        }
        let mut fields = BTreeSet::from([REMOVED.to_owned()]);
        let (ours, theirs) = match by {
            Side::Ours => (None, Some(changed)),
            Side::Theirs => (Some(changed), None),
        };
        let asked = Asked {
            fields: &fields,
            was,
            versions: (ours, theirs),
        };
        Ok(match self.chosen(key, &asked, remover.as_deref())? {
            Choice::Open => {
                let is_theirs = by == Side::Theirs && was.digest() == Some(changed.digest());
                if self.is_of_remote && is_theirs && !changed.stored_origin().is_above(stored) {
                    fields.insert(REFUSED.to_owned());
                }
                Decided::open(keeps, fields)
            }
            Choice::Ours => Decided::settled(Outcome::Keep),
            Choice::Theirs => Decided::settled(Outcome::Take),
            Choice::Put(object) => Decided::settled(said(*object, [Some(changed), None])),
        })
    }

    /// Decides about an object that both sides have in different versions.
    fn both(
        &self,
        key: &KeyPath,
        was: &Was,
        versions: Versions,
        (ours, theirs): (&Object, &Object),
    ) -> Result<Decided> {
        let is_taken = was.is(versions.ours) && !ours.origin().is_above(theirs.origin());
        // Most objects are changed by one side alone, in their text, and need not be decoded.
        if is_taken && !ours.has_content_of(theirs) {
            return Ok(Decided::clear(Outcome::Take));
        }
        let preferred = more_trusted(ours, theirs).unwrap_or_else(|| larger(ours, theirs));
        let (new_ours, new_theirs) = (ours.to_new()?, theirs.to_new()?);
        if is_equal(&new_ours, &new_theirs) {
            return Ok(Decided::clear(whole_of(preferred)));
        }
        if is_taken {
            return Ok(Decided::clear(Outcome::Take));
        }
        let both = [&new_ours, &new_theirs];
        let is_equally_trusted = more_trusted(ours, theirs).is_none();
        let (outcome, mut fields) = if is_equally_trusted {
            let merged = was.merge(self.ours, both, preferred)?;
            (merged_as(merged.object, [ours, theirs], both), merged.conflicts)
        } else {
            // MSD-1
            let mut differ = merge_fields(Base::Unknown, both[0], both[1], preferred).conflicts;
            if new_ours.expires != new_theirs.expires {
                // No side's time wins over that of a more trusted one.
                differ.insert(EXPIRES.to_owned());
            }
            (whole_of(preferred), differ)
        };
        if fields.is_empty() && is_equally_trusted {
            return Ok(Decided::clear(outcome));
        }
        let asked = Asked {
            fields: &fields,
            was,
            versions: (Some(ours), Some(theirs)),
        };
        let side = match self.chosen(key, &asked, None)? {
            Choice::Open => {
                if was.is(versions.ours) && self.is_capped_alone(ours, theirs) {
                    fields.insert(REFUSED.to_owned());
                }
                return Ok(Decided::open(outcome, fields));
            }
            Choice::Put(object) => return Ok(Decided::settled(said(*object, [Some(ours), Some(theirs)]))),
            Choice::Ours => Side::Ours,
            Choice::Theirs => Side::Theirs,
        };
        if !is_equally_trusted {
            return Ok(Decided::settled(whole_of(side)));
        }
        let merged = was.decide(self.ours, both, side)?.object;
        Ok(Decided::settled(merged_as(merged, [ours, theirs], both)))
    }

    /// Returns whether their version is less trusted than ours only because of a cap of this machine (MSD-3).
    fn is_capped_alone(&self, ours: &Object, theirs: &Object) -> bool {
        self.is_of_remote && ours.is_above_by_cap(theirs)
    }

    /// Decides about the object of an open conflict: what one side decided is decided, and two conflicts are one (CFL-2).
    fn of_conflicts(
        &self,
        was: &Was,
        versions: Versions,
        sides: (Option<&Object>, Option<&Object>),
    ) -> Result<Option<Decided>> {
        let (Some(ours), Some(theirs)) = sides else {
            let is_taken = sides.0.is_none() || was.is(versions.ours);
            return match sides.0.filter(|_| is_taken) {
                Some(ours) => self.closed(ours).map(Some),
                None => Ok(is_taken.then(|| Decided::clear(Outcome::Take))),
            };
        };
        let store = &self.ours.store;
        let (Some(mut named), Some(other)) = (Named::of(ours, store)?, Named::of(theirs, store)?) else {
            // One of the two is not of a merge, so the other one counts.
            let takes = Named::of(ours, store)?.is_none();
            return Ok(takes.then(|| Decided::clear(Outcome::Take)));
        };
        named.unite(other);
        let mut united = named.to_object(ours.id().clone())?;
        united.scope = more_trusted_or_larger(ours, theirs).to_new()?.scope;
        let class = least(ours.origin(), theirs.origin());
        Ok(Some(Decided::clear(Outcome::New(Box::new(united), class))))
    }

    /// Decides about the object of a conflict that they closed. If we show another of its versions only because of a cap,
    /// they did not decide for us (MSD-3).
    fn closed(&self, conflict: &Object) -> Result<Decided> {
        let taken = Decided::clear(Outcome::Take);
        let Some(mut named) = Named::of(conflict, &self.ours.store)? else {
            return Ok(taken);
        };
        let Versions { ours, theirs } = self.versions(&self.ours.store.suite.key_path(named.of.as_str()))?;
        let is_side = |entry| named.sides.contains(&digest_of(entry));
        if is_same(ours, theirs) || !is_side(ours) || !is_side(theirs) {
            return Ok(taken);
        }
        let (theirs, _) = self.kept_of_theirs(theirs)?;
        let (Some(ours), Some(theirs)) = (self.kept(ours)?, theirs) else {
            return Ok(taken);
        };
        if !self.is_capped_alone(&ours, &theirs) {
            return Ok(taken);
        }
        named.fields.insert(REFUSED.to_owned());
        let refused = NewObject {
            scope: conflict.to_new()?.scope,
            ..named.to_object(conflict.id().clone())?
        };
        Ok(Decided::clear(Outcome::New(Box::new(refused), conflict.origin())))
    }

    /// Returns the class of the commit that removed an object. An unknown one is not trusted.
    fn trust_of(&self, remover: Option<&CommitEntry>) -> Result<Origin> {
        remover.map_or(Ok(Origin::Import), |remover| {
            self.ours.store.records.trust_of(remover)
        })
    }

    /// Asks who decides about a conflict.
    fn chosen(&self, key: &KeyPath, asked: &Asked<'_>, remover: Option<&CommitEntry>) -> Result<Choice> {
        let (ours, theirs) = asked.versions;
        let base = self.kept(asked.was.entry())?;
        let Some(id) = ours.or(theirs).map(|object| object.id().clone()) else {
            return Ok(Choice::Open);
        };
        let times = || {
            let versions = self.versions(key)?;
            let removed = remover.map(|remover| remover.commit.time);
            let time = |store: &Store, entry: Option<Entry>| -> Result<Option<Time>> {
                entry.map_or(Ok(removed), |entry| store.updated(&entry))
            };
            Ok([
                time(&self.ours.store, versions.ours)?,
                time(&self.theirs.0, versions.theirs)?,
            ])
        };
        let mut removed_by = self.trust_of(remover)?;
        if theirs.is_none() {
            removed_by = Origin::least(removed_by, self.their_cap);
        }
        let trusts = [ours, theirs].map(|side| side.map_or(removed_by, Object::origin));
        let choice = (self.choose)(&Conflicting {
            id: &id,
            fields: asked.fields,
            base: base.as_ref(),
            ours,
            theirs,
            trusts,
            times: &times,
        })?;
        // MSD-1: the writer drops nothing that is more trusted.
        let dropped = match &choice {
            Choice::Open => &[][..],
            Choice::Ours => &trusts[1..],
            Choice::Theirs => &trusts[..1],
            Choice::Put(object) if object.id != id => {
                let text = format!("a merge puts '{}' in the place of '{id}'", object.id);
                return Err(Error::invalid(text).with_hint("the object must keep its id"));
            }
            Choice::Put(_) => &trusts[..],
        };
        if dropped.iter().any(|class| class.is_above(self.class)) {
            return Ok(Choice::Open);
        }
        Ok(choice)
    }
}

/// Returns whether nothing of the version was erased.
fn is_kept(version: &Object) -> bool {
    !version.is_placeholder() && !version.lacks_content()
}

/// Returns that the object gets the version of a side.
fn whole_of(side: Side) -> Outcome {
    match side {
        Side::Ours => Outcome::Keep,
        Side::Theirs => Outcome::Take,
    }
}

/// A conflict before somebody is asked.
struct Asked<'a> {
    fields: &'a BTreeSet<String>,
    was: &'a Was,
    versions: (Option<&'a Object>, Option<&'a Object>),
}

/// Returns the commit that removed an id last before a commit, also behind merges; `None` if it is not known.
fn remover((store, head): &Commit, key: &KeyPath) -> Result<Option<Arc<CommitEntry>>> {
    let newest = IdChanges::until(Arc::clone(store), *key, head)?.next()?;
    if newest.is_none() {
        return never_had(store, head, key);
    }
    let known = newest.filter(|change| change.entry.is_none() && !change.is_behind_gap);
    match known.map(|change| change.commit) {
        Some(merge) if merge.is_merge() => store.maker_behind(&merge, key, None),
        known => Ok(known),
    }
}

/// Returns the commit that removed an id which this line never had: another line had and removed it, and was merged.
fn never_had(store: &Arc<Store>, head: &CommitEntry, key: &KeyPath) -> Result<Option<Arc<CommitEntry>>> {
    let base = store.base().map_or(0, |base| base.seq());
    let mut at = store.by_digest(head.digest)?;
    while let Some(commit) = at.take().filter(|commit| commit.seq() > base) {
        if commit.is_merge()
            && let Some(remover) = store.maker_behind(&commit, key, None)?
        {
            return Ok(Some(remover));
        }
        at = store.before(&commit)?;
    }
    Ok(None)
}

/// Returns the version that is shown while a conflict is open.
fn more_trusted_or_larger<'a>(ours: &'a Object, theirs: &'a Object) -> &'a Object {
    match more_trusted(ours, theirs).unwrap_or_else(|| larger(ours, theirs)) {
        Side::Ours => ours,
        Side::Theirs => theirs,
    }
}

fn more_trusted(ours: &Object, theirs: &Object) -> Option<Side> {
    if ours.origin().is_above(theirs.origin()) {
        Some(Side::Ours)
    } else if theirs.origin().is_above(ours.origin()) {
        Some(Side::Theirs)
    } else {
        None
    }
}

/// Returns the side with the larger digest. Clocks of two machines differ, so no time decides.
fn larger(ours: &Object, theirs: &Object) -> Side {
    if ours.digest() > theirs.digest() {
        Side::Ours
    } else {
        Side::Theirs
    }
}

/// Returns the less trusted of two classes. Of two untrusted ones, the order of the arguments does not matter (MSD-2).
pub(super) fn least(one: Origin, other: Origin) -> Origin {
    if one.distrust() == other.distrust() {
        if one.tag() > other.tag() { one } else { other }
    } else {
        Origin::least(one, other)
    }
}

/// Returns whether two versions have the same fields, apart from what they are derived from.
fn is_equal(one: &NewObject, other: &NewObject) -> bool {
    if one.content != other.content || one.attributes != other.attributes {
        return false;
    }
    let bare = |object: &NewObject| NewObject {
        derived_from: Vec::new(),
        ..object.clone()
    };
    bare(one) == bare(other)
}

/// Returns the merged object as a new version, or the side that has all of its fields.
fn merged_as(merged: NewObject, sides: [&Object; 2], fields: [&NewObject; 2]) -> Outcome {
    if is_equal(&merged, fields[0]) {
        Outcome::Keep
    } else if is_equal(&merged, fields[1]) {
        Outcome::Take
    } else {
        put(merged, sides.map(Some))
    }
}

/// Returns a new version that comes from both sides. The merger adds no words, so the class of the merger does not count.
fn put(object: NewObject, sides: [Option<&Object>; 2]) -> Outcome {
    let (object, class) = from_both(object, sides);
    Outcome::New(object, class)
}

/// Returns a version that the writer made of both sides.
fn said(object: NewObject, sides: [Option<&Object>; 2]) -> Outcome {
    let (object, class) = from_both(object, sides);
    Outcome::Said(object, class)
}

/// Returns the object as derived from these versions, and the least of their classes.
fn from_both(mut object: NewObject, sides: [Option<&Object>; 2]) -> (Box<NewObject>, Origin) {
    let mut sources: BTreeSet<ObjectDigest> = object.derived_from.iter().copied().collect();
    let mut class = None;
    for side in sides.into_iter().flatten() {
        sources.insert(side.digest());
        class = Some(class.map_or(side.origin(), |class| least(class, side.origin())));
    }
    object.derived_from = sources.into_iter().collect();
    (Box::new(object), class.unwrap_or(Origin::Import))
}
