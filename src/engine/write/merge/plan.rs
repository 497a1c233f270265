//! Plans a merge: decides about each object, fits the decisions into the tree, and stages them in a draft.
//!
//! # Layer
//! Layer 5.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use super::bases::{Bases, ChangedIn};
use super::claims::{SUPERSEDES, rivals};
use super::conflict::{
    MergeConflict, Named, REFUSED, conflict_id, digest_of, is_conflict_id, is_refusal, is_refused,
};
use super::graph::{Commit, Commits, is_of_remote, newest_shared, state_of};
use super::resolve::close;
use super::sides::{Decided, Deciding, Outcome, REMOVED, Versions, least};
use super::{Merge, Merged, Planned};
use crate::digest::{KeyPath, ObjectDigest};
use crate::engine::read::{State, View};
use crate::engine::write::incoming::OriginRule;
use crate::engine::write::settle::{GivesWay, Keeps, Plan, Planned as Change, is_same};
use crate::engine::write::{Committed, Draft, Writer, check_return};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Locator;
use crate::object::{Id, NewObject, Object, Origin};
use crate::store::ChangeCounts;
use crate::trie::Entry;
use std::sync::Arc;

/// The field of a conflict about the place of an object in the tree.
const PARENT: &str = "parent";

impl Merge<'_> {
    /// Plans the merge on the head. Also returns the draft of the changes.
    pub(super) fn plan(&self, writer: &Writer) -> Result<(Planned, Draft)> {
        let (view, ours) = self.ours()?;
        let theirs = self.theirs()?;
        let commits = Commits::of(&ours, &theirs)?;
        let newest = commits.bases(&ours, &theirs)?;
        let newest = commits.as_pushed(newest, &theirs)?;
        let is_known = newest.first().is_some_and(|newest| is_at(newest, &theirs));
        let all = if self.again {
            let shared = newest_shared(&ours, &theirs)?;
            shared
                .into_iter()
                .map(|shared| (Arc::clone(&ours.0), shared))
                .collect()
        } else {
            newest
        };
        let first = all
            .first()
            .ok_or_else(|| Error::corrupt("the lines have no commit in common"))?;
        let (base, is_new) = (first.1.digest, !is_at(first, &theirs));
        let only_base = (all.len() == 1).then(|| first.clone());
        let is_of_remote = is_of_remote(&theirs);
        let mut draft = Draft::new(view.clone(), writer.clone());
        let mut conflicts = Vec::new();
        if is_new {
            let bases = Bases::new(&commits, all)?;
            let open = self.stage_decided((&view, &theirs), &bases, &mut draft)?;
            // A conflict that was open before with the same versions is no change, but it stays open.
            conflicts = open.values().map(Named::summary).collect();
            for (key, named) in open {
                stage_conflict(&mut draft, &key, named)?;
            }
            add_open(&mut conflicts, &draft)?;
            check(&view, &draft, writer)?;
        }
        // A repeated merge that changes nothing makes no commit (MRG-2). Nor does that of a remote which has nothing but what
        // is here: otherwise two machines would merge each other's merges for ever.
        // If the remote has something else that this line did not take, the commit says that it saw it, for the next push.
        let has_nothing = match only_base.filter(|_| is_of_remote && draft.is_empty()) {
            Some(base) => has_same(&base, &theirs, &ours)?,
            None => false,
        };
        let is_new = is_new && !(draft.is_empty() && is_known || has_nothing);
        let mut merged = Merged {
            committed: Committed {
                commit: view.commit(),
                changed: is_new,
            },
            base,
            counts: ChangeCounts::default(),
            conflicts,
            changes: Vec::new(),
            dry_run: false,
        };
        merged.count(&draft);
        let theirs = is_new.then_some(theirs);
        Ok((Planned { merged, theirs }, draft))
    }

    /// Stages what each object gets. Returns the conflicts that are left open.
    fn stage_decided(
        &self,
        (view, theirs): (&View, &Commit),
        bases: &Bases<'_>,
        draft: &mut Draft,
    ) -> Result<BTreeMap<KeyPath, Named>> {
        let their_state = state_of(theirs)?;
        let choose = |conflict: &super::Conflicting<'_>| self.decide(conflict);
        let deciding = Deciding {
            ours: &view.state,
            head: Arc::clone(&view.entry),
            theirs,
            their_state: &their_state,
            choose: &choose,
            class: draft.writer().trust,
            their_cap: self.their_cap(&theirs.0),
            is_of_remote: is_of_remote(theirs),
            parents: Default::default(),
        };
        let changed = bases.changed_in(&their_state)?;
        let way = Way {
            bases,
            changed: &changed,
        };
        let mut plan = Plan::new(view, &way);
        let mut planned = self.decided(view, &deciding, bases, &changed)?;
        plan.add_all(std::mem::take(&mut planned.changes));
        plan.settle()?;
        planned.note_tree(&plan);
        // A strategy chooses between versions of one object, and these are two.
        for key in rivals(&view.state, bases, &changed, &|key| planned.their_object(key))? {
            let fields = planned.open.entry(key).or_default();
            fields.insert(format!("attr:{SUPERSEDES}"));
        }
        planned.stage(&plan, draft)?;
        let named = planned.open.into_iter().map(|(key, fields)| {
            let versions = deciding.versions(&key)?;
            let base = bases.was(&key)?.digest();
            Ok((key, named(&deciding, fields, versions, base)?))
        });
        named.collect()
    }

    /// Decides about each object that they changed.
    fn decided(
        &self,
        view: &View,
        deciding: &Deciding<'_>,
        bases: &Bases<'_>,
        changed: &ChangedIn,
    ) -> Result<Decisions> {
        let mut planned = Decisions::for_changes(changed.iter().len());
        let keys: Vec<KeyPath> = changed.iter().map(|change| change.key).collect();
        let taken = changed.iter().filter_map(|change| change.new);
        view.state.store.records.touch(taken.map(|entry| entry.place));
        for (change, ours) in changed.iter().zip(view.state.entries_at(&keys)?) {
            view.settings().check_stop()?;
            if deciding.is_of_remote && stays_refused(&view.state, &change.key, ours, change.new)? {
                continue;
            }
            if self.left_out.contains(&change.key) {
                let fields = planned.open.entry(change.key).or_default();
                fields.insert(REFUSED.to_owned());
                continue;
            }
            let theirs = change.new;
            let versions = Versions { ours, theirs };
            let was = bases.before(change)?;
            if let Some(decided) = deciding.decide(&change.key, &was, versions)? {
                planned.add(deciding, (change.key, versions), decided)?;
            }
        }
        Ok(planned)
    }
}

fn is_at(one: &Commit, other: &Commit) -> bool {
    one.1.digest == other.1.digest
}

/// Returns an error if the writer may not make the changes of the draft.
fn check(view: &View, draft: &Draft, writer: &Writer) -> Result<()> {
    let settings = view.settings();
    if !settings.restricts(writer) {
        return Ok(());
    }
    let changes = draft.staged.sorted().into_iter().map(|(_, change)| change);
    for change in changes.filter(|change| !is_conflict_id(change.id.as_str())) {
        let old = view.state.object_at(&view.key(&change.id))?;
        let new = change.new.as_ref().map(|staged| staged.object.clone());
        check_return(settings, writer, || Ok([old, new]))?;
    }
    Ok(())
}

/// The new versions of a merge, and what is left open.
#[derive(Default)]
struct Decisions {
    /// The objects that get a version, or that they removed, in ascending order.
    changes: Vec<(KeyPath, Change)>,
    decided: Vec<KeyPath>,
    new: BTreeMap<KeyPath, New>,
    /// The objects that get their version, in ascending order, with what was read of them. So nothing is read again.
    taken: Vec<(KeyPath, Taken)>,
    removes: BTreeSet<KeyPath>,
    /// The fields that are left open.
    open: BTreeMap<KeyPath, BTreeSet<String>>,
    /// The objects about whose conflicts somebody decided.
    settled: BTreeSet<KeyPath>,
}

/// A version of theirs that an object gets.
struct Taken {
    ours: Option<Object>,
    theirs: Object,
    /// The place of the record of their version, as [`Decided`] has it.
    read_at: Option<Locator>,
}

/// A new version, with its class.
type New = (NewObject, Origin, MadeBy);

/// Who made a new version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MadeBy {
    Merge,
    Writer,
}

impl Decisions {
    fn for_changes(count: usize) -> Self {
        Self {
            changes: Vec::with_capacity(count),
            decided: Vec::with_capacity(count),
            taken: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    /// Adds what an object gets. The objects come in ascending order.
    fn add(
        &mut self,
        deciding: &Deciding<'_>,
        (key, Versions { ours, mut theirs }): (KeyPath, Versions),
        decided: Decided,
    ) -> Result<()> {
        if matches!(decided.outcome, Outcome::Remove) {
            theirs = None;
        }
        if !decided.open.is_empty() {
            self.open.insert(key, decided.open);
        }
        if decided.is_settled {
            self.settled.insert(key);
        }
        let outcome = match decided.outcome {
            Outcome::Take => deciding.stamped(decided.sides[1].as_ref())?,
            outcome => outcome,
        };
        let by = match &outcome {
            Outcome::Said(..) => MadeBy::Writer,
            _ => MadeBy::Merge,
        };
        match outcome {
            Outcome::Keep => {}
            Outcome::Take | Outcome::Remove => {
                let of = decided.of;
                let (id, parent) = of.ok_or_else(|| Error::internal("a merge takes no version"))?;
                if theirs.is_none() {
                    self.removes.insert(key);
                }
                if let (Some(then), None) = (theirs, &decided.sides[1]) {
                    // Its id is not known, so it is staged by its key path.
                    let taken = Taken {
                        ours: None,
                        theirs: deciding.their_state.load(&then)?,
                        read_at: None,
                    };
                    self.taken.push((key, taken));
                }
                if let [ours_now, Some(new)] = decided.sides
                    && ours_now.as_ref().map_or(ours.is_none(), |now| now.is_named(&id))
                {
                    let taken = Taken {
                        ours: ours_now,
                        theirs: new,
                        read_at: decided.read_at,
                    };
                    self.taken.push((key, taken));
                }
                self.decide(key, Change::new(id, parent, (ours, theirs), 0));
            }
            Outcome::New(object, origin) | Outcome::Said(object, origin) => {
                let digest = object.encode(origin, deciding.ours.store.suite)?.digest;
                // The version has no record yet, and nobody reads it before it is staged.
                let then = Entry {
                    key,
                    digest: *digest.as_bytes(),
                    place: 0,
                    created: 0,
                };
                let (id, parent) = (object.id.clone(), object.parent.clone());
                self.decide(key, Change::new(id, parent, (ours, Some(then)), 0));
                self.new.insert(key, (*object, origin, by));
            }
        }
        Ok(())
    }

    fn decide(&mut self, key: KeyPath, change: Change) {
        self.changes.push((key, change));
        self.decided.push(key);
    }

    /// Returns their version of an object, if the object gets it.
    fn their_object(&self, key: &KeyPath) -> Option<&Object> {
        let at = self.taken.binary_search_by_key(key, |(key, _)| *key).ok()?;
        Some(&self.taken[at].1.theirs)
    }

    /// Stages what the plan has, and closes the conflicts about which somebody decided.
    fn stage(&mut self, plan: &Plan<'_>, draft: &mut Draft) -> Result<()> {
        let reopened = self.open.keys().map(conflict_id).collect::<Result<Vec<_>>>()?;
        let reopened: BTreeSet<KeyPath> = reopened.iter().map(|id| draft.base.key(id)).collect();
        draft.staged.reserve(plan.changes.len());
        let mut taken = std::mem::take(&mut self.taken).into_iter().peekable();
        for (key, change) in &plan.changes {
            // The conflict takes the place of its placeholder, which has another id.
            if change.then().is_none() && !is_conflict_id(change.id.as_str()) && reopened.contains(key) {
                continue;
            }
            let mut new = self.new.remove(key);
            if let Some(parent) = plan.moved_back.get(key) {
                new = Some(moved_back(new, change.then(), draft, parent.as_ref())?);
            }
            match new {
                Some((object, origin, MadeBy::Merge)) => drop(draft.stage_as(object, origin)?),
                Some((object, origin, MadeBy::Writer)) => {
                    let class = Origin::least(draft.writer().trust, origin);
                    draft.stage(object, OriginRule::AtMost(class))?;
                }
                None if is_same(change.now, change.then()) => {}
                None => match take_at(&mut taken, key) {
                    Some(Taken {
                        ours,
                        theirs,
                        read_at,
                    }) => {
                        draft.stage_over(*key, ours.as_ref(), theirs, read_at)?;
                    }
                    None => draft.stage_entry(change.now, change.then())?,
                },
            }
        }
        for key in self.settled.iter().filter(|key| !self.open.contains_key(*key)) {
            let conflict = conflict_id(key)?;
            if draft.digest(&conflict)?.is_some() {
                close(draft, &conflict)?;
            }
        }
        Ok(())
    }

    /// Notes what the tree of parents changed of the plan as conflicts.
    fn note_tree(&mut self, plan: &Plan<'_>) {
        for key in plan.given_up.keys() {
            let field = if self.removes.contains(key) {
                REMOVED
            } else {
                PARENT
            };
            self.open.entry(*key).or_default().insert(field.to_owned());
        }
        let mut decided = self.decided.iter().map(|key| (*key, ())).peekable();
        for (key, change) in &plan.changes {
            let is_decided = take_at(&mut decided, key).is_some();
            if !is_decided || plan.moved_back.contains_key(key) {
                let field = if change.now.is_none() { REMOVED } else { PARENT };
                self.open.entry(*key).or_default().insert(field.to_owned());
            }
        }
    }
}

/// Returns the value at `key` of an ascending list. From call to call, the keys ascend, too.
fn take_at<T>(list: &mut Peekable<impl Iterator<Item = (KeyPath, T)>>, key: &KeyPath) -> Option<T> {
    while list.next_if(|(at, _)| at < key).is_some() {}
    list.next_if(|(at, _)| at == key).map(|(_, value)| value)
}

/// Returns what an object gets with another parent: the new version, or else one that is derived from theirs or ours.
fn moved_back(new: Option<New>, then: Option<Entry>, draft: &Draft, parent: Option<&Id>) -> Result<New> {
    let mut new = match (new, then) {
        (Some(new), _) => new,
        (None, None) => return Err(Error::internal("an object of a circle has no version")),
        (None, Some(then)) => {
            let version = draft.base.state.load(&then)?;
            let mut object = version.to_new()?;
            let sources: BTreeSet<_> = object
                .derived_from
                .into_iter()
                .chain([version.digest()])
                .collect();
            object.derived_from = sources.into_iter().collect();
            (object, version.origin(), MadeBy::Merge)
        }
    };
    new.0.parent = parent.cloned();
    Ok(new)
}

/// Returns whether a merge leaves an object as it is because this store refused their version (CFL-3).
fn stays_refused(state: &State, key: &KeyPath, ours: Option<Entry>, theirs: Option<Entry>) -> Result<bool> {
    if is_refused(state, key, [digest_of(ours), digest_of(theirs)])? {
        return Ok(true);
    }
    match (ours, theirs) {
        (Some(ours), None) => is_refusal(state, key, &state.load(&ours)?),
        _ => Ok(false),
    }
}

/// Returns whether the states of two commits are the same for a line of ours.
#[cfg(feature = "remote")]
fn has_same(one: &Commit, other: &Commit, ours: &Commit) -> Result<bool> {
    crate::engine::write::push::has_same(one, other, ours)
}

/// Without remotes, nothing is pushed after a merge.
#[cfg(not(feature = "remote"))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
fn has_same(_one: &Commit, _other: &Commit, _ours: &Commit) -> Result<bool> {
    Ok(true)
}

/// What is in the way of a merge: a parent that we removed comes back, and nothing else of ours gives way.
struct Way<'a> {
    bases: &'a Bases<'a>,
    /// The objects that they changed.
    changed: &'a ChangedIn,
}

impl GivesWay for Way<'_> {
    fn gives_way(&self) -> bool {
        false
    }

    fn brings_back(&self) -> bool {
        true
    }

    /// Of the objects that a side moved, the one with the largest key path keeps its parent, so the sides may be exchanged.
    /// If both sides changed it, each would go back to a version of its own, so the merged one stays.
    fn keeps_parent(&self, view: &View, circle: &[(KeyPath, Id)]) -> Result<Option<Keeps>> {
        let mut keeps: Option<(KeyPath, Option<Id>)> = None;
        for ((key, _), (_, above)) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            let before = self.earlier(view, key, 0)?;
            let before = before.map(|before| view.state.load(&before)).transpose()?;
            let parent = before.as_ref().and_then(Object::parent);
            if parent != Some(above.as_str()) && keeps.as_ref().is_none_or(|(largest, _)| largest < key) {
                keeps = Some((*key, parent.map(Id::new).transpose()?));
            }
        }
        let Some((key, parent)) = keeps else {
            return Ok(None);
        };
        let ours = view.state.entry_at(&key)?;
        Ok(Some(Keeps {
            key,
            parent,
            is_changed: self.changed.has(&key) && !self.bases.was(&key)?.is(ours),
        }))
    }

    fn is_decided(&self, key: &KeyPath) -> bool {
        self.changed.has(key)
    }

    fn earlier(&self, _base: &View, key: &KeyPath, _since: u64) -> Result<Option<Entry>> {
        Ok(self.bases.was(key)?.entry())
    }
}

/// Returns the conflict of an object with these versions.
fn named(
    deciding: &Deciding<'_>,
    fields: BTreeSet<String>,
    Versions { ours, theirs }: Versions,
    base: Option<ObjectDigest>,
) -> Result<Named> {
    let either = ours.or(theirs);
    let either = either.ok_or_else(|| Error::internal("a conflict has no version"))?;
    Ok(Named {
        of: deciding.ours.load(&either)?.id().clone(),
        fields,
        sides: BTreeSet::from([digest_of(ours), digest_of(theirs)]),
        base,
    })
}

/// Stages an open conflict, together with the one that the object already has (CFL-2).
fn stage_conflict(draft: &mut Draft, key: &KeyPath, mut named: Named) -> Result<()> {
    let id = conflict_id(key)?;
    let known = match draft.get(&id) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        known => known?,
    };
    let store = draft.store();
    let (mut class, mut scope) = (None, None);
    if let Some(known) = known
        && let Some(before) = Named::of(&known, &store)?
    {
        class = Some(known.origin());
        named.unite(before);
    }
    if let Ok(Some(shown)) = draft.get(&named.of) {
        scope = Some(shown.to_new()?.scope);
    }
    // CFL-1
    for version in named.versions() {
        let found = store.records.find_object(version)?.map(|(_, object)| object);
        let found = found.filter(|object| !object.is_placeholder());
        let origin = found.as_ref().map_or(Origin::Import, Object::origin);
        class = Some(class.map_or(origin, |class| least(class, origin)));
        if let (None, Some(side)) = (&scope, &found) {
            scope = Some(side.to_new()?.scope);
        }
    }
    let mut object = named.to_object(id)?;
    object.scope = scope.unwrap_or(object.scope);
    draft.stage_as(object, class.unwrap_or(Origin::Import)).map(drop)
}

impl Merged {
    /// Counts the changes of the draft, without the objects of conflicts.
    pub(super) fn count(&mut self, draft: &Draft) {
        self.changes = draft.changes();
        self.changes.retain(|change| !is_conflict_id(change.id.as_str()));
        let changes = self.changes.iter();
        self.counts = ChangeCounts::of(changes.map(|change| (change.old.is_some(), change.new.is_some())));
    }
}

/// Adds the conflicts that the draft stages, and sorts them by id.
fn add_open(conflicts: &mut Vec<MergeConflict>, draft: &Draft) -> Result<()> {
    let store = draft.store();
    let mut all: BTreeMap<Id, MergeConflict> = BTreeMap::new();
    all.extend(conflicts.drain(..).map(|known| (known.id.clone(), known)));
    let staged = draft.staged.values();
    let staged = staged.filter(|change| is_conflict_id(change.id.as_str()));
    for object in staged.filter_map(|change| Some(&change.new.as_ref()?.object)) {
        if let Some(named) = Named::of(object, &store)? {
            all.insert(named.of.clone(), named.summary());
        }
    }
    conflicts.extend(all.into_values());
    Ok(())
}
