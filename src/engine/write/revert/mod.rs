//! Revert: takes back what selected commits wrote, while the work of everybody else stays.
//!
//! The result is the state as if the selected commits had written nothing. Each object that they wrote gets its newest
//! version by anybody else that still holds, or is removed. An object that they removed comes back. A version
//! no longer holds after others replaced it by undo, redo, rollback, restore, revert or unforget: nothing that somebody
//! took back returns with a revert. A revert is one commit, so an undo or another revert takes it back.
//!
//! 1. [`Selection`] finds the commits.
//! 2. [`Without`] finds the version that each id would have without the commits.
//! 3. [`Plan`] fits these versions into the tree of parents.
//! 4. The changes are a draft on the head, and the draft is one commit.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - RVT-1: a revert only brings back versions that history keeps, each with its own origin. It writes no new version,
//!   no taint and no reference.
//! - RVT-2: a revert brings back no version that was erased, and no version whose content was erased.
//! - RVT-3: an untrusted writer takes back nothing of a commit of a more trusted writer (STN-3), and no more trusted
//!   version. It takes back no later and no derived work of others, which may be more trusted.
//! - RVT-4: a revert changes only ids that the selected commits changed. If it takes later versions by others back too, it
//!   also changes the ids above and below them.
//!
//! # Limits
//! - A thinned commit is never selected, because its writer is unknown.

mod without;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::engine::inner::Inner;
use crate::engine::read::selection::Chosen;
use crate::engine::read::{CommitInfo, Selection, State, View};
use crate::engine::trace;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Op};
use crate::store::{CommitEntry, IdChanges, Store};
use crate::trie::Entry;

use super::rollback::head_moved;
use super::settle::{GivesWay, KeptBecause, Plan, Planned, is_same};
use super::{
    Committed, Draft, LogHandle, Note, Writer, check_return, check_takes_back, check_takes_back_any, named,
};
use without::{Standing, Track, Without};

named! {
    /// The treatment of versions that others wrote after the selected commits.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Conflicts {
        /// They stay, and the answer names them.
        #[default]
        Keep => "keep",
        /// They are taken back too. Each object gets the version that stands at the newest selected change of the object. So does
        /// an object of others above or below it, if it is in the way.
        Revert => "revert",
        /// The revert fails and changes nothing.
        Fail => "fail",
    }
}

/// An object that a revert changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct RevertedObject {
    /// The id of the object.
    pub id: Id,
    /// The version before the revert. There is none if the object comes back.
    pub from: Option<ObjectDigest>,
    /// The version after the revert. There is none if the object is removed.
    pub to: Option<ObjectDigest>,
    /// The missing object above the version that would stand, if the object is removed because of it. Only a revert that
    /// takes later work of others back too removes objects for this reason.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gone_with: Option<Id>,
    /// Whether thinned commits may have written a newer version, which history no longer keeps.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub thinned: bool,
}

/// An object that the selected commits wrote, and that stays as it is because of later work of others.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(into = "KeptFields"), schemars(with = "KeptFields"))]
#[non_exhaustive]
pub struct KeptObject {
    /// The id of the object.
    pub id: Id,
    /// The later work.
    pub because: KeptBecause,
    /// The commit of the later work. `None` if that commit was thinned.
    pub by: Option<CommitInfo>,
}

/// The JSON of a [`KeptObject`].
#[cfg(feature = "serde")]
#[derive(serde::Serialize, schemars::JsonSchema)]
struct KeptFields {
    id: Id,
    /// The later work of others: `changed` the object itself, put `other` `below` it, or removed `other`, which the
    /// version that would come back needs above it (`no_parent`).
    because: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Id>,
    /// The lane of the later change: its session, else its actor, else `default`. Null if the commit was thinned.
    by: Option<String>,
    /// The seq of the later change.
    seq: Option<u64>,
}

#[cfg(feature = "serde")]
impl From<KeptObject> for KeptFields {
    fn from(object: KeptObject) -> Self {
        let (because, other) = object.because.name_and_other();
        Self {
            because,
            other: other.cloned(),
            id: object.id,
            by: object.by.as_ref().map(|by| by.lane().to_owned()),
            seq: object.by.map(|by| by.commit.seq),
        }
    }
}

/// The result of a revert, or of its preview.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Reverted {
    /// The commit of the revert, or the head if nothing changed.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub committed: Committed,
    /// The number of selected commits.
    pub selected: u64,
    /// The changed objects, sorted by id.
    pub reverted: Vec<RevertedObject>,
    /// The objects that stay because others changed them later, sorted by id.
    pub kept: Vec<KeptObject>,
    /// The objects whose present version is derived from a version of the selected commits, sorted.
    pub derived: Vec<Id>,
    /// Whether this is a preview, which changed nothing.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub dry_run: bool,
}

/// A planned revert; see [`Memory::revert`](crate::Memory::revert).
///
/// ```
/// use treering::revert::Selection;
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let fact = |id: &str, text: &str| -> treering::Result<NewObject> {
///     let mut fact = NewObject::new(Id::new(id)?, Kind::new("fact")?);
///     fact.content = Some(text.to_owned());
///     Ok(fact)
/// };
/// let (day, night) = (Writer::person("vera").session("day"), Writer::model("agent").session("night"));
/// memory.put(fact("office", "Bremen")?, &day)?;
/// memory.put(fact("office", "Frankfurt")?, &night)?;
/// memory.put(fact("port", "8080")?, &night)?;
/// memory.put(fact("port", "9090")?, &day)?;
///
/// let revert = memory.revert(Selection::default().session("night"));
/// let planned = revert.preview(&day)?;
/// assert_eq!((planned.reverted.len(), planned.kept.len()), (1, 1));
/// revert.by(&day)?;
/// let text = |id: &str| -> treering::Result<_> {
///     let object = memory.view().get(&Id::new(id)?)?;
///     Ok(object.and_then(|object| object.content().map(str::to_owned)))
/// };
/// assert_eq!(text("office")?.as_deref(), Some("Bremen"));
/// assert_eq!(text("port")?.as_deref(), Some("9090"), "the later version by day stays");
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "call `by` to run the revert"]
pub struct Revert<'a> {
    pub(super) inner: &'a Inner,
    pub(super) selection: Selection,
    pub(super) conflicts: Conflicts,
    pub(super) with_derived: bool,
    pub(super) expected: Option<CommitDigest>,
}

impl std::fmt::Debug for Revert<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revert")
            .field("selection", &self.selection)
            .field("conflicts", &self.conflicts)
            .field("with_derived", &self.with_derived)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

impl Revert<'_> {
    /// Decides what happens with versions that others wrote later than the selected commits. The default is
    /// [`Conflicts::Keep`].
    pub fn conflicts(mut self, conflicts: Conflicts) -> Self {
        self.conflicts = conflicts;
        self
    }

    /// Makes the revert also take back versions of others that are derived from versions of the selected commits.
    pub fn with_derived(mut self) -> Self {
        self.with_derived = true;
        self
    }

    /// Makes the revert fail with `Conflict` (code `head_moved`) if the head is another commit than `head`, for example the
    /// one that a person saw in a preview.
    pub fn expect_head(mut self, head: CommitDigest) -> Self {
        self.expected = Some(head);
        self
    }

    /// Commits the revert with the operation `revert`, unless it changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_criteria`) if the selection has no condition. `NotFound` (code `nothing_selected`) if no
    /// commit is selected, or no commit has one of the names. `Conflict` (code `changed_since`), naming the ids, if
    /// others changed objects later and the revert should fail then. `Denied` (code `less_trusted`) if an untrusted
    /// writer would revert a commit of a more trusted writer, replace or bring back a more trusted version, or take back
    /// later or derived work of others. Otherwise, the errors of [`Memory::commit`](crate::Memory::commit).
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn by(&self, writer: &Writer) -> Result<Reverted> {
        let writer = &self.inner.capped(writer);
        let write =
            |writing: &mut LogHandle, planned, draft: &Draft| self.write(writing, planned, draft, writer);
        let reverted = self
            .inner
            .write_planned(writer, false, &|| self.plan(writer), &write);
        reverted.inspect_err(|error| trace::refused(Op::REVERT, writer.session.as_deref(), error))
    }

    /// Commits a plan on its head, unless it changes nothing.
    fn write(
        &self,
        writing: &mut LogHandle,
        mut reverted: Reverted,
        draft: &Draft,
        writer: &Writer,
    ) -> Result<Reverted> {
        if draft.is_empty() {
            return Ok(reverted);
        }
        let note = Note::new(Op::REVERT, None, writer);
        let (store, head, mut tip) = self.inner.tip(writing)?;
        let ready = self.inner.stage(&store, &mut tip, &head, &[], draft, &note);
        drop(tip);
        let ready = ready?.ok_or_else(|| Error::internal("a revert was not staged"))?;
        reverted.committed = self.inner.write_one(writing, ready)?;
        Ok(reverted)
    }

    /// Returns what the revert would do. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::by`].
    pub fn preview(&self, writer: &Writer) -> Result<Reverted> {
        let (planned, _) = self.plan(&self.inner.capped(writer))?;
        Ok(Reverted {
            dry_run: true,
            ..planned
        })
    }

    /// Returns an error if the writer may not take back the later or derived work of others (RVT-3).
    fn check_others(&self, writer: &Writer) -> Result<()> {
        let settings = self.inner.settings();
        if self.conflicts == Conflicts::Revert {
            check_takes_back_any(settings, writer, "later work of others")?;
        }
        if self.with_derived {
            check_takes_back_any(settings, writer, "derived work of others")?;
        }
        Ok(())
    }

    /// Returns an error if the writer may not make the `changes`: if an object that they change is more trusted, or a
    /// selected commit that changed it is (RVT-3). A selected commit of which nothing is left is not taken back.
    fn check_trust(
        &self,
        base: &View,
        without: &Without,
        selected: &Chosen,
        changes: &[Planned],
        writer: &Writer,
    ) -> Result<()> {
        let settings = self.inner.settings();
        let mut taken_back = BTreeSet::new();
        for change in changes.iter().filter(|_| settings.restricts(writer)) {
            let load = |entry: Option<Entry>| entry.map(|entry| base.state.load(&entry)).transpose();
            check_return(settings, writer, || Ok([load(change.now)?, load(change.then())?]))?;
            let track = without.tracks.get(&base.key(&change.id));
            let seqs = track.into_iter().flat_map(Track::changed_by);
            taken_back.extend(seqs.filter(|seq| selected.own.contains(seq)));
        }
        // What a merge brought counts for its writer.
        for brought in selected.brought.values().filter(|_| !changes.is_empty()) {
            check_takes_back(settings, writer, brought)?;
        }
        for seq in taken_back {
            let commit = base.state.store.by_seq(seq)?;
            commit.map_or(Ok(()), |commit| check_takes_back(settings, writer, &commit))?;
        }
        Ok(())
    }

    /// Plans the revert on the head. Also returns the draft of the changes.
    fn plan(&self, writer: &Writer) -> Result<(Reverted, Draft)> {
        let base = self.inner.view();
        if self.expected.is_some_and(|head| head != base.entry.digest) {
            return Err(head_moved(base.entry.seq()));
        }
        let store = Arc::clone(&base.state.store);
        let selected = self.selection.chosen(&store)?;
        self.check_others(writer)?;
        let settings = self.inner.settings();
        let without = Without::of(&store, &selected, self.with_derived, settings)?;
        let way = Earlier {
            tracks: &without.tracks,
            gives_way: self.conflicts == Conflicts::Revert,
        };
        let mut plan = Plan::new(&base, &way);
        let mut kept = self.changes(&base, &without, &mut plan)?;
        plan.settle()?;
        let (changes, kept_by_tree) = settled(&base, plan)?;
        kept.extend(kept_by_tree);
        kept.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        if self.conflicts == Conflicts::Fail {
            check_no_conflict(&kept)?;
        }
        self.check_trust(&base, &without, &selected, &changes, writer)?;
        let mut draft = Draft::new(base.clone(), writer.clone());
        for change in &changes {
            // RVT-1: the draft links versions of history and adds none.
            draft.stage_entry(change.now, change.then())?;
        }
        let digest = |entry: Option<Entry>| entry.map(|entry| ObjectDigest::from_bytes(entry.digest));
        let reverted = changes.into_iter().map(|change| RevertedObject {
            from: digest(change.now),
            to: digest(change.then()),
            thinned: without.misses(base.key(&change.id)),
            id: change.id,
            gone_with: change.gone_with,
        });
        let reverted = Reverted {
            committed: Committed {
                commit: base.commit(),
                changed: false,
            },
            selected: selected.count(),
            reverted: reverted.collect(),
            kept,
            derived: derived(&base, &without)?,
            dry_run: false,
        };
        Ok((reverted, draft))
    }

    /// Plans the change of each id that the selected commits changed. Returns the objects that stay because others
    /// changed them later.
    fn changes(&self, base: &View, without: &Without, plan: &mut Plan<'_>) -> Result<Vec<KeptObject>> {
        let mut kept = Vec::new();
        for (key, track) in &without.tracks {
            let now = base.state.entry_at(key)?;
            let mut then = track.kept(&base.state, key, true)?;
            let is_later = track.changed_later() && is_same(now, then);
            if is_later && self.conflicts == Conflicts::Revert {
                then = track.kept(&base.state, key, false)?;
            }
            let mut versions = now.into_iter().chain(then).chain(track.versions());
            let id = id_of(base, &mut versions)?;
            if !is_same(now, then) {
                plan.add(id, now, then, track.last_selected_seq)?;
            } else if is_later && self.conflicts != Conflicts::Revert {
                let Standing { entry, by, .. } = track.standing();
                let store = &base.state.store;
                let by = by.map_or_else(|| writer_of(store, key, entry), |seq| store.by_seq(seq))?;
                kept.push(KeptObject {
                    id,
                    because: KeptBecause::Changed,
                    by: by.map(|by| CommitInfo::of(&by)),
                });
            }
        }
        Ok(kept)
    }
}

/// What is in the way of a revert: the later work of others.
struct Earlier<'a> {
    /// The ids that the selected commits changed. What they get is decided, also if it is no change.
    tracks: &'a HashMap<KeyPath, Track>,
    gives_way: bool,
}

impl GivesWay for Earlier<'_> {
    fn gives_way(&self) -> bool {
        self.gives_way
    }

    fn is_decided(&self, key: &KeyPath) -> bool {
        self.tracks.contains_key(key)
    }

    fn earlier(&self, base: &View, key: &KeyPath, since: u64) -> Result<Option<Entry>> {
        let store = &base.state.store;
        let earlier = store.by_seq(since)?.map(|commit| State::of(store, &commit));
        earlier.map_or(Ok(None), |earlier| earlier?.entry_at(key))
    }
}

/// Returns the id of the first version that names it. If all versions were erased, returns their placeholder.
fn id_of(base: &View, versions: &mut dyn Iterator<Item = Entry>) -> Result<Id> {
    let mut unknown = None;
    for version in versions {
        let object = base.state.load(&version)?;
        if !object.is_placeholder() {
            return Ok(object.id().clone());
        }
        unknown.get_or_insert(object.id().clone());
    }
    unknown.ok_or_else(|| Error::internal("an id of a revert has no version"))
}

/// Returns the changes of a settled plan, sorted by id, and the objects that stay because of another object.
fn settled(base: &View, plan: Plan<'_>) -> Result<(Vec<Planned>, Vec<KeptObject>)> {
    let (mut changes, mut kept) = (Vec::new(), Vec::new());
    let store = &base.state.store;
    let mut keep = |id, because, (other, version): (&Id, Option<Entry>)| -> Result<()> {
        let by = writer_of(store, &base.key(other), version)?;
        let by = by.map(|by| CommitInfo::of(&by));
        kept.push(KeptObject { id, because, by });
        Ok(())
    };
    let is_planned = |id: &Id| plan.changes.contains_key(&base.key(id));
    for change in plan.changes.values() {
        // If the revert itself removes the parent, no later work is the cause.
        if let Some(parent) = &change.gone_with
            && is_same(change.now, change.then())
            && !is_planned(parent)
        {
            let because = KeptBecause::NoParent(parent.clone());
            keep(change.id.clone(), because, (parent, None))?;
        }
    }
    for given_up in plan.given_up.into_values() {
        let (id, because, version) = (given_up.id, given_up.because, given_up.version);
        if let KeptBecause::Below(other) | KeptBecause::NoParent(other) = &because {
            let other = other.clone();
            keep(id, because, (&other, version))?;
        }
    }
    let planned = plan.changes.into_values();
    changes.extend(planned.filter(|change| !is_same(change.now, change.then())));
    changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    Ok((changes, kept))
}

/// Returns the commit that wrote the version of an id or, without a version, removed the id last. Returns `None` if that
/// commit was thinned, or nobody removed the id.
fn writer_of(store: &Arc<Store>, key: &KeyPath, version: Option<Entry>) -> Result<Option<Arc<CommitEntry>>> {
    if let Some(version) = version {
        return store.writer_of(&version);
    }
    let newest = IdChanges::new(Arc::clone(store), *key)?.next()?;
    Ok(newest
        .filter(|change| change.entry.is_none() && !change.is_behind_gap)
        .map(|change| change.commit))
}

/// Returns the ids whose present version is derived from a version of the selected commits, sorted.
fn derived(base: &View, without: &Without) -> Result<Vec<Id>> {
    let mut ids = Vec::new();
    for key in &without.derived_ids {
        if let Some(entry) = base
            .state
            .entry_at(key)?
            .filter(|entry| without.has_derived(entry))
        {
            ids.push(base.state.load(&entry)?.id().clone());
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Returns an error if objects stay because of later work of others.
fn check_no_conflict(kept: &[KeptObject]) -> Result<()> {
    let ids: BTreeSet<String> = kept.iter().map(|kept| kept.id.to_string()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let ids = Vec::from_iter(ids);
    let text = format!("later work of others is in the way of {}", named(&ids));
    Err(Error::conflict(text)
        .with_code(ErrorCode::ChangedSince)
        .with_ids(ids)
        .with_hint("nothing was done; `--conflicts keep` keeps this later work, `--conflicts revert` takes it back too"))
}
