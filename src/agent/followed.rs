//! A derived value, and the view that it was derived from.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: dropping it costs time only.

use crate::engine::{Derived, Keep, Memory, View};
use crate::error::Result;

/// A value that is derived from the objects of a view, and can be updated to other views.
#[derive(Clone)]
pub(crate) struct Followed<T> {
    pub(in crate::agent) view: View,
    pub(in crate::agent) derived: Derived<T>,
}

impl<T: Keep> Followed<T> {
    /// Builds the value from all objects of a view.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read. The other methods fail in the same way.
    pub(in crate::agent) fn build(view: &View, empty: T) -> Result<Self> {
        let derived = Derived::build(view.opened(), view.state(), empty)?;
        Ok(Self {
            view: view.clone(),
            derived,
        })
    }

    /// Loads the value that an earlier process saved, and updates it to this view. Also returns whether it was saved at
    /// exactly this state.
    pub(in crate::agent) fn load(view: &View, empty: impl FnOnce() -> T) -> Result<Option<(Self, bool)>> {
        let Some(derived) = Derived::<T>::load(view.opened()) else {
            return Ok(None);
        };
        let is_same = derived.root() == view.root();
        let loaded = Self {
            view: view.clone(),
            derived,
        };
        Ok(Some((loaded.follow(view, empty)?, is_same)))
    }

    /// Updates the value to another view.
    pub(in crate::agent) fn follow(self, view: &View, empty: impl FnOnce() -> T) -> Result<Self> {
        Ok(Self {
            derived: self.derived.follow(view.opened(), view.state(), empty)?,
            view: view.clone(),
        })
    }

    pub(in crate::agent) fn value(&self) -> &T {
        self.derived.value()
    }

    /// Saves the value to disk if much changed since the last save. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if it cannot be written, with the code `read_only` for a read-only handle.
    pub(in crate::agent) fn keep(&mut self, memory: &Memory) -> Result<bool> {
        memory.keep(&mut self.derived, &self.view)
    }
}
