//! The catalog of the log: the line of commits, the references, and the first times of ids that left the state.
//!
//! # Layer
//! L4. Derived: rebuilt from the log at open.
//!
//! # Invariants
//! - CTL-3: `unlinked` with what rollbacks left behind knows every id that some state had and the newest has not;
//!   a rollback costs the same at any size, so what it took away is looked up at the next commit that links something.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{HashSuite, KeyPath};
use crate::object::HistoryTree;

use super::commits::{CommitEntry, Line};
use super::references::References;

/// All of it, under one lock.
pub(super) struct Catalog {
    pub(super) line: Line,
    pub(super) references: References,
    /// The tree over the line, thinned commits included.
    pub(super) history: HistoryTree,
    /// When the ids were first written that were unlinked since.
    unlinked: HashMap<KeyPath, i64>,
    /// Commits whose state was left by a rollback, each with the one that left it, and whose ids are not in `unlinked` yet.
    left: Vec<(Arc<CommitEntry>, Arc<CommitEntry>)>,
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

    /// When an id was first written that the newest state does not have (CTL-3).
    pub(super) fn first_written(&self, key: &KeyPath) -> Option<i64> {
        self.unlinked.get(key).copied()
    }

    /// All ids that were unlinked, with the time at which they were first written.
    pub(super) fn all_first_written(&self) -> Vec<(KeyPath, i64)> {
        self.unlinked
            .iter()
            .map(|(key, created)| (*key, *created))
            .collect()
    }

    /// The states that rollbacks left and that are not looked through yet, each with the one after it.
    pub(super) fn left(&self) -> Vec<(Arc<CommitEntry>, Arc<CommitEntry>)> {
        self.left.clone()
    }

    /// Notes the ids that those states had and the next ones lack (CTL-3).
    pub(super) fn flush(&mut self, gone: Vec<(KeyPath, i64)>) {
        for (key, created) in gone {
            self.note_unlinked(key, created);
        }
        self.left.clear();
    }

    pub(super) fn note_unlinked(&mut self, key: KeyPath, created: i64) {
        let known = self.unlinked.entry(key).or_insert(created);
        *known = (*known).min(created);
    }

    pub(super) fn note_left(&mut self, left: Arc<CommitEntry>, after: Arc<CommitEntry>) {
        self.left.push((left, after));
    }
}
