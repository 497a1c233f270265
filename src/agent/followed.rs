//! A derived value together with the view that it stands for.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping it costs time only.

use crate::engine::{Derived, Keep, Memory, View};
use crate::error::Result;

/// A value that is derived from the objects of a view, and follows to other views.
#[derive(Clone)]
pub(crate) struct Followed<T> {
    pub(in crate::agent) view: View,
    pub(in crate::agent) derived: Derived<T>,
}

impl<T: Keep> Followed<T> {
    /// The value of a view, built of all objects.
    ///
    /// # Errors
    /// `Corrupt` or `Io`: an object cannot be read. So do the other methods.
    pub(in crate::agent) fn build(view: &View, empty: T) -> Result<Self> {
        let derived = Derived::build(view.opened(), view.state(), empty)?;
        Ok(Self {
            view: view.clone(),
            derived,
        })
    }

    /// The value that an earlier process kept, at this view, and whether it was kept at this very state.
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

    /// Moves the value to another view.
    pub(in crate::agent) fn follow(self, view: &View, empty: impl FnOnce() -> T) -> Result<Self> {
        Ok(Self {
            derived: self.derived.follow(view.opened(), view.state(), empty)?,
            view: view.clone(),
        })
    }

    pub(in crate::agent) fn value(&self) -> &T {
        self.derived.value()
    }

    /// Keeps the value on disk if much changed since it was kept. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if it cannot be written, with the code `read_only` for a read-only handle.
    pub(in crate::agent) fn keep(&mut self, memory: &Memory) -> Result<bool> {
        memory.keep(&mut self.derived, &self.view)
    }
}
