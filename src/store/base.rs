//! Provides the data of the log up to a checkpoint's position. Reads the checkpoint or, if it is damaged, a checkpoint
//! that was rebuilt from the log.
//!
//! The first read of a block checks the block. If the block is damaged, the store reads the log from its start and
//! builds a checkpoint in memory. All later reads use the checkpoint in memory. So damage to a checkpoint costs only
//! time.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - BAS-1: the rebuilt checkpoint returns the same data as an undamaged checkpoint, including the locators of records
//!   and the indexes of commits.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::digest::DIGEST_LEN;
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Locator, Position};
use crate::object::Reference;
use crate::threads::Mutex;
use crate::trie::{NodeSource, StoredNode};

use super::checkpoint::{Checkpoint, CommitRow, LogId, StateRow, bisect};
use super::commits::CommitEntry;
use super::references::decode_reference;

/// Reads the log from its start up to a position, without a checkpoint, and makes a checkpoint in memory.
pub(crate) type Reread = Box<dyn Fn(LogId, Position) -> Result<Checkpoint> + Send + Sync>;

/// A checkpoint, and the function that rebuilds it from the log.
pub(super) struct Base {
    file: Checkpoint,
    reread: Reread,
    rebuilt: OnceLock<Rebuilt>,
    rebuilding: Mutex<()>,
}

/// The checkpoint that was rebuilt from the log because the file is damaged.
struct Rebuilt {
    /// A checkpoint with the states of all commits, so it contains every node of the damaged file.
    checkpoint: Checkpoint,
    /// The place of each node, by digest. Tries that were loaded earlier contain places in the damaged files, so nodes are
    /// found by digest.
    nodes: HashMap<[u8; DIGEST_LEN], u64>,
}

impl Base {
    pub(super) fn new(file: Checkpoint, reread: Reread) -> Self {
        Self {
            file,
            reread,
            rebuilt: OnceLock::new(),
            rebuilding: Mutex::new(()),
        }
    }

    /// Returns the checkpoint in the files.
    pub(super) fn file(&self) -> Checkpoint {
        self.file.clone()
    }

    pub(super) fn position(&self) -> Position {
        self.file.position()
    }

    /// Returns the checkpoint in use: the rebuilt checkpoint, or else the checkpoint in the file.
    pub(super) fn checkpoint(&self) -> &Checkpoint {
        let rebuilt = self.rebuilt.get();
        rebuilt.map_or(&self.file, |rebuilt| &rebuilt.checkpoint)
    }

    /// Calls `ask` with the checkpoint in use. If the checkpoint is damaged, rebuilds it and calls `ask` again.
    pub(super) fn ask<T>(&self, ask: impl Fn(&Checkpoint) -> Result<T>) -> Result<T> {
        match ask(self.checkpoint()) {
            Err(error) if error.code() == ErrorCode::CheckpointDamaged => ask(self.rebuild()?),
            answer => answer,
        }
    }

    /// Returns the rebuilt checkpoint. The first call reads the log to build it.
    pub(super) fn rebuild(&self) -> Result<&Checkpoint> {
        let _rebuilding = self.rebuilding.lock();
        if self.rebuilt.get().is_none() {
            let checkpoint = (self.reread)(self.file.log(), self.position())?;
            let nodes = checkpoint.nodes()?;
            self.rebuilt.get_or_init(|| Rebuilt { checkpoint, nodes });
        }
        Ok(self.checkpoint())
    }

    /// Returns the locators of records that may have this digest: object records if `of_objects` is true, or else
    /// contents and texts.
    pub(super) fn places(&self, of_objects: bool, digest: &[u8; DIGEST_LEN]) -> Result<Vec<Locator>> {
        self.ask(|checkpoint| {
            let rows = checkpoint.digests(of_objects).between(digest, digest)?;
            rows.map(|row| Ok(Locator::from_u64(row?.value))).collect()
        })
    }

    /// Returns the number of commits in the checkpoint.
    pub(super) fn len(&self) -> usize {
        self.file.commits().len() as usize
    }

    pub(super) fn row(&self, index: usize) -> Result<CommitRow> {
        self.ask(|checkpoint| checkpoint.commits().row(index as u64))
    }

    /// Returns the index of the first commit row for which `holds` is true. If `holds` is true for a row, it must be
    /// true for all later rows.
    pub(super) fn first_where(&self, holds: impl Fn(&CommitRow) -> bool) -> Result<usize> {
        let first = bisect(0..self.len() as u64, |index| {
            Ok(!holds(&self.row(index as usize)?))
        })?;
        Ok(first as usize)
    }

    /// Returns the commit digests between `low` and `high` in rising order, each with the index of its row. If
    /// `by_root` is true, returns roots instead of digests. Rows with equal roots are in rising order of their indexes.
    pub(super) fn rows_between(
        &self,
        by_root: bool,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<Vec<([u8; DIGEST_LEN], usize)>> {
        self.ask(|checkpoint| {
            let mut found = Vec::new();
            for row in checkpoint.commit_index(by_root).between(low, high)? {
                let index = row?.value;
                let row = checkpoint.commits().row(index)?;
                let digest = row.indexed(by_root);
                if (low..=high).contains(&digest) {
                    found.push((*digest, index as usize));
                }
            }
            Ok(found)
        })
    }

    /// Returns the last row before row `before` whose root is `digest` if `by_root` is true, or else whose commit
    /// digest is `digest`.
    pub(super) fn newest(
        &self,
        by_root: bool,
        digest: &[u8; DIGEST_LEN],
        before: usize,
    ) -> Result<Option<usize>> {
        let found = self.rows_between(by_root, digest, digest)?.into_iter();
        Ok(found
            .map(|(_, index)| index)
            .filter(|index| *index < before)
            .max())
    }

    /// Returns the references in the checkpoint with their batch numbers, in the order of the log.
    pub(super) fn references(&self) -> Result<Vec<(u64, Reference)>> {
        self.ask(|checkpoint| {
            let references = checkpoint.references()?.into_iter();
            let decode = |(batch, bytes): (u64, Vec<u8>)| Ok((batch, decode_reference(&bytes)?));
            references.map(decode).collect()
        })
    }

    /// Returns the stored states, oldest first. The last one is the state of the newest commit in the checkpoint.
    pub(super) fn states(&self) -> Result<Vec<StateRow>> {
        self.ask(|checkpoint| checkpoint.states().iter().collect())
    }

    /// Returns the newest stored state up to commit `seq`, and the batch of the next stored state. If there is no later
    /// stored state, returns the last batch that the checkpoint covers.
    pub(super) fn state_upto(&self, seq: u64) -> Result<(Option<StateRow>, u64)> {
        self.ask(|checkpoint| {
            let mut found = None;
            for row in checkpoint.states().iter() {
                let row = row?;
                if row.seq > seq {
                    return Ok((found, row.position.batch));
                }
                found = Some(row);
            }
            Ok((found, self.position().batch))
        })
    }

    /// Returns whether this checkpoint contains the node.
    pub(super) fn has_node(&self, stored: &StoredNode) -> bool {
        self.file.has_node(stored)
    }

    pub(super) fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        self.ask(|checkpoint| match self.rebuilt.get() {
            None => checkpoint.load(stored),
            Some(rebuilt) => {
                let place = *rebuilt.nodes.get(&stored.digest).ok_or_else(|| {
                    Error::corrupt("a node of a damaged checkpoint is missing from every state of the log")
                })?;
                rebuilt.checkpoint.load(&StoredNode { place, ..*stored })
            }
        })
    }
}

/// Converts a commit to a row of a checkpoint.
pub(super) fn row_of(entry: &CommitEntry) -> CommitRow {
    CommitRow {
        seq: entry.seq(),
        batch: entry.batch,
        time: entry.commit.time.as_micros(),
        digest: entry.digest,
        root: entry.commit.root,
        place: entry.place.to_u64(),
        lane: lane_number(entry.commit.lane()),
        counts: entry.counts.get().copied(),
        delta: entry.map_record.map_or(0, Locator::to_u64),
    }
}

/// Returns a hash of a lane's name, to compare rows quickly. Two lanes may have the same hash, so the caller must also
/// compare the names.
pub(super) fn lane_number(lane: &str) -> u64 {
    let hash = crc32c::crc32c(lane.as_bytes());
    (lane.len() as u64) << 32 | u64::from(hash)
}
