//! Plans a merge: decides about each object, fits the decisions into the tree, and stages them in a draft.
//!
//! # Layer
//! Layer 5.

use std::collections::{BTreeMap, BTreeSet};

use super::bases::Bases;
use super::conflict::{MERGE_CONFLICT, MergeConflict, Named, conflict_id};
use super::graph::{Commit, Commits, newest_shared, state_of};
use super::sides::{Decided, Deciding, Outcome, REMOVED, Versions, least};
use super::{Merge, Merged, Planned};
use crate::digest::{KeyPath, ObjectDigest};
use crate::engine::read::View;
use crate::engine::write::settle::{GivesWay, Plan, is_same};
use crate::engine::write::{Committed, Draft, Writer, check_return};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Id, NewObject, Object, Origin};
use crate::store::{ChangeCounts, REMOTE};
use crate::trie::Entry;
use std::sync::Arc;

/// The field of a conflict about a change that the policy refused.
const REFUSED: &str = "refused";
/// The field of a conflict about the place of an object in the tree.
const PARENT: &str = "parent";

impl Merge<'_> {
    /// Plans the merge on the head. Also returns the draft of the changes.
    pub(super) fn plan(&self, writer: &Writer) -> Result<(Planned, Draft)> {
        let (view, ours) = self.ours()?;
        let theirs = self.theirs()?;
        let commits = Commits::of(&ours, &theirs)?;
        let newest = commits.bases(&ours, &theirs)?;
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
        let is_of_remote = theirs.0.line_name().is_some_and(|name| name.starts_with(REMOTE));
        let mut draft = Draft::new(view.clone(), writer.clone());
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        if is_new {
            let bases = Bases::new(&commits, all)?;
            let open = self.stage_decided((&view, &theirs), &bases, &mut draft)?;
            changes = draft.changes();
            changes.retain(|change| !change.id.as_str().starts_with(MERGE_CONFLICT));
            // A conflict that was open before with the same versions is no change, but it stays open.
            conflicts = open.values().map(Named::summary).collect();
            for (key, named) in open {
                stage_conflict(&mut draft, &key, named)?;
            }
            add_open(&mut conflicts, &draft);
            check(&view, &draft, writer)?;
        }
        // A repeated merge that changes nothing makes no commit (MRG-2). Nor does that of a remote which has all that is here:
        // otherwise two machines would merge each other's merges for ever.
        let is_in_sync = is_known || is_of_remote && base == ours.1.digest;
        let is_new = is_new && !(is_in_sync && draft.is_empty());
        let merged = Merged {
            committed: Committed {
                commit: view.commit(),
                changed: is_new,
            },
            base,
            counts: ChangeCounts::of(
                changes
                    .iter()
                    .map(|change| (change.old.is_some(), change.new.is_some())),
            ),
            conflicts,
            changes,
            dry_run: false,
        };
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
            theirs,
            their_state: &their_state,
            bases,
            choose: &choose,
            their_cap: self.their_cap(&theirs.0),
        };
        let keys = bases.changed_in(&their_state)?;
        let way = Way { bases, keys: &keys };
        let mut plan = Plan::new(view, &way);
        let mut planned = Decisions::default();
        for key in &keys {
            view.settings().check_stop()?;
            if self.left_out.contains(key) {
                planned.open.entry(*key).or_default().insert(REFUSED.to_owned());
                continue;
            }
            if let Some(decided) = deciding.decide(key)? {
                planned.add(&deciding, *key, decided, &mut plan)?;
            }
        }
        plan.settle()?;
        planned.note_tree(&plan);
        for (key, change) in &plan.changes {
            match planned.new.remove(key) {
                Some((object, origin)) => drop(draft.stage_as(object, origin)?),
                None if is_same(change.now, change.then()) => {}
                None => draft.stage_entry(change.now, change.then())?,
            }
        }
        let named = planned.open.into_iter().map(|(key, fields)| {
            let versions = deciding.versions(&key)?;
            let base = bases.was(&key)?.digest();
            Ok((key, named(&deciding, fields, versions, base)?))
        });
        named.collect()
    }
}

fn is_at(one: &Commit, other: &Commit) -> bool {
    one.1.digest == other.1.digest
}

/// Returns an error if the writer may not make the changes of the draft.
fn check(view: &View, draft: &Draft, writer: &Writer) -> Result<()> {
    draft.check_authorisation()?;
    let settings = view.settings();
    if !settings.restricts(writer) {
        return Ok(());
    }
    for change in draft.staged.values() {
        let old = view.state.object_at(&view.key(&change.id))?;
        let new = change.new.as_ref().map(|staged| staged.object.clone());
        check_return(settings, writer, || Ok([old, new]))?;
    }
    Ok(())
}

/// The new versions of a merge, and what is left open.
#[derive(Default)]
struct Decisions {
    new: BTreeMap<KeyPath, (NewObject, Origin)>,
    /// The objects that get their version, or that they removed, and the fields that are left open.
    removes: BTreeSet<KeyPath>,
    decided: BTreeSet<KeyPath>,
    open: BTreeMap<KeyPath, BTreeSet<String>>,
}

impl Decisions {
    /// Adds what an object gets to the plan.
    fn add(
        &mut self,
        deciding: &Deciding<'_>,
        key: KeyPath,
        decided: Decided,
        plan: &mut Plan<'_>,
    ) -> Result<()> {
        let Versions { ours, theirs } = deciding.versions(&key)?;
        if !decided.open.is_empty() {
            self.open.insert(key, decided.open);
        }
        let outcome = match decided.outcome {
            Outcome::Take => deciding.stamped(theirs)?,
            outcome => outcome,
        };
        match outcome {
            Outcome::Keep => {}
            Outcome::Take => {
                let either = theirs.or(ours);
                let either = either.ok_or_else(|| Error::internal("a merge takes no version"))?;
                let id = deciding.ours.load(&either)?.id().clone();
                if theirs.is_none() {
                    self.removes.insert(key);
                }
                self.decided.insert(key);
                plan.add(id, ours, theirs, 0)?;
            }
            Outcome::New(object, origin) => {
                let digest = object.encode(origin, deciding.ours.store.suite)?.digest;
                // The version has no record yet, and nobody reads it before it is staged.
                let then = Entry {
                    key,
                    digest: *digest.as_bytes(),
                    place: 0,
                    created: 0,
                };
                self.decided.insert(key);
                plan.add_below(object.id.clone(), object.parent.clone(), (ours, Some(then)), 0);
                self.new.insert(key, (*object, origin));
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
        for (key, change) in &plan.changes {
            if !self.decided.contains(key) {
                let field = if change.now.is_none() { REMOVED } else { PARENT };
                self.open.entry(*key).or_default().insert(field.to_owned());
            }
        }
    }
}

/// What is in the way of a merge: a parent that we removed comes back, and nothing else of ours gives way.
struct Way<'a> {
    bases: &'a Bases<'a>,
    /// The objects that they changed.
    keys: &'a BTreeSet<KeyPath>,
}

impl GivesWay for Way<'_> {
    fn gives_way(&self) -> bool {
        false
    }

    fn brings_back(&self) -> bool {
        true
    }

    /// Of the objects that a side moved, the one with the largest key path keeps its parent, so the sides may be exchanged.
    fn keeps_parent(&self, view: &View, circle: &[(KeyPath, Id)]) -> Result<Option<KeyPath>> {
        let mut keeps = None;
        for ((key, _), (_, above)) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            let before = self.earlier(view, key, 0)?;
            let before = before.map(|before| view.state.load(&before)).transpose()?;
            let parent = before.as_ref().and_then(Object::parent);
            if parent != Some(above.as_str()) {
                keeps = keeps.max(Some(*key));
            }
        }
        Ok(keeps)
    }

    fn is_decided(&self, key: &KeyPath) -> bool {
        self.keys.contains(key)
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
    let digest = |entry: Option<Entry>| entry.map(|entry| ObjectDigest::from_bytes(entry.digest));
    Ok(Named {
        of: deciding.ours.load(&either)?.id().clone(),
        fields,
        sides: BTreeSet::from([digest(ours), digest(theirs)]),
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
    let known = known.and_then(|known| Some((Named::of(&known)?, known.origin())));
    let mut class = known.as_ref().map(|(_, class)| *class);
    if let Some((known, _)) = known {
        named.unite(known);
    }
    // CFL-1
    for version in named.versions() {
        let found = draft.store().records.find_object(version)?;
        let origin = found.map_or(Origin::Import, |(_, object)| object.origin());
        class = Some(class.map_or(origin, |class| least(class, origin)));
    }
    let mut object = named.to_object(id)?;
    let shown = draft.get(&named.of);
    if let Some(shown) = shown.ok().flatten() {
        object.scope = shown.to_new()?.scope;
    }
    draft.stage_as(object, class.unwrap_or(Origin::Import)).map(drop)
}

/// Adds the conflicts that the draft stages, and sorts them by id.
fn add_open(conflicts: &mut Vec<MergeConflict>, draft: &Draft) {
    let staged = draft.staged.values();
    let objects = staged.filter_map(|change| Some(&change.new.as_ref()?.object));
    for conflict in objects.filter_map(|object| Some(Named::of(object)?.summary())) {
        conflicts.retain(|known| known.id != conflict.id);
        conflicts.push(conflict);
    }
    conflicts.sort_unstable_by(|one, other| one.id.cmp(&other.id));
}
