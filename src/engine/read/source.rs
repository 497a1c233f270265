//! The source that views read from: the opened store, with the indexes of recent states.
//!
//! # Layer
//! Layer 5. The caches are derived: dropping them costs only time.

use std::sync::Arc;

use crate::error::Result;
use crate::slots::Slots;
use crate::threads::Mutex;

use super::index::{FAMILIES, KEPT};
use super::subtree::Subtrees;
use super::{Derived, Family, Holder, Index, Newer, State};
use crate::engine::opened::Opened;
use crate::engine::upkeep::Stamps;

/// The opened store with its caches.
pub(crate) struct Source {
    pub(crate) opened: Opened,
    /// The indexes of recent states, by the number of their family.
    pub(super) indexes: [Holder<Index, KEPT>; FAMILIES],
    /// The changes from the checkpoint to the state for which children were last read; `None` if there is no checkpoint, or
    /// if there are too many changes.
    pub(crate) newer: Slots<State, Option<Newer>, 1>,
    /// The subtree digests of the state for which a subtree digest was last computed.
    pub(crate) subtrees: Holder<Subtrees>,
    /// The last-access times of objects.
    pub(crate) stamps: Arc<Mutex<Stamps>>,
}

impl Source {
    pub(crate) fn new(opened: Opened) -> Self {
        use Family::{Attributes, Children, Ids, Kinds, Scopes};

        Self {
            opened,
            indexes: [Children, Ids, Kinds, Scopes, Attributes].map(|family| Holder::new(Index::new(family))),
            newer: Slots::default(),
            subtrees: Holder::default(),
            stamps: Arc::default(),
        }
    }

    /// Creates the source of a fork, which shares the last-access times of the main line.
    pub(crate) fn of_fork(&self, opened: Opened) -> Self {
        Self {
            stamps: Arc::clone(&self.stamps),
            ..Self::new(opened)
        }
    }

    /// Returns the index of a state, if it is at hand. Never waits for an index that another thread makes.
    pub(crate) fn index_at_hand(&self, family: Family, state: &State) -> Option<Arc<Derived<Index>>> {
        self.indexes[family as usize].at_hand(state)
    }

    /// Returns the index of a state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn index(&self, family: Family, state: &State) -> Result<Arc<Derived<Index>>> {
        let index = &self.indexes[family as usize];
        let (found, _) = index.reach((&self.opened, state), |_| true, || None, |_| Ok(()))?;
        Ok(found)
    }

    /// Drops all caches. After a rewrite of the log, the caches would keep the old log and erased versions in memory.
    pub(crate) fn clear(&self) {
        self.indexes
            .iter()
            .for_each(|index| index.slots.retain(|_| false));
        self.newer.retain(|_| false);
        self.subtrees.slots.retain(|_| false);
    }
}
