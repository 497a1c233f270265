//! Values derived from the objects of one state, and updated to another state by diff.
//!
//! Recall indexes, the duplicate index, vectors and the engine's own indexes all have this form. Each object of the
//! state contributes something. For a changed object, the contribution of its old version is removed, and the
//! contribution of its new version is added. A type defines its contribution in [`Derive`]; [`Derived`] builds and
//! updates the value.
//!
//! # How to use it
//! 1. Implement [`Derive`] for the value: `add` adds a new version's contribution, `remove` removes an old version's
//!    contribution. `remove` may return `false` if the old contribution is unknown, for example because the old version
//!    was erased. In that case, the value is built again from all objects.
//! 2. A [`Holder`](super::Holder) shares the value between threads, and brings it to the state that a reader asks for:
//!    [`Derived::build`] makes the value of a state, and [`Derived::follow`] updates the value to another state: an older
//!    or newer one, also across a rollback. The cost of an update grows with the difference. Both calls consume the
//!    value, so a call that fails halfway leaves no wrong value.
//! 3. Also implement [`Keep`] for a value that is stored in a file. [`Derived::load`] reads the value that an earlier
//!    process stored, whatever state the value was built from. The holder writes the file after enough changes. Change
//!    [`Keep::VERSION`] whenever the serialised form changes; an old file is then ignored.
//!
//! A [`Derived`] contains a state but no handle. So a `Derived` does not keep the memory open, and a handle may contain
//! a `Derived`. Callers pass the opened store to each call.
//!
//! # Layer
//! Layer 5. Dropping a derived value costs only time.
//!
//! # Invariants
//! - DRV-1: following to a state gives the same value as building from that state.
//! - DRV-2: a value from a file is used only for the state that the file names.
//!
//! # Format
//! docs/format.md, "Derived files".

#[cfg(feature = "agent")]
use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath};
use crate::error::Result;
#[cfg(feature = "agent")]
use crate::object::Id;
use crate::object::{Object, Time};
use crate::trie::Entry;
#[cfg(feature = "agent")]
use treering_text::tables::{Builder, Image};

use super::State;
use crate::engine::opened::Opened;

/// A value to which each object of a state contributes.
pub(crate) trait Derive: Sized {
    /// The name of the work, for reports of its progress.
    const DOING: &'static str = "index";
    /// The maximum number of changes that a holder applies to a value in place. It applies more changes to a copy, so that
    /// readers do not wait. A type whose clones are cheap chooses 0, to keep the values of older states.
    const IN_PLACE_MAX: u64 = u64::MAX;

    /// Adds the contribution of a version.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    fn add(&mut self, new: &Version<'_>) -> Result<()>;

    /// Removes the contribution of a version. Returns `false` if the contribution is unknown, so the value must be
    /// built again.
    ///
    /// # Errors
    /// The errors of [`Self::add`].
    fn remove(&mut self, old: &Version<'_>) -> Result<bool>;

    /// Returns whether the value was read from a damaged file, so that what was read from the value may be wrong. Such a
    /// value must be built again.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// A value that is kept in a derived file between processes.
#[cfg(feature = "agent")]
pub(crate) trait Keep: Derive {
    /// The name of the file: 1 to 32 of the characters `a` to `z`, digits and `-`.
    const NAME: &'static str;
    /// The version of the serialised form.
    const VERSION: u8;

    /// Returns the number of contributions in the value.
    fn len(&self) -> u64;

    /// Appends the value to an image.
    fn write(&self, image: &mut Builder);

    /// Returns the value that [`Self::write`] appended to an image that had `first` sections. The value may read the
    /// image later.
    fn read(image: &Arc<Image>, first: usize) -> Option<Self>;
}

/// The minimum number of changes after which a value is packed again.
#[cfg(feature = "agent")]
const PACK_MIN: u64 = 1_000;
/// A value is packed again only after as many changes as its number of contributions divided by this number.
#[cfg(feature = "agent")]
const PACK_SHARE: u64 = 8;

/// A version of an object in a state, read on demand.
pub(crate) struct Version<'a> {
    opened: &'a Opened,
    pub(super) state: &'a State,
    pub(super) entry: Entry,
}

impl Version<'_> {
    /// Returns the key path of the id, which is known even if the version was erased.
    pub(crate) fn key(&self) -> KeyPath {
        self.entry.key
    }

    /// Returns the hash suite of the store.
    pub(crate) fn suite(&self) -> HashSuite {
        self.state.store.suite
    }

    /// Returns the time at which the id was first written.
    pub(crate) fn created(&self) -> Time {
        Time::from_micros(self.entry.created)
    }

    /// Returns another object of the same state, or its placeholder.
    ///
    /// # Errors
    /// The errors of [`Self::object`].
    #[cfg(feature = "agent")]
    pub(crate) fn other(&self, id: &Id) -> Result<Option<Object>> {
        let key = self.suite().key_path(id.as_str());
        match self.state.entry_at(&key)? {
            Some(entry) => self.opened.or_passed_over(key, self.state.load(&entry)),
            None => Ok(None),
        }
    }

    /// Returns the time at which the version became current. Returns `None` if no kept commit contains this time.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    #[cfg(feature = "agent")]
    pub(crate) fn updated(&self) -> Result<Option<Time>> {
        self.state.store.updated(&self.entry)
    }

    /// Returns the object, or its placeholder ([`Object::is_placeholder`]) if the object was erased. Returns `None` if
    /// the object's record is damaged and the handle is degraded.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object's record cannot be read.
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
    /// The number of objects that were added or removed, since the value was loaded if it was.
    pub(crate) changes: u64,
    /// The number of changes when the value was packed last.
    #[cfg(feature = "agent")]
    packed: u64,
}

impl<T> Derived<T> {
    /// Wraps the value of `state`.
    pub(crate) fn new(state: State, value: T) -> Self {
        Self {
            state,
            value,
            changes: 0,
            #[cfg(feature = "agent")]
            packed: 0,
        }
    }

    /// Returns the value's state.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the value.
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Returns the value, for a contribution that depends on other objects too.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Derive> Derived<T> {
    /// Builds the value of a state: adds every object of the state to `empty`.
    ///
    /// # Errors
    /// The errors of [`Derive::add`]; `Io` (code `interrupted`) if the host stops the work.
    pub(crate) fn build(opened: &Opened, state: State, empty: T) -> Result<Self> {
        let mut value = empty;
        let total = state.trie.len();
        for (done, entry) in (1..).zip(state.entries()) {
            opened.settings.step(T::DOING, done, total)?;
            let entry = entry?;
            value.add(&Version {
                opened,
                state: &state,
                entry,
            })?;
        }
        Ok(Self {
            changes: total,
            ..Self::new(state, value)
        })
    }

    /// Updates the value to another state by applying the changes between the two states. Builds the value again from
    /// `empty` if a change cannot be applied.
    ///
    /// # Errors
    /// The errors of [`Self::build`] and [`Derive::remove`].
    pub(crate) fn follow(mut self, opened: &Opened, state: State, empty: impl FnOnce() -> T) -> Result<Self> {
        if self.follow_changes(opened, &state)? && !self.value.is_damaged() {
            // DRV-1. The state is replaced even if the roots agree, because the log may have been rewritten since.
            self.state = state;
            return Ok(self);
        }
        let changes = self.changes;
        let mut built = Self::build(opened, state, empty())?;
        built.changes += changes;
        Ok(built)
    }

    /// Applies every change between the two states. Returns false if a change cannot be applied.
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

#[cfg(feature = "agent")]
impl<T: Keep> Derived<T> {
    /// Writes the value to an image in memory, and continues on that image, if the value changed much since the last
    /// time. A value on an image is read in place, and its rows are counted without reading them.
    pub(crate) fn pack(&mut self) {
        let news = self.changes.saturating_sub(self.packed);
        if news < PACK_MIN.max(self.value.len() / PACK_SHARE) || self.value.is_damaged() {
            return;
        }
        self.packed = self.changes;
        let mut image = Builder::default();
        self.value.write(&mut image);
        let image = Image::open(image.finish().into());
        let packed = image.and_then(|image| T::read(&Arc::new(image), 0));
        if let Some(packed) = packed.filter(|_| !self.value.is_damaged()) {
            self.value = packed;
        }
    }
}
