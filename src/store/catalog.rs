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

use crate::digest::{CommitDigest, HashSuite, KeyPath};
use crate::object::HistoryTree;

use super::checkpoint::FirstWritten;
use super::commits::{CommitEntry, Line};

/// The catalog, which one lock protects.
pub(super) struct Catalog {
    pub(super) line: Line,
    /// The history tree over all commits, including thinned commits.
    pub(super) history: HistoryTree,
    /// The first write time of ids that the newest state lacks.
    pub(super) unlinked: HashMap<KeyPath, i64>,
    /// The additions to `unlinked`, each with the number of its batch, in the order of the log.
    pub(super) unlinked_since: Vec<(u64, FirstWritten)>,
    /// The newest batch that may have changed the tree of parents. A checkpoint up to an earlier batch has all its rows.
    pub(super) tree_changed: u64,
    /// The rollbacks whose removed ids are not in `unlinked` yet: the commit before each rollback, and the rollback.
    pub(super) left: Vec<(Arc<CommitEntry>, Arc<CommitEntry>)>,
}

impl Catalog {
    pub(super) fn new(suite: HashSuite) -> Self {
        Self {
            line: Line::default(),
            history: HistoryTree::new(suite),
            unlinked: HashMap::new(),
            unlinked_since: Vec::new(),
            tree_changed: 0,
            left: Vec::new(),
        }
    }

    /// Adds an id that a commit removed from the state, with the time of the id's first write. `batch` is the batch that
    /// is being applied.
    pub(super) fn note_unlinked(&mut self, batch: u64, row: FirstWritten) {
        let known = self.unlinked.entry(row.key).or_insert(row.created);
        *known = (*known).min(row.created);
        self.unlinked_since.push((batch, row));
    }

    /// Returns the commits whose states need not stay in memory any more (CTL-4), unless a reference names them: `recent`
    /// changes follow the next commit. `released` lost their last name.
    pub(super) fn outdated(&mut self, released: &[CommitDigest], recent: u64) -> Vec<Arc<CommitEntry>> {
        let released = released.iter().filter_map(|digest| self.line.outdated(digest));
        let mut outdated: Vec<_> = released.collect();
        outdated.extend(std::iter::from_fn(|| self.line.next_outdated(recent)));
        outdated
    }

    /// Returns the part of the catalog after the last batch of a checkpoint.
    pub(super) fn after(&self, batch: u64) -> Self {
        let mut line = Line::default();
        line.gaps.clone_from(&self.line.gaps);
        for entry in self.line.since(batch) {
            line.push(Arc::clone(entry));
        }
        Self {
            line,
            history: self.history.clone(),
            unlinked: since(&self.unlinked_since, batch)
                .iter()
                .map(|(_, row)| (row.key, row.created))
                .collect(),
            unlinked_since: since(&self.unlinked_since, batch).to_vec(),
            tree_changed: self.tree_changed,
            left: self
                .left
                .iter()
                .filter(|(_, after)| after.batch > batch)
                .cloned()
                .collect(),
        }
    }
}

/// Returns the rows of the batches after `batch`.
pub(super) fn since<T>(rows: &[(u64, T)], batch: u64) -> &[(u64, T)] {
    &rows[rows.partition_point(|(number, _)| *number <= batch)..]
}
