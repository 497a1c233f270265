//! A value derived from the objects of one state that follows the state by diff.
//!
//! Recall indexes, the duplicate index, vectors and the engine's own indexes are all of this shape: each object of the
//! state contributes something, and a change of the state removes what the old version contributed and adds what the new
//! one does. A type says how in [`Derive`]; [`Derived`] does the rest.
//!
//! # How to use it
//! 1. Implement [`Derive`] for the value: `add` takes a new version in, `remove` takes an old one out. `remove` may answer
//!    `false` when it cannot tell what the old version contributed, for example because that version was erased: the value is
//!    then built anew from all objects.
//! 2. [`Derived::build`] makes the value of a view, and [`Derived::follow`] brings it to another view: older, newer, or on
//!    the other side of a rollback. Both cost what differs. Both consume the value, so that a failure half way cannot leave
//!    a wrong one behind; a shared value is cloned first (`Arc::unwrap_or_clone`).
//! 3. Implement [`Keep`] too for a value that is worth a file: [`Derived::load`] reads what a process before this one kept,
//!    at whatever state that was, for [`Derived::follow`] to bring up to date; `Memory::keep` writes it when enough changed. Change [`Keep::VERSION`] whenever the serialised form changes; an old file then reads as no file.
//!
//! A [`Derived`] holds a state and no handle: it does not keep the memory open, and it may live inside the handle. Views
//! are passed in.
//!
//! # Layer
//! L5. Dropping a derived value costs time only.
//!
//! # Invariants
//! - DRV-1: a value that followed a state is the value that would be built from it.
//! - DRV-2: a value that is read from a file is of the state that the file names, or is not used.
//!
//! # Format
//! docs/format.md, "Derived files".

#[cfg(feature = "agent")]
use crate::digest::HashSuite;
use crate::digest::{KeyPath, Root};
use crate::error::Result;
use crate::object::Object;
#[cfg(feature = "agent")]
use crate::object::Time;
use crate::trie::Entry;

use super::state::State;
use crate::engine::opened::Opened;

/// A value to which each object of a state contributes.
pub(crate) trait Derive: Sized {
    /// The name of the work for progress listeners.
    const DOING: &'static str = "index";

    /// Adds what a version contributes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    fn add(&mut self, new: &Version<'_>) -> Result<()>;

    /// Removes what a version contributed; `false` if that is not known, and the value has to be built anew.
    ///
    /// # Errors
    /// As [`Self::add`].
    fn remove(&mut self, old: &Version<'_>) -> Result<bool>;
}

/// A handle that reads one state, such as a view.
pub(crate) trait OfState {
    /// The opened store.
    #[cfg_attr(
        not(feature = "agent"),
        expect(dead_code, reason = "only caches of the agent read objects")
    )]
    fn opened(&self) -> &Opened;

    /// The state.
    fn state(&self) -> State;
}

/// A value that is kept in a derived file between processes.
#[cfg(feature = "agent")]
pub(crate) trait Keep: Derive + serde::Serialize + serde::de::DeserializeOwned {
    /// The name of the file: 1 to 32 of the characters `a` to `z`, digits and `-`.
    const NAME: &'static str;
    /// The version of the serialised form.
    const VERSION: u8;

    /// How many contributions the value holds.
    fn len(&self) -> u64;
}

/// A version of an object in a state, read only when asked for.
pub(crate) struct Version<'a> {
    opened: &'a Opened,
    state: &'a State,
    entry: Entry,
}

impl Version<'_> {
    /// The key path of its id. It is known even where the version was erased.
    pub(crate) fn key(&self) -> KeyPath {
        self.entry.key
    }

    /// The digests of the store.
    #[cfg(feature = "agent")]
    pub(crate) fn suite(&self) -> HashSuite {
        self.state.store.suite
    }

    /// Its entry in the state.
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The state that has this version.
    pub(crate) fn state(&self) -> &State {
        self.state
    }

    /// When its id was first written.
    #[cfg(feature = "agent")]
    pub(crate) fn created(&self) -> Time {
        Time::from_micros(self.entry.created)
    }

    /// The object, or its placeholder ([`Object::is_placeholder`]) if it was erased. `None` if its record is damaged and
    /// the handle reads a damaged store.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn object(&self) -> Result<Option<Object>> {
        self.opened
            .or_passed_over(self.entry.key, self.state.load(&self.entry))
    }
}

/// A value derived from one state.
#[derive(Clone)]
pub(crate) struct Derived<T> {
    state: State,
    value: T,
    /// Objects that were added or removed since the value was last kept.
    changes: u64,
}

impl<T> Derived<T> {
    /// A value that is known to be of `state`.
    pub(crate) fn new(state: State, value: T) -> Self {
        Self {
            state,
            value,
            changes: 0,
        }
    }

    /// The root of the state that the value is of.
    pub(crate) fn root(&self) -> Root {
        self.state.root
    }

    /// The value.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// How many objects were added or removed since the value was last kept.
    #[cfg(feature = "agent")]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes that the value is kept as it is now.
    #[cfg(feature = "agent")]
    pub(crate) fn set_kept(&mut self) {
        self.changes = 0;
    }

    /// The value, for what it remembers besides the contributions of objects.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Derive> Derived<T> {
    /// The value of a view: adds every object of it to `empty`.
    ///
    /// # Errors
    /// Those of [`Derive::add`]; `Io` (code `interrupted`) if the host stops it.
    #[cfg(feature = "agent")]
    pub(crate) fn build(view: &impl OfState, empty: T) -> Result<Self> {
        Self::build_in(view.opened(), view.state(), empty)
    }

    /// Brings the value to another view by what differs; builds it from `empty` where a change cannot be followed.
    ///
    /// # Errors
    /// As [`Self::build`], and those of [`Derive::remove`].
    #[cfg(feature = "agent")]
    pub(crate) fn follow(self, view: &impl OfState, empty: impl FnOnce() -> T) -> Result<Self> {
        self.follow_in(view.opened(), view.state(), empty)
    }

    /// As [`Self::build`], for the engine.
    pub(crate) fn build_in(opened: &Opened, state: State, empty: T) -> Result<Self> {
        let mut value = empty;
        let total = state.trie.len();
        for (done, entry) in (1..).zip(state.trie.iter(&*state.store)) {
            opened.settings.step(T::DOING, done, total)?;
            let entry = entry?;
            value.add(&Version {
                opened,
                state: &state,
                entry,
            })?;
        }
        Ok(Self {
            state,
            value,
            changes: total,
        })
    }

    /// As [`Self::follow`], for the engine.
    pub(crate) fn follow_in(
        mut self,
        opened: &Opened,
        state: State,
        empty: impl FnOnce() -> T,
    ) -> Result<Self> {
        if self.follow_changes(opened, &state)? {
            // DRV-1. Also where the roots agree: the log may have been rewritten since.
            self.state = state;
            return Ok(self);
        }
        Self::build_in(opened, state, empty())
    }

    /// Whether every change could be followed.
    fn follow_changes(&mut self, opened: &Opened, state: &State) -> Result<bool> {
        if self.state.root == state.root {
            return Ok(true);
        }
        let total = self.state.trie.len() + state.trie.len();
        let nodes = self.state.nodes_with(state);
        for (done, change) in (1..).zip(self.state.diff(state, &nodes)) {
            opened.settings.step(T::DOING, done, total)?;
            let change = change?;
            let version = |state, entry| Version { opened, state, entry };
            if let Some(old) = change.old
                && !self.value.remove(&version(&self.state, old))?
            {
                return Ok(false);
            }
            if let Some(new) = change.new {
                self.value.add(&version(state, new))?;
            }
            self.changes += 1;
        }
        Ok(true)
    }
}
