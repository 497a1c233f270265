//! Rollback of the whole store, and undo and redo of a lane's own commits.
//!
//! Rollback, undo and redo each make a new commit, so each of them can be undone. If history keeps the restored state,
//! the batch contains only the commit.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - A rollback to a state with an erased version restores the placeholder of that version; the id does not keep its
//!   present version.
//!
//! # Invariants
//! - ROL-1: two rollbacks to one commit produce the same root, whatever was committed between them.
//! - ROL-2: undo and redo change only ids of the commit that they reverse. Undo and redo set all of these ids to their
//!   target versions, or change nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::digest::CommitDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::log::BatchBuilder;
use crate::object::{Object, Op};
use crate::store::{ChangeCounts, CommitEntry, Store};
use crate::trie::{Change as TrieChange, Entry};

use super::{
    Committed, Draft, LogHandle, Note, Ready, Writer, changed_meanwhile, check_brings_back, check_return,
    check_takes_back, check_takes_back_any,
};
use crate::engine::inner::Inner;
use crate::engine::read::{Change, CommitInfo, Revision, State, View, erased_by, revision, thinned_in};
use crate::engine::settings::Settings;
use crate::engine::trace;

/// The hint for an undo or redo that is impossible.
const OTHERWISE: &str = "`restore REV ID` restores single objects; `rollback REV` restores a whole state";

/// Returns the hint for an undo or redo of commit `seq` that later changes by others prevent.
fn instead(op: &str, seq: u64, writer: &Writer) -> String {
    let shown = "nothing was done; `history ID` shows the later changes";
    if op != Op::UNDO {
        return format!("{shown}; {OTHERWISE}");
    }
    let all = match &writer.session {
        Some(_) => ", `revert --session SESSION` what a session wrote",
        None => "",
    };
    format!(
        "{shown}; `revert --commit seq:{seq}` takes back what still stands of the commit{all}; {OTHERWISE}"
    )
}

/// The result that an undo or redo would have.
#[derive(Clone)]
pub struct Reversing {
    /// The commit that the operation would reverse or redo.
    pub target: CommitInfo,
    /// A state in which the changed ids have the versions that they would get. For other ids, this state may differ
    /// from the state after the undo or redo.
    pub state: View,
    /// The changes, sorted by id.
    pub changes: Vec<Change>,
}

impl Inner {
    /// `from` is the seq up to which the line and the line of the target have the same commits.
    fn check_lanes(&self, from: u64, all: bool, writer: &Writer) -> Result<()> {
        if all {
            return Ok(());
        }
        let store = self.store();
        let (Ok(first) | Err(first)) = store.position(from + 1)?;
        let mut lanes: BTreeMap<String, u64> = BTreeMap::new();
        // Often the writer made all of these commits, so this function reads none of them.
        for index in first..store.others_below(writer.lane()) {
            let commit = store.commit_at(index)?;
            if let Some(commit) = commit.filter(|commit| commit.commit.lane() != writer.lane()) {
                *lanes.entry(commit.commit.lane().to_owned()).or_default() += 1;
            }
        }
        // A merge by the writer may bring the work of others.
        for brought in store.brought_after(from)? {
            if brought.commit.lane() != writer.lane() {
                *lanes.entry(brought.commit.lane().to_owned()).or_default() += 1;
            }
        }
        // The lanes of thinned commits are unknown.
        let thinned = thinned_in(&store, &(from + 1..u64::MAX));
        if lanes.is_empty() && thinned == 0 {
            return Ok(());
        }
        let counted = |(what, commits): (&str, u64)| {
            let commits = format!("{commits} commit{}", if commits == 1 { "" } else { "s" });
            format!("{what} ({commits})")
        };
        let named = lanes.iter().map(|(lane, commits)| (lane.as_str(), *commits));
        let unknown = (thinned > 0).then_some(("the unknown lanes of thinned commits", thinned));
        let named: Vec<_> = named.chain(unknown).map(counted).collect();
        let named = named.join(", ");
        Err(
            Error::conflict(format!("other lanes committed since seq:{from}: {named}"))
                .with_code(ErrorCode::OtherLanes)
                .with_names(lanes.into_keys().collect())
                .with_hint("`--all` (`across_lanes` in the library) also rolls back the work of these lanes; `undo` reverses only your own newest commit"),
        )
    }

    /// Returns an error if the writer may not roll back from `head` to `target` (STN-1, STN-3).
    fn check_trust(&self, head: &CommitEntry, target: &Target, writer: &Writer) -> Result<()> {
        let settings = self.settings();
        if !settings.restricts(writer) {
            return Ok(());
        }
        let store = self.store();
        let (now, then) = (State::of(&store, head)?, State::of(&target.store, &target.entry)?);
        for change in now.diff(&then, &now.nodes_with(&then)) {
            let TrieChange { old, new, .. } = change?;
            check_change(settings, &now, writer, old, new)?;
        }
        let (Ok(first) | Err(first)) = store.position(target.shared + 1)?;
        for index in first..store.kept() {
            let commit = store.commit_at(index)?;
            commit.map_or(Ok(()), |commit| check_takes_back(settings, writer, &commit))?;
        }
        for brought in store.brought_after(target.shared)? {
            check_takes_back(settings, writer, &brought)?;
        }
        if thinned_in(&store, &(target.shared + 1..u64::MAX)) > 0 {
            check_takes_back_any(settings, writer, "thinned commits")?;
        }
        Ok(())
    }

    fn rollback_to(
        &self,
        writing: &mut LogHandle,
        target: &Target,
        expected: CommitDigest,
        checked: Option<CommitDigest>,
        all: bool,
        writer: &Writer,
    ) -> Result<Committed> {
        let head = self.store().head()?;
        if head.digest != expected {
            return Err(head_moved(head.seq()));
        }
        if checked != Some(head.digest) {
            self.check_lanes(target.shared, all, writer)?;
            self.check_trust(&head, target, writer)?;
        }
        if target.entry.commit.root == head.commit.root {
            return Ok(Committed::of(&head, false));
        }
        if !target.is_own {
            return self.go_to_other_line(writing, target, writer);
        }
        let target = &target.entry;
        // ROL-1: the trie of the target commit becomes the new state.
        let note = Note::new(Op::ROLLBACK, Some(target.digest), writer);
        let (store, _, mut tip) = self.tip(writing)?;
        let mut batch = BatchBuilder::new();
        let (trie, root) = (store.state(target)?, target.commit.root);
        let time = self.time_after(tip.time);
        let mut known = self.add_commit(&mut batch, &mut tip, trie.clone(), root, time, &note)?;
        // The store need not look for the state after the batch is durable.
        known.reused = Some(trie);
        self.write_one(writing, Ready::of(&self.source, batch, tip.seal(), known))
    }

    /// Rolls back to the state of a commit of another line. The batch links what differs, because a batch reuses a root of
    /// its own line only.
    fn go_to_other_line(
        &self,
        writing: &mut LogHandle,
        target: &Target,
        writer: &Writer,
    ) -> Result<Committed> {
        let base = self.view();
        let then = State::of(&target.store, &target.entry)?;
        let mut draft = Draft::new(base.clone(), writer.clone());
        for change in base.state.diff(&then, &base.state.nodes_with(&then)) {
            let change = change?;
            draft.stage_entry(change.old, change.new)?;
        }
        let note = Note::new(Op::ROLLBACK, Some(target.entry.digest), writer);
        let (store, head, mut tip) = self.tip(writing)?;
        let ready = self.stage(&store, &mut tip, &head, &[], &draft, &note);
        drop(tip);
        let ready = ready?.ok_or_else(|| Error::internal("a rollback was not staged"))?;
        self.write_one(writing, ready)
    }

    /// Writes the batch of a commit.
    pub(super) fn write_one(&self, writing: &mut LogHandle, ready: Ready) -> Result<Committed> {
        let entry = self.write_group(writing, vec![ready])?.pop();
        let entry = entry.ok_or_else(|| Error::internal("a batch was not written"))?;
        Ok(Committed::of(&entry, true))
    }

    /// Plans an undo or redo on the head. Also returns the draft of the changes.
    pub(super) fn plan_reversal(&self, op: &str, writer: &Writer) -> Result<(Reversing, Draft)> {
        let base = self.view();
        let (head, store) = (&base.state, &base.state.store);
        let [taken_back, target, before] = to_reverse(store, op, writer)?;
        // Undo changes the commit's state to its parent's state; redo changes the parent's state to the commit's state.
        let (from, to) = if op == Op::UNDO {
            (Arc::clone(&target), before)
        } else {
            (before, Arc::clone(&target))
        };
        let (from, to) = (State::of(store, &from)?, View::new(&self.source, store, to)?);
        let (mut changed, mut erased) = (Vec::new(), None);
        let mut draft = Draft::new(base.clone(), writer.clone());
        let digest = |entry: Option<Entry>| entry.map(|entry| entry.digest);
        for change in from.diff(&to.state, &from.nodes_with(&to.state)) {
            let TrieChange { key, old, new } = change?;
            let now = head.entry_at(&key)?;
            // The id already has its target version, so the id does not change.
            if digest(now) == digest(new) {
                continue;
            }
            if digest(now) == digest(old) {
                check_change(self.settings(), head, writer, now, new)?;
                if now.is_none() {
                    check_brings_back(self.settings(), writer, store, key)?;
                }
                match erased_version(head, new)? {
                    Some(object) => drop(erased.get_or_insert(object)),
                    None => draft.stage_entry(now, new)?,
                }
                continue;
            }
            // Another commit changed the id since. To name the id, the loop needs a version that is not erased.
            for entry in [now, old, new].into_iter().flatten() {
                let object = head.load(&entry)?;
                if !object.is_placeholder() {
                    changed.push(object.id().to_string());
                    break;
                }
                erased.get_or_insert(object);
            }
        }
        check_takes_back(self.settings(), writer, &taken_back)?;
        // ROL-2: changes all ids or no id.
        let hint = instead(op, target.seq(), writer);
        check_obstacles(store, target.seq(), changed, erased.as_ref(), hint)?;
        let plan = Reversing {
            target: CommitInfo::of(&target),
            state: to,
            changes: draft.changes(),
        };
        Ok((plan, draft))
    }

    /// Undoes or redoes a commit; `op` selects which.
    pub(super) fn reverse(
        &self,
        op: &str,
        expected: Option<CommitDigest>,
        writer: &Writer,
    ) -> Result<Committed> {
        let writer = &self.capped(writer);
        let reversed = self.write_as(writer, |writing| {
            let head = self.store().head()?;
            if expected.is_some_and(|expected| expected != head.digest) {
                return Err(head_moved(head.seq()));
            }
            let (plan, draft) = self.plan_reversal(op, writer)?;
            let note = Note::new(op, Some(plan.target.digest), writer);
            let (store, head, mut tip) = self.tip(writing)?;
            let ready = self.stage(&store, &mut tip, &head, &[], &draft, &note);
            drop(tip);
            let ready = ready.map_err(later_changes)?;
            self.write_one(
                writing,
                ready.ok_or_else(|| Error::internal("a reversal was not staged"))?,
            )
        });
        reversed.inspect_err(|error| trace::refused(op, writer.session.as_deref(), error))
    }
}

/// The commit to which a rollback goes back.
struct Target {
    /// The store of the commit's line.
    store: Arc<Store>,
    entry: Arc<CommitEntry>,
    is_own: bool,
    /// The seq up to which the line and the line of the commit have the same commits.
    shared: u64,
}

impl Target {
    fn of(inner: &Inner, revision: &Revision, lane: &str) -> Result<Self> {
        let own = inner.store();
        let (store, entry) = revision::resolve_in(&own, revision, lane)?;
        let is_own = own.by_digest(entry.digest)?.is_some();
        if !is_own {
            store.check_not_of_remote()?;
        }
        let shared = if is_own {
            entry.seq()
        } else {
            own.newest_shared(&store)?.map_or(0, |shared| shared.seq())
        };
        Ok(Self {
            store,
            entry,
            is_own,
            shared,
        })
    }
}

/// Returns the error of a rollback or revert that meets another head than expected.
pub(super) fn head_moved(seq: u64) -> Error {
    Error::conflict(format!("the head moved to seq:{seq} meanwhile"))
        .with_code(ErrorCode::HeadMoved)
        .with_hint("review the new commits (`log`, `diff`), then try again")
}

/// Converts the error of the tree check to the error of an undo or redo.
pub(super) fn later_changes(error: Error) -> Error {
    match error.code() {
        ErrorCode::NoParent | ErrorCode::HasChildren | ErrorCode::ParentCycle => {
            let ids = error.ids().to_vec();
            Error::conflict(format!("later changes depend on the change to reverse: {error}")).with_ids(ids)
        }
        _ => error,
    }
}

/// A planned rollback: restores the whole state of a commit, as a new commit.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let (vera, agent) = (Writer::person("vera"), Writer::model("agent"));
/// memory.snapshot(Some("good"), &vera)?;
/// memory.put(NewObject::new(Id::new("plan")?, Kind::new("note")?), &agent)?;
///
/// // The agent has another lane, so a rollback reverts its work only on request.
/// assert!(memory.rollback("good").by(&vera).is_err());
/// let rollback = memory.rollback("good").across_lanes();
/// let (_, counts) = rollback.preview(&vera)?;
/// assert_eq!(counts.removed, 1);
/// rollback.by(&vera)?;
/// assert!(memory.view().is_empty());
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "call `by` to run the rollback"]
pub struct Rollback<'a> {
    pub(super) inner: &'a Inner,
    pub(super) revision: Result<Revision>,
    pub(super) across_lanes: bool,
    pub(super) expected: Option<CommitDigest>,
}

impl Rollback<'_> {
    /// Makes the rollback also revert commits of other lanes than the writer's.
    pub fn across_lanes(mut self) -> Self {
        self.across_lanes = true;
        self
    }

    /// Makes the rollback fail with `Conflict` (code `head_moved`) if the head is another commit than `head`, for example
    /// the one that a person saw in a preview.
    pub fn expect_head(mut self, head: CommitDigest) -> Self {
        self.expected = Some(head);
        self
    }

    /// Commits the rollback. Needs one sync, whatever the size of the state.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a revision. `NotFound` if there is no such commit. Without
    /// [`Self::across_lanes`], `Conflict` if other lanes committed since (the error lists them), or if later commits
    /// were thinned, so their lanes are unknown. `Conflict` if the head moved during the call. `Denied` (code
    /// `less_trusted`) if an untrusted writer would replace or restore a more trusted object, or take back a commit that
    /// is more trusted or thinned. Otherwise, the errors of [`Memory::commit`](crate::Memory::commit).
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn by(&self, writer: &Writer) -> Result<Committed> {
        let rolled_back = self.write(writer);
        rolled_back.inspect_err(|error| trace::refused(Op::ROLLBACK, writer.session.as_deref(), error))
    }

    fn write(&self, writer: &Writer) -> Result<Committed> {
        let inner = self.inner;
        inner.opened().check_writable()?;
        let head = inner.store().head()?;
        let (revision, writer) = (self.revision.clone()?, &inner.capped(writer));
        let target = Target::of(inner, &revision, writer.lane())?;
        if self.expected.is_some_and(|expected| expected != head.digest) {
            return Err(head_moved(head.seq()));
        }
        // Reads much if merges are taken back, so others write meanwhile. Under the lock, the head decides whether it holds.
        inner.check_lanes(target.shared, self.across_lanes, writer)?;
        inner.check_trust(&head, &target, writer)?;
        inner.write_as(writer, |writing| {
            let target = Target::of(inner, &revision, writer.lane())?;
            let expected = self.expected.unwrap_or(head.digest);
            let checked = Some(head.digest);
            inner.rollback_to(writing, &target, expected, checked, self.across_lanes, writer)
        })
    }

    /// Returns the commit whose state the rollback would restore, and the counts of changes. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::by`].
    pub fn preview(&self, writer: &Writer) -> Result<(CommitInfo, ChangeCounts)> {
        let (store, writer) = (self.inner.store(), &self.inner.capped(writer));
        let target = Target::of(self.inner, &self.revision.clone()?, writer.lane())?;
        let head = store.head()?;
        self.inner.check_lanes(target.shared, self.across_lanes, writer)?;
        self.inner.check_trust(&head, &target, writer)?;
        let (now, then) = (
            State::of(&store, &head)?,
            State::of(&target.store, &target.entry)?,
        );
        let mut counts = ChangeCounts::default();
        for change in now.diff(&then, &now.nodes_with(&then)) {
            let change = change?;
            counts.add(change.old.is_some(), change.new.is_some());
        }
        Ok((CommitInfo::of(&target.entry), counts))
    }
}

/// Returns an error if the writer may not change an id from the version `now` to the version `then`.
fn check_change(
    settings: &Settings,
    state: &State,
    writer: &Writer,
    now: Option<Entry>,
    then: Option<Entry>,
) -> Result<()> {
    let load = |entry: Option<Entry>| entry.map(|entry| state.load(&entry)).transpose();
    check_return(settings, writer, || Ok([load(now)?, load(then)?]))
}

/// Returns the placeholder of a version, if the version was erased.
fn erased_version(head: &State, then: Option<Entry>) -> Result<Option<Object>> {
    // Most stores have no erased version. In such a store, the function reads no version.
    let then = then.filter(|_| head.store.records.erased() > 0);
    let then = then.map(|entry| head.load(&entry)).transpose()?;
    Ok(then.filter(Object::is_placeholder))
}

/// Returns an error if an undo or redo of commit `seq` is impossible: other commits changed its ids since (with `hint`),
/// or a version to restore was erased.
fn check_obstacles(
    store: &Store,
    seq: u64,
    mut changed: Vec<String>,
    erased: Option<&Object>,
    mut hint: String,
) -> Result<()> {
    let erased = erased.map(|object| {
        let digest = object.digest();
        let what =
            format!("commit seq:{seq} cannot be reversed: the version {digest} that this commit changed");
        erased_by(store, &what, object.erased_by())
    });
    let by = |error: &Error| error.hint().unwrap_or_default().to_owned();
    if changed.is_empty() {
        return erased.map_or(Ok(()), |erased| {
            let hint = format!("{}; {OTHERWISE}", by(&erased));
            Err(erased.with_hint(hint))
        });
    }
    changed.sort_unstable();
    if let Some(erased) = erased {
        hint = format!("{hint}. Also, {erased}; {}", by(&erased));
    }
    Err(changed_meanwhile(changed)
        .with_code(ErrorCode::ChangedSince)
        .with_hint(hint))
}

/// Returns the commit that an undo or redo takes back, the commit that it undoes or redoes, and the commit before that
/// one. A redo takes back an undo.
fn to_reverse(store: &Store, op: &str, writer: &Writer) -> Result<[Arc<CommitEntry>; 3]> {
    let lane = writer.lane();
    let (found, code) = if op == Op::UNDO {
        let undone = store.to_undo(lane)?.map(|undone| [Arc::clone(&undone), undone]);
        (undone, ErrorCode::NothingToUndo)
    } else {
        (store.to_redo(lane)?, ErrorCode::NothingToRedo)
    };
    let Some([taken_back, target]) = found else {
        return Err(Error::not_found(format!("lane {lane} has nothing to {op}"))
            .with_code(code)
            .with_hint("choose the lane with --session or --actor; `log` shows who made each commit"));
    };
    // If the commit before the target was thinned, a comparison with an older commit would also reverse the changes of
    // thinned commits.
    match store.before(&target)? {
        Some(before) if target.commit.parents.first() == Some(&before.digest) => {
            Ok([taken_back, target, before])
        }
        _ => {
            let seq = target.seq();
            Err(Error::not_found(format!(
                "commit seq:{seq} cannot be reversed: the previous commit was thinned, so the changes of seq:{seq} are unknown"
            ))
            .with_code(code)
            .with_hint(
                "`restore REV ID` restores single objects from a kept state; `rollback REV` restores the whole state",
            ))
        }
    }
}
