//! Revert: takes back what selected commits wrote, while the work of everybody else stays.
//!
//! Each object that the selected commits wrote gets its newest version by anybody else, or goes if there is none. An
//! object that they removed comes back. A revert is one commit, so an undo or another revert takes it back.
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
//! - RVT-3: an untrusted writer reverts no commit of a more trusted writer, and no more trusted version.
//! - RVT-4: a revert changes only ids that the selected commits changed, or ids below them if later versions by others
//!   go too.
//!
//! # Limits
//! - A thinned commit is never selected, because its writer is unknown.

mod settle;
mod without;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::digest::{KeyPath, ObjectDigest};
use crate::engine::inner::Inner;
use crate::engine::read::{CommitInfo, Selection, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Op};
use crate::store::{CommitEntry, IdChanges, Store};
use crate::trie::Entry;

use super::{Committed, Draft, Note, Writer, check_return, is_restricted, named};
use settle::{GivenUp, Plan, Planned};
use without::{Without, is_same};

named! {
    /// The treatment of versions that others wrote after the selected commits.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Conflicts {
        /// They stay, and the answer names them.
        #[default]
        Keep => "keep",
        /// They go too. Each object gets the version that stands at the newest selected change of the object.
        Revert => "revert",
        /// The revert fails and changes nothing.
        Fail => "fail",
    }
}

/// An object that a revert changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevertedObject {
    /// The id of the object.
    pub id: Id,
    /// The version before the revert; `None` if the object was absent.
    pub from: Option<ObjectDigest>,
    /// The version after the revert; `None` if the object goes.
    pub to: Option<ObjectDigest>,
}

/// An object that the selected commits wrote, and that stays as it is because of later work of others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptObject {
    /// The id of the object.
    pub id: Id,
    /// The commit of the later work. `None` if that commit was thinned.
    pub by: Option<CommitInfo>,
}

/// The result of a revert, or of its preview.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reverted {
    /// The commit of the revert, or the head if nothing changed.
    pub committed: Committed,
    /// The number of selected commits.
    pub selected: u64,
    /// The changed objects, sorted by id.
    pub reverted: Vec<RevertedObject>,
    /// The objects that stay because others changed them later, sorted by id.
    pub kept: Vec<KeptObject>,
    /// The objects whose present version is derived from a version of the selected commits, sorted.
    pub derived: Vec<Id>,
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
}

impl std::fmt::Debug for Revert<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revert")
            .field("selection", &self.selection)
            .field("conflicts", &self.conflicts)
            .field("with_derived", &self.with_derived)
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

    /// Commits the revert with the operation `revert`, unless it changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_criteria`) if the selection has no condition. `NotFound` (code `nothing_selected`) if no
    /// commit is selected, or no commit has one of the names. `Conflict` (code `changed_since`), naming the ids, if
    /// others changed objects later and the revert should fail then. `Denied` (code `less_trusted`) if an untrusted
    /// writer would revert a commit of a more trusted writer, or replace or bring back a more trusted version.
    /// Otherwise, the errors of [`Memory::commit`](crate::Memory::commit).
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn by(&self, writer: &Writer) -> Result<Reverted> {
        self.inner.write_as(writer, |writing| {
            let (mut reverted, draft) = self.plan(writer)?;
            if draft.is_empty() {
                return Ok(reverted);
            }
            let note = Note::new(Op::REVERT, None, writer);
            let (store, head, mut tip) = self.inner.tip(writing)?;
            let ready = self.inner.stage(&store, &mut tip, &head, &draft, &note, true);
            drop(tip);
            let ready = ready?.ok_or_else(|| Error::internal("a revert was not staged"))?;
            reverted.committed = self.inner.write_one(writing, ready)?;
            Ok(reverted)
        })
    }

    /// Returns what the revert would do. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::by`].
    pub fn preview(&self, writer: &Writer) -> Result<Reverted> {
        Ok(self.plan(writer)?.0)
    }

    /// Plans the revert on the head. Also returns the draft of the changes.
    fn plan(&self, writer: &Writer) -> Result<(Reverted, Draft)> {
        let base = self.inner.view();
        let store = Arc::clone(&base.state.store);
        let selected = self.selection.chosen(&store)?;
        let is_strict = self.inner.settings().strict_reversals;
        check_commits(is_strict, &store, &selected, writer)?;
        let without = Without::of(&store, &selected, self.with_derived, self.inner.settings())?;
        let mut plan = Plan::new(&base, self.conflicts == Conflicts::Revert);
        let mut kept = self.changes(&base, &without, &mut plan)?;
        plan.settle()?;
        for given_up in &plan.given_up {
            kept.push(kept_because(&base, given_up)?);
        }
        kept.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        if self.conflicts == Conflicts::Fail && !kept.is_empty() {
            return Err(changed_later(&kept));
        }
        let mut changes: Vec<Planned> = plan.changes.into_values().collect();
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        let mut draft = Draft::new(base.clone(), writer.clone());
        for Planned { now, then, .. } in &changes {
            // RVT-3
            let load = |entry: &Option<Entry>| entry.map(|entry| base.state.load(&entry)).transpose();
            check_return(is_strict, writer.trust, || Ok([load(now)?, load(then)?]))?;
            // RVT-1: the draft links versions of history and adds none.
            draft.stage_entry(*now, *then)?;
        }
        let digest = |entry: Option<Entry>| entry.map(|entry| ObjectDigest::from_bytes(entry.digest));
        let reverted = changes.into_iter().map(|change| RevertedObject {
            id: change.id,
            from: digest(change.now),
            to: digest(change.then),
        });
        let reverted = Reverted {
            committed: Committed {
                commit: base.commit(),
                changed: false,
            },
            selected: selected.len() as u64,
            reverted: reverted.collect(),
            kept,
            derived: derived(&base, &without)?,
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
                plan.add(id, *key, now, then)?;
            } else if is_later && self.conflicts != Conflicts::Revert {
                let by = base.state.store.by_seq(track.standing().since)?;
                let by = by.map(|by| CommitInfo::of(&by));
                kept.push(KeptObject { id, by });
            }
        }
        Ok(kept)
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

/// Returns an error if a restricted writer would revert commits of more trusted writers (RVT-3).
fn check_commits(is_strict: bool, store: &Store, selected: &BTreeSet<u64>, writer: &Writer) -> Result<()> {
    if !is_restricted(is_strict, writer.trust) {
        return Ok(());
    }
    for seq in selected {
        let trust = store.by_seq(*seq)?.map(|entry| entry.commit.trust);
        if trust.is_some_and(|trust| trust.is_above(writer.trust)) {
            let class = writer.trust;
            let text = format!("a writer of class {class} may not revert the more trusted commit seq:{seq}");
            return Err(Error::denied(ErrorCode::LessTrusted, text).with_hint(
                "nothing was changed; a writer that is as trusted as these commits may revert them",
            ));
        }
    }
    Ok(())
}

/// Returns the object that stays because of another object, with the commit that wrote or removed the other object.
fn kept_because(base: &View, given_up: &GivenUp) -> Result<KeptObject> {
    let store = &base.state.store;
    let by = match base.state.entry_at(&given_up.because_of)? {
        Some(entry) => store.writer_of(&entry)?,
        None => remover(store, &given_up.because_of)?,
    };
    Ok(KeptObject {
        id: given_up.id.clone(),
        by: by.map(|by| CommitInfo::of(&by)),
    })
}

/// Returns the commit that removed an id last.
fn remover(store: &Arc<Store>, key: &KeyPath) -> Result<Option<Arc<CommitEntry>>> {
    let newest = IdChanges::new(Arc::clone(store), *key)?.next()?;
    Ok(newest
        .filter(|change| !change.is_behind_gap)
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

/// Returns the error for a revert that fails because of later work of others.
fn changed_later(kept: &[KeptObject]) -> Error {
    let ids: Vec<String> = kept.iter().map(|kept| kept.id.to_string()).collect();
    let text = format!("others changed {} after the selected commits", named(&ids));
    Error::conflict(text)
        .with_code(ErrorCode::ChangedSince)
        .with_ids(ids)
        .with_hint("nothing was done; `--conflicts keep` keeps these later versions, `--conflicts revert` takes them back too")
}
