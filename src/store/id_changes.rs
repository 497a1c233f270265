//! Finds the changes of one id, newest first.
//!
//! The states of commits after the checkpoint are in memory. For an earlier commit, the search reads the log from the
//! nearest older stored state and follows only the one id, so it builds no state and computes no root. It ends at the
//! first write of the id, and reads only as far back as the caller asks.
//!
//! # Layer
//! Layer 4.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::digest::KeyPath;
use crate::error::{Error, Result};
use crate::log::Position;
use crate::object::Commit;
use crate::threads::{beside, processors};
use crate::trie::Entry;

use super::base::Base;
use super::checkpoint::StateRow;
use super::follow::{Followed, Follower};
use super::{Below, CommitEntry, Store};

/// A commit that changed an id between two kept commits.
pub(crate) struct IdChange {
    pub(crate) commit: Arc<CommitEntry>,
    /// The entry of the id after the commit; `None` if the commit removed the id.
    pub(crate) entry: Option<Entry>,
    /// Whether thinned commits are between the commit and the kept commit before it.
    pub(crate) is_behind_gap: bool,
}

/// The changes of an id in the commits between two stored states.
struct Run {
    /// The entry of the id in the older state.
    first: Option<Entry>,
    /// The changes by the seq of their commit, oldest first.
    changes: Vec<(u64, Option<Entry>)>,
}

impl Run {
    /// Returns the entry of the id after commit `seq` of this run.
    fn at(&self, seq: u64) -> Option<Entry> {
        let until = self.changes.partition_point(|(changed, _)| *changed <= seq);
        let last = until.checked_sub(1).and_then(|last| self.changes.get(last));
        last.map_or(self.first, |(_, entry)| *entry)
    }
}

/// A search for the changes of an id.
pub(crate) struct IdChanges {
    store: Arc<Store>,
    key: KeyPath,
    /// The newest entry of the id that the search has seen.
    known: Option<Entry>,
    /// The time of the first write of the id. No older commit contains the id.
    created: i64,
    /// The indexes of the commits after the checkpoint that were not searched yet.
    newer: Range<usize>,
    /// The stored states of the checkpoint, oldest first. Each ends a run.
    states: Vec<StateRow>,
    /// The number of runs that were not searched yet.
    runs_left: usize,
    /// A run that was read beside the one after it, with the index of its last state.
    ahead: Option<(usize, Vec<Followed>)>,
    /// The runs that were searched, by the index of their last state.
    runs: HashMap<usize, Arc<Run>>,
    /// The changes of the last searched run that were not returned yet, oldest first.
    waiting: Vec<(u64, Option<Entry>)>,
    /// The highest seq that is searched.
    upto: u64,
    /// The search in the line at which the line of the store begins, after this one.
    below: Option<Box<Self>>,
}

impl IdChanges {
    /// Starts a search in the kept commits of a store.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the checkpoint cannot be read.
    pub(crate) fn new(store: Arc<Store>, key: KeyPath) -> Result<Self> {
        let newest = store.head()?;
        Self::until(store, key, &newest)
    }

    /// Starts a search in the kept commits of a store up to `newest`.
    pub(crate) fn until(store: Arc<Store>, key: KeyPath, newest: &CommitEntry) -> Result<Self> {
        let covered = store.covered();
        let mut states = covered.map_or(Ok(Vec::new()), |covered| covered.base.states())?;
        let upto = newest.seq();
        let (Ok(end) | Err(end)) = store.position(upto + 1)?;
        let mut newer = store.base_len().min(end)..end;
        // The run that ends at the first state from `newest` on contains `newest`.
        let runs = states.partition_point(|state| state.seq < upto) + 1;
        states.truncate(runs);
        let known = store.state(newest)?.get(&key, &*store)?;
        let created = store.earliest(&key, known.as_ref())?;
        let below = match &store.below {
            Below::Line(up_to) if created.is_some() => {
                let below = Self::until(Arc::clone(&up_to.store), key, &up_to.base)?;
                Some(Box::new(below))
            }
            _ => None,
        };
        if created.is_none() {
            (states, newer) = (Vec::new(), 0..0);
        }
        Ok(Self {
            key,
            known,
            created: created.unwrap_or_default(),
            newer,
            runs_left: states.len(),
            states,
            ahead: None,
            runs: HashMap::new(),
            waiting: Vec::new(),
            upto,
            below,
            store,
        })
    }

    /// Returns the next older change.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit, a state or the log cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<IdChange>> {
        while let Some(index) = self.newer.next_back() {
            let Some(commit) = self
                .store
                .commit_at(index)?
                .filter(|commit| self.may_change(commit))
            else {
                return Ok(None);
            };
            let before = self.store.commit_below(index)?;
            let older = before.map_or(Ok(None), |before| self.entry_in(&before))?;
            let entry = self.entry_in(&commit)?;
            if differ(entry, older) {
                return self.change(commit, entry).map(Some);
            }
        }
        loop {
            if let Some((seq, entry)) = self.waiting.pop() {
                let commit = self.store.by_seq(seq)?;
                let commit = commit.ok_or_else(|| Error::internal("a commit of the log is not kept"))?;
                return self.change(commit, entry).map(Some);
            }
            let Some(run) = self.runs_left.checked_sub(1) else {
                return self.below.as_mut().map_or(Ok(None), |below| below.next());
            };
            let newest = self.store.by_seq(self.states[run].seq)?;
            if newest.is_some_and(|newest| !self.may_change(&newest)) {
                return Ok(None);
            }
            self.runs_left = run;
            let found = self.run(run)?;
            self.waiting.clone_from(&found.changes);
            self.waiting.retain(|(seq, _)| *seq <= self.upto);
            self.known = found.changes.iter().find_map(|(_, entry)| *entry).or(self.known);
        }
    }

    /// Returns whether the commit is not older than the first write of the id.
    fn may_change(&self, commit: &CommitEntry) -> bool {
        commit.commit.time.as_micros() >= self.created
    }

    fn entry_in(&self, commit: &CommitEntry) -> Result<Option<Entry>> {
        self.store.state(commit)?.get(&self.key, &*self.store)
    }

    fn change(&self, commit: Arc<CommitEntry>, entry: Option<Entry>) -> Result<IdChange> {
        let before = self.store.before(&commit)?;
        let follows = before.map_or(0, |before| before.seq() + 1);
        Ok(IdChange {
            is_behind_gap: commit.seq() > follows,
            commit,
            entry,
        })
    }

    /// Returns the changes between the stored state at `end` and the stored state before it.
    fn run(&mut self, end: usize) -> Result<Arc<Run>> {
        if let Some(known) = self.runs.get(&end) {
            return Ok(Arc::clone(known));
        }
        let older = end.checked_sub(1).map(|before| self.states[before].seq);
        let mut run = Run {
            first: older.map_or(Ok(None), |older| self.stored_entry(older))?,
            changes: Vec::new(),
        };
        for followed in self.followed(end)? {
            let before = run.changes.last().map_or(run.first, |(_, entry)| *entry);
            let (seq, entry) = match followed {
                Followed::Changes {
                    seq,
                    mut entry,
                    is_first,
                } => {
                    if let (Some(entry), Some(before), false) = (&mut entry, before, is_first) {
                        entry.created = before.created;
                    }
                    (seq, entry)
                }
                Followed::Reuses(commit) => {
                    let entry = match self.reused(&commit)? {
                        Some(seq) if older.is_none_or(|older| seq > older) => run.at(seq),
                        Some(seq) => {
                            let older = self.states.partition_point(|state| state.seq < seq);
                            self.run(older)?.at(seq)
                        }
                        None => None,
                    };
                    (commit.seq, entry)
                }
            };
            if differ(entry, before) {
                run.changes.push((seq, entry));
            }
        }
        let run = Arc::new(run);
        self.runs.insert(end, Arc::clone(&run));
        Ok(run)
    }

    /// Returns what the commits of a run do to the id. With several processors, reads the next older run at the same
    /// time, because the search probably needs it next.
    fn followed(&mut self, end: usize) -> Result<Vec<Followed>> {
        if let Some(read) = self.ahead.take_if(|(run, _)| *run == end) {
            return Ok(read.1);
        }
        let next = end.checked_sub(1).filter(|next| !self.runs.contains_key(next));
        let Some(next) = next.filter(|_| processors() > 1) else {
            return self.read(end);
        };
        let (found, ahead) = beside(|| self.read(end), || self.read(next));
        // If the older run cannot be read, the search finds the error when it reads that run.
        self.ahead = ahead.ok().map(|read| (next, read));
        found
    }

    /// Reads the log between two stored states.
    fn read(&self, end: usize) -> Result<Vec<Followed>> {
        let older = end.checked_sub(1).map(|before| self.states[before].position);
        let upto = self.states[end].position.batch;
        let mut follower = Follower::new(&self.store, self.key, self.known.as_ref());
        let mut found = Vec::new();
        let reader = self.store.records.reader();
        reader.frames(&older.unwrap_or(Position::START), upto, &mut |frame| {
            found.extend(follower.add(frame)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn stored_entry(&self, seq: u64) -> Result<Option<Entry>> {
        let commit = self.store.by_seq(seq)?;
        let commit = commit.ok_or_else(|| Error::internal("the commit of a stored state is not kept"))?;
        self.entry_in(&commit)
    }

    /// Returns the seq of the older commit whose state a commit without changes reuses. Returns `None` for the first
    /// commit, whose state is empty.
    fn reused(&self, commit: &Commit) -> Result<Option<u64>> {
        let covered = self.store.covered();
        let found = covered.map_or(Ok(None), |covered| older_with_root(&covered.base, commit))?;
        if found.is_none() && commit.seq > 0 {
            let (seq, root) = (commit.seq, commit.root);
            let text = format!("commit {seq} reuses the root {root}, which no earlier commit has");
            return Err(Error::corrupt(text));
        }
        Ok(found)
    }
}

/// Returns the seq of the newest covered commit before `commit` with the same root.
fn older_with_root(base: &Base, commit: &Commit) -> Result<Option<u64>> {
    let own = base.first_where(|row| row.seq >= commit.seq)?;
    let index = base.newest(true, commit.root.as_bytes(), own)?;
    index.map(|index| Ok(base.row(index)?.seq)).transpose()
}

fn differ(one: Option<Entry>, other: Option<Entry>) -> bool {
    one.map(|entry| entry.digest) != other.map(|entry| entry.digest)
}
