//! Changing a memory: commits, references, rollback, undo and redo.
//!
//! # Layer
//! L5.

use super::Memory;
#[cfg(feature = "agent")]
use crate::engine::read::derived::{Derived, Keep};
use crate::engine::read::revision::Revision;
use crate::engine::read::view::View;
use crate::engine::write::attempt::{Attempted, Check, Refusal};
use crate::engine::write::authorisation::Authorisation;
use crate::engine::write::draft::Draft;
use crate::engine::write::request::Committed;
use crate::engine::write::rollback::{Reversing, Rollback};
use crate::engine::write::snapshot::SnapshotInfo;
use crate::engine::write::writer::Writer;
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Op, Time};

impl Memory {
    /// Starts a draft on the state at the head.
    pub fn draft(&self, writer: &Writer) -> Draft {
        Draft::new(self.view(), writer.clone())
    }

    /// Commits one object.
    ///
    /// # Errors
    /// As [`Draft::put`] and [`Self::commit`].
    pub fn put(&self, object: NewObject, writer: &Writer) -> Result<Committed> {
        let mut draft = self.draft(writer);
        draft.put(object)?;
        draft.authorise(Authorisation::Removals);
        self.commit(draft, "put")
    }

    /// Commits the removal of one object.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` if it has children; as [`Self::commit`].
    pub fn remove(&self, id: &Id, writer: &Writer) -> Result<Committed> {
        let mut draft = self.draft(writer);
        let removed = u64::from(draft.remove(id)?);
        self.commit_removal(id, draft, removed)
    }

    /// Commits the removal of an object and of every object below it.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; as [`Self::commit`].
    pub fn remove_recursive(&self, id: &Id, writer: &Writer) -> Result<Committed> {
        let mut draft = self.draft(writer);
        let removed = draft.remove_recursive(id)?;
        self.commit_removal(id, draft, removed)
    }

    fn commit_removal(&self, id: &Id, draft: Draft, removed: u64) -> Result<Committed> {
        if removed == 0 {
            return Err(Error::not_found(format!("there is no object '{id}'"))
                .with_hint("`list` shows what there is"));
        }
        self.commit(draft, "remove")
    }

    /// Commits a draft, unless it changes nothing.
    ///
    /// `op` is the verb in the audit log: 1 to 32 of `a-z` and `_`.
    ///
    /// # Errors
    /// `Conflict`, naming the ids, if another writer changed an object that the draft changes or expects.
    /// `InvalidInput` if the tree of parents would break. `Denied` by the policy, or (code `less_trusted`) by the
    /// draft's [`Authorisation`](crate::Authorisation). `Busy` if another process holds the lock. `Io` and `Poisoned`
    /// if the commit could not be made durable.
    ///
    /// # Durability
    /// When it returns, the commit survives a power loss (see [`Durability`](crate::engine::Durability)).
    pub fn commit(&self, draft: Draft, op: &str) -> Result<Committed> {
        self.inner.commit(draft, op)
    }

    /// Runs `change` on a draft, then the checks, then commits it with an automatic snapshot of the state before. If
    /// the change fails or panics, or a check refuses, nothing is committed. The staged changes are kept under
    /// `rejected/` with the reason.
    ///
    /// # Errors
    /// The change's own error; `Denied` (code `rejected`) if a check refused or the change panicked; as
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
        self.inner.opened().check_writable()?;
        writer.check()?;
        let attempted = self.attempt_as("attempt", self.draft(writer), change, checks, &str::to_owned);
        attempted.map_err(|refusal| refusal.error)
    }

    /// As [`Self::attempt`], on a draft, with a commit of operation `op`; `told` redacts a reason before it is written.
    pub(crate) fn attempt_as<T>(
        &self,
        op: &str,
        draft: Draft,
        change: impl FnOnce(&mut Draft) -> Result<T>,
        checks: &[&Check<'_>],
        told: &dyn Fn(&str) -> String,
    ) -> Result<Attempted<T>, Refusal> {
        self.inner.attempt_as(op, draft, change, checks, told)
    }

    /// Keeps the staged changes of a draft under `rejected/` with the reason, for a person to review; the state does
    /// not change. Returns the name for [`Self::open_draft`]; `None` if nothing is staged.
    ///
    /// A repeated change of the same actor and session for the same reason is kept once. A store keeps 200 changes; one
    /// counts once more for each thousand objects. Above that, a new change replaces the oldest of the actor and
    /// session with the largest share, and its reason names the replaced ones. A change larger than every share
    /// replaces none and alone may exceed the 200.
    ///
    /// # Errors
    /// As [`Self::save_draft`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn quarantine(&self, draft: &Draft, reason: &str) -> Result<Option<String>> {
        self.inner.quarantine(draft, reason)
    }

    /// Saves a draft as `drafts/NAME`, for a later process to continue. The state does not change.
    ///
    /// # Errors
    /// `InvalidInput` if the draft is empty or the name invalid; as [`Self::commit`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn save_draft(&self, draft: &Draft, name: &str) -> Result<()> {
        self.inner.save_draft(draft, name)
    }

    /// Opens a saved draft (`drafts/NAME`) or a refused one (`rejected/N`) on its original base state. It lacks
    /// versions that were erased since; `Draft::left_out` returns them.
    ///
    /// # Errors
    /// `NotFound` if there is no such draft, or its base is no longer kept.
    pub fn open_draft(&self, name: &str, writer: &Writer) -> Result<Draft> {
        self.inner.open_draft(name, writer)
    }

    /// Deletes a saved draft (`drafts/NAME`) or a refused one (`rejected/N`). History keeps its versions.
    ///
    /// # Errors
    /// `NotFound` if there is no such draft; `Denied` (code `less_trusted`) if an untrusted writer deletes a refused one; as
    /// [`Self::commit`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn delete_draft(&self, name: &str, writer: &Writer) -> Result<()> {
        self.inner.delete_draft(name, writer)
    }

    /// Plans a rollback to the whole state of the commit that `revision` names; [`Rollback::by`] commits it.
    pub fn rollback<'a>(&'a self, revision: &'a Revision) -> Rollback<'a> {
        Rollback::new(&self.inner, revision)
    }

    /// Reverses the newest commit of the writer's lane that is not undone. An id that already has its earlier version
    /// stays unchanged.
    ///
    /// # Errors
    /// `NotFound` if there is none, or (code `erased`) if only an erased version prevents it. `Conflict`, listing the
    /// ids, if another commit changed one of them since. `Denied` (code `less_trusted`) as [`Rollback::by`]. Else as
    /// [`Self::commit`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn undo(&self, writer: &Writer) -> Result<Committed> {
        self.inner.undo_or_redo(Op::UNDO, writer)
    }

    /// Redoes the lane's newest undo, if the lane has not committed since.
    ///
    /// # Errors
    /// As [`Self::undo`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn redo(&self, writer: &Writer) -> Result<Committed> {
        self.inner.undo_or_redo(Op::REDO, writer)
    }

    /// Returns the preview of [`Self::undo`].
    ///
    /// # Errors
    /// As [`Self::undo`].
    pub(crate) fn undo_preview(&self, writer: &Writer) -> Result<Reversing> {
        self.inner.reverse_preview(Op::UNDO, writer)
    }

    /// Returns the preview of [`Self::redo`].
    ///
    /// # Errors
    /// As [`Self::redo`].
    pub(crate) fn redo_preview(&self, writer: &Writer) -> Result<Reversing> {
        self.inner.reverse_preview(Op::REDO, writer)
    }

    /// Makes a snapshot of the head: named, or in the writer's ring. Costs the same for any size of state.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid or taken; as [`Self::commit`].
    ///
    /// # Durability
    /// As for a commit.
    pub fn snapshot(&self, name: Option<&str>, writer: &Writer) -> Result<SnapshotInfo> {
        self.inner.snapshot(name, writer)
    }

    /// Deletes the name of a snapshot; commits and states stay.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Denied` (code `less_trusted`) if the writer's class is untrusted; as
    /// [`Self::commit`].
    pub fn delete_snapshot(&self, name: &str, writer: &Writer) -> Result<SnapshotInfo> {
        self.inner.delete_snapshot(name, writer)
    }

    /// Records that the objects were used at `time`. Makes no version and no commit. A writable handle writes the times
    /// when it is synced or closed; an earlier crash loses them. The later of two times counts.
    pub fn touch<'a>(&self, ids: impl IntoIterator<Item = &'a Id>, time: Time) {
        self.inner.source.stamps.lock().touch(self.suite(), ids, time);
    }

    /// Keeps `bytes` under `name`, replacing earlier ones. They must derive from the state `of`, alone or with later
    /// ones. Returns false, without keeping them, if something was erased since that state or another process rewrites
    /// the log. Other processes may commit meanwhile.
    ///
    /// # Errors
    /// As [`Self::derived`]; `Io` with the code `read_only` for a read-only handle.
    ///
    /// # Durability
    /// When this returns, the bytes are durable. After an earlier crash, the old bytes are kept, or none.
    pub(crate) fn keep_derived(&self, name: &str, bytes: &[u8], of: &View) -> Result<bool> {
        self.inner.keep_derived(name, bytes, of)
    }

    /// Keeps a derived value of `view` in its file if enough changed since the last time; returns whether it did.
    ///
    /// # Errors
    /// As [`Self::keep_derived`]; `InvalidInput` if the value is of another state than the view.
    #[cfg(feature = "agent")]
    pub(crate) fn keep<T: Keep>(&self, value: &mut Derived<T>, view: &View) -> Result<bool> {
        self.inner.keep(value, view)
    }
}
