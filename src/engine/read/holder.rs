//! Holds derived values for the threads of a process: of the newest state, and of some older states.
//!
//! A value is updated to another state by diff, so the cost of a commit or rollback depends only on its changes.
//!
//! # Layer
//! Layer 5. Dropping a derived value costs only time.
//!
//! # Invariants
//! - HLD-1: a reader gets a value of exactly the state that it asks for.
//! - HLD-2: an update that fails leaves no partly updated value.

use std::sync::Arc;
#[cfg(feature = "agent")]
use std::sync::atomic::AtomicU64;

use super::{Derive, Derived, State};
use crate::engine::opened::Opened;
use crate::error::Result;
use crate::slots::Slots;

/// The way in which an index was prepared for the requested state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reached {
    /// The index was already at the requested state.
    AtHand,
    /// The index was updated with the changes from another state.
    Followed,
    /// The index was built from all objects.
    Built,
}

/// The values of at most `KEPT` states. The first slot has the value of the newest state; older states follow.
#[derive(Default)]
pub(crate) struct Holder<T, const KEPT: usize = 1> {
    pub(in crate::engine) slots: Slots<State, Derived<T>, KEPT>,
    /// The value of a state without objects.
    pub(in crate::engine) empty: T,
    /// The number of changes of the value at its last save.
    #[cfg(feature = "agent")]
    pub(crate) written: AtomicU64,
}

impl<T, const KEPT: usize> Holder<T, KEPT> {
    /// Returns the value of a state, if it is at hand. Never waits for a value that another thread makes.
    pub(crate) fn at_hand(&self, state: &State) -> Option<Arc<Derived<T>>> {
        self.slots.at_hand(state)
    }

    /// Returns the value of the newest state.
    pub(crate) fn newest(&self) -> Option<Arc<Derived<T>>> {
        self.slots.newest(1).pop()
    }

    /// Returns whether a state is older than the newest state of the slots.
    pub(in crate::engine) fn is_past(&self, state: &State) -> bool {
        KEPT > 1 && self.newest().is_some_and(|newest| newest.state().seq > state.seq)
    }
}

impl<T: Derive + Clone, const KEPT: usize> Holder<T, KEPT> {
    /// Creates a holder without values. `empty` is the value of a state without objects.
    pub(crate) fn new(empty: T) -> Self {
        Self {
            slots: Slots::default(),
            empty,
            #[cfg(feature = "agent")]
            written: AtomicU64::default(),
        }
    }

    /// Returns the value of a state, and how it was prepared. If the value is not at hand, or not `usable`, updates the value
    /// of another state, else the value of an earlier process that `load` returns, else builds the value. `settle` then
    /// completes it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read. The errors of `settle`.
    pub(crate) fn reach(
        &self,
        (opened, state): (&Opened, &State),
        usable: impl Fn(&T) -> bool,
        load: impl FnOnce() -> Option<Derived<T>>,
        settle: impl FnOnce(&mut Derived<T>) -> Result<()>,
    ) -> Result<(Arc<Derived<T>>, Reached)> {
        let mut reached = Reached::AtHand;
        let usable = |known: &Derived<T>| usable(known.value());
        let found = self.slots.get_at(state.clone(), usable, || {
            let is_past = self.is_past(state);
            let before = match self.nearest(state, is_past)? {
                Some(nearest) => Some(Arc::unwrap_or_clone(nearest)),
                // Does not load the value of an earlier process: it differs much from an older state.
                None if is_past => None,
                None => load(),
            };
            let empty = || self.empty.clone();
            let mut made = match before {
                Some(before) => {
                    let is_there = before.state().root == state.root;
                    reached = if is_there {
                        Reached::AtHand
                    } else {
                        Reached::Followed
                    };
                    before.follow(opened, state.clone(), empty)?
                }
                None => {
                    reached = Reached::Built;
                    Derived::build(opened, state.clone(), empty())?
                }
            };
            settle(&mut made)?;
            Ok((usize::from(is_past), made))
        })?;
        // A rollback reaches an older state again. The next state differs little from it.
        if !self.is_past(state) {
            self.slots.promote(state);
        }
        Ok((found, reached))
    }

    /// Returns the value that differs least from a state; none if the state is older and every value differs much from it.
    /// Empties the slot of a value that may change in place, so that a value without readers is not copied, and a failed
    /// update leaves no partly updated value (HLD-2).
    fn nearest(&self, state: &State, is_past: bool) -> Result<Option<Arc<Derived<T>>>> {
        let weighs = is_past || ![0, u64::MAX].contains(&T::IN_PLACE_MAX);
        let distance = |kept: &Derived<T>| {
            if weighs {
                kept.state().distance(state)
            } else {
                Ok(1)
            }
        };
        let known = self
            .slots
            .newest(1 + usize::from(is_past))
            .into_iter()
            .enumerate();
        let known = known.map(|(at, kept)| Ok((distance(&kept)?, at, kept)));
        // Of two values that differ as much, the older one is dropped anyway.
        let nearest = known
            .rev()
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .min_by_key(|(distance, ..)| *distance);
        let nearest = nearest.filter(|(distance, ..)| !is_past || *distance <= state.trie.len() / 2);
        Ok(nearest.map(|(distance, at, kept)| {
            if T::IN_PLACE_MAX > 0 && (at > 0 || !is_past && distance <= T::IN_PLACE_MAX) {
                self.slots.retain(|other| !Arc::ptr_eq(other, &kept));
            }
            kept
        }))
    }
}
