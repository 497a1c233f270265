//! The catalog of the log: the kept commits, the references, and the times at which removed ids were first written.
//!
//! # Layer
//! Layer 4. Derived: built again from the log at each opening.
//!
//! # Invariants
//! - CTL-3: `unlinked` and the states in `left` together contain every id that some state had and the newest lacks. So
//!   a rollback costs the same for any size of state. Only the next commit that links an object looks up the ids that
//!   rollbacks removed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath};
use crate::object::HistoryTree;

use super::commits::{CommitEntry, Line};
use super::references::References;

/// The catalog, which one lock protects.
pub(super) struct Catalog {
    pub(super) line: Line,
    pub(super) references: References,
    /// The history tree over the line, including thinned commits.
    pub(super) history: HistoryTree,
    /// The time of the first write of each id that the newest state lacks.
    pub(super) unlinked: HashMap<KeyPath, i64>,
    /// The states that rollbacks replaced: each as its commit and the rollback. Their ids are not in `unlinked` yet.
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
