//! The commits and states that the checkpoint covers.
//!
//! The checkpoint contains some states. For any other state, the log is replayed from the nearest older stored state. The
//! replay also computes the states of the other commits in this part of the log, and they are cached.
//!
//! # Layer
//! Layer 4.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, Root};
use crate::error::{Error, Result};
use crate::log::Position;
use crate::threads::Mutex;
use crate::trie::{NodeSource, Shape, StoredNode, Trie};

use super::base::Base;
use super::commits::CommitEntry;
use super::past::{Replay, Runs, states_behind};
use super::rows::Rows;
use super::shared::Shared;

/// The maximal number of cached commits.
const COMMITS_KEPT: usize = 8_192;

/// The checkpoint, with a cache of its commits and states.
pub(super) struct Covered {
    pub(super) base: Arc<Base>,
    shared: Arc<Shared>,
    commits: Mutex<HashMap<usize, Arc<CommitEntry>>>,
    runs: Mutex<Runs>,
}

impl Covered {
    pub(super) fn new(base: Arc<Base>, shared: Arc<Shared>) -> Self {
        Self {
            base,
            shared,
            commits: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    /// Returns the state of the commit with this seq.
    fn state_at(&self, seq: u64) -> Result<Trie> {
        if let Some(trie) = self.runs.lock().find(seq) {
            return Ok(trie);
        }
        let (stored, upto) = self.base.state_upto(seq)?;
        let (trie, from) = match stored {
            Some(row) => {
                let trie = Trie::from_stored(row.top(), self)?;
                if row.seq == seq {
                    return Ok(trie);
                }
                (trie, row.position)
            }
            None => (Trie::new(), Position::START),
        };
        let replay = Replay {
            shared: &self.shared,
            nodes: self,
            first_written: &|key| self.first_written(key),
            older: &|root, before| self.older_state(root, before),
        };
        let run = states_behind(&replay, trie, &mut |visit| {
            self.shared.main_batches(&from, upto, visit)
        })?;
        self.runs.lock().keep(seq, run)
    }

    /// Returns the state of the newest commit with this root whose seq is below `before`.
    pub(super) fn older_state(&self, root: Root, before: u64) -> Result<Option<Trie>> {
        let below = self.base.first_where(|row| row.seq >= before)?;
        let Some(index) = self.base.newest(true, root.as_bytes(), below)? else {
            return Ok(None);
        };
        let row = self.base.row(index)?;
        self.state_at(row.seq).map(Some)
    }
}

impl Rows for Covered {
    fn digest(&self, index: usize) -> Result<(u64, CommitDigest)> {
        let row = self.base.row(index)?;
        Ok((row.seq, row.digest))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn last_batch(&self) -> u64 {
        self.base.position().batch
    }

    fn commit(&self, index: usize) -> Result<Arc<CommitEntry>> {
        if let Some(known) = self.commits.lock().get(&index) {
            return Ok(Arc::clone(known));
        }
        let entry = Arc::new(self.shared.records.commit(&self.base.row(index)?)?);
        let mut commits = self.commits.lock();
        if commits.len() >= COMMITS_KEPT {
            commits.clear();
        }
        Ok(Arc::clone(commits.entry(index).or_insert(entry)))
    }

    fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>> {
        let index = self.base.first_where(|row| row.seq >= seq)?;
        let found = index < self.len() && self.base.row(index)?.seq == seq;
        Ok(if found { Ok(index) } else { Err(index) })
    }

    fn newest(&self, by_root: bool, digest: &[u8; DIGEST_LEN], end: usize) -> Result<Option<usize>> {
        self.base.newest(by_root, digest, end)
    }

    fn between(
        &self,
        by_root: bool,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<Vec<([u8; DIGEST_LEN], usize)>> {
        self.base.rows_between(by_root, low, high)
    }

    fn may_be_of_lane(&self, index: usize, number: u64) -> Result<bool> {
        Ok(self.base.row(index)?.lane == number)
    }

    fn state(&self, entry: &CommitEntry) -> Result<Trie> {
        let trie = self.state_at(entry.seq())?;
        if trie.root(self.shared.suite, Shape::State, self)? != entry.commit.root {
            let seq = entry.seq();
            return Err(Error::corrupt(format!(
                "the root of the state of commit {seq} differs from the root in the commit"
            )));
        }
        // Another store may share a commit that is not in this cache, and could not load the stored nodes of this store.
        let cached = self.commits.lock();
        let mut known = cached.values();
        if known.any(|known| std::ptr::eq(Arc::as_ptr(known), entry)) {
            entry.trie.set(&trie);
        }
        Ok(trie)
    }

    fn covered_head(&self) -> Result<Option<Trie>> {
        let newest = self.len().checked_sub(1);
        let newest = newest.map(|newest| self.commit(newest)).transpose()?;
        newest
            .map(|newest| newest.trie.get().map_or_else(|| self.state(&newest), Ok))
            .transpose()
    }

    fn covered_children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>> {
        self.base.ask(|checkpoint| checkpoint.children(parent)).map(Some)
    }

    fn first_written(&self, key: &KeyPath) -> Result<Option<i64>> {
        self.base.ask(|checkpoint| checkpoint.first_written(key))
    }

    fn has_node(&self, stored: &StoredNode) -> bool {
        self.base.has_node(stored)
    }
}

impl NodeSource for Covered {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        self.base.load(stored)
    }

    fn suite(&self) -> HashSuite {
        self.shared.suite
    }
}
