//! Keeps a derived value, such as an index, together with the view whose objects it was computed from.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::digest::{KeyPath, keyed};
use crate::engine::{self, Derived, Keep, Memory, View};
use crate::error::Result;
use crate::threads::Mutex;
use treering_text::recall::Key;
use treering_text::tables::{Builder, Image, row};

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

/// The minimum number of changes after which a value is packed again.
const PACK_MIN: u64 = 1_000;
/// A value is packed again only after as many changes as its number of contributions divided by this number.
const PACK_SHARE: u64 = 8;

/// A value that is derived from the objects of a view. The methods update the value to other views by diff.
#[derive(Clone)]
pub(crate) struct Followed<T> {
    pub(in crate::agent) view: View,
    pub(in crate::agent) derived: Derived<T>,
    /// The number of changes of the value when it was packed last.
    packed: u64,
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
            packed: 0,
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
            Some(Self {
                view,
                derived,
                packed: 0,
            })
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
            packed: self.packed,
        })
    }

    /// Writes the value to an image in memory, and continues on that image, if the value changed much since the last
    /// time. A value on an image is read in place, and its rows are counted without reading them.
    pub(in crate::agent) fn pack(&mut self) {
        let value = self.derived.value();
        let news = self.derived.changes.saturating_sub(self.packed);
        if news < PACK_MIN.max(value.len() / PACK_SHARE) || value.is_damaged() {
            return;
        }
        self.packed = self.derived.changes;
        let mut image = Builder::default();
        value.write(&mut image);
        let image = Image::open(image.finish().into());
        let packed = image.and_then(|image| T::read(&Arc::new(image), 0));
        if let Some(packed) = packed.filter(|_| !value.is_damaged()) {
            *self.derived.value_mut() = packed;
        }
    }

    pub(in crate::agent) fn value(&self) -> &T {
        self.derived.value()
    }

    /// Saves the value to disk if the value changed much since the last save, at which it had `written` changes. Returns
    /// whether the value was saved.
    ///
    /// # Errors
    /// `Io` if the value cannot be written, with the code `read_only` for a read-only handle.
    pub(in crate::agent) fn keep(&self, memory: &Memory, written: &AtomicU64) -> Result<bool> {
        engine::keep(memory, &self.derived, &self.view, written)
    }
}

/// Returns the hash that names a scope in a row.
pub(in crate::agent) fn scope_hash(scope: &str) -> [u8; 8] {
    row([&keyed(b"treering scopes in rows of items", scope.as_bytes())])
}

/// Returns the key in a row; the key of zeros if there is none.
pub(in crate::agent) fn key_in(bytes: Option<&[u8; Key::BYTES]>) -> Key {
    bytes.map_or_else(Key::default, |bytes| Key(*bytes))
}

/// Returns the index key of an id: the first bytes of its key path.
pub(in crate::agent) fn key_at(path: &KeyPath) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&path.as_bytes()[..Key::BYTES]);
    key
}

/// The value of the state that was asked for last. Threads share it; a reader works on a cheap clone, so that readers do
/// not wait for each other.
pub(crate) struct Recent<T> {
    known: Mutex<Option<Followed<T>>>,
    /// The number of changes of the value at its last save.
    written: AtomicU64,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            written: AtomicU64::default(),
        }
    }
}

impl<T: Keep + Clone + Default> Recent<T> {
    /// Calls `read` with the value of the state of `view`. Calls it again with a value that was built from all objects
    /// if it met a damaged file.
    ///
    /// # Errors
    /// The errors of `read` and of [`Followed::build`].
    pub(in crate::agent) fn read<R>(
        &self,
        view: &View,
        mut read: impl FnMut(&Followed<T>) -> Result<R>,
    ) -> Result<R> {
        let done = {
            let known = self.reach(view)?;
            let done = read(&known);
            (!known.value().is_damaged()).then_some(done)
        };
        if let Some(done) = done {
            return done;
        }
        self.written.store(0, Ordering::Relaxed);
        let anew = Followed::build(view, T::default())?;
        *self.known.lock() = Some(anew.clone());
        read(&anew)
    }

    fn reach(&self, view: &View) -> Result<Followed<T>> {
        let mut kept = self.known.lock();
        // The slot is empty during the update, so a failed update leaves no partly updated value in the slot.
        let (mut known, _) = Followed::reach(kept.take(), view, T::default)?;
        known.pack();
        Ok(kept.insert(known).clone())
    }

    /// Saves the value to disk if it changed much since the last save. Returns whether the value was saved.
    ///
    /// # Errors
    /// The errors of [`Followed::keep`].
    pub(in crate::agent) fn keep(&self, memory: &Memory) -> Result<bool> {
        if self.known.lock().is_none() {
            return Ok(false);
        }
        // Update the value to the head first, because the file must not contain an erased text. Hold no lock during the
        // write, so that readers do not wait for the disk.
        self.reach(&memory.view())?.keep(memory, &self.written)
    }
}
