//! Turns one batch of the log into a state, a commit and references.
//!
//! # Layer
//! L4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use std::sync::{Arc, OnceLock};

use crate::codec;
use crate::digest::{CommitDigest, Domain, KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::log::{Batch, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, Object, Reference};
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::{CommitEntry, CommitHistory, Store};

/// What the writer already knows about the batch it has just written.
pub(crate) struct StagedState {
    /// The state after the batch; the places of new records are not in it yet.
    pub(crate) trie: Option<Trie>,
    /// Key path and digest of each object record, in the order of the batch.
    pub(crate) objects: Vec<(KeyPath, ObjectDigest)>,
}

/// What a batch says, decoded.
#[derive(Default)]
struct Contents {
    /// Object records that link their id.
    links_of_objects: Vec<(KeyPath, ObjectDigest, Locator)>,
    links: Vec<(KeyPath, ObjectDigest)>,
    unlinks: Vec<KeyPath>,
    commit: Option<(Commit, CommitDigest)>,
    references: Vec<Reference>,
}

impl Contents {
    fn changes_state(&self) -> bool {
        !(self.links_of_objects.is_empty() && self.links.is_empty() && self.unlinks.is_empty())
    }
}

pub(super) fn apply(
    store: &Store,
    history: &mut CommitHistory,
    batch: &Batch,
    staged: Option<StagedState>,
) -> Result<Option<Arc<CommitEntry>>> {
    let (state, known) = match staged {
        Some(staged) => (staged.trie, Some(staged.objects)),
        None => (None, None),
    };
    let mut contents = decode(store, batch, known.as_deref())?;
    let state = match &contents.commit {
        Some((commit, _)) => Some(check_commit(store, history, &contents, commit, state)?),
        None if contents.changes_state() => {
            return Err(Error::corrupt("a batch without a commit changes the state"));
        }
        None => None,
    };
    let entry = contents
        .commit
        .take()
        .zip(state.as_ref())
        .map(|((commit, digest), state)| {
            let counts = OnceLock::new();
            Arc::new(CommitEntry {
                digest,
                commit,
                trie: state.trie.clone(),
                batch: batch.number,
                counts,
            })
        });
    if let Some(entry) = entry.as_ref().filter(|entry| entry.digest != batch.commit) {
        let (named, found) = (batch.commit, entry.digest);
        return Err(Error::corrupt(format!(
            "the seal names commit {named}, the record is {found}"
        )));
    }

    // Everything held: from here on nothing fails, so memory takes in all of the batch or none of it.
    let mut catalog = store.catalog.write();
    if let Some(state) = state {
        state
            .unlinked
            .into_iter()
            .for_each(|(key, since)| catalog.note_unlinked(key, since));
        state.left.into_iter().for_each(|seq| catalog.note_left(seq));
    }
    if let Some(entry) = &entry {
        history.append(&entry.digest);
        catalog.push_commit(Arc::clone(entry));
    }
    for reference in contents.references {
        catalog.push_reference(reference, batch.number);
    }
    Ok(entry)
}

fn undecodable(record: &Record, error: impl std::fmt::Display) -> Error {
    let (segment, offset) = (record.locator.segment(), record.locator.offset());
    Error::corrupt(format!(
        "the {:?} record at offset {offset} of segment {segment}: {error}",
        record.kind
    ))
}

fn decode(store: &Store, batch: &Batch, known: Option<&[(KeyPath, ObjectDigest)]>) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut known = known.map(|objects| objects.iter());
    for record in &batch.records {
        let bad = |error: codec::DecodeError| undecodable(record, error);
        match record.kind {
            RecordKind::Object => {
                let (key, digest) = match known.as_mut().and_then(Iterator::next) {
                    Some(&found) => found,
                    None => {
                        let object = Object::decode(record.body.clone(), store.suite).map_err(bad)?;
                        (store.suite.key_path(object.id()), object.digest())
                    }
                };
                store.records.add_object(digest, record.locator)?;
                if record.flags & UNLINKED == 0 {
                    contents.links_of_objects.push((key, digest, record.locator));
                }
            }
            RecordKind::Content => store
                .records
                .add_text(Domain::Content, &record.body, record.locator)?,
            RecordKind::Text => {
                codec::as_text(&record.body).map_err(bad)?;
                store
                    .records
                    .add_text(Domain::Text, &record.body, record.locator)?;
            }
            RecordKind::Link => {
                for pair in codec::as_arrays::<LINK_BYTES>(&record.body).map_err(bad)? {
                    let (key, digest) = pair.split_first_chunk::<32>().expect("a link has 64 bytes");
                    let digest = codec::as_array(digest).map_err(bad)?;
                    contents
                        .links
                        .push((KeyPath::from_bytes(*key), ObjectDigest::from_bytes(digest)));
                }
            }
            RecordKind::Unlink => {
                let keys = codec::as_arrays::<UNLINK_BYTES>(&record.body).map_err(bad)?;
                contents.unlinks.extend(keys.into_iter().map(KeyPath::from_bytes));
            }
            RecordKind::Commit => {
                let commit = Commit::decode(&record.body).map_err(bad)?;
                let digest = Commit::hash(&record.body, store.suite);
                if contents.commit.replace((commit, digest)).is_some() {
                    return Err(Error::corrupt("a batch holds two commits"));
                }
            }
            RecordKind::Reference => {
                contents
                    .references
                    .push(Reference::decode(&record.body).map_err(bad)?);
            }
            // The seal is the log's; a kind that may be ignored is.
            _ => {}
        }
    }
    Ok(contents)
}

/// The state after a commit, with what the catalog has to remember of the one before.
#[derive(Default)]
struct NextState {
    trie: Trie,
    /// Ids that were unlinked, with the number of the commit that first wrote them.
    unlinked: Vec<(KeyPath, u32)>,
    /// The commit whose state a rollback left.
    left: Option<u64>,
}

fn check_commit(
    store: &Store,
    history: &CommitHistory,
    contents: &Contents,
    commit: &Commit,
    staged: Option<Trie>,
) -> Result<NextState> {
    check_chain(store, history, commit)?;
    let state = if contents.changes_state() {
        link_all(store, contents, commit, staged)?
    } else {
        state_of_root(store, commit)?
    };
    let root = state.trie.root(store.suite, Shape::State, &NoSource)?;
    if root != commit.root {
        let (seq, named) = (commit.seq, commit.root);
        return Err(Error::corrupt(format!(
            "commit {seq} says root {named} but its changes give {root}"
        )));
    }
    Ok(state)
}

/// STO-1, but for the root.
fn check_chain(store: &Store, history: &CommitHistory, commit: &Commit) -> Result<()> {
    let catalog = store.catalog.read();
    let rule = match catalog.head() {
        None if !commit.parents.is_empty() || commit.seq != 0 => "the first commit has a parent",
        Some(head) if commit.parents.first() != Some(&head.digest) => "its parent is not the head",
        Some(head) if commit.seq != head.seq() + 1 => "its number does not follow its parent's",
        Some(head) if commit.time <= head.commit.time => "its time is not after its parent's",
        _ if commit.history_root != history.root() => "its history root does not fit the chain",
        _ => return Ok(()),
    };
    Err(Error::corrupt(format!(
        "commit {} does not belong here: {rule}",
        commit.seq
    )))
}

/// The state of the newest kept commit with the commit's root: a rollback holds only its target.
fn state_of_root(store: &Store, commit: &Commit) -> Result<NextState> {
    let catalog = store.catalog.read();
    let head = catalog.head();
    let trie = match (catalog.by_root(commit.root), head) {
        (Some(entry), _) => entry.trie.clone(),
        (None, None) => Trie::new(),
        (None, Some(_)) => {
            let (seq, root) = (commit.seq, commit.root);
            return Err(Error::corrupt(format!(
                "commit {seq} takes root {root}, which no commit has"
            )));
        }
    };
    let left = head
        .filter(|head| head.commit.root != commit.root)
        .map(|head| head.seq());
    Ok(NextState {
        trie,
        unlinked: Vec::new(),
        left,
    })
}

/// The parent's state (or the one staged for this batch) with the batch's links and unlinks.
fn link_all(store: &Store, contents: &Contents, commit: &Commit, staged: Option<Trie>) -> Result<NextState> {
    let parent = store.catalog.read().head().map(|head| head.trie.clone());
    let parent = parent.unwrap_or_default();
    if !store.catalog.read().is_settled() {
        // Looked up beside readers; only the one who writes gets here, so nothing is left in between.
        let gone = store.catalog.read().taken_away()?;
        store.catalog.write().settle(gone);
    }
    let catalog = store.catalog.read();
    let mut state = NextState {
        trie: staged.unwrap_or_else(|| parent.clone()),
        ..NextState::default()
    };
    let mut link = |key: KeyPath, digest: ObjectDigest, place: Locator| {
        let since = match parent.get(&key, &NoSource)? {
            Some(old) => old.since,
            None => catalog.first_written(&key).unwrap_or(commit.seq as u32),
        };
        let entry = Entry {
            key,
            digest: *digest.as_bytes(),
            place: place.to_u64(),
            since,
        };
        state.trie.insert(entry, &NoSource).map(drop)
    };
    for &(key, digest, place) in &contents.links_of_objects {
        link(key, digest, place)?;
    }
    for &(key, digest) in &contents.links {
        let place = store
            .records
            .find_place(digest)?
            .ok_or_else(|| Error::corrupt(format!("version {digest} is linked but not kept")))?;
        link(key, digest, place)?;
    }
    for key in &contents.unlinks {
        state.trie.remove(key, &NoSource)?;
        if let Some(old) = parent.get(key, &NoSource)? {
            state.unlinked.push((*key, old.since));
        }
    }
    Ok(state)
}
