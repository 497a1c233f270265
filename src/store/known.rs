//! The parts of a batch that its writer still has in memory. With them, the store applies the batch without decoding or
//! hashing its records again.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - KNO-1: the result is the same as that of a replay of the batch. If the writer does not know the whole batch, the
//!   batch is replayed.

use crate::digest::{KeyPath, ObjectDigest};
use crate::log::{Batch, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, HistoryTree, Reference};
use crate::trie::Trie;

use super::places::IdHash;

/// The ids that a commit removed from the state, each with the time of its first write.
pub(crate) type Unlinked = Vec<(KeyPath, i64)>;

/// The state after a batch and the objects of the batch, which the writer computed before it wrote the batch.
pub(crate) struct StagedState {
    /// The state after the batch. The locators of its new entries are valid if the batch begins at `start`.
    pub(crate) trie: Trie,
    /// The locator at which the writer expected the first record of the batch.
    pub(crate) start: Locator,
    /// The ids that the batch removes, each with the time of its first write.
    pub(crate) unlinked: Unlinked,
    /// The ids that the batch links or unlinks, in no order.
    pub(crate) named: Vec<IdHash>,
    /// Whether the batch may change the tree of parents.
    pub(crate) touches_tree: bool,
    /// The key path and digest of each object record, in the order of the batch. History has none of these versions.
    pub(crate) objects: Vec<(KeyPath, ObjectDigest)>,
}

/// The parts of a batch that its writer still has in memory.
#[derive(Default)]
pub(crate) struct Known {
    /// The state after the batch. `None` if the batch does not change the state, or if the state is not known.
    pub(crate) state: Option<StagedState>,
    /// The older state that the commit reuses, if the writer has it.
    pub(crate) reused: Option<Trie>,
    /// The commit, with the history tree up to it.
    pub(crate) commit: Option<(Commit, HistoryTree)>,
    /// The references, in the order of the batch.
    pub(crate) references: Vec<Reference>,
}

/// The number of records of a batch by their kinds.
#[derive(Default)]
pub(super) struct Counts {
    objects: usize,
    commits: usize,
    references: usize,
    pub(super) changes: u64,
    others: usize,
}

impl Counts {
    pub(super) fn of(records: &[Record]) -> Self {
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
                RecordKind::Content | RecordKind::Text | RecordKind::Line | RecordKind::Seal => {}
                _ => counts.others += 1,
            }
        }
        counts
    }
}

/// Returns whether the writer knows every record of the batch.
pub(super) fn is_whole(batch: &Batch, known: &Known, counts: &Counts) -> bool {
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
