//! Computes the states of a line from its batches.
//!
//! # Layer
//! Layer 4.

use std::collections::{HashMap, VecDeque};

use crate::digest::{KeyPath, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::Batch;
use crate::object::Commit;
use crate::trie::{NodeSource, Shape, Trie};

use super::decoded::{Decoded, decode, hashed};
use super::edit::{Edit, Removed};
use super::known::Unlinked;
use super::shared::Shared;

/// The maximal number of cached runs. A run contains the states that one replay computed.
const RUNS_KEPT: usize = 4;
/// The maximal number of states in the cached runs, besides those of the newest run.
const STATES_KEPT: usize = 1_024;

/// The states that the newest replays computed, by the seq of their commits. The newest replay is first.
#[derive(Default)]
pub(super) struct Runs(VecDeque<HashMap<u64, Trie>>);

impl Runs {
    /// Returns the state of a commit that a replay computed before.
    pub(super) fn find(&self, seq: u64) -> Option<Trie> {
        self.0.iter().find_map(|run| run.get(&seq).cloned())
    }

    /// Keeps the states of a replay. Returns the state of commit `seq` among them.
    pub(super) fn keep(&mut self, seq: u64, run: HashMap<u64, Trie>) -> Result<Trie> {
        let found = run.get(&seq).cloned();
        let mut states = 0;
        self.0.retain(|run| {
            states += run.len();
            states <= STATES_KEPT
        });
        self.0.push_front(run);
        self.0.truncate(RUNS_KEPT);
        found.ok_or_else(|| Error::corrupt(format!("commit {seq} is missing from the log")))
    }
}

/// The data that a replay needs besides its batches.
pub(super) struct Replay<'a> {
    pub(super) shared: &'a Shared,
    pub(super) nodes: &'a dyn NodeSource,
    /// Returns the time of the first write of an id that neither the state nor the removed ids contain.
    pub(super) first_written: &'a dyn Fn(&KeyPath) -> Result<Option<i64>>,
    /// Returns the state of the newest commit with this root whose seq is below the given one.
    pub(super) older: &'a dyn Fn(Root, u64) -> Result<Option<Trie>>,
}

/// Passes each batch to a function.
type ReadBatches<'a> = dyn FnMut(&mut dyn FnMut(Batch) -> Result<()>) -> Result<()> + 'a;

/// Replays batches of one line from a state of any commit. `read` passes the batches behind that commit to a function.
/// Returns the state of each commit by its seq.
///
/// # Errors
/// `Corrupt` or `Io` if the log cannot be read, or if the root of a state differs from the root in its commit.
pub(super) fn states_behind(
    replay: &Replay<'_>,
    mut trie: Trie,
    read: &mut ReadBatches<'_>,
) -> Result<HashMap<u64, Trie>> {
    let (suite, mut states) = (replay.shared.suite, HashMap::new());
    let mut by_root: HashMap<Root, Trie> = HashMap::new();
    read(&mut |batch| {
        let mut contents = decode(&batch, &hashed(&batch, suite)?, suite)?;
        let Some(record) = contents.commit.take() else {
            return Ok(());
        };
        let of_root = |root, seq| match by_root.get(&root) {
            Some(found) => Ok(Some(found.clone())),
            None => (replay.older)(root, seq),
        };
        let within = Replay {
            older: &of_root,
            ..*replay
        };
        let before = std::mem::take(&mut trie);
        let of_commit = (&record.commit, batch.number);
        (trie, _) = state_after(&within, before, &contents, of_commit, None)?;
        by_root.insert(record.commit.root, trie.clone());
        states.insert(record.commit.seq, trie.clone());
        Ok(())
    })?;
    Ok(states)
}

pub(super) fn missing_version(digest: ObjectDigest) -> Error {
    Error::corrupt(format!("the linked version {digest} is missing"))
}

/// Returns the state after the batch, and the ids that the batch removed from `before`. Checks that the state has the
/// root that the commit names. The batch of a rollback contains no changes. The state after such a batch is the state
/// of the newest kept commit with the same root. `staged` is the result, if the writer has computed it.
pub(super) fn state_after(
    replay: &Replay<'_>,
    before: Trie,
    contents: &Decoded,
    (commit, batch): (&Commit, u64),
    staged: Option<(Trie, Unlinked)>,
) -> Result<(Trie, Unlinked)> {
    let (seq, Shared { suite, records, .. }) = (commit.seq, replay.shared);
    let (trie, unlinked) = if let Some(staged) = staged.filter(|_| contents.changes_state()) {
        staged
    } else if contents.changes_state() {
        let place = |digest| {
            let place = records.find_trace(digest, batch)?;
            Ok(place.ok_or_else(|| missing_version(digest))?.to_u64())
        };
        let edit = Edit {
            nodes: replay.nodes,
            first_written: replay.first_written,
            place: &place,
            time: commit.time.as_micros(),
        };
        let mut removed = Removed::new();
        let trie = contents.edit(before, &edit, &mut removed)?;
        (trie, removed.into_iter().collect())
    } else {
        let first = (seq == 0).then(Trie::new);
        let trie = (replay.older)(commit.root, seq)?.or(first);
        let trie = trie.ok_or_else(|| unknown_root(commit.root, seq))?;
        (trie, Vec::new())
    };
    check_root(commit, trie.root(*suite, Shape::State, replay.nodes)?)?;
    Ok((trie, unlinked))
}

/// Returns the error for a commit that reuses a root, which must belong to an earlier commit.
pub(super) fn unknown_root(root: Root, seq: u64) -> Error {
    Error::corrupt(format!(
        "commit {seq} reuses the root {root}, which no earlier commit has"
    ))
}

/// Checks that a commit names the root of its state (STO-1).
pub(super) fn check_root(commit: &Commit, root: Root) -> Result<()> {
    let (seq, named) = (commit.seq, commit.root);
    if root == named {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "commit {seq} names root {named}, but its changes result in root {root}"
    )))
}
