//! Follows one id through the frames of the log. Decodes only the records that concern the id.
//!
//! # Layer
//! Layer 4.
//!
//! # Format
//! docs/format.md, "Batch and seal".

use crate::codec::{self, DecodeError};
use crate::digest::{DIGEST_LEN, KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::{LINK_BYTES, Locator, ReadFrame, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::{Commit, Object};
use crate::trie::Entry;

use super::Store;
use super::edit::Change;
use super::past::missing_version;
use super::rewritten::{Erased, MapRecord, unreadable_at};

/// The records of a batch that concern the id.
#[derive(Default)]
struct Found {
    changes_state: bool,
    /// Whether the batch contains the whole map of its commit.
    is_whole: bool,
    /// The last change of each sort. A batch applies them in this order: objects, links, unlinks, map.
    object: Option<Change>,
    link: Option<Change>,
    unlink: Option<Change>,
    map: Option<Change>,
    commit: Option<Locator>,
    /// Whether the batch belongs to another line than the main one.
    is_beside: bool,
}

impl Found {
    fn last(&self) -> Option<Change> {
        self.map.or(self.unlink).or(self.link).or(self.object)
    }
}

/// The effect of a commit on the followed id.
pub(super) enum Followed {
    /// The commit contains a change of the id.
    Changes {
        /// The seq of the commit.
        seq: u64,
        /// The entry after the commit; `None` if the commit removes the id.
        entry: Option<Entry>,
        /// Whether `created` in `entry` is the time of the first write of the id. If not, it is the commit's time, and
        /// the entry before the commit has the time, if there is one.
        is_first: bool,
    },
    /// The commit contains no changes, and reuses the state of an older commit.
    Reuses(Box<Commit>),
}

/// Follows one id from batch to batch.
pub(super) struct Follower<'a> {
    store: &'a Store,
    key: KeyPath,
    /// The id, once a record of it was found. Before, each id is hashed.
    id: Option<Box<[u8]>>,
    found: Found,
}

impl<'a> Follower<'a> {
    /// Starts to follow the id at `key`. `entry` is any entry of the id, to find its text.
    pub(super) fn new(store: &'a Store, key: KeyPath, entry: Option<&Entry>) -> Self {
        let mut follower = Self {
            store,
            key,
            id: None,
            found: Found::default(),
        };
        let record = entry.and_then(|entry| store.records.record(Locator::from_u64(entry.place)).ok());
        if let Some(record) = record.filter(|record| record.kind == RecordKind::Object) {
            follower.is_of_id(&record.body);
        }
        follower
    }

    /// Adds the next frame. If the frame ends a batch whose commit may change the id, returns what the commit does to
    /// the id.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(super) fn add(&mut self, frame: &ReadFrame<'_>) -> Result<Option<Followed>> {
        if frame.kind == RecordKind::Seal {
            let found = std::mem::take(&mut self.found);
            return self.after(&found);
        }
        let noted = self.note(frame);
        noted.map_err(|error| unreadable_at(frame.locator, &error))?;
        Ok(None)
    }

    fn note(&mut self, frame: &ReadFrame<'_>) -> Result<(), DecodeError> {
        let links = frame.flags & UNLINKED == 0;
        let changes_state = match frame.kind {
            RecordKind::Object if links => {
                if self.is_of_id(frame.body) {
                    let (digest, place) = (
                        Object::check_and_hash(frame.body, self.store.suite)?,
                        frame.locator,
                    );
                    self.found.object = Some(Change::new(self.key, Some(digest), Some(place), None));
                }
                true
            }
            RecordKind::Erased => {
                let erased = Erased::decode(frame.body)?;
                if links && erased.key == Some(self.key) {
                    let digest = ObjectDigest::from_bytes(erased.digest);
                    self.found.object = Some(Change::new(self.key, Some(digest), Some(frame.locator), None));
                }
                links && erased.key.is_some()
            }
            RecordKind::Link => {
                let links = codec::as_arrays::<LINK_BYTES>(frame.body)?;
                if let Some(link) = links.iter().rfind(|link| link.starts_with(self.key.as_bytes())) {
                    let digest = ObjectDigest::from_bytes(codec::as_array(&link[DIGEST_LEN..])?);
                    self.found.link = Some(Change::new(self.key, Some(digest), None, None));
                }
                !links.is_empty()
            }
            RecordKind::Unlink => {
                let keys = codec::as_arrays::<UNLINK_BYTES>(frame.body)?;
                if keys.contains(self.key.as_bytes()) {
                    self.found.unlink = Some(Change::new(self.key, None, None, None));
                }
                !keys.is_empty()
            }
            RecordKind::Base | RecordKind::Delta => {
                if let Some(entry) = MapRecord::find(frame.body, &self.key)? {
                    self.found.map = Some(Change::new(self.key, entry.digest, None, Some(entry.created)));
                }
                self.found.is_whole = frame.kind == RecordKind::Base;
                true
            }
            RecordKind::Commit => {
                self.found.commit = Some(frame.locator);
                false
            }
            RecordKind::Line => {
                self.found.is_beside = true;
                false
            }
            _ => false,
        };
        self.found.changes_state |= changes_state;
        Ok(())
    }

    /// Returns whether the bytes are an object of the id.
    fn is_of_id(&mut self, object: &[u8]) -> bool {
        let Some(id) = Object::id_in(object) else {
            return false;
        };
        if let Some(known) = &self.id {
            return **known == *id.as_bytes();
        }
        let found = self.store.suite.key_path(id) == self.key;
        if found {
            self.id = Some(id.as_bytes().into());
        }
        found
    }

    fn after(&self, found: &Found) -> Result<Option<Followed>> {
        let Some(place) = found.commit.filter(|_| !found.is_beside) else {
            return Ok(None);
        };
        let last = found.last();
        if found.changes_state && last.is_none() && !found.is_whole {
            return Ok(None);
        }
        let record = self.store.records.record(place)?;
        let commit = Commit::decode(&record.body).map_err(|error| unreadable_at(place, &error))?;
        if !found.changes_state {
            return Ok(Some(Followed::Reuses(Box::new(commit))));
        }
        let last = last.unwrap_or(Change::new(self.key, None, None, None));
        let entry = last.digest.map(|digest| -> Result<Entry> {
            let place = match last.place {
                Some(place) => Some(place),
                None => (self.store.records.find_trace(digest, record.batch)?).map(Locator::to_u64),
            };
            Ok(Entry {
                key: self.key,
                digest: *digest.as_bytes(),
                place: place.ok_or_else(|| missing_version(digest))?,
                created: last.created.unwrap_or(commit.time.as_micros()),
            })
        });
        Ok(Some(Followed::Changes {
            seq: commit.seq,
            entry: entry.transpose()?,
            is_first: last.created.is_some(),
        }))
    }
}
