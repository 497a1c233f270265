//! Applies the changes of a draft to a state, and converts them to records of a batch.
//!
//! One walk of the trie serves all changes: it finds the current version of each id, checks it against the draft, adds
//! the record of the new version to the batch, and puts the new entry into the trie. The entry contains the locator
//! that the record will have if the batch begins where the writer expects it.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STG-1: a batch contains no version and no content twice, and no version or content that history already has.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::digest::{ContentDigest, DigestHash, KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::{BODY_BYTES_MAX, BatchBuilder, Locator, RecordKind, UNLINKED};
use crate::object::{Id, Time};
use crate::store::{ChangeCounts, IdHash, Store, Unlinked};
use crate::trie::{Entry, NodeSource, Trie};

use super::draft::changed_meanwhile;
use super::{Draft, StagedObject};
use crate::engine::read::not_kept;

/// A state with the changes of a draft.
pub(crate) struct Changed {
    pub(crate) trie: Trie,
    /// The key path and digest of each object record that was added to the batch.
    pub(crate) objects: Vec<(KeyPath, ObjectDigest)>,
    /// The removed ids, each with the time of its first write.
    pub(crate) unlinked: Unlinked,
    /// The ids that the batch links or unlinks.
    pub(crate) named: Vec<IdHash>,
    /// The changes that the state did not contain yet.
    pub(crate) counts: ChangeCounts,
}

/// The place of a draft's batch.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// The batch of a commit with this time, which begins at the locator if the log does not rotate before.
    Commit(Locator, Time),
    /// A batch without a commit, whose versions are not added to the state.
    Unlinked,
}

/// Applies the changes of `draft` to `trie`, whose stored nodes are in `nodes`. Adds the draft's earlier versions and
/// its changes to `batch`.
///
/// # Errors
/// `Conflict`, naming the ids that another writer changed since; `NotFound` (code `erased` or `lost` if so) if history
/// no longer keeps a version that the draft links (DRA-3).
pub(crate) fn add_changes(
    store: &Store,
    draft: &Draft,
    batch: &mut BatchBuilder,
    trie: Trie,
    nodes: &dyn NodeSource,
    place: Place,
) -> Result<Changed> {
    let mut conflicts = match place {
        Place::Commit(..) => draft.unexpected(store, &trie)?,
        // A draft is kept as it is. Its expectations count when it is committed.
        Place::Unlinked => BTreeSet::new(),
    };
    let mut added = Added::new(store, draft, batch, place);
    for staged in draft.past.values() {
        let key = store.suite.key_path(staged.object.id().as_str());
        added.version(key, staged, UNLINKED)?;
    }
    let changes = draft.staged.sorted();
    let keys: Vec<KeyPath> = changes.iter().map(|(key, _)| *key).collect();
    let (mut unlinked, mut counts) = (Vec::new(), ChangeCounts::default());
    let trie = trie.updated(&keys, nodes, &mut |index, old| {
        let (key, change) = changes[index];
        let now = old.map(|old| ObjectDigest::from_bytes(old.digest));
        if now == change.new_digest() {
            return Ok(old.copied());
        }
        if now != change.old {
            conflicts.insert(change.id.to_string());
            return Ok(old.copied());
        }
        let (had, has) = change.sides();
        counts.add(had, has);
        let Some(staged) = &change.new else {
            added.unlinks.extend_from_slice(key.as_bytes());
            added.named.push(IdHash::of(change.id.as_str()));
            unlinked.extend(old.map(|old| (key, old.created)));
            return Ok(None);
        };
        Ok(Some(Entry {
            key,
            digest: *staged.object.digest().as_bytes(),
            place: added.linked_version((key, &change.id), staged)?.to_u64(),
            created: old.map_or_else(|| added.created(&key), |old| Ok(old.created))?,
        }))
    })?;
    if !conflicts.is_empty() {
        return Err(changed_meanwhile(conflicts.into_iter().collect()));
    }
    let named = std::mem::take(&mut added.named);
    Ok(Changed {
        trie,
        objects: added.finish(),
        unlinked,
        named,
        counts,
    })
}

/// The records that a draft adds to a batch.
struct Added<'a> {
    store: &'a Store,
    batch: &'a mut BatchBuilder,
    place: Place,
    /// Whether the draft was made on this store. A rewrite of the log makes another one.
    is_same_log: bool,
    contents: HashSet<ContentDigest, DigestHash>,
    objects: Vec<(KeyPath, ObjectDigest)>,
    links: Vec<u8>,
    unlinks: Vec<u8>,
    /// The ids that are linked or unlinked, for the cache of places.
    named: Vec<IdHash>,
}

impl<'a> Added<'a> {
    fn new(store: &'a Store, draft: &Draft, batch: &'a mut BatchBuilder, place: Place) -> Self {
        Self {
            store,
            batch,
            place,
            is_same_log: std::ptr::eq(store, Arc::as_ptr(&draft.base.state.store)),
            contents: HashSet::default(),
            objects: Vec::new(),
            links: Vec::new(),
            unlinks: Vec::new(),
            named: Vec::new(),
        }
    }

    /// Adds a version that becomes current, as an object record or as a link. Returns the locator of its record.
    fn linked_version(&mut self, (key, id): (KeyPath, &Id), staged: &StagedObject) -> Result<Locator> {
        let flags = match self.place {
            Place::Commit(..) => 0,
            Place::Unlinked => UNLINKED,
        };
        let (locator, is_new) = self.version(key, staged, flags)?;
        if !is_new {
            self.links.extend_from_slice(key.as_bytes());
            self.links.extend_from_slice(staged.object.digest().as_bytes());
            self.named.push(IdHash::of(id.as_str()));
        }
        Ok(locator)
    }

    /// Adds one version, unless history has it. Returns the locator of its record, and whether the version is new.
    fn version(&mut self, key: KeyPath, staged: &StagedObject, flags: u8) -> Result<(Locator, bool)> {
        // Adds the content even if history has the version, because the content may have been erased.
        if let Some((digest, bytes)) = &staged.content
            && self.contents.insert(*digest)
            && self.store.records.find_content(*digest)?.is_none()
        {
            self.batch.add(RecordKind::Content, 0, bytes);
        }
        // STG-1. A digest covers the id, so two ids of a batch cannot have the same version.
        if let Some(known) = self
            .store
            .records
            .find_place_of(&staged.object, self.read_at(staged))?
        {
            return Ok((known, false));
        }
        let digest = staged.object.digest();
        // A merge links the placeholder above a child that the other line has there.
        if staged.object.is_placeholder()
            && let Some(erased) = self.store.records.find_trace(digest, u64::MAX)?
        {
            return Ok((erased, false));
        }
        if staged.is_linked {
            // INVARIANT DRA-3: the commit links a version of history only if history still keeps it.
            let what = format!("version {digest} of '{}'", staged.object.id());
            return Err(not_kept(self.store, digest.as_bytes(), &what)?);
        }
        let start = match self.place {
            Place::Commit(start, _) => start,
            Place::Unlinked => Locator::from_u64(0),
        };
        let locator = start.plus(self.batch.frames_bytes());
        self.batch.add(RecordKind::Object, flags, staged.object.bytes());
        self.objects.push((key, digest));
        Ok((locator, true))
    }

    /// Returns the place at which the draft read a version that it links, if the store still has the same log.
    fn read_at(&self, staged: &StagedObject) -> Option<Locator> {
        staged.read_at.filter(|_| self.is_same_log)
    }

    /// Returns the time of the first write of an id that the state lacks.
    fn created(&self, key: &KeyPath) -> Result<i64> {
        match self.place {
            Place::Commit(_, time) => {
                let written = self.store.first_written(key)?;
                Ok(written.unwrap_or_else(|| time.as_micros()))
            }
            Place::Unlinked => Ok(0),
        }
    }

    fn finish(self) -> Vec<(KeyPath, ObjectDigest)> {
        if matches!(self.place, Place::Commit(..)) {
            add_links(self.batch, &self.links, &self.unlinks);
        }
        self.objects
    }
}

/// Adds link and unlink records. Splits these records so that each record stays within the size limit of a record.
pub(crate) fn add_links(batch: &mut BatchBuilder, links: &[u8], unlinks: &[u8]) {
    for (kind, bytes) in [(RecordKind::Link, links), (RecordKind::Unlink, unlinks)] {
        // The limit is a multiple of the length of an entry of either kind.
        for part in bytes.chunks(BODY_BYTES_MAX) {
            batch.add(kind, 0, part);
        }
    }
}
