//! Restores single objects to an earlier version, as changes in a draft.
//!
//! # Layer
//! Layer 5.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::digest::ObjectDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};

use super::{Draft, check_brings_back, check_return};
use crate::engine::read::{View, not_kept};

impl Draft {
    /// Stages the version of `id` in the state `from`, with the origin of that version. If `from` has no such id,
    /// stages the removal of `id`. Returns whether this changes the draft's state.
    ///
    /// # Errors
    /// `InvalidInput` if `from` is a state of another memory. `Denied` (code `less_trusted`) if the writer is untrusted
    /// and either version is more trusted. `Corrupt` or `Io` if an object cannot be read. The commit checks that the
    /// parent exists.
    ///
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("office")?;
    /// let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
    /// memory.put(fact.clone(), &Writer::user())?;
    /// let before = memory.view();
    /// fact.content = Some("a mistake".to_owned());
    /// memory.put(fact, &Writer::user())?;
    ///
    /// let mut draft = memory.draft(&Writer::user().reason("that was wrong"));
    /// assert!(draft.restore(&id, &before)?);
    /// memory.commit(draft, "restore")?;
    /// assert_eq!(memory.view().root(), before.root());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn restore(&mut self, id: &Id, from: &View) -> Result<bool> {
        if !Arc::ptr_eq(&self.base().source, &from.source) {
            return Err(
                Error::invalid("the state to restore from belongs to another memory")
                    .with_code(ErrorCode::ForeignView),
            );
        }
        from.state.store.check_not_of_remote()?;
        let now = self.digest(id)?;
        match from.get(id)? {
            Some(object) if Some(object.digest()) == now => Ok(false),
            then => self.return_to(id, then),
        }
    }

    /// Stages a version of `id` that history keeps, with the origin of that version. Returns whether this changes the
    /// draft's state.
    ///
    /// # Errors
    /// `NotFound` if `id` has no such version. The code is `erased` or `lost` if the version was erased, or lost to
    /// damage. Otherwise, the errors of [`Self::restore`].
    pub(crate) fn restore_version(&mut self, id: &Id, version: ObjectDigest) -> Result<bool> {
        let store = self.base().source.opened.store();
        let found = store.records.find_object(version)?;
        let Some((_, object)) = found.filter(|(_, object)| object.id() == id.as_str()) else {
            let what = format!("version {version} of '{id}'");
            return Err(not_kept(&store, version.as_bytes(), &what)?);
        };
        if self.digest(id)? == Some(version) {
            return Ok(false);
        }
        self.return_to(id, Some(object))
    }

    /// Stages `then` as the version of `id`, or the removal of `id` if `then` is `None`. Returns an error if the writer
    /// may not replace the present version by `then`.
    fn return_to(&mut self, id: &Id, then: Option<Object>) -> Result<bool> {
        let settings = self.base.settings();
        let (writer, now) = (&self.writer, self.base.get(id)?);
        check_return(settings, writer, || Ok([now.clone(), then.clone()]))?;
        if now.is_none() {
            check_brings_back(settings, writer, &self.base.state.store, self.base.key(id))?;
        }
        match then {
            Some(object) => self.stage_version(object).map(|()| true),
            None => self.remove(id),
        }
    }

    /// Stages `id` and everything below it as in the state `from`. Removes objects that are below `id` only in the
    /// present state. Returns the number of changed objects.
    ///
    /// # Errors
    /// The errors of [`Self::restore`].
    #[doc(hidden)]
    pub fn restore_recursive(&mut self, id: &Id, from: &View) -> Result<u64> {
        let mut below = BTreeSet::new();
        let mut waiting = vec![id.clone()];
        while let Some(next) = waiting.pop() {
            if below.insert(next.clone()) {
                waiting.extend(from.children(&next, None)?);
                waiting.extend(self.children(&next)?);
            }
        }
        let mut changed = 0;
        for id in &below {
            changed += u64::from(self.restore(id, from)?);
        }
        Ok(changed)
    }
}
