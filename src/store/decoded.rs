//! Decodes the records of one batch, and hashes its objects.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use crate::codec::{self, DecodeError};
use crate::digest::{CommitDigest, Domain, HashBatch, HashSuite, KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::log::{Batch, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, Object, Reference};
use crate::threads::{beside, processors};
use crate::trie::Trie;

use super::commits::Gap;
use super::edit::{Change, Edit, Removed};
use super::rewritten::{Erased, MapRecord, decode_gap, unreadable};

/// The minimal number of records for each thread that decodes a batch.
const RECORDS_A_THREAD: usize = 2_048;
/// The number of objects that are hashed together. Their bytes fit into a processor's second cache.
const HASHED_TOGETHER: usize = 256;

/// The commit record of a batch.
pub(super) struct CommitRecord {
    pub(super) commit: Commit,
    pub(super) digest: CommitDigest,
    pub(super) place: Locator,
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
    pub(super) commit: Option<CommitRecord>,
    pub(super) references: Vec<Reference>,
}

impl Decoded {
    /// Returns a batch that has only references.
    pub(super) fn with_references(references: Vec<Reference>) -> Self {
        Self {
            references,
            ..Self::default()
        }
    }

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
                if reference.base.is_some() {
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
    pub(super) fn check(&self) -> Result<()> {
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
pub(super) fn hashed(batch: &Batch, suite: HashSuite) -> Result<Hashed> {
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
