//! The state of a commit, and the nodes that it is made of.
//!
//! # Layer
//! L4.

use crate::digest::{HashSuite, KeyPath};
use crate::error::{Error, Result};
use crate::trie::{NodeSource, StoredNode, Trie};

use super::Store;
use super::commits::{ChangeCounts, CommitEntry};

impl Store {
    /// The state that a commit names.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be built.
    pub(crate) fn state(&self, entry: &CommitEntry) -> Result<Trie> {
        let trie = entry.trie.get();
        trie.cloned()
            .ok_or_else(|| Error::internal(format!("the state of commit {} is not at hand", entry.seq())))
    }

    /// How much differs between the states of two commits.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub(crate) fn count(&self, older: &CommitEntry, newer: &CommitEntry) -> Result<ChangeCounts> {
        let mut counts = ChangeCounts::default();
        for change in self.state(older)?.diff(&self.state(newer)?, self) {
            let change = change?;
            counts.add(change.old.is_some(), change.new.is_some());
        }
        Ok(counts)
    }

    /// Looks up what rollbacks took away and is not noted yet: costs what they changed.
    pub(super) fn settle(&self) -> Result<()> {
        // Looked up beside readers; only the one who writes gets here, so nothing is left in between.
        let left = self.catalog.read_recursive().left();
        if left.is_empty() {
            return Ok(());
        }
        let mut gone: Vec<(KeyPath, i64)> = Vec::new();
        for (left, after) in left {
            for change in self.state(&left)?.diff(&self.state(&after)?, self) {
                let change = change?;
                if let (Some(old), None) = (change.old, change.new) {
                    gone.push((change.key, old.created));
                }
            }
        }
        self.catalog.write().settle(gone);
        Ok(())
    }
}

impl NodeSource for Store {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        Err(Error::internal(format!(
            "no checkpoint has the node at place {}",
            stored.place
        )))
    }

    fn suite(&self) -> HashSuite {
        self.suite
    }
}

/// The nodes of two stores, one of which may have been read before the log was rewritten.
pub(crate) struct BothStores<'a>(pub(crate) &'a Store, pub(crate) &'a Store);

impl NodeSource for BothStores<'_> {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        if self.0.has_node(stored) {
            self.0.load(stored)
        } else {
            self.1.load(stored)
        }
    }

    fn suite(&self) -> HashSuite {
        self.0.suite
    }
}

impl Store {
    /// Whether the node is one of this store's.
    fn has_node(&self, _stored: &StoredNode) -> bool {
        false
    }
}
