//! The methods of [`Memory`] that commit, and that name and restore states.
//!
//! # Layer
//! Layer 5.

use std::collections::BTreeSet;

use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::memory::Memory;
use crate::engine::read::{CommitInfo, MAIN_LINE, Revision, Selection, View, named_by, text_of};
use crate::engine::trace;
use crate::engine::write::attempt::{Attempted, Check, Refusal, caught};
use crate::engine::write::fork::{Fork, ForkInfo, LiveFork};
use crate::engine::write::kept_draft::draft_named;
use crate::engine::write::merge::{Merge, OpenConflict, Resolution, conflicts_in};
use crate::engine::write::revert::{Conflicts, Revert};
use crate::engine::write::rollback::{Reversing, Rollback, later_changes};
use crate::engine::write::session::TAINT_OP;
use crate::engine::write::snapshot::{ReferenceInfo, SnapshotInfo};
use crate::engine::write::{Committed, Draft, PolicyVerdict, Writer, check_trusted, newest_references};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{
    Id, Op, Origin, Reference, ReferenceClass, ReferenceName, StagedChange, check_snapshot_name,
};
use crate::store::{LineInfo, REMOTE, Store};

/// The refusal of a policy, and the draft to keep with the reason.
pub(super) type PolicyRefusal = (Error, Option<(Draft, String)>);

/// The operations of the engine's own verbs.
const RESERVED: [&str; 8] = [
    Op::INIT,
    Op::ROLLBACK,
    Op::UNDO,
    Op::REDO,
    Op::REVERT,
    Op::MERGE,
    Op::PUSH,
    Op::ERASE,
];
/// The session of names that an untrusted writer without a session gives.
const UNTRUSTED: &str = "untrusted";

impl Memory {
    /// Does what [`Self::attempt`] does, on a given draft, and commits with the operation `op`. The function `told`
    /// redacts the reason of a refusal before the reason is written.
    pub(crate) fn attempt_as<T>(
        &self,
        op: &str,
        mut draft: Draft,
        change: impl FnOnce(&mut Draft) -> Result<T>,
        checks: &[&Check<'_>],
        told: &dyn Fn(&str) -> String,
    ) -> Result<Attempted<T>, Refusal> {
        self.admit(draft.writer.trust, draft.writer.session.as_deref())?;
        draft.snapshot_before();
        // ATT-1: until `commit` below, only the draft is touched.
        let value = match caught("the change", || change(&mut draft)) {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => {
                let why = format!("the change failed: {error}");
                return Err(self.refused(&draft, &told(&why), Some(error)));
            }
            Err(why) => return Err(self.refused(&draft, &told(&why), None)),
        };
        for check in checks {
            if let Err(why) = caught("a check", || check(&draft)).and_then(|verdict| verdict) {
                return Err(self.refused(&draft, &told(&why), None));
            }
        }
        let committed = self.commit(draft, op)?;
        Ok(Attempted { value, committed })
    }

    /// Keeps the staged changes of a draft under `rejected/` with the reason, for a person to review. The state does
    /// not change. Returns the name for [`Self::open_draft`], or `None` if nothing is staged.
    ///
    /// If the same actor and session repeat a change for the same reason, it is kept once. A store keeps refused changes up to
    /// a total weight of 1,000: each weighs 1, and 1 more for each thousand objects. Above that, a new change replaces the
    /// oldest of the actor and session with the largest weight, and its reason names them. A change that weighs more than
    /// those of any actor and session replaces none, and may exceed the total.
    ///
    /// # Errors
    /// The errors of [`Self::save_draft`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn quarantine(&self, draft: &Draft, reason: &str) -> Result<Option<String>> {
        self.inner.check_writer(&draft.writer)?;
        self.admit(draft.writer.trust, draft.writer.session.as_deref())?;
        self.inner.reject(draft, reason)
    }

    /// Runs `change` on a draft, then the checks, and commits it with an automatic snapshot of the state before. If the change
    /// fails or panics, or a check refuses it, nothing is committed, and the staged changes are kept under `rejected/`.
    ///
    /// # Errors
    /// The change's own error; `Denied` (code `rejected`) if a check refused or the change panicked; the errors of
    /// [`Self::commit`].
    ///
    /// ```
    /// use treering::{Draft, Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let no_removals = |draft: &Draft| match draft.counts().removed {
    ///     0 => Ok(()),
    ///     count => Err(format!("it removes {count} objects")),
    /// };
    /// let id = Id::new("plan")?;
    /// memory.put(NewObject::new(id.clone(), Kind::new("note")?), &Writer::user())?;
    /// let refused = memory.attempt(&Writer::user(), |draft| draft.remove(&id), &[&no_removals]);
    /// assert!(refused.is_err());
    /// assert!(memory.view().contains(&id)?);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn attempt<T>(
        &self,
        writer: &Writer,
        change: impl FnOnce(&mut Draft) -> Result<T>,
        checks: &[&Check<'_>],
    ) -> Result<Attempted<T>> {
        self.inner.check_writer(writer)?;
        let attempted = self.attempt_as("attempt", self.draft(writer), change, checks, &str::to_owned);
        attempted.map_err(|refusal| refusal.error)
    }

    /// Keeps the staged changes of a refused draft. Returns the change's own error if there is one, or an error with
    /// the reason.
    fn refused(&self, draft: &Draft, reason: &str, own: Option<Error>) -> Refusal {
        let rejected = || Error::denied(ErrorCode::Rejected, format!("the change was rejected: {reason}"));
        let error = own.unwrap_or_else(rejected);
        trace::refused("attempt", draft.writer.session.as_deref(), &error);
        let kept = self.inner.reject(draft, reason);
        let hint = match &kept {
            Ok(None) => return error.into(),
            Ok(Some(name)) => format!("nothing was changed; the staged change is saved as {name}"),
            Err(lost) => format!("nothing was changed, and the staged change could not be saved: {lost}"),
        };
        let error = match error.hint() {
            Some(_) => error,
            None => error.with_hint(hint),
        };
        let kept = kept.ok().flatten();
        Refusal { error, kept }
    }

    /// Makes a snapshot of the head. If `name` is `None`, the snapshot is an automatic snapshot in the ring of the
    /// writer's lane. The cost does not depend on the size of the state. A name by an untrusted writer taints its session,
    /// or the session `untrusted` if the writer has none.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid or taken; the errors of [`Self::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn snapshot(&self, name: Option<&str>, writer: &Writer) -> Result<SnapshotInfo> {
        name.map_or(Ok(()), check_snapshot_name)?;
        let writer = &self.inner.capped(writer);
        let tainted = match name {
            Some(_) if !writer.trust.is_trusted() => Some(self.tainted(writer)?),
            _ => None,
        };
        let writer = tainted.as_ref().unwrap_or(writer);
        let taken = self
            .inner
            .write_as(writer, |writing| self.inner.take_snapshot(writing, name, writer));
        taken
            .inspect(|info| trace::snapshot(info.seq, writer.session.as_deref(), info.root))
            .inspect_err(|error| trace::refused("snapshot", writer.session.as_deref(), error))
    }

    /// Taints the session of an untrusted writer, and returns the writer with it. A reference has no class of trust, so
    /// readers know that a name is untrusted only by its session.
    fn tainted(&self, writer: &Writer) -> Result<Writer> {
        let mut writer = writer.clone();
        let session = writer.session.get_or_insert_with(|| UNTRUSTED.to_owned());
        self.admit(writer.trust, Some(session))?;
        Ok(writer)
    }

    /// Deletes the name of a snapshot. The commit and the state of the snapshot stay.
    ///
    /// # Errors
    /// `NotFound` if no snapshot has this name; `Denied` (code `less_trusted`) if the writer's class is untrusted; the
    /// errors of [`Self::commit`].
    pub fn delete_snapshot(&self, name: &str, writer: &Writer) -> Result<SnapshotInfo> {
        // INVARIANT STN-2: an untrusted writer may not erase, delete the name of a snapshot, or delete a rejected
        // change.
        let writer = &self.inner.capped(writer);
        check_trusted(writer.trust, "delete the name of a snapshot")?;
        self.inner.write_as(writer, |writing| {
            let none = || {
                Error::not_found(format!("no snapshot is named '{name}'"))
                    .with_hint("`snapshots` lists the snapshots")
            };
            let full = ReferenceName::of(ReferenceClass::Snapshots, name).map_err(|_| none())?;
            let info = self.inner.snapshot_named(&full)?.ok_or_else(none)?;
            self.inner.drop_reference(writing, full, writer)?;
            Ok(info)
        })
    }

    /// Returns the snapshots of this line, newest first: named snapshots, and the automatic snapshots of every lane. A
    /// degraded memory omits snapshots of damaged commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit or text of a snapshot cannot be read.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let store = self.inner.store();
        let references = newest_references(&store).into_iter();
        let has_lines = store.has_lines();
        // The names are those of the whole store, but a commit of another line is no state of this one.
        let is_other = |commit| has_lines && matches!(store.by_digest(commit), Ok(None));
        let snapshots = references.filter(|reference| {
            let is_snapshot = reference.name.class() == ReferenceClass::Snapshots;
            // One that was fetched names a commit of a line of the remote (TRV-1).
            let is_fetched = reference.name.rest().starts_with(REMOTE);
            is_snapshot && (is_fetched || !reference.commit.is_some_and(is_other))
        });
        let infos = snapshots.map(|reference| SnapshotInfo::of(&store, &reference));
        let passes = |info: &Result<_>| {
            let error = info.as_ref().err();
            !(self.inner.settings().degraded && error.is_some_and(Error::is_corruption))
        };
        infos.filter(passes).filter_map(Result::transpose).collect()
    }

    /// Returns the references of every class, newest first.
    #[doc(hidden)]
    pub fn references(&self) -> Vec<ReferenceInfo> {
        let store = self.inner.store();
        let info = |reference: Reference| ReferenceInfo {
            name: reference.name.as_str().to_owned(),
            commit: reference.commit,
            time: reference.time,
            actor: reference.actor,
            session: reference.session,
            line: reference.line,
            reason: text_of(&store, reference.reason),
        };
        newest_references(&store).into_iter().map(info).collect()
    }

    /// Commits a draft, unless the draft changes nothing.
    ///
    /// `op` is the verb in the audit log: 1 to 32 characters of `a-z` and `_`.
    ///
    /// # Errors
    /// `Conflict`, naming the ids, if another writer changed an object that the draft changes or expects.
    /// `InvalidInput` if the tree of parents would break. `Denied` by the policy, or (code `less_trusted`) by the
    /// draft's [`Authorisation`](crate::Authorisation). `Busy` if another process holds the lock. `Io` and `Poisoned`
    /// if the commit could not be made durable. `NotFound` if history no longer keeps a version that the draft restores.
    ///
    /// # Durability
    /// When the call returns, the commit survives a power loss (see [`Durability`](crate::engine::Durability)).
    pub fn commit(&self, draft: Draft, op: &str) -> Result<Committed> {
        let session = trace::copied(draft.writer.session.as_deref());
        let committed = self.commit_admitted(draft, op);
        committed.inspect_err(|error| trace::refused(op, session.as_deref(), error))
    }

    /// Commits a draft. Its taints are written even if the commit is refused (TNT-4).
    fn commit_admitted(&self, mut draft: Draft, op: &str) -> Result<Committed> {
        let (tainted, is_trusted) = (draft.admit()?, draft.writer.trust.is_trusted());
        self.commit_draft(draft, op).map_err(|error| {
            // A trusted writer may repeat a change after a conflict. With the taint of the first try, the texts before
            // the untrusted one would lose their class.
            if is_trusted && error.kind() == ErrorKind::Conflict {
                return error;
            }
            self.keep_taints_behind(Ok(tainted), error)
        })
    }

    fn commit_draft(&self, draft: Draft, op: &str) -> Result<Committed> {
        self.inner.opened().check_writable()?;
        self.inner.check_own(&draft)?;
        draft.writer.check()?;
        if RESERVED.contains(&op) {
            return Err(
                Error::invalid(format!("the operation `{op}` is reserved for the engine"))
                    .with_code(ErrorCode::ReservedOp),
            );
        }
        let draft = self.review(draft, op)?;
        draft.check_authorisation()?;
        self.inner.commit_in_group(draft, op.to_owned())
    }

    /// Returns the error with which a commit of the draft on its base would be refused. Writes nothing, and does not ask
    /// the policy.
    #[doc(hidden)]
    pub fn check(&self, draft: &Draft) -> Result<()> {
        draft.check_authorisation()?;
        if draft.touches_tree() {
            self.inner.check_tree(&draft.base.state, &[], draft)?;
        }
        Ok(())
    }

    /// Lets the policy review the draft. Returns the draft to commit, or the policy's refusal.
    fn review(&self, draft: Draft, op: &str) -> Result<Draft> {
        self.judge(draft, op).map_err(|refusal| {
            let (error, kept) = *refusal;
            match kept {
                Some((draft, reason)) => self.quarantined(&draft, &reason, error),
                None => error,
            }
        })
    }

    /// Asks the policy about the draft, and writes nothing. With the refusal, returns a draft to keep and the reason.
    pub(super) fn judge(&self, mut draft: Draft, op: &str) -> Result<Draft, Box<PolicyRefusal>> {
        let Some(policy) = self.inner.policy.as_ref().filter(|_| !draft.is_empty()) else {
            return Ok(draft);
        };
        let denied =
            |reason: &str| Error::new(ErrorKind::Denied, format!("a policy refused this {op}: {reason}"));
        match policy.review(&draft) {
            PolicyVerdict::Accept => Ok(draft),
            PolicyVerdict::Replace(objects) => {
                let mut put = objects.into_iter().map(|object| draft.put(object));
                put.try_for_each(|staged| staged.map(drop))
                    .map_err(|error| Box::new((error, None)))?;
                Ok(draft)
            }
            PolicyVerdict::Refuse(reason) => Err(Box::new((denied(&reason), None))),
            PolicyVerdict::Quarantine(reason) => {
                let error = denied(&reason).with_code(ErrorCode::Quarantined);
                Err(Box::new((error, Some((draft, reason)))))
            }
        }
    }

    /// Keeps a draft that the policy refused. Returns the refusal with its name.
    pub(super) fn quarantined(&self, draft: &Draft, reason: &str, refusal: Error) -> Error {
        match self.inner.reject(draft, reason) {
            Ok(name) => {
                let name = name.unwrap_or_default();
                refusal.with_hint(format!("the staged change is saved as {name}"))
            }
            Err(error) => error,
        }
    }

    /// Reverses the newest commit of the writer's lane that is not yet undone. An id that already has the version from
    /// before that commit stays unchanged.
    ///
    /// # Errors
    /// `NotFound` if the lane has no commit to undo, or (code `erased`) if only an erased version prevents the undo.
    /// `Conflict`, listing the ids, if another commit changed one of these ids since. `Denied` (code `less_trusted`) if
    /// an untrusted writer would replace or restore a more trusted object. Otherwise, the errors of [`Self::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn undo(&self, writer: &Writer) -> Result<Committed> {
        self.reverse(Op::UNDO, None, writer)
    }

    /// Repeats the commit that the lane's newest undo reversed, if the lane has made no commit since.
    ///
    /// # Errors
    /// The errors of [`Self::undo`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn redo(&self, writer: &Writer) -> Result<Committed> {
        self.reverse(Op::REDO, None, writer)
    }

    /// Undoes or redoes as [`Self::undo`] and [`Self::redo`] do, but only if the head is still `head`.
    ///
    /// # Errors
    /// `Conflict` (code `head_moved`) if others committed; the errors of [`Self::undo`].
    #[doc(hidden)]
    pub fn reverse(&self, op: &str, head: Option<CommitDigest>, writer: &Writer) -> Result<Committed> {
        self.inner.reverse(op, head, writer)
    }

    /// Plans a rollback to the whole state of the commit that `revision` names; [`Rollback::by`] commits it.
    ///
    /// The rollback fails (code `other_lanes`) if writers of other lanes committed since; [`Rollback::across_lanes`]
    /// also rolls their work back. `revision` is a [`Revision`], its text, the digest of a commit, or a root.
    pub fn rollback(&self, revision: impl TryInto<Revision, Error: Into<Error>>) -> Rollback<'_> {
        Rollback {
            inner: &self.inner,
            revision: revision.try_into().map_err(Into::into),
            across_lanes: false,
            expected: None,
        }
    }

    /// Plans a revert of the selected commits: each object that they wrote gets its newest version by anybody else, or
    /// is removed if there is none. Later versions by others stay. [`Revert::preview`] shows the effect, and [`Revert::by`]
    /// commits it.
    pub fn revert(&self, selection: Selection) -> Revert<'_> {
        Revert {
            inner: &self.inner,
            selection,
            conflicts: Conflicts::default(),
            with_derived: false,
            expected: None,
        }
    }

    /// Returns the changes that [`Self::undo`] or [`Self::redo`] would make; `op` selects which.
    ///
    /// # Errors
    /// The errors of [`Self::undo`].
    #[doc(hidden)]
    pub fn reverse_preview(&self, op: &str, writer: &Writer) -> Result<Reversing> {
        let (plan, draft) = self.inner.plan_reversal(op, &self.inner.capped(writer))?;
        let tree = self.inner.check_tree(&draft.base.state, &[], &draft);
        tree.map_err(later_changes)?;
        Ok(plan)
    }

    /// Saves a draft as `drafts/NAME`, for a later process to continue. The state does not change.
    ///
    /// # Errors
    /// `InvalidInput` if the draft is empty or the name invalid; the errors of [`Self::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn save_draft(&self, draft: &Draft, name: &str) -> Result<()> {
        self.admit(draft.writer.trust, draft.writer.session.as_deref())?;
        if draft.is_empty() {
            return Err(Error::invalid("an empty draft cannot be saved"));
        }
        let name = ReferenceName::of(ReferenceClass::Drafts, name)?;
        let place = |store: &Store, _: &[StagedChange], _| {
            if store.references().get(&name).is_some() {
                return Err(
                    Error::invalid(format!("a draft named {} already exists", name.rest()))
                        .with_code(ErrorCode::NameTaken)
                        .with_hint("choose another name"),
                );
            }
            Ok((name, draft.writer.clone(), Vec::new()))
        };
        self.inner.keep_draft(draft, place).map(drop)
    }

    /// Opens a saved draft (`drafts/NAME`) or a refused draft (`rejected/N`) on its original base state. The draft
    /// lacks versions that were erased since.
    ///
    /// # Errors
    /// `NotFound` if no draft has this name, if its base state is no longer kept, or (code `other_line`) if it is a draft of
    /// another line.
    pub fn open_draft(&self, name: &str, writer: &Writer) -> Result<Draft> {
        let full = ReferenceName::new(name)?;
        let store = self.inner.store();
        let reference = draft_named(&store, &full)?;
        let lost = || {
            Error::not_found(format!(
                "history no longer contains the state on which {name} is based"
            ))
        };
        if reference.line.as_deref() != store.line_name() {
            let line = reference.line.as_deref();
            let of = line.map_or_else(|| "the main line".to_owned(), |line| format!("the fork '{line}'"));
            let is_there = line.is_none_or(|line| self.inner.main().store().lines().named(line).is_some());
            let hint = if is_there {
                format!("open it there: --fork {}", line.unwrap_or(MAIN_LINE))
            } else {
                "the fork was dropped; `forks` lists the forks".to_owned()
            };
            return Err(Error::not_found(format!("{name} is a change of {of}"))
                .with_code(ErrorCode::OtherLine)
                .with_hint(hint));
        }
        let base = named_by(&store, reference.commit)?.ok_or_else(lost)?;
        let base = View::new(&self.inner.source, &store, base)?;
        let mut draft = Draft::new(base, writer.clone());
        for change in reference.changes {
            self.inner.stage_kept(&mut draft, &change)?;
        }
        Ok(draft)
    }

    /// Deletes a saved draft (`drafts/NAME`) or a refused draft (`rejected/N`). History keeps the versions of the
    /// draft.
    ///
    /// # Errors
    /// `NotFound` if no draft has this name; `Denied` (code `less_trusted`) if an untrusted writer deletes a refused
    /// draft; the errors of [`Self::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn delete_draft(&self, name: &str, writer: &Writer) -> Result<()> {
        let (full, writer) = (ReferenceName::new(name)?, &self.inner.capped(writer));
        if full.class() == ReferenceClass::Rejected {
            // INVARIANT STN-2: an untrusted writer may not erase, delete the name of a snapshot, or delete a rejected
            // change.
            check_trusted(writer.trust, "delete a refused change")?;
        }
        self.inner.write_as(writer, |writing| {
            draft_named(&self.inner.store(), &full)?;
            self.inner.drop_reference(writing, full, writer)
        })
    }

    /// Taints `session` and the sessions above it if `class` is untrusted. A verb calls this before it can refuse the
    /// text. Writes nothing if the session is tainted already, so refused writes cannot fill the log.
    ///
    /// # Errors
    /// The errors of [`Self::commit`]; then the verb must not go on.
    #[doc(hidden)]
    pub fn admit(&self, class: Origin, session: Option<&str>) -> Result<()> {
        // INVARIANT TNT-4: a session is tainted when a call gives an untrusted class.
        let class = self.inner.opened().capped(class);
        let Some(session) = session.filter(|_| !class.is_trusted()) else {
            return Ok(());
        };
        let writer = Writer::of(class).session(session);
        self.inner.check_writer(&writer)?;
        let mut draft = Draft::new(self.refresh()?, writer);
        draft.taint(session)?;
        self.keep_taints(draft.tainted)
    }

    /// Ends the taint of a session, because the person has sent the prompt that the commit `prompt` stores (TNT-6). The taint
    /// of a session above stays. A tainted session gets no second taint, so every commit after the prompt may stand for one,
    /// and keeps the taint.
    ///
    /// # Errors
    /// `Denied` if the writer is not the person; the errors of [`Self::commit`].
    #[cfg(feature = "agent")]
    pub(crate) fn end_taint(&self, session: &str, prompt: &CommitInfo, writer: &Writer) -> Result<()> {
        let writer = &self.inner.capped(writer);
        if writer.trust != Origin::DirectUser {
            let text = format!("the class {} does not end the taint of a session", writer.trust);
            return Err(Error::denied(ErrorCode::NotAPerson, text));
        }
        let name = ReferenceName::of_taint(session)?;
        if !self.inner.store().references().is_tainted(session) {
            return Ok(());
        }
        self.inner.write_as(writer, |writing| {
            let store = self.inner.store();
            let taint = store.references().get(&name).map(|taint| taint.reference.time);
            let is_newest = store.head()?.digest == prompt.digest;
            if is_newest && taint.is_some_and(|time| time < prompt.commit.time) {
                self.inner.drop_reference(writing, name.clone(), writer)?;
            }
            Ok(())
        })
    }

    /// Returns the class that a version gets if `writer` gives it the class `class` now, in its session and in `session`.
    #[cfg(feature = "agent")]
    pub(crate) fn class_now(&self, writer: &Writer, session: Option<&str>, class: Origin) -> Result<Origin> {
        let mut draft = self.draft(writer);
        draft.enter(session);
        draft.class_of(class)
    }

    /// Drops a draft whose change was refused with `refusal` before its commit. Writes the taints of the draft (TNT-4).
    /// Returns the error to report.
    #[doc(hidden)]
    pub fn abandon(&self, mut draft: Draft, refusal: Error) -> Error {
        let tainted = draft.admit();
        self.keep_taints_behind(tainted, refusal)
    }

    /// Writes the taints of a refused change. Returns the refusal, or why the taints are not written. A handle that could
    /// not write the change cannot write the taints either, so then the refusal says why.
    pub(crate) fn keep_taints_behind(&self, tainted: Result<BTreeSet<String>>, refusal: Error) -> Error {
        match tainted.and_then(|tainted| self.keep_taints(tainted)) {
            Err(error) if refusal.kind() != ErrorKind::Io => error,
            _ => refusal,
        }
    }

    /// Writes the taints that the store lacks, in a batch without a commit.
    ///
    /// # Errors
    /// The errors of [`Self::commit`].
    fn keep_taints(&self, mut tainted: BTreeSet<String>) -> Result<()> {
        let store = self.inner.store();
        tainted.retain(|session| !store.references().is_tainted(session));
        if tainted.is_empty() {
            return Ok(());
        }
        let mut draft = self.draft(&Writer::of(Origin::ToolExternal));
        draft.tainted = tainted;
        self.inner.commit_in_group(draft, TAINT_OP.to_owned()).map(drop)
    }

    /// Plans a fork of this memory: a line of its own, which begins at the head. [`Fork::by`] makes it.
    ///
    /// The fork has its own head, history, undo and snapshots. Nobody else sees what is written through it, until it is
    /// merged. A fork costs one small record and one sync, whatever the size of the memory.
    ///
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Origin, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let fork = memory.fork("task-7").trust_cap(Origin::Model).by(&Writer::user())?;
    /// let plan = Id::new("plan")?;
    /// fork.put(NewObject::new(plan.clone(), Kind::new("note")?), &Writer::model("worker"))?;
    /// assert!(fork.view().contains(&plan)?);
    /// assert!(!memory.view().contains(&plan)?);
    /// memory.drop_fork("task-7", true, &Writer::user())?;
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn fork<'a>(&'a self, name: &'a str) -> Fork<'a> {
        Fork {
            memory: self,
            name,
            at: Ok(Revision::Head),
            cap: Origin::DirectUser,
        }
    }

    /// Returns a memory whose calls read and write a fork, or with the name `main` the main line.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if there is no fork of this name; `Corrupt` or `Io` if it cannot be read.
    pub fn open_fork(&self, name: &str) -> Result<Self> {
        Ok(Self {
            inner: self.inner.open_fork(name)?,
        })
    }

    /// Returns a memory whose line has the commit of a state, to read its history. That line may be one of a remote.
    ///
    /// # Errors
    /// The errors of [`Self::open_fork`].
    #[doc(hidden)]
    pub fn on_line_of(&self, view: &View) -> Result<Self> {
        if self.has_commit_of(view)? {
            return Ok(self.clone());
        }
        let inner = match view.state.store.line_name() {
            Some(name) => self.inner.open_line(name)?,
            None => self.inner.open_fork(MAIN_LINE)?,
        };
        Ok(Self { inner })
    }

    /// Returns whether the commit of a state is on the line of this memory.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn has_commit_of(&self, view: &View) -> Result<bool> {
        let found = self.inner.store().by_digest(view.commit().digest)?;
        Ok(found.is_some())
    }

    /// Returns the name of the fork that this memory reads and writes; `None` for the main line.
    pub fn fork_name(&self) -> Option<&str> {
        self.inner.opened().line.as_ref().map(|line| line.name.as_str())
    }

    /// Returns the forks, sorted by name.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the newest commit of a fork cannot be read.
    pub fn forks(&self) -> Result<Vec<ForkInfo>> {
        let store = self.inner.main().store();
        let mut live: Vec<LineInfo> = store.lines().live().cloned().collect();
        live.retain(|line| !line.name.starts_with(REMOTE));
        live.sort_by(|one, other| one.name.cmp(&other.name));
        live.iter().map(|line| self.inner.fork_info(line)).collect()
    }

    /// Returns what memory holds about the forks, in any order. Unlike [`Self::forks`], it reads no file.
    #[doc(hidden)]
    pub fn live_forks(&self) -> Vec<LiveFork> {
        let store = self.inner.main().store();
        let live = |line: &LineInfo| LiveFork {
            name: line.name.to_string(),
            time: line.time,
            created: line.created,
        };
        store.lines().live().map(live).collect()
    }

    /// Drops a fork with its commits, its refused changes and its saved drafts. Returns what it was.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if there is no fork of this name; without `unmerged`, `Conflict` (code `unmerged`) if the
    /// fork has commits that no merge took, or changes that wait for review; `Denied` (code `less_trusted`) if an untrusted
    /// writer would drop such work; the errors of [`Self::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn drop_fork(&self, name: &str, unmerged: bool, writer: &Writer) -> Result<ForkInfo> {
        let writer = &self.inner.capped(writer);
        let main = self.inner.main();
        main.write_as(writer, |writing| {
            let (line, waiting) = main.fork_to_drop(name, unmerged, writer)?;
            let info = self.inner.fork_info(&line)?;
            // Nobody could open them later, and another fork of the name must not get them.
            for one in waiting {
                main.drop_reference(writing, one.name, writer)?;
            }
            main.write_line(writing, &line, None, writer)?;
            Ok(info)
        })
    }

    /// Returns what [`Self::drop_fork`] would return. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::drop_fork`], except those of the commit.
    #[doc(hidden)]
    pub fn preview_drop_fork(&self, name: &str, unmerged: bool, writer: &Writer) -> Result<ForkInfo> {
        let writer = &self.inner.capped(writer);
        let (line, _) = self.inner.main().fork_to_drop(name, unmerged, writer)?;
        self.inner.fork_info(&line)
    }

    /// Returns the commit at which this fork begins; `None` for the main line.
    #[doc(hidden)]
    pub fn fork_base(&self) -> Result<Option<CommitInfo>> {
        let base = self.inner.store().base().map(|base| CommitInfo::of(&base));
        Ok(base)
    }

    /// Plans a merge of another line into this one: `main`, or a fork by its name. [`Merge::by`] commits it.
    ///
    /// What one side changed alone is taken. What both changed is merged field by field, texts line by line. What cannot be
    /// decided is left open as a conflict, which [`Self::conflicts`] lists and [`Self::resolve_conflict`] decides.
    pub fn merge<'a>(&'a self, name: &'a str) -> Merge<'a> {
        Merge::new(self, name)
    }

    /// Returns the open conflicts of this line, sorted by id.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object or commit cannot be read.
    pub fn conflicts(&self) -> Result<Vec<OpenConflict>> {
        conflicts_in(&self.view())
    }

    /// Decides about an open conflict, in one commit with the operation `resolve`.
    ///
    /// # Errors
    /// `NotFound` (code `no_conflict`) if the object has no open conflict, or (code `erased`) if the version was erased;
    /// `InvalidInput` if the version is neither a side nor the present one; `Conflict` (code `changed`) if the decision
    /// drops a version that somebody wrote after the merge; `Denied` (code `less_trusted`); the errors of
    /// [`Memory::commit`].
    ///
    /// # Durability
    /// When the call returns, the change is as durable as a commit.
    pub fn resolve_conflict(&self, id: &Id, resolution: Resolution, writer: &Writer) -> Result<Committed> {
        self.resolve_expecting(id, None, resolution, writer)
    }

    /// Decides as [`Self::resolve_conflict`] does. With `expected`, only if the object has this version now, or none; the
    /// decision may drop it.
    ///
    /// # Errors
    /// `Conflict` if the object has another version; the errors of [`Self::resolve_conflict`].
    #[doc(hidden)]
    pub fn resolve_expecting(
        &self,
        id: &Id,
        expected: Option<Option<ObjectDigest>>,
        resolution: Resolution,
        writer: &Writer,
    ) -> Result<Committed> {
        let mut draft = Draft::new(self.refresh()?, writer.clone());
        if let Some(present) = expected {
            draft.expect(id, present);
        }
        draft.resolve_conflict(id, None, resolution)?;
        self.commit(draft, Op::RESOLVE)
    }
}
