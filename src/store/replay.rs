//! Converts one batch of the log to a state, a commit and references.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::codec;
use crate::digest::{CommitDigest, HashSuite, KeyPath, ObjectDigest, Root};
use crate::error::{Error, Result};
use crate::log::{Batch, LINK_BYTES, Locator, Position, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, HistoryTree, Object, Reference};
use crate::threads::{beside, processors};
use crate::trie::{Entry, NodeSource, Shape, Trie};

use super::commits::Gap;
use super::rewritten::{Erased, MapRecord, decode_gap, unreadable};
use super::{CommitEntry, Store};

/// The number of records for each further thread.
const RECORDS_A_THREAD: usize = 2_048;

/// What the writer already knows about the batch that it has just written.
pub(crate) struct StagedState {
    /// The state after the batch, in which new records have no places yet.
    pub(crate) trie: Option<Trie>,
    /// The key path and digest of each object record, in the order of the batch.
    pub(crate) objects: Vec<(KeyPath, ObjectDigest)>,
}

/// The commit record of a batch.
struct CommitRecord {
    commit: Commit,
    digest: CommitDigest,
    place: Locator,
}

/// The decoded records of a batch.
#[derive(Default)]
struct Contents {
    /// The object records that make their version current, including erased ones.
    links_of_objects: Vec<(KeyPath, ObjectDigest, Locator)>,
    links: Vec<(KeyPath, ObjectDigest)>,
    unlinks: Vec<KeyPath>,
    /// The map, or the changes to it, if the log was rewritten.
    map_record: Option<MapRecord>,
    gaps: Vec<(Gap, Vec<CommitDigest>)>,
    commit: Option<CommitRecord>,
    references: Vec<Reference>,
}

impl Contents {
    fn changes_state(&self) -> bool {
        !(self.links_of_objects.is_empty() && self.links.is_empty() && self.unlinks.is_empty())
    }

    /// Checks the rules that do not depend on the state before the batch.
    fn check(&self) -> Result<()> {
        let rule = if self.commit.is_none() && (self.changes_state() || self.map_record.is_some()) {
            "a batch without a commit changes the state"
        } else if self.commit.is_none() && !self.gaps.is_empty() {
            "a gap is not followed by a commit"
        } else if self.map_record.is_some() && self.changes_state() {
            "a batch contains both a map record and changes of ids"
        } else {
            return Ok(());
        };
        Err(Error::corrupt(rule))
    }
}

pub(super) fn apply(
    store: &Store,
    batch: &Batch,
    staged: Option<StagedState>,
) -> Result<Option<Arc<CommitEntry>>> {
    let (state, known) = match staged {
        Some(staged) => (staged.trie, Some(staged.objects)),
        None => (None, None),
    };
    let mut contents = decode(store, batch, known.as_deref(), true)?;
    contents.check()?;
    let head = store.head.load_full();
    let mut history = None;
    let mut next = NextState::default();
    let mut entry = None;
    if let Some(record) = contents.commit.take() {
        if record.digest != batch.commit {
            let (named, found) = (batch.commit, record.digest);
            return Err(Error::corrupt(format!(
                "the seal names commit {named}, but the batch contains commit {found}"
            )));
        }
        let mut tree = check_chain(store, head.as_deref(), &contents, &record.commit)?;
        let before = Before {
            trie: head
                .as_ref()
                .map_or_else(|| Ok(Trie::new()), |head| store.state(head))?,
            of_root: &|root| store.by_root(root)?.map(|entry| store.state(&entry)).transpose(),
        };
        if contents.changes_state() || contents.map_record.is_some() {
            store.flush()?;
        }
        next = state_after(store, &before, &contents, &record.commit, state)?;
        tree.append(&record.digest);
        history = Some(tree);
        entry = Some(Arc::new(CommitEntry {
            digest: record.digest,
            commit: record.commit,
            batch: batch.number,
            place: record.place,
            map_record: contents.map_record.as_ref().map(|map_record| map_record.place),
            takes_state: next.is_kept_one,
            counts: OnceLock::new(),
            trie: OnceLock::from(next.trie),
        }));
    }

    // All checks have passed and no later step can fail, so memory applies the whole batch.
    let mut catalog = store.catalog.write();
    for (key, created) in next.unlinked {
        catalog.note_unlinked(key, created);
    }
    for (gap, _) in contents.gaps {
        catalog.line.push_gap(gap);
    }
    if let Some(entry) = &entry {
        if let Some(left) = head.filter(|head| next.is_kept_one && head.commit.root != entry.commit.root) {
            catalog.left.push((left, Arc::clone(entry)));
        }
        catalog.line.push(Arc::clone(entry));
    }
    if let Some(history) = history {
        catalog.history = history;
    }
    for reference in contents.references {
        catalog.references.push(reference, batch.number);
    }
    Ok(entry)
}

/// Decodes a batch. If `register` is true, its records can be found by digest afterwards.
fn decode(
    store: &Store,
    batch: &Batch,
    known: Option<&[(KeyPath, ObjectDigest)]>,
    register: bool,
) -> Result<Contents> {
    let mut contents = Contents::default();
    let decoded = match known {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(decode_objects(&batch.records, store.suite, processors())?),
    };
    let mut objects = decoded.iter();
    for record in &batch.records {
        let bad = |error: codec::DecodeError| unreadable(record, &error);
        let links = record.flags & UNLINKED == 0;
        match record.kind {
            RecordKind::Object => {
                let next = objects.next().copied();
                let (key, digest) =
                    next.ok_or_else(|| Error::internal("a batch has more objects than the staged ones"))?;
                if register {
                    store.records.add_object(digest, record.locator)?;
                }
                if links {
                    contents.links_of_objects.push((key, digest, record.locator));
                }
            }
            RecordKind::Erased => {
                let erased = Erased::decode(&record.body).map_err(bad)?;
                if register {
                    store.records.add_erased(&erased, record.locator)?;
                }
                if let Some(key) = erased.key.filter(|_| links) {
                    let digest = ObjectDigest::from_bytes(erased.digest);
                    contents.links_of_objects.push((key, digest, record.locator));
                }
            }
            RecordKind::Content | RecordKind::Text => {
                if register {
                    if record.kind == RecordKind::Text {
                        codec::as_text(&record.body).map_err(bad)?;
                    }
                    store.records.add_text(record)?;
                }
            }
            RecordKind::Link | RecordKind::Unlink => {
                add_links(record, &mut contents.links, &mut contents.unlinks).map_err(bad)?;
            }
            RecordKind::Base | RecordKind::Delta => {
                MapRecord::add(&mut contents.map_record, record).map_err(bad)?;
            }
            RecordKind::Gap => contents.gaps.push(decode_gap(record).map_err(bad)?),
            RecordKind::Commit => {
                let commit = Commit::decode(&record.body).map_err(bad)?;
                let digest = Commit::hash(&record.body, store.suite);
                let place = record.locator;
                let found = CommitRecord {
                    commit,
                    digest,
                    place,
                };
                if contents.commit.replace(found).is_some() {
                    return Err(Error::corrupt("a batch contains two commits"));
                }
            }
            RecordKind::Reference => {
                let reference = Reference::decode(&record.body).map_err(bad)?;
                contents.references.push(reference);
            }
            // The log has already checked the seal.
            RecordKind::Seal | RecordKind::Ignorable(_) => {}
        }
    }
    Ok(contents)
}

/// Returns the key path and digest of each object record, in order. Several threads decode a large batch.
fn decode_objects(
    records: &[Record],
    suite: HashSuite,
    threads: usize,
) -> Result<Vec<(KeyPath, ObjectDigest)>> {
    if threads > 1 && records.len() >= 2 * RECORDS_A_THREAD {
        let (low, high) = records.split_at(records.len() / 2);
        let (low, high) = beside(
            || decode_objects(low, suite, threads / 2),
            || decode_objects(high, suite, threads - threads / 2),
        );
        let mut objects = low?;
        objects.append(&mut high?);
        return Ok(objects);
    }
    let objects = records.iter().filter(|record| record.kind == RecordKind::Object);
    let decode = |record: &Record| {
        let object =
            Object::decode(record.body.clone(), suite).map_err(|error| unreadable(record, &error))?;
        Ok((suite.key_path(object.id().as_str()), object.digest()))
    };
    objects.map(decode).collect()
}

/// Decodes a record of links or unlinks.
pub(super) fn add_links(
    record: &Record,
    links: &mut Vec<(KeyPath, ObjectDigest)>,
    unlinks: &mut Vec<KeyPath>,
) -> Result<(), codec::DecodeError> {
    if record.kind == RecordKind::Unlink {
        let keys = codec::as_arrays::<UNLINK_BYTES>(&record.body)?;
        unlinks.extend(keys.into_iter().map(KeyPath::from_bytes));
        return Ok(());
    }
    for pair in codec::as_arrays::<LINK_BYTES>(&record.body)? {
        let (key, digest) = pair.split_first_chunk::<32>().expect("a link has 64 bytes");
        let digest = ObjectDigest::from_bytes(codec::as_array(digest)?);
        links.push((KeyPath::from_bytes(*key), digest));
    }
    Ok(())
}

/// The state before a commit, and access to the states of older commits.
struct Before<'a> {
    /// The state of the kept commit before.
    trie: Trie,
    /// Returns the state of the newest older commit that has a given root.
    of_root: &'a dyn Fn(Root) -> Result<Option<Trie>>,
}

/// The state after a commit, and the ids that the catalog must note.
#[derive(Default)]
struct NextState {
    trie: Trie,
    /// The ids that left the state, each with the time of its first write.
    unlinked: Vec<(KeyPath, i64)>,
    /// Whether this is the state of an older commit, as after a rollback.
    is_kept_one: bool,
}

/// Returns the states of the commits in a run of batches that follow the state `trie`, each with the commit's seq.
///
/// # Errors
/// `Corrupt` or `Io` if the log cannot be read, or a root differs from that of its commit.
pub(super) fn states_behind(
    store: &Store,
    trie: Trie,
    from: &Position,
    upto: u64,
    older: &dyn Fn(Root, u64) -> Result<Option<Trie>>,
) -> Result<HashMap<u64, Trie>> {
    let mut states = HashMap::new();
    let mut by_root: HashMap<Root, Trie> = HashMap::new();
    let mut trie = trie;
    store.records.reader().batches(from, upto, &mut |batch| {
        let mut contents = decode(store, &batch, None, false)?;
        let Some(record) = contents.commit.take() else {
            return Ok(());
        };
        let before = Before {
            trie: trie.clone(),
            of_root: &|root| match by_root.get(&root) {
                Some(found) => Ok(Some(found.clone())),
                None => older(root, record.commit.seq),
            },
        };
        trie = state_after(store, &before, &contents, &record.commit, None)?.trie;
        by_root.insert(record.commit.root, trie.clone());
        states.insert(record.commit.seq, trie.clone());
        Ok(())
    })?;
    Ok(states)
}

/// Checks STO-1 except for the root. Returns the history tree over the commits before this one.
fn check_chain(
    store: &Store,
    head: Option<&CommitEntry>,
    contents: &Contents,
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
        _ if !in_order => "the gap before it does not start after the newest commit",
        None if !commit.parents.is_empty() => "the first commit has a parent",
        Some(parent) if commit.parents.first() != Some(&parent) => "its parent is not the commit before it",
        _ if commit.seq != history.size() => "its seq does not follow its parent's",
        _ if head.is_some_and(|head| commit.time <= head.commit.time) => "its time is not after its parent's",
        _ if commit.history_root != history.root() => "its history root does not match the chain",
        _ => return Ok(history),
    };
    Err(Error::corrupt(format!(
        "commit {} does not continue the log: {rule}",
        commit.seq
    )))
}

/// Returns the state after the batch, and checks that its root is the root in the commit.
fn state_after(
    store: &Store,
    before: &Before<'_>,
    contents: &Contents,
    commit: &Commit,
    staged: Option<Trie>,
) -> Result<NextState> {
    let state = match &contents.map_record {
        Some(map_record) => state_of_map(store, before, map_record)?,
        None if contents.changes_state() => link_all(store, before, contents, commit, staged)?,
        None => state_of_root(before, commit)?,
    };
    let root = state.trie.root(store.suite, Shape::State, store)?;
    if root != commit.root {
        let (seq, named) = (commit.seq, commit.root);
        return Err(Error::corrupt(format!(
            "commit {seq} names root {named}, but its changes give {root}"
        )));
    }
    Ok(state)
}

/// Returns the state of the newest kept commit with the same root as this commit. The batch of a rollback contains no
/// changes, only its target.
fn state_of_root(before: &Before<'_>, commit: &Commit) -> Result<NextState> {
    let trie = match (before.of_root)(commit.root)? {
        Some(trie) => trie,
        None if commit.seq == 0 => Trie::new(),
        None => {
            let (seq, root) = (commit.seq, commit.root);
            return Err(Error::corrupt(format!(
                "commit {seq} reuses the root {root}, which no earlier commit has"
            )));
        }
    };
    Ok(NextState {
        trie,
        unlinked: Vec::new(),
        is_kept_one: true,
    })
}

fn place_of(store: &Store, digest: ObjectDigest) -> Result<u64> {
    let place = store.records.find_trace(digest)?;
    let place = place.ok_or_else(|| Error::corrupt(format!("version {digest} is linked but missing")))?;
    Ok(place.to_u64())
}

/// Applies the links and unlinks of the batch to the parent's state, or returns the state that the writer computed for
/// this batch.
fn link_all(
    store: &Store,
    before: &Before<'_>,
    contents: &Contents,
    commit: &Commit,
    staged: Option<Trie>,
) -> Result<NextState> {
    let parent = &before.trie;
    let mut state = NextState {
        trie: staged.unwrap_or_else(|| parent.clone()),
        ..NextState::default()
    };
    let mut link = |key: KeyPath, digest: ObjectDigest, place: u64| {
        let created = match parent.get(&key, store)? {
            Some(old) => old.created,
            None => store
                .first_written(&key)?
                .unwrap_or_else(|| commit.time.as_micros()),
        };
        let entry = Entry {
            key,
            digest: *digest.as_bytes(),
            place,
            created,
        };
        state.trie.insert(entry, store).map(drop)
    };
    for &(key, digest, place) in &contents.links_of_objects {
        link(key, digest, place.to_u64())?;
    }
    for &(key, digest) in &contents.links {
        link(key, digest, place_of(store, digest)?)?;
    }
    for key in &contents.unlinks {
        state.trie.remove(key, store)?;
        if let Some(old) = parent.get(key, store)? {
            state.unlinked.push((*key, old.created));
        }
    }
    Ok(state)
}

/// Returns the state of a commit from its map record.
fn state_of_map(store: &Store, before: &Before<'_>, map_record: &MapRecord) -> Result<NextState> {
    let place = |digest| place_of(store, digest);
    let (trie, unlinked) = apply_map(&before.trie, map_record, store, &place)?;
    Ok(NextState {
        trie,
        unlinked,
        is_kept_one: false,
    })
}

/// Returns the state from a map record, which is a whole map or the changes since the state `before`. Also returns the
/// ids that left the state, each with the time of its first write.
pub(super) fn apply_map(
    before: &Trie,
    map_record: &MapRecord,
    source: &dyn NodeSource,
    place: &dyn Fn(ObjectDigest) -> Result<u64>,
) -> Result<(Trie, Vec<(KeyPath, i64)>)> {
    let (mut entries, mut unlinked) = (Vec::new(), Vec::new());
    let mut trie = before.clone();
    for change in &map_record.entries {
        let Some(digest) = change.digest else {
            trie.remove(&change.key, source)?;
            unlinked.push((change.key, change.created));
            continue;
        };
        let entry = Entry {
            key: change.key,
            digest: *digest.as_bytes(),
            place: place(digest)?,
            created: change.created,
        };
        if map_record.whole {
            entries.push(entry);
        } else {
            trie.insert(entry, source)?;
        }
    }
    if map_record.whole {
        trie = Trie::from_entries(entries);
    }
    Ok((trie, unlinked))
}
