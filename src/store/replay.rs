//! Applies one batch of the log to its line: as a state, a commit and references.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::log::{Batch, RecordKind};
use crate::object::{Commit, HistoryTree};
use crate::trie::Trie;

use super::checkpoint::FirstWritten;
use super::commits::StateSlot;
use super::decoded::{Decoded, decode, hashed};
use super::known::{self, Counts, Known, StagedState, Unlinked};
use super::past::{Replay, state_after};
use super::places::IdHash;
use super::{CommitEntry, Store};

/// Applies a batch of the line of `store`. `named` is the commit that the batch names. `known` is what the writer of the
/// batch still has in memory; `None` if another process wrote it.
///
/// # Errors
/// `Corrupt` or `Io` if a record cannot be read, or if the batch violates STO-1.
pub(super) fn apply(
    store: &Store,
    batch: &Batch,
    named: CommitDigest,
    known: Option<Known>,
) -> Result<Option<Arc<CommitEntry>>> {
    let Some(mut known) = known else {
        return replay(store, (batch, named), None);
    };
    let counts = Counts::of(&batch.records);
    if known::is_whole(batch, &known, &counts) {
        let has_commit = known.commit.is_some();
        let applied = known_commit(store, (batch, named), &mut known, &counts)?;
        if applied.is_some() || !has_commit {
            let (objects, named) = known.state.map(|state| (state.objects, state.named)).unzip();
            store.records.add_all(batch, &objects.unwrap_or_default(), true)?;
            let contents = Decoded::with_references(known.references);
            note_changes(store, batch, applied.as_ref(), named.as_deref());
            return Ok(publish(store, batch.number, contents, applied));
        }
    }
    replay(store, (batch, named), known.state)
}

/// Adds the records and the references of a batch, but not its commit.
///
/// # Errors
/// `Corrupt` or `Io` if a record cannot be read.
pub(super) fn index(store: &Store, batch: &Batch) -> Result<Option<Arc<CommitEntry>>> {
    let objects = hashed(batch, store.suite)?;
    let contents = decode(batch, &objects, store.suite)?;
    index_decoded(store, batch, contents, &objects).map(|()| None)
}

/// Adds the records and the references of a decoded batch, but not its commit.
pub(super) fn index_decoded(
    store: &Store,
    batch: &Batch,
    contents: Decoded,
    objects: &[(KeyPath, ObjectDigest)],
) -> Result<()> {
    contents.check()?;
    store.records.add_all(batch, objects, false)?;
    store.add_references(batch.number, contents.references);
    Ok(())
}

/// Applies the commit of a batch whose records and references [`index`] added.
///
/// # Errors
/// The errors of [`apply`].
pub(super) fn apply_known_records(store: &Store, batch: &Batch) -> Result<Option<Arc<CommitEntry>>> {
    let mut contents = decode(batch, &hashed(batch, store.suite)?, store.suite)?;
    contents.references.clear();
    let named = contents.commit.as_ref().map(|record| record.digest);
    let named = named.ok_or_else(|| Error::corrupt("a batch of a line has no commit"))?;
    take_in(store, (batch, named), contents, (None, true))
}

/// Decodes a batch and applies it. `staged` is the state after the batch, if the writer has computed it.
fn replay(
    store: &Store,
    (batch, named): (&Batch, CommitDigest),
    staged: Option<StagedState>,
) -> Result<Option<Arc<CommitEntry>>> {
    let touches_tree = staged.as_ref().is_none_or(|staged| staged.touches_tree);
    let is_new = staged.is_some();
    // The log may have rotated to a new segment before it wrote the batch. Then the locators in the state are wrong.
    let start = batch.records.first().map(|record| record.locator);
    let (state, objects) = match staged {
        Some(staged) => {
            let state = (start == Some(staged.start)).then_some((staged.trie, staged.unlinked));
            (state, staged.objects)
        }
        None => (None, hashed(batch, store.suite)?),
    };
    let contents = decode(batch, &objects, store.suite)?;
    store.records.add_all(batch, &objects, is_new)?;
    take_in(store, (batch, named), contents, (state, touches_tree))
}

/// Applies a decoded batch, whose records are in the index. `state` is the state after the batch, if it is known, and
/// whether the batch may change the tree of parents.
fn take_in(
    store: &Store,
    (batch, named): (&Batch, CommitDigest),
    mut contents: Decoded,
    (state, touches_tree): (Option<(Trie, Unlinked)>, bool),
) -> Result<Option<Arc<CommitEntry>>> {
    let head = store.head.load_full();
    let next = next_commit(store, head.as_deref(), (batch, named), &mut contents)?;
    let applied = next.map(|(entry, history)| -> Result<_> {
        let before = head.as_ref().map(|head| store.state(head)).transpose()?;
        let of_root = |root, _| store.by_root(root)?.map(|entry| store.state(&entry)).transpose();
        if contents.changes_state() {
            store.flush()?;
        }
        let of_commit = (&entry.commit, batch.number);
        let replay = Replay {
            shared: store.shared(),
            nodes: store,
            first_written: &|key| store.first_written(key),
            older: &of_root,
        };
        let before = before.unwrap_or_default();
        let (trie, unlinked) = state_after(&replay, before, &contents, of_commit, state)?;
        let entry = CommitEntry {
            touches_tree,
            trie: trie.into(),
            ..entry
        };
        Ok((Arc::new(entry), history, unlinked))
    });
    let applied = applied.transpose()?;
    note_changes(store, batch, applied.as_ref(), None);
    Ok(publish(store, batch.number, contents, applied))
}

/// The commit of a batch, with the history tree and the ids that it removed.
type Applied = (Arc<CommitEntry>, HistoryTree, Unlinked);

/// Takes the commit out of `known`. Returns `None` and takes nothing if there is no commit, if it does not continue the
/// chain of commits (STO-1), or if its state is not known.
fn known_commit(
    store: &Store,
    (batch, named): (&Batch, CommitDigest),
    known: &mut Known,
    counts: &Counts,
) -> Result<Option<Applied>> {
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
            let state = match known.reused.take() {
                Some(reused) => Some(reused),
                None => {
                    let same = store.by_root(commit.root)?;
                    same.map(|same| store.state(&same)).transpose()?
                }
            };
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
        digest: named,
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

/// Checks a batch against the chain of commits (STO-1, except for the root). Returns its commit without a state, and the
/// history tree up to the commit.
pub(super) fn next_commit(
    store: &Store,
    head: Option<&CommitEntry>,
    (batch, named): (&Batch, CommitDigest),
    contents: &mut Decoded,
) -> Result<Option<(CommitEntry, HistoryTree)>> {
    contents.check()?;
    let Some(record) = contents.commit.take() else {
        return Ok(None);
    };
    if record.digest != named {
        let found = record.digest;
        return Err(Error::corrupt(format!(
            "the batch names commit {named}, but the batch contains commit {found}"
        )));
    }
    let mut history = check_chain(store, head, contents, &record.commit)?;
    history.append(&record.digest);
    let entry = CommitEntry {
        digest: record.digest,
        commit: record.commit,
        batch: batch.number,
        place: record.place,
        map_record: contents.map_record.as_ref().map(|map_record| map_record.place),
        takes_state: !contents.changes_state(),
        touches_tree: true,
        changes: contents.changes().count() as u64,
        counts: OnceLock::new(),
        trie: StateSlot::default(),
    };
    Ok(Some((entry, history)))
}

/// Notes which ids a commit changes, before anybody can read the commit (PCH-2, CHD-1): readers find commits in the catalog,
/// too. `named` are the ids that the batch links or unlinks, if the writer knows them.
fn note_changes(store: &Store, batch: &Batch, applied: Option<&Applied>, named: Option<&[IdHash]>) {
    if let Some((entry, ..)) = applied {
        store.note_changes(batch, named, entry);
    }
}

/// Adds a checked batch to the catalog, completely: no step can fail. `applied` is its commit, with the ids that the
/// commit removed.
pub(super) fn publish(
    store: &Store,
    batch: u64,
    contents: Decoded,
    applied: Option<Applied>,
) -> Option<Arc<CommitEntry>> {
    let head = store.head.load_full();
    let mut catalog = store.catalog.write();
    for (gap, _) in contents.gaps {
        catalog.line.gaps.push(gap);
    }
    let entry = applied.map(|(entry, history, unlinked)| {
        for (key, created) in unlinked {
            catalog.note_unlinked(batch, FirstWritten { key, created });
        }
        let left = head.filter(|head| entry.takes_state && head.commit.root != entry.commit.root);
        if left.is_some() || entry.touches_tree && !entry.takes_state {
            catalog.tree_changed = batch;
        }
        if let Some(left) = left {
            catalog.left.push((left, Arc::clone(&entry)));
        }
        catalog.line.push(Arc::clone(&entry));
        catalog.history = history;
        entry
    });
    drop(catalog);
    store.add_references(batch, contents.references);
    entry
}

/// Checks STO-1, except for the root. Returns the history tree over all commits before `commit`.
fn check_chain(
    store: &Store,
    head: Option<&CommitEntry>,
    contents: &Decoded,
    commit: &Commit,
) -> Result<HistoryTree> {
    let mut history = store.history();
    let mut parent = head.map(|head| head.digest);
    let mut in_order = true;
    for (gap, digests) in &contents.gaps {
        in_order &= gap.first == history.size();
        for digest in digests {
            history.append(digest);
        }
        parent = digests.last().copied();
    }
    let rule = match parent {
        _ if !in_order => "the gap before the commit does not start after the newest commit",
        None if !commit.parents.is_empty() => "the first commit has a parent",
        Some(parent) if commit.parents.first() != Some(&parent) => "its parent is not the previous commit",
        _ if commit.seq != history.size() => "its seq does not follow the seq of its parent",
        _ if head.is_some_and(|head| commit.time <= head.commit.time) => {
            "its time is not after the time of its parent"
        }
        _ if commit.history_root != history.root() => "its history root does not match the chain",
        _ => return Ok(history),
    };
    Err(Error::corrupt(format!(
        "commit {} does not continue the log: {rule}",
        commit.seq
    )))
}
