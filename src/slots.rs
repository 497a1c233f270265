//! Slots: the values that were made last, each kept for the key that it was made for.
//!
//! A reader of a value that is at hand never waits for a value that another thread makes.
//!
//! # Layer
//! Layer 1.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Result;
use crate::threads::Mutex;

/// The newest values: at most `KEPT`, each with its key.
pub struct Slots<K, V, const KEPT: usize> {
    /// The newest value is first.
    values: Mutex<VecDeque<(K, Arc<V>)>>,
    /// A thread holds this lock while it makes a value, so that threads that need the same value make it once.
    pub(crate) making: Mutex<()>,
}

impl<K, V, const KEPT: usize> Default for Slots<K, V, KEPT> {
    fn default() -> Self {
        Self {
            values: Mutex::default(),
            making: Mutex::default(),
        }
    }
}

impl<K: PartialEq, V, const KEPT: usize> Slots<K, V, KEPT> {
    /// Returns the value of `key`, if it is at hand. Does not wait while another thread makes a value.
    pub fn at_hand(&self, key: &K) -> Option<Arc<V>> {
        let values = self.values.lock();
        let found = values.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| Arc::clone(value))
    }

    /// Returns the value of `key`. Makes the value if it is not at hand.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        self.get_at(key, |_| true, || Ok((0, make()?)))
    }

    /// Returns the value of `key`. Makes the value if it is not at hand, or not `usable`. `make` also returns the slot of the
    /// value: 0 for the newest value, 1 behind the newest. The new value replaces another value of the key, and the oldest
    /// value if there are too many.
    pub(crate) fn get_at(
        &self,
        key: K,
        usable: impl Fn(&V) -> bool,
        make: impl FnOnce() -> Result<(usize, V)>,
    ) -> Result<Arc<V>> {
        let known = || self.at_hand(&key).filter(|value| usable(value));
        if let Some(known) = known() {
            return Ok(known);
        }
        let _making = self.making.lock();
        if let Some(known) = known() {
            return Ok(known);
        }
        let (at, made) = make()?;
        let made = Arc::new(made);
        let mut values = self.values.lock();
        values.retain(|(known, _)| *known != key);
        let at = at.min(values.len());
        values.insert(at, (key, Arc::clone(&made)));
        values.truncate(KEPT);
        Ok(made)
    }

    /// Returns the newest values: at most `count`, the newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Arc<V>> {
        let values = self.values.lock();
        values
            .iter()
            .take(count)
            .map(|(_, value)| Arc::clone(value))
            .collect()
    }

    /// Moves the value of `key` to the front.
    pub(crate) fn promote(&self, key: &K) {
        let mut values = self.values.lock();
        if let Some(at) = values.iter().position(|(known, _)| known == key) {
            values.make_contiguous()[..=at].rotate_right(1);
        }
    }

    /// Drops the values for which `is_kept` is false.
    pub(crate) fn retain(&self, is_kept: impl Fn(&Arc<V>) -> bool) {
        self.values.lock().retain(|(_, value)| is_kept(value));
    }
}
