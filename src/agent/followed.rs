//! Keeps a derived value, such as an index, together with the view whose objects it was computed from.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.

use schemars::JsonSchema;
use serde::Serialize;

use crate::digest::KeyPath;
use crate::engine::{self, Derived, Keep, Memory, View};
use crate::error::Result;
use crate::recall::Key;

/// The way in which an index was prepared for the requested state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// The index was already at the requested state.
    AtHand,
    /// The index was updated with the changes from another state.
    Followed,
    /// The index was built from all objects.
    Built,
}

/// A value that is derived from the objects of a view. The methods update the value to other views by diff.
#[derive(Clone)]
pub(crate) struct Followed<T> {
    pub(in crate::agent) view: View,
    pub(in crate::agent) derived: Derived<T>,
}

impl<T: Keep> Followed<T> {
    /// Builds the value from all objects of a view.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read. The other methods return the same errors.
    pub(in crate::agent) fn build(view: &View, empty: T) -> Result<Self> {
        let derived = Derived::build(view.opened(), view.state(), empty)?;
        Ok(Self {
            view: view.clone(),
            derived,
        })
    }

    /// Returns the value of a view. Updates `before` if it is `Some`, otherwise the value in the file of an earlier
    /// process. If there is no such file, builds the value from all objects.
    pub(in crate::agent) fn reach(
        before: Option<Self>,
        view: &View,
        empty: impl Fn() -> T,
    ) -> Result<(Self, Reached)> {
        let load = || {
            let derived = Derived::load(view.opened())?;
            let view = view.clone();
            Some(Self { view, derived })
        };
        let Some(before) = before.or_else(load) else {
            return Ok((Self::build(view, empty())?, Reached::Built));
        };
        let reached = if before.derived.root() == view.root() {
            Reached::AtHand
        } else {
            Reached::Followed
        };
        Ok((before.follow(view, empty)?, reached))
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

    /// Saves the value to disk if the value changed much since the last save. Returns whether the value was saved.
    ///
    /// # Errors
    /// `Io` if the value cannot be written, with the code `read_only` for a read-only handle.
    pub(in crate::agent) fn keep(&mut self, memory: &Memory) -> Result<bool> {
        engine::keep(memory, &mut self.derived, &self.view)
    }
}

/// Returns the index key of an id: the first bytes of its key path.
pub(in crate::agent) fn key_at(path: &KeyPath) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&path.as_bytes()[..Key::BYTES]);
    key
}
