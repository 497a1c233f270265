//! The catalog of the log: the kept commits, the references, and the first write times of removed ids.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening.
//!
//! # Invariants
//! - CTL-3: `unlinked` and the states in `left` together contain every id that some earlier state contains and the
//!   newest state lacks. A rollback only adds to `left`, so its cost does not depend on the size of the state. The next
//!   commit that changes the state looks up the ids that rollbacks removed.

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
    /// The history tree over all commits, including thinned commits.
    pub(super) history: HistoryTree,
    /// The first write time of ids that the newest state lacks.
    pub(super) unlinked: HashMap<KeyPath, i64>,
    /// The rollbacks whose removed ids are not in `unlinked` yet: the commit before each rollback, and the rollback.
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

    /// Adds an id that a commit removed from the state, with the time of the id's first write.
    pub(super) fn note_unlinked(&mut self, key: KeyPath, created: i64) {
        let known = self.unlinked.entry(key).or_insert(created);
        *known = (*known).min(created);
    }
}
