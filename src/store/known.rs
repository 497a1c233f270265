//! Applies a batch of this writer by what the writer knows about it, without decoding or hashing its records again.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - KNO-1: the result is the same as that of a replay of the batch. If the writer does not know the whole batch, the
//!   batch is replayed.

use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::log::{Batch, LINK_BYTES, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, HistoryTree, Reference};
use crate::trie::Trie;

use super::Store;
use super::commits::CommitEntry;
use super::replay::{Decoded, StagedState, Unlinked, publish};

/// What the writer of a batch knows about it.
#[derive(Default)]
pub(crate) struct Known {
    /// The state after the batch. `None` if the batch does not change the state, or if the state is not known.
    pub(crate) state: Option<StagedState>,
    /// The commit, with the history tree up to it.
    pub(crate) commit: Option<(Commit, HistoryTree)>,
    /// The references, in the order of the batch.
    pub(crate) references: Vec<Reference>,
}

/// The number of records of a batch by their kinds.
#[derive(Default)]
struct Counts {
    objects: usize,
    commits: usize,
    references: usize,
    changes: u64,
    others: usize,
}

impl Counts {
    fn of(records: &[Record]) -> Self {
        let mut counts = Self::default();
        for record in records {
            match record.kind {
                RecordKind::Object => {
                    counts.objects += 1;
                    counts.changes += u64::from(record.flags & UNLINKED == 0);
                }
                RecordKind::Link => counts.changes += (record.body.len() / LINK_BYTES) as u64,
                RecordKind::Unlink => counts.changes += (record.body.len() / UNLINK_BYTES) as u64,
                RecordKind::Commit => counts.commits += 1,
                RecordKind::Reference => counts.references += 1,
                RecordKind::Content | RecordKind::Text | RecordKind::Seal => {}
                _ => counts.others += 1,
            }
        }
        counts
    }
}

/// The commit of a known batch, and its effect.
type Applied = (Arc<CommitEntry>, HistoryTree, Unlinked);

/// Applies a batch. Returns `known` if the writer does not know the whole batch; nothing is changed then.
///
/// # Errors
/// `Corrupt` or `Io` if a record cannot be read.
pub(super) fn apply(
    store: &Store,
    batch: &Batch,
    mut known: Known,
) -> Result<std::result::Result<Option<Arc<CommitEntry>>, Known>> {
    let counts = Counts::of(&batch.records);
    if !is_whole(batch, &known, &counts) {
        return Ok(Err(known));
    }
    let has_commit = known.commit.is_some();
    let applied = applied(store, batch, &mut known, &counts)?;
    if has_commit && applied.is_none() {
        return Ok(Err(known));
    }
    let objects = known.state.map(|state| state.objects).unwrap_or_default();
    store.records.add_all(batch, &objects, true)?;
    let mut contents = Decoded::default();
    contents.references = known.references;
    Ok(Ok(publish(store, batch.number, contents, applied)))
}

/// Returns whether the writer knows every record of the batch.
fn is_whole(batch: &Batch, known: &Known, counts: &Counts) -> bool {
    let start = batch.records.first().map(|record| record.locator);
    let state = match &known.state {
        // The log may have rotated to a new segment before it wrote the batch. Then the locators in the state are wrong.
        Some(state) => start == Some(state.start) && state.objects.len() == counts.objects,
        None => counts.objects == 0 && counts.changes == 0,
    };
    let commits = usize::from(known.commit.is_some());
    state
        && counts.others == 0
        && counts.references == known.references.len()
        && counts.commits == commits
        && (commits == 1 || known.state.is_none())
}

/// Takes the commit out of `known`. Returns `None` and takes nothing if there is no commit, if it does not continue the
/// chain of commits (STO-1), or if its state is not known.
fn applied(store: &Store, batch: &Batch, known: &mut Known, counts: &Counts) -> Result<Option<Applied>> {
    let Some((commit, history)) = &known.commit else {
        return Ok(None);
    };
    let head = store.head()?;
    let continues = commit.parents.first() == Some(&head.digest)
        && commit.seq == head.seq() + 1
        && commit.time > head.commit.time
        && history.size() == commit.seq + 1;
    let place = batch
        .records
        .iter()
        .find(|record| record.kind == RecordKind::Commit);
    let Some(place) = place.filter(|_| continues).map(|record| record.locator) else {
        return Ok(None);
    };
    let touches_tree = known.state.as_ref().is_some_and(|state| state.touches_tree);
    let (state, unlinked): (Option<Trie>, Unlinked) = match &mut known.state {
        Some(state) => (
            Some(std::mem::take(&mut state.trie)),
            std::mem::take(&mut state.unlinked),
        ),
        None => {
            let same = store.by_root(commit.root)?;
            let state = same.map(|same| store.state(&same)).transpose()?;
            (state, Vec::new())
        }
    };
    let Some((state, (commit, history))) = state.and_then(|state| Some((state, known.commit.take()?))) else {
        return Ok(None);
    };
    if counts.changes > 0 {
        store.flush()?;
    }
    let entry = CommitEntry {
        digest: batch.commit,
        commit,
        batch: batch.number,
        place,
        map_record: None,
        takes_state: counts.changes == 0,
        touches_tree,
        changes: counts.changes,
        counts: OnceLock::new(),
        trie: state.into(),
    };
    Ok(Some((Arc::new(entry), history, unlinked)))
}
