//! The source that views read from: the opened store, with the indexes of recent states.
//!
//! # Layer
//! Layer 5. The caches are derived: dropping them costs only time.

use std::sync::Arc;

use crate::threads::Mutex;

use super::subtree::Subtrees;
use super::{Derived, IndexCache, Newer};
use crate::engine::opened::Opened;
use crate::engine::upkeep::Stamps;

/// The opened store with its caches.
pub(crate) struct Source {
    pub(crate) opened: Opened,
    pub(crate) indexes: IndexCache,
    /// The changes from the checkpoint to the state for which children were last read.
    pub(crate) newer: Mutex<Option<Arc<Newer>>>,
    /// The subtree digests of the state for which a subtree digest was last computed.
    pub(crate) subtrees: Mutex<Option<Derived<Subtrees>>>,
    /// The last-access times of objects.
    pub(crate) stamps: Mutex<Stamps>,
}

impl Source {
    pub(crate) fn new(opened: Opened) -> Self {
        Self {
            opened,
            indexes: IndexCache::default(),
            newer: Mutex::default(),
            subtrees: Mutex::default(),
            stamps: Mutex::default(),
        }
    }

    /// Drops all caches. After a rewrite of the log, the caches would keep the old log and erased versions in memory.
    pub(crate) fn clear(&self) {
        self.indexes.clear();
        *self.newer.lock() = None;
        *self.subtrees.lock() = None;
    }
}
