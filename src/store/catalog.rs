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
use crate::object::{HistoryTree, Reference};

use super::checkpoint::FirstWritten;
use super::commits::{CommitEntry, Line};
use super::references::References;

/// The catalog, which one lock protects.
pub(super) struct Catalog {
    pub(super) line: Line,
    pub(super) references: References,
    /// The records of references after the checkpoint, each with the number of its batch, in the order of the log.
    pub(super) reference_records: Vec<(u64, Arc<Reference>)>,
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
            references: References::default(),
            reference_records: Vec::new(),
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

    /// Adds a reference of a batch.
    pub(super) fn add_reference(&mut self, batch: u64, reference: Reference) {
        let reference = Arc::new(reference);
        self.references.push(Arc::clone(&reference), batch);
        self.reference_records.push((batch, reference));
    }

    /// Returns the commits whose states need not stay in memory any more (CTL-4): `recent` changes follow the next commit.
    pub(super) fn outdated(&mut self, recent: u64) -> Vec<Arc<CommitEntry>> {
        let mut outdated = Vec::new();
        for digest in self.references.take_released() {
            outdated.extend(self.line.outdated(&digest));
        }
        outdated.extend(std::iter::from_fn(|| self.line.next_outdated(recent)));
        outdated.retain(|entry| !self.references.names(&entry.digest));
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
            references: self.references.clone(),
            reference_records: since(&self.reference_records, batch).to_vec(),
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
