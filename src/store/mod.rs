//! Where trie and objects meet the log: batches become commits, states, references and history.
//!
//! There is one way in, [`Store::apply`]: a batch read at open, a batch of another process and a batch that
//! this process has just made durable all take it, so memory cannot say anything that the log does not.
//!
//! # Layer
//! L4. Knows what records mean. Holds no draft, takes no lock file, reads no clock.
//!
//! # Invariants
//! - STO-1: a commit is taken in only if its parent, number, time, history root and root come out as it says.
//! - STO-2: what is published is in the log; nothing in memory is ahead of it.

mod catalog;
mod records;
mod replay;
mod versions;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::RwLock;

use crate::digest::HashSuite;
use crate::error::{Error, Result};
use crate::log::{Batch, LogReader};
use crate::object::HistoryTree;

pub use catalog::ChangeCounts;
pub(crate) use catalog::{Catalog, CommitEntry, RING, ReferenceEntry, lane_of};
pub(crate) use records::Records;
pub(crate) use replay::StagedState;

/// The history tree of the store's own hash.
pub(crate) type CommitHistory = HistoryTree;

/// What is shared by all readers and the one writer of this process.
pub(crate) struct Store {
    pub(crate) suite: HashSuite,
    pub(crate) records: Records,
    pub(crate) catalog: RwLock<Catalog>,
    head: ArcSwapOption<CommitEntry>,
}

impl Store {
    pub(crate) fn new(suite: HashSuite, reader: LogReader) -> Self {
        Self {
            suite,
            records: Records::new(suite, reader),
            catalog: RwLock::default(),
            head: ArcSwapOption::empty(),
        }
    }

    /// The newest commit.
    ///
    /// # Errors
    /// `Corrupt` if the log holds no commit at all, which no whole store does.
    pub(crate) fn head(&self) -> Result<Arc<CommitEntry>> {
        self.head
            .load_full()
            .ok_or_else(|| Error::corrupt("the log holds no commit"))
    }

    /// Takes in one durable batch and publishes its commit, if it has one.
    ///
    /// `staged` is the state that this process computed for the batch before writing it.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded or STO-1 does not hold; nothing is published then.
    pub(crate) fn apply(
        &self,
        history: &mut CommitHistory,
        batch: &Batch,
        staged: Option<StagedState>,
    ) -> Result<Option<Arc<CommitEntry>>> {
        let entry = replay::apply(self, history, batch, staged)
            .map_err(|error| error.context(format!("batch {}", batch.number)))?;
        // STO-2: a batch comes from the log, and the head moves last.
        if let Some(entry) = &entry {
            self.head.store(Some(Arc::clone(entry)));
        }
        Ok(entry)
    }
}
