//! The catalog of the log: the line of kept commits, the references, and the times of the first writes of ids that left
//! the state.
//!
//! # Layer
//! L4. Derived: rebuilt from the log at open.
//!
//! # Invariants
//! - CTL-3: `unlinked` and the states in `left` together know every id that some state had and the newest lacks.
//!   Rollbacks cost the same at any size: only the next commit that links an object looks up the ids that they removed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath};
use crate::object::HistoryTree;

use super::commits::{CommitEntry, Line};
use super::references::References;

/// The catalog, under one lock.
pub(super) struct Catalog {
    pub(super) line: Line,
    pub(super) references: References,
    /// The tree over the line, including thinned commits.
    pub(super) history: HistoryTree,
    /// Time of the first write of each id that is unlinked now.
    pub(super) unlinked: HashMap<KeyPath, i64>,
    /// The states that rollbacks replaced, each as its commit with the rollback. Their ids are not in `unlinked` yet.
    pub(super) left: Vec<(Arc<CommitEntry>, Arc<CommitEntry>)>,
}

impl Catalog {
    pub(super) fn new(suite: HashSuite) -> Self {
        Self {
            line: Line::default(),
            references: References::default(),
            history: HistoryTree::new(suite),
            unlinked: HashMap::new(),
            left: Vec::new(),
        }
    }

    /// Adds an id that left the state, with the time of its first write.
    pub(super) fn note_unlinked(&mut self, key: KeyPath, created: i64) {
        let known = self.unlinked.entry(key).or_insert(created);
        *known = (*known).min(created);
    }
}
