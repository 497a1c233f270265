//! The methods of [`Agent`] that store items, forget them, and let a person decide.
//!
//! # Layer
//! L7, inside `agent`.

use super::super::agent::Agent;
use super::super::audit::{self, Audit, AuditRequest};
use super::super::forget::{self, Forgetting, Forgot, Forgotten, Restored};
use super::super::item::NewItem;
use super::super::remember::{self, LinesBatch, LinesOptions, LinesRemembered, RememberOptions, Remembered};
use super::super::scope::Reach;
use super::super::trust::{self, HeldObject, PersonSays, Promoted, Quarantined};
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Committed, View, Writer};
use crate::error::Result;
use crate::object::{Id, Time};

impl Agent {
    /// The commits up to that of `view` that `request` asks for, newest first. A filter by kind or id reads what each commit
    /// changed; the others read the commits alone.
    pub fn audit(&self, view: &View, request: AuditRequest) -> Audit {
        audit::audit(self, view, request)
    }

    /// Takes items out of memory, in one commit. History has them, [`Self::forgotten`] lists them and [`Self::unforget`] brings them
    /// back; `dry_run` changes nothing.
    ///
    /// # Errors
    /// `InvalidInput`: no condition is given (code `no_criteria`), or a child of a forgotten item would stay.
    /// `NotFound`: there is no item of a given id. `Denied` (code `less_trusted`): one of them is more trusted than the writer.
    /// Nothing is forgotten then. Else as [`Memory::commit`](crate::Memory::commit).
    pub fn forget(&self, what: &Forgetting, writer: &Writer, dry_run: bool) -> Result<Forgot> {
        forget::forget(self, what, writer, dry_run)
    }

    /// Sets when an item is no longer shown; `None` for never. Returns the commit, if that changed something.
    ///
    /// # Errors
    /// `NotFound` if there is no such item; `Denied` (code `less_trusted`) if it is more trusted than the writer; as
    /// [`Memory::commit`](crate::Memory::commit).
    pub fn expire(&self, id: &Id, at: Option<Time>, writer: &Writer) -> Result<Option<CommitInfo>> {
        forget::expire(self, id, at, writer)
    }

    /// The items that were forgotten by the state `view`, by a writer or by decay: newest first, at most `limit`. Erased items are not
    /// among them, nor items that garbage collection took, a month after they were forgotten at the earliest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if history cannot be read.
    pub fn forgotten(&self, view: &View, reach: &Reach, limit: usize) -> Result<Vec<Forgotten>> {
        forget::forgotten(self, view, reach, limit)
    }

    /// Restores forgotten or shortened items in one commit: the same version, with its own origin. An id that memory has whole stays
    /// unchanged.
    ///
    /// # Errors
    /// `NotFound` if an id is neither present nor forgotten, or its version was erased: then nothing is restored. Else as
    /// [`Memory::commit`](crate::Memory::commit).
    pub fn unforget(&self, ids: &[Id], writer: &Writer, dry_run: bool) -> Result<Restored> {
        forget::unforget(self, ids, writer, dry_run)
    }

    /// Restores the items that were forgotten or shortened last in these scopes: all that one commit took and that are still missing.
    ///
    /// # Errors
    /// `NotFound` if there is nothing to bring back; else as [`Self::unforget`].
    pub fn unforget_last(&self, reach: &Reach, writer: &Writer, dry_run: bool) -> Result<Restored> {
        forget::unforget_last(self, reach, writer, dry_run)
    }

    /// Remembers an item as one commit of op `remember`.
    ///
    /// An item without an id whose text another one of its scope and kind has already is not stored again, if that one
    /// has not expired, is not superseded, and is no less trusted than the writer. Two writers at the same moment may
    /// both store it.
    ///
    /// # Errors
    /// `Denied` (code `refused`): the scan blocks it; (code `less_trusted`): it would replace a more trusted object; (code
    /// `not_owner`): it would replace an object of a session.
    /// `Conflict`: the version is not the expected one, the key was used for another text (code `key_taken`), the id is
    /// that of another scope (code `other_scope`). `NotFound`: what it supersedes is not there. `InvalidInput`: it is
    /// over a quota (code `over_limit`) or no item. Further as [`Memory::commit`](crate::Memory::commit).
    pub fn remember(&self, item: NewItem, options: &RememberOptions, writer: &Writer) -> Result<Remembered> {
        remember::remember(self, item, options, writer)
    }

    /// Remembers items that are lines of JSON, one commit of op `remember` for each batch of them.
    ///
    /// Given ids are kept, and each is stored even if its text repeats; a line without an id whose text is there already
    /// counts as unchanged. Near duplicates are not looked for.
    ///
    /// # Errors
    /// Those of `lines`, and as [`Memory::commit`](crate::Memory::commit); what earlier batches stored stays.
    pub fn remember_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
    ) -> Result<LinesRemembered> {
        remember::follow_lines(self, lines, options, writer, |_| ())
    }

    /// As [`Self::remember_lines`]; `told` hears of each batch before its commit is made, and again once it is in.
    pub(crate) fn follow_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
        told: impl FnMut(&LinesBatch<'_>),
    ) -> Result<LinesRemembered> {
        remember::follow_lines(self, lines, options, writer, told)
    }

    /// Raises the item to the class of the writer, who is a person, whatever it was made from. It becomes a new version
    /// with the attribute `promoted`: the digest of the version that the person looked at, which must be the current one.
    ///
    /// # Errors
    /// `NotFound`: there is no such item. `Conflict` (code `changed`): it is not as it was when the person looked at it.
    /// `Denied` (code `not_a_person`): the writer is of another class. As [`Memory::commit`](crate::Memory::commit).
    pub fn promote(
        &self,
        id: &Id,
        expected: ObjectDigest,
        says: PersonSays,
        writer: &Writer,
    ) -> Result<Promoted> {
        trust::promote(self, id, expected, says, writer)
    }

    /// The quarantined changes that touch `reach`, newest first. A change with nothing left but its writer and reason is among them.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if one cannot be read.
    pub fn quarantined(&self, reach: &Reach) -> Result<Vec<Quarantined>> {
        trust::quarantined(self, reach)
    }

    /// The reason of a quarantined change, with the names of those that gave way to it.
    pub fn held_reason(&self, name: &str) -> Option<String> {
        trust::held_reason(self, name)
    }

    /// Everything that a change that was held back does, by id.
    ///
    /// # Errors
    /// `NotFound`: there is nothing of that name. `Corrupt` or `Io` if it cannot be read.
    pub fn held_objects(&self, name: &str) -> Result<Vec<HeldObject>> {
        trust::held_objects(self, name)
    }

    /// Commits a quarantined change, as a person decides. Its origins stay.
    ///
    /// # Errors
    /// `NotFound`: there is nothing of that name. `Conflict`: what it would change was changed since. `Denied` (code
    /// `not_a_person`): the writer is of another class. As [`Memory::commit`](crate::Memory::commit).
    pub fn release(&self, name: &str, says: PersonSays, writer: &Writer) -> Result<Committed> {
        trust::release(self, name, says, writer)
    }

    /// Drops a quarantined change.
    ///
    /// # Errors
    /// `NotFound`: there is nothing of that name. `Denied` (code `less_trusted`): the writer is of an untrusted class. As [`Memory::commit`](crate::Memory::commit).
    pub fn discard(&self, name: &str, writer: &Writer) -> Result<()> {
        trust::discard(self, name, writer)
    }
}
