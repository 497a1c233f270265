//! The data that all lines of a store share: the records with the reader of the log, and the references.
//!
//! # Layer
//! Layer 4. Knows no commits and no states.

use std::sync::Arc;

use crate::digest::{CommitDigest, HashSuite};
use crate::error::Result;
use crate::log::{Batch, LogReader, Position};
use crate::object::Reference;
use crate::threads::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::base::Base;
use super::catalog::since;
use super::lines::{Lines, is_of_main};
use super::records::Records;
use super::references::References;

/// The data that all lines of a store share.
pub(crate) struct Shared {
    pub(crate) suite: HashSuite,
    pub(crate) records: Records,
    references: RwLock<Named>,
    lines: RwLock<Lines>,
    /// Locked while a batch of a line is applied, and while a store of a line learns the newest batches.
    pub(super) growing: Mutex<()>,
    /// Locked while what rollbacks removed is moved, because a reader that opens a line does so, too.
    pub(super) flushing: Mutex<()>,
}

/// The references, and their records after the checkpoint, each with the number of its batch, in the order of the log.
#[derive(Default)]
struct Named {
    current: References,
    newer: Vec<(u64, Arc<Reference>)>,
}

impl Shared {
    pub(super) fn new(suite: HashSuite, reader: LogReader, base: Option<Arc<Base>>) -> Self {
        Self {
            suite,
            records: Records::new(suite, reader, base),
            references: RwLock::default(),
            lines: RwLock::default(),
            growing: Mutex::default(),
            flushing: Mutex::default(),
        }
    }

    /// Passes to `visit` the batches of the main line after `from`, up to the number `upto`.
    pub(super) fn main_batches(
        &self,
        from: &Position,
        upto: u64,
        visit: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let reader = self.records.reader();
        reader.batches(from, upto, &mut |batch| {
            if is_of_main(&batch) { visit(batch) } else { Ok(()) }
        })
    }

    /// Removes the automatic snapshots of a line that was dropped.
    pub(super) fn forget_rings(&self, line: &str) {
        self.references.write().current.forget_rings(line);
    }

    /// Returns the lines besides the main one. Writers wait until the caller drops the result.
    pub(crate) fn lines(&self) -> RwLockReadGuard<'_, Lines> {
        self.lines.read_recursive()
    }

    pub(super) fn lines_mut(&self) -> RwLockWriteGuard<'_, Lines> {
        self.lines.write()
    }

    /// Adds a reference that the checkpoint has.
    pub(super) fn add_covered(&self, batch: u64, reference: Reference) {
        self.references.write().current.push(Arc::new(reference), batch);
    }

    /// Adds the references of a batch.
    pub(super) fn add_references(&self, batch: u64, references: Vec<Reference>) {
        if references.is_empty() {
            return;
        }
        let mut named = self.references.write();
        for reference in references.into_iter().map(Arc::new) {
            named.current.push(Arc::clone(&reference), batch);
            named.newer.push((batch, reference));
        }
    }

    /// Takes over the references of the same store with an older checkpoint. `after` is the last batch of this checkpoint.
    pub(super) fn take_over(&self, other: &Self, after: u64) {
        self.records.take_over(&other.records, after);
        let known = other.references.read_recursive();
        *self.references.write() = Named {
            current: known.current.clone(),
            newer: since(&known.newer, after).to_vec(),
        };
        self.lines.write().take_over(other.lines().iter().cloned());
    }

    /// Returns the current references. Writers wait until the caller drops the result.
    pub(crate) fn references(&self) -> MappedRwLockReadGuard<'_, References> {
        RwLockReadGuard::map(self.references.read_recursive(), |named| &named.current)
    }

    /// Returns the records of references after a batch, in the order of the log, each with the number of its batch.
    pub(super) fn references_since(&self, batch: u64) -> Vec<(u64, Arc<Reference>)> {
        since(&self.references.read_recursive().newer, batch).to_vec()
    }

    /// Returns the number of records of references after the checkpoint.
    pub(super) fn newer_references(&self) -> usize {
        self.references.read_recursive().newer.len()
    }

    /// Takes the commits that lost their last name since the previous call, and gives `examine` the names that are left.
    ///
    /// The references are locked before the catalog of a line, never after.
    pub(super) fn with_released<T>(&self, examine: impl FnOnce(Vec<CommitDigest>, &References) -> T) -> T {
        let mut named = self.references.write();
        let released = named.current.take_released();
        examine(released, &named.current)
    }
}
