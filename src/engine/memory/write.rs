//! Changing a memory: drafts, single objects, last-access times.
//!
//! # Layer
//! Layer 5.

use super::Memory;
use crate::engine::write::authorisation::Authorisation;
use crate::engine::write::draft::Draft;
use crate::engine::write::request::Committed;
use crate::engine::write::writer::Writer;
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Time};

impl Memory {
    /// Starts a draft based on the state at the head.
    pub fn draft(&self, writer: &Writer) -> Draft {
        Draft::new(self.view(), writer.clone())
    }

    /// Commits one object.
    ///
    /// # Errors
    /// The errors of [`Draft::put`] and [`Self::commit`].
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
            return Err(
                Error::not_found(format!("there is no object '{id}'")).with_hint("`list` shows the objects")
            );
        }
        self.commit(draft, "remove")
    }

    /// Records that the objects were used at `time`. Makes no version and no commit. If an object gets two times, the
    /// later one is kept. A writable handle writes the times when it is synced or closed; a crash before that loses
    /// them.
    pub fn touch<'a>(&self, ids: impl IntoIterator<Item = &'a Id>, time: Time) {
        self.inner.source.stamps.lock().touch(self.suite(), ids, time);
    }
}
