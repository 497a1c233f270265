//! The log up to the position of a checkpoint. It is read from the checkpoint, or from the log itself if the checkpoint
//! is damaged.
//!
//! Each block of a checkpoint is checked at its first read. If a block is damaged, the log is read from its start into
//! a separate store, which gives every answer from then on. So the damage only costs time.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - BAS-1: an answer from the log equals the answer of an undamaged checkpoint, including places and indexes in the
//!   line.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::digest::{CommitDigest, DIGEST_LEN, KeyPath, Root};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Locator, Position};
use crate::object::{HistoryTree, Reference};
use crate::threads::Mutex;
use crate::trie::{NodeSource, Saver, StoredNode, Trie, stored_digest};

use super::Store;
use super::checkpoint::{Checkpoint, ChildRow, CommitRow, DigestRow, Rows, StateRow, bisect};
use super::commits::{ChangeCounts, CommitEntry, Gap};

/// The lowest place of a node that was read from the log. No checkpoint file is long enough to contain such a place.
const FROM_LOG: u64 = 1 << 63;

/// Reads the log from its start up to the batch with this number, and uses no checkpoint.
pub(crate) type Reread = Box<dyn Fn(u64) -> Result<Store> + Send + Sync>;

/// A checkpoint, and the log that can replace it.
pub(super) struct Base {
    checkpoint: Checkpoint,
    reread: Reread,
    from_log: OnceLock<FromLog>,
    reading: Mutex<()>,
}

/// The store read from the log, which replaces a damaged checkpoint.
struct FromLog {
    store: Store,
    /// The nodes of all states.
    nodes: Vec<Vec<u8>>,
    by_digest: HashMap<[u8; DIGEST_LEN], usize>,
}

impl Base {
    pub(super) fn new(checkpoint: Checkpoint, reread: Reread) -> Self {
        Self {
            checkpoint,
            reread,
            from_log: OnceLock::new(),
            reading: Mutex::new(()),
        }
    }

    pub(super) fn position(&self) -> Position {
        self.checkpoint.position()
    }

    /// Returns the answer of the checkpoint, or that of the log if the checkpoint is damaged.
    fn ask<T>(
        &self,
        ask: impl Fn(&Checkpoint) -> Result<T>,
        instead: impl FnOnce(&FromLog) -> Result<T>,
    ) -> Result<T> {
        if let Some(from_log) = self.from_log.get() {
            return instead(from_log);
        }
        match ask(&self.checkpoint) {
            Err(error) if error.code() == ErrorCode::CheckpointDamaged => instead(self.read_log()?),
            answer => answer,
        }
    }

    fn read_log(&self) -> Result<&FromLog> {
        let _reading = self.reading.lock();
        if let Some(known) = self.from_log.get() {
            return Ok(known);
        }
        let read = FromLog::new((self.reread)(self.position().batch)?)?;
        Ok(self.from_log.get_or_init(|| read))
    }

    /// Returns the number of versions of objects, and the number of erased ones.
    pub(super) fn versions(&self) -> (u64, u64) {
        (self.checkpoint.versions(), self.checkpoint.erased())
    }

    pub(super) fn history(&self) -> Result<HistoryTree> {
        self.ask(Checkpoint::history, |log| Ok(log.store.history()))
    }

    /// Returns the places where an object record with this digest may be, or a content or text record.
    pub(super) fn places(&self, of_objects: bool, digest: &[u8; DIGEST_LEN]) -> Result<Vec<Locator>> {
        let rows = |checkpoint: &Checkpoint| {
            let rows = if of_objects {
                checkpoint.objects()
            } else {
                checkpoint.texts()
            };
            rows.find(digest)?
                .map(|place| place.map(Locator::from_u64))
                .collect()
        };
        self.ask(rows, |log| Ok(log.store.records.candidates(of_objects, digest)))
    }

    /// Returns all rows of one of the digest tables, for the next checkpoint.
    pub(super) fn digest_rows(&self, of_objects: bool) -> Box<dyn Iterator<Item = Result<DigestRow>> + '_> {
        match self.from_log.get() {
            Some(log) => Box::new(log.store.records.rows(of_objects).into_iter().map(Ok)),
            None if of_objects => Box::new(self.checkpoint.objects().iter()),
            None => Box::new(self.checkpoint.texts().iter()),
        }
    }

    /// Returns the number of commits.
    pub(super) fn len(&self) -> usize {
        self.checkpoint.commits().len() as usize
    }

    pub(super) fn row(&self, index: usize) -> Result<CommitRow> {
        let missing = || Error::internal(format!("row {index} of the commits does not exist"));
        self.ask(
            |checkpoint| checkpoint.commits().get(index as u64)?.ok_or_else(missing),
            |log| {
                let entry = log.store.commit_at(index)?.ok_or_else(missing)?;
                Ok(row_of(&entry))
            },
        )
    }

    /// Returns the first row for which `holds` is true. If `holds` is true for a row, it must be true for all later
    /// rows.
    pub(super) fn first_where(&self, holds: impl Fn(&CommitRow) -> bool) -> Result<usize> {
        let first = bisect(0..self.len() as u64, |index| {
            Ok(!holds(&self.row(index as usize)?))
        })?;
        Ok(first as usize)
    }

    /// Returns the rows whose commit digest, or root, is between `low` and `high`, in rising order. Several rows may
    /// have the same root.
    pub(super) fn rows_between(
        &self,
        by_root: bool,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<Vec<usize>> {
        let between = |checkpoint: &Checkpoint| {
            let rows: Rows<'_, DigestRow> = if by_root {
                checkpoint.commits_by_root()
            } else {
                checkpoint.commits_by_digest()
            };
            let rows = rows.between(low, high)?;
            rows.map(|row| row.map(|row| row.value as usize))
                .collect::<Result<Vec<_>>>()
        };
        let candidates = self.ask(between, |_| Ok((0..self.len()).collect()))?;
        let mut found = Vec::new();
        for index in candidates {
            let row = self.row(index)?;
            let digest = if by_root {
                row.root.as_bytes()
            } else {
                row.digest.as_bytes()
            };
            if (low..=high).contains(&digest) {
                found.push(index);
            }
        }
        Ok(found)
    }

    pub(super) fn by_digest(&self, digest: CommitDigest) -> Result<Option<usize>> {
        let found = self.rows_between(false, digest.as_bytes(), digest.as_bytes())?;
        Ok(found.first().copied())
    }

    /// Returns the newest commit before row `before` whose root is `root`.
    pub(super) fn by_root(&self, root: Root, before: usize) -> Result<Option<usize>> {
        let found = self.rows_between(true, root.as_bytes(), root.as_bytes())?;
        Ok(found.into_iter().filter(|index| *index < before).max())
    }

    pub(super) fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        self.ask(
            |checkpoint| checkpoint.first_written(key),
            |log| log.store.first_written(key),
        )
    }

    pub(super) fn first_written_rows(&self) -> Result<Vec<(KeyPath, i64)>> {
        self.ask(
            |checkpoint| {
                let rows = checkpoint.first_written_rows().iter();
                rows.map(|row| row.map(|row| (row.key, row.created))).collect()
            },
            |log| Ok(log.store.first_written_overlay()),
        )
    }

    pub(super) fn gaps(&self) -> Result<Vec<Gap>> {
        self.ask(
            |checkpoint| checkpoint.gaps().iter().collect(),
            |log| Ok(log.store.gaps()),
        )
    }

    /// Returns the references written up to the position, in the order of the log.
    pub(super) fn references(&self) -> Result<Vec<(u64, Reference)>> {
        let bad = |error: crate::codec::DecodeError| {
            Error::corrupt(format!("{}: a reference: {error}", self.checkpoint.name()))
                .with_code(ErrorCode::CheckpointDamaged)
        };
        self.ask(
            |checkpoint| {
                let rows = checkpoint.references();
                rows.map(|row| {
                    let (batch, bytes) = row?;
                    Ok((batch, Reference::decode(&bytes).map_err(bad)?))
                })
                .collect()
            },
            |log| {
                let references = log.store.references();
                let entries = references.iter();
                let mut found: Vec<_> = entries
                    .map(|entry| (entry.batch, entry.reference.clone()))
                    .collect();
                found.sort_by_key(|(batch, _)| *batch);
                Ok(found)
            },
        )
    }

    /// Returns the newest stored state up to commit `seq`, and the batch of the next stored state. If there is no next
    /// one, returns the last covered batch.
    pub(super) fn state_upto(&self, seq: u64) -> Result<(Option<StateRow>, u64)> {
        let mut found = None;
        for row in self.states()? {
            if row.seq > seq {
                return Ok((found, row.position.batch));
            }
            found = Some(row);
        }
        Ok((found, self.position().batch))
    }

    /// Returns the objects that may have this parent in the checkpoint's state. Returns `None` if they are unknown.
    pub(super) fn children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>> {
        if self.from_log.get().is_some() {
            return Ok(None);
        }
        match self.checkpoint.children(parent) {
            Err(error) if error.code() == ErrorCode::CheckpointDamaged => Ok(None),
            other => other.map(Some),
        }
    }

    /// Switches from the checkpoint to the log. Returns whether this call made the switch.
    pub(super) fn turn_to_log(&self) -> Result<bool> {
        let is_new = self.from_log.get().is_none();
        self.read_log()?;
        Ok(is_new)
    }

    /// Returns the parents of the objects in the checkpoint's state, for the next checkpoint. Returns `None` if they
    /// are unknown.
    pub(super) fn child_rows(&self) -> Option<impl Iterator<Item = Result<ChildRow>> + '_> {
        let is_whole = self.from_log.get().is_none();
        is_whole.then(|| self.checkpoint.child_rows().iter())
    }

    /// Returns all stored states, for the next checkpoint.
    pub(super) fn states(&self) -> Result<Vec<StateRow>> {
        self.ask(
            |checkpoint| checkpoint.states().iter().collect(),
            |_| Ok(Vec::new()),
        )
    }

    /// Returns the state of a commit if the log was read, because all states are in memory then.
    pub(super) fn state_from_log(&self, seq: u64) -> Result<Option<Trie>> {
        let Some(log) = self.from_log.get() else {
            return Ok(None);
        };
        let entry = log.store.by_seq(seq)?;
        entry.map(|entry| log.store.state(&entry)).transpose()
    }

    /// Returns whether the node is in this checkpoint.
    pub(super) fn has_node(&self, stored: &StoredNode) -> bool {
        stored.place & FROM_LOG != 0 || self.checkpoint.has_node(stored)
    }

    pub(super) fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        if stored.place & FROM_LOG != 0 {
            return self.read_log()?.node(&stored.digest);
        }
        self.ask(
            |checkpoint| checkpoint.load(stored),
            |log| log.node(&stored.digest),
        )
    }
}

/// Returns the row of a commit for a checkpoint.
pub(super) fn row_of(entry: &CommitEntry) -> CommitRow {
    CommitRow {
        seq: entry.seq(),
        batch: entry.batch,
        time: entry.commit.time.as_micros(),
        digest: entry.digest,
        root: entry.commit.root,
        place: entry.place.to_u64(),
        lane: lane_number(entry.lane()),
        counts: entry.counts.get().copied() as Option<ChangeCounts>,
        delta: entry.map_record.map_or(0, Locator::to_u64),
    }
}

/// Returns a number for a lane, to compare rows quickly. Two lanes may have the same number, so the name decides.
pub(super) fn lane_number(lane: &str) -> u64 {
    let hash = crc32c::crc32c(lane.as_bytes());
    (lane.len() as u64) << 32 | u64::from(hash)
}

impl FromLog {
    fn new(store: Store) -> Result<Self> {
        let mut nodes: Vec<Vec<u8>> = Vec::new();
        let mut write = |node: &[u8]| {
            nodes.push(node.to_vec());
            Ok(FROM_LOG | nodes.len() as u64)
        };
        let tries: Vec<Trie> = (0..store.kept())
            .filter_map(|index| store.commit_at(index).transpose())
            .map(|entry| store.state(&*entry?))
            .collect::<Result<_>>()?;
        let mut saver = Saver::new(&store, &mut write);
        for trie in &tries {
            saver.save(trie)?;
        }
        let suite = store.suite;
        let by_digest = nodes.iter().enumerate();
        let by_digest = by_digest.filter_map(|(index, node)| Some((stored_digest(node, suite)?, index)));
        let by_digest = by_digest.collect();
        Ok(Self {
            store,
            nodes,
            by_digest,
        })
    }

    fn node(&self, digest: &[u8; DIGEST_LEN]) -> Result<Vec<u8>> {
        let node = self
            .by_digest
            .get(digest)
            .and_then(|index| self.nodes.get(*index));
        node.cloned().ok_or_else(|| {
            Error::corrupt("a node of a damaged checkpoint is missing from every state of the log")
        })
    }
}
