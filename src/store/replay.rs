//! Converts one batch of the log to a state, a commit and references.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::codec::{self, DecodeError};
use crate::digest::{CommitDigest, Domain, HashBatch, HashSuite, KeyPath, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, HistoryTree, Object, Reference, ReferenceClass};
use crate::threads::{beside, processors};
use crate::trie::{NodeSource, Shape, Trie};

use super::checkpoint::FirstWritten;
use super::commits::{Gap, StateSlot};
use super::edit::{Change, Edit, Removed};
use super::known::{self, Counts, Known, StagedState, Unlinked};
use super::rewritten::{Erased, MapRecord, decode_gap, unreadable};
use super::{CommitEntry, Shared, Store};

/// The minimal number of records for each thread that decodes a batch.
const RECORDS_A_THREAD: usize = 2_048;
/// The number of objects that are hashed together. Their bytes fit into a processor's second cache.
const HASHED_TOGETHER: usize = 256;

/// The commit record of a batch.
struct CommitRecord {
    commit: Commit,
    digest: CommitDigest,
    place: Locator,
}

/// The decoded records of a batch.
#[derive(Default)]
pub(super) struct Decoded {
    /// The object records and erasure markers that make their version current.
    links_of_objects: Vec<(KeyPath, ObjectDigest, Locator)>,
    pub(super) links: Vec<(KeyPath, ObjectDigest)>,
    unlinks: Vec<KeyPath>,
    /// The whole map of the commit or its changes, if the log was rewritten.
    pub(super) map_record: Option<MapRecord>,
    pub(super) gaps: Vec<(Gap, Vec<CommitDigest>)>,
    commit: Option<CommitRecord>,
    pub(super) references: Vec<Reference>,
}

impl Decoded {
    /// Decodes a record and adds it. `object` is the key path and digest of an object record, if they are known.
    pub(super) fn add(
        &mut self,
        record: &Record,
        suite: HashSuite,
        object: Option<(KeyPath, ObjectDigest)>,
    ) -> Result<(), DecodeError> {
        let links = record.flags & UNLINKED == 0;
        match record.kind {
            RecordKind::Object if links => {
                let (key, digest) = object.map_or_else(|| key_and_digest(record, suite), Ok)?;
                self.links_of_objects.push((key, digest, record.locator));
            }
            RecordKind::Erased => {
                let erased = Erased::decode(&record.body)?;
                if let Some(key) = erased.key.filter(|_| links) {
                    let digest = ObjectDigest::from_bytes(erased.digest);
                    self.links_of_objects.push((key, digest, record.locator));
                }
            }
            RecordKind::Text => drop(codec::as_text(&record.body)?),
            RecordKind::Link => {
                for pair in codec::as_arrays::<LINK_BYTES>(&record.body)? {
                    let (key, digest) = pair.split_first_chunk::<32>().expect("a link has 64 bytes");
                    let digest = ObjectDigest::from_bytes(codec::as_array(digest)?);
                    self.links.push((KeyPath::from_bytes(*key), digest));
                }
            }
            RecordKind::Unlink => {
                let keys = codec::as_arrays::<UNLINK_BYTES>(&record.body)?;
                self.unlinks.extend(keys.into_iter().map(KeyPath::from_bytes));
            }
            RecordKind::Base | RecordKind::Delta => MapRecord::add(&mut self.map_record, record)?,
            RecordKind::Gap => {
                let (first, digests) = decode_gap(&record.body)?;
                let gap = Gap {
                    first,
                    count: digests.len() as u64,
                    place: record.locator,
                };
                self.gaps.push((gap, digests));
            }
            RecordKind::Commit => {
                let found = CommitRecord {
                    commit: Commit::decode(&record.body)?,
                    digest: Commit::hash(&record.body, suite),
                    place: record.locator,
                };
                if self.commit.replace(found).is_some() {
                    return Err(DecodeError::Invalid("a batch contains two commits"));
                }
            }
            RecordKind::Reference => {
                let reference = Reference::decode(&record.body)?;
                if reference.name.class() == ReferenceClass::Heads {
                    return Err(DecodeError::Invalid(
                        "the head of a line is in a record of another kind",
                    ));
                }
                self.references.push(reference);
            }
            // The log has already checked the seal. The other kinds do not change the state.
            RecordKind::Object
            | RecordKind::Content
            | RecordKind::Line
            | RecordKind::Seal
            | RecordKind::Ignorable(_) => {}
        }
        Ok(())
    }

    /// Returns whether the records change the state: by objects, links and unlinks, or by a map.
    pub(super) fn changes_state(&self) -> bool {
        self.changes_ids() || self.map_record.is_some()
    }

    fn changes_ids(&self) -> bool {
        !(self.links_of_objects.is_empty() && self.links.is_empty() && self.unlinks.is_empty())
    }

    /// Returns the changes of ids, in the order of the batch.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let objects = self.links_of_objects.iter();
        let objects = objects.map(|&(key, digest, place)| Change::new(key, Some(digest), Some(place), None));
        let links = self.links.iter();
        let links = links.map(|&(key, digest)| Change::new(key, Some(digest), None, None));
        let unlinks = self.unlinks.iter().map(|&key| Change::new(key, None, None, None));
        let map = self.map_record.iter().flat_map(|map| &map.entries);
        let map = map.map(|entry| Change::new(entry.key, entry.digest, None, Some(entry.created)));
        objects.chain(links).chain(unlinks).chain(map)
    }

    /// Returns whether the batch contains the whole map of its commit, so that the state before it does not matter.
    pub(super) fn is_whole(&self) -> bool {
        self.map_record.as_ref().is_some_and(|map| map.whole)
    }

    /// Applies the changes of the batch, or its map, to the state `before`. Adds the ids that the batch removes to
    /// `removed`.
    pub(super) fn edit(&self, before: Trie, edit: &Edit<'_>, removed: &mut Removed) -> Result<Trie> {
        let changes: Vec<Change> = self.changes().collect();
        let before = if self.is_whole() { Trie::new() } else { before };
        edit.apply(before, changes.iter(), removed)
    }

    /// Checks the rules for a batch that do not depend on the previous state.
    fn check(&self) -> Result<()> {
        let rule = if self.commit.is_none() && self.changes_state() {
            "a batch without a commit changes the state"
        } else if self.commit.is_none() && !self.gaps.is_empty() {
            "a gap is not followed by a commit"
        } else if self.map_record.is_some() && self.changes_ids() {
            "a batch contains both a map record and changes of ids"
        } else {
            return Ok(());
        };
        Err(Error::corrupt(rule))
    }
}

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
            let objects = known.state.map(|state| state.objects).unwrap_or_default();
            store.records.add_all(batch, &objects, true)?;
            let contents = Decoded {
                references: known.references,
                ..Decoded::default()
            };
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
    Ok(publish(store, batch.number, contents, applied.transpose()?))
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

/// The key path and the digest of each object record of a batch, in order.
pub(super) type Hashed = Vec<(KeyPath, ObjectDigest)>;

/// Decodes a batch, whose object records have the key paths and digests `objects`.
pub(super) fn decode(
    batch: &Batch,
    objects: &[(KeyPath, ObjectDigest)],
    suite: HashSuite,
) -> Result<Decoded> {
    let mut decoded = Decoded::default();
    let mut objects = objects.iter();
    for record in &batch.records {
        let mut object = None;
        if record.kind == RecordKind::Object {
            let known = objects.next();
            object =
                Some(*known.ok_or_else(|| Error::internal("a batch has more objects than the staged ones"))?);
        }
        decoded
            .add(record, suite, object)
            .map_err(|error| unreadable(record, &error))?;
    }
    Ok(decoded)
}

/// Checks and hashes the objects of a batch. Divides a large batch among several threads.
fn hashed(batch: &Batch, suite: HashSuite) -> Result<Hashed> {
    let is_object = |record: &&Record| record.kind == RecordKind::Object;
    let objects: Vec<_> = batch.records.iter().filter(is_object).collect();
    hash_objects(&objects, suite, processors())
}

/// Checks the objects in these records, and returns their key paths and digests. Divides many records among `threads`
/// threads, and hashes many objects together.
pub(super) fn hash_objects(records: &[&Record], suite: HashSuite, threads: usize) -> Result<Hashed> {
    if threads > 1 && records.len() >= 2 * RECORDS_A_THREAD {
        let (low, high) = records.split_at(records.len() / 2);
        let (low, high) = beside(
            || hash_objects(low, suite, threads / 2),
            || hash_objects(high, suite, threads - threads / 2),
        );
        let mut objects = low?;
        objects.append(&mut high?);
        return Ok(objects);
    }
    let (mut batch, mut digests) = (
        HashBatch::new(suite, Domain::Object),
        Vec::with_capacity(records.len()),
    );
    let mut keys = Vec::with_capacity(records.len());
    for together in records.chunks(HASHED_TOGETHER) {
        let mut ids = Vec::with_capacity(together.len());
        for record in together {
            ids.push(Object::check(&record.body).map_err(|error| unreadable(record, &error))?);
            batch.push_bytes(&record.body);
        }
        batch.finish(&mut digests);
        keys.append(&mut suite.key_paths(ids.into_iter()));
    }
    let digests = digests.into_iter().map(ObjectDigest::from_bytes);
    Ok(keys.into_iter().zip(digests).collect())
}

/// Decodes the object in a record. Returns the object's key path and digest.
fn key_and_digest(record: &Record, suite: HashSuite) -> Result<(KeyPath, ObjectDigest), DecodeError> {
    let id = Object::check(&record.body)?;
    Ok((suite.key_path(id), Object::hash(&record.body, suite)))
}

/// What a replay needs besides its batches.
pub(super) struct Replay<'a> {
    pub(super) shared: &'a Shared,
    pub(super) nodes: &'a dyn NodeSource,
    /// Returns the time of the first write of an id that neither the state nor the removed ids contain.
    pub(super) first_written: &'a dyn Fn(&KeyPath) -> Result<Option<i64>>,
    /// Returns the state of the newest commit with this root whose seq is below the given one.
    pub(super) older: &'a dyn Fn(Root, u64) -> Result<Option<Trie>>,
}

/// Replays batches of one line from a state of any commit. `read` passes the batches behind that commit to a function.
/// Returns the state of each commit by its seq.
///
/// # Errors
/// `Corrupt` or `Io` if the log cannot be read, or if the root of a state differs from the root in its commit.
pub(super) fn states_behind(
    replay: &Replay<'_>,
    mut trie: Trie,
    read: &mut dyn FnMut(&mut dyn FnMut(Batch) -> Result<()>) -> Result<()>,
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

/// Returns whether a batch belongs to the main line.
pub(super) fn is_of_main(batch: &Batch) -> bool {
    batch.records.iter().all(|record| record.kind != RecordKind::Line)
}

pub(super) fn missing_version(digest: ObjectDigest) -> Error {
    Error::corrupt(format!("the linked version {digest} is missing"))
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

/// Returns the state after the batch, and the ids that the batch removed from `before`. Checks that the state has the
/// root that the commit names. The batch of a rollback contains no changes. The state after such a batch is the state
/// of the newest kept commit with the same root. `staged` is the result, if the writer has computed it.
fn state_after(
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
