//! Writes the salvaged records. Writes each record once, before any record that needs it.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVO-1: each version that a commit links, and each content that such a version names, is in the batch of that
//!   commit or in an earlier batch. A marker replaces a lost or erased record.

use std::collections::HashSet;

use crate::digest::{CommitDigest, DIGEST_LEN, KeyPath, ObjectDigest, Root, TextDigest};
use crate::error::Result;
use crate::log::{BatchBuilder, DamagedLog, HeadMark, Record, RecordKind, UNLINKED, with_cap};
use crate::object::{Object, Origin};
use crate::store::records::{digest_of, object_of};
use crate::store::rewritten::Erased;

use super::index::Index;

/// If the waiting records reach this size in bytes, they are written as a separate batch.
const BATCH_BYTES: u64 = 4 << 20;

/// Receives the batches of the new store, each with the head after the batch.
pub(crate) type Sink<'a> = dyn FnMut(BatchBuilder, HeadMark) -> Result<()> + 'a;

pub(super) struct Output<'a> {
    damaged: &'a DamagedLog,
    index: &'a Index,
    sink: &'a mut Sink<'a>,
    head: HeadMark,
    /// The number of batches written so far.
    pub(super) batches: u64,
    waiting: BatchBuilder,
    /// The digests of the versions, contents and texts that were already written, or whose markers were written.
    done: HashSet<[u8; DIGEST_LEN]>,
    /// The number of versions written so far.
    pub(super) versions: u64,
    /// The digests of lost versions, contents and texts that other records name.
    pub(super) lost: HashSet<[u8; DIGEST_LEN]>,
}

impl<'a> Output<'a> {
    pub(super) fn new(damaged: &'a DamagedLog, index: &'a Index, sink: &'a mut Sink<'a>) -> Self {
        Self {
            damaged,
            index,
            sink,
            head: HeadMark {
                commit: CommitDigest::NOBODY,
                root: Root::from_bytes([0; DIGEST_LEN]),
                seq: 0,
            },
            batches: 0,
            waiting: BatchBuilder::new(),
            done: HashSet::new(),
            versions: 0,
            lost: HashSet::new(),
        }
    }

    /// Passes a batch to the sink. This batch contains the waiting records, followed by the records of `batch`. `head`
    /// is the head after the batch; `None` if the head does not change.
    pub(super) fn put(&mut self, batch: BatchBuilder, head: Option<HeadMark>) -> Result<()> {
        self.head = head.unwrap_or(self.head);
        let batch = std::mem::take(&mut self.waiting).followed_by(batch);
        if batch.is_empty() {
            return Ok(());
        }
        self.batches += 1;
        (self.sink)(batch, self.head)
    }

    /// Writes the objects, contents and texts in `records` without making a version current.
    pub(super) fn add_contents(&mut self, records: &[Record]) -> Result<()> {
        for record in records {
            self.add_content(record)?;
            if self.waiting.encoded_bytes() >= BATCH_BYTES {
                self.put(BatchBuilder::new(), None)?;
            }
        }
        Ok(())
    }

    fn add_content(&mut self, record: &Record) -> Result<()> {
        match record.kind {
            RecordKind::Object => {
                let object = object_of(record, self.damaged.suite());
                self.need_version(self.key_of(&object), object.digest())
            }
            RecordKind::Content | RecordKind::Text => self.need_text(digest_of(record, self.damaged.suite())),
            RecordKind::Erased => {
                let Ok(erased) = Erased::decode(&record.body) else {
                    return Ok(());
                };
                match erased.key {
                    Some(key) => self.need_version(key, ObjectDigest::from_bytes(erased.digest)),
                    None => self.need_text(erased.digest),
                }
            }
            RecordKind::Ignorable(_) => {
                self.waiting.add(record.kind, record.flags, &record.body);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds the records of a retained commit to its batch, unchanged. A marker replaces an object that was erased.
    pub(super) fn add_own(&mut self, records: &[Record], batch: &mut BatchBuilder) -> Result<()> {
        for record in records {
            match record.kind {
                RecordKind::Object => {
                    let object = object_of(record, self.damaged.suite());
                    let digest = object.digest();
                    if let Some((content, _)) = object.content_digest() {
                        self.need_text(*content.as_bytes())?;
                    }
                    if self.index.objects.contains_key(digest.as_bytes()) {
                        self.versions += u64::from(self.done.insert(*digest.as_bytes()));
                        batch.add(record.kind, record.flags, &record.body);
                    } else {
                        self.done.insert(*digest.as_bytes());
                        let erased = self.marker(Some(self.key_of(&object)), *digest.as_bytes());
                        batch.add(RecordKind::Erased, record.flags, &erased.encode());
                    }
                }
                RecordKind::Content | RecordKind::Text => self.add_content(record)?,
                RecordKind::Erased => {
                    if let Ok(erased) = Erased::decode(&record.body) {
                        self.done.insert(erased.digest);
                    }
                    batch.add(record.kind, record.flags, &record.body);
                }
                RecordKind::Reference | RecordKind::Line | RecordKind::Seal => {}
                _ => batch.add(record.kind, record.flags, &record.body),
            }
        }
        Ok(())
    }

    /// Writes a version, or its marker if the version is lost or erased. Does nothing if the version was already
    /// written. So the version precedes the next record, which needs it (SVO-1).
    pub(super) fn need_version(&mut self, key: KeyPath, digest: ObjectDigest) -> Result<()> {
        if !self.done.insert(*digest.as_bytes()) {
            return Ok(());
        }
        let Some(object) = self.index.object(self.damaged, *digest.as_bytes())? else {
            self.mark(Some(key), *digest.as_bytes());
            return Ok(());
        };
        if let Some((content, _)) = object.content_digest() {
            self.need_text(*content.as_bytes())?;
        }
        let cap = Some(object.origin()).filter(|class| *class != object.stored_origin());
        let flags = with_cap(UNLINKED, cap.map_or(0, Origin::tag));
        self.waiting.add(RecordKind::Object, flags, object.bytes());
        self.versions += 1;
        Ok(())
    }

    /// Writes a content or a text like [`Self::need_version`].
    pub(super) fn need_text(&mut self, digest: [u8; DIGEST_LEN]) -> Result<()> {
        if !self.done.insert(digest) {
            return Ok(());
        }
        match self.index.texts.get(&digest) {
            Some(place) => {
                let record = self.damaged.read(place.locator)?;
                self.waiting.add(record.kind, 0, &record.body);
            }
            None => self.mark(None, digest),
        }
        Ok(())
    }

    pub(super) fn need_texts(&mut self, texts: impl IntoIterator<Item = TextDigest>) -> Result<()> {
        texts
            .into_iter()
            .try_for_each(|text| self.need_text(*text.as_bytes()))
    }

    fn mark(&mut self, key: Option<KeyPath>, digest: [u8; DIGEST_LEN]) {
        let erased = self.marker(key, digest);
        if erased.is_lost() {
            self.lost.insert(digest);
        }
        self.waiting.add(RecordKind::Erased, UNLINKED, &erased.encode());
    }

    /// Returns the marker that replaces an erased or lost record.
    fn marker(&self, key: Option<KeyPath>, digest: [u8; DIGEST_LEN]) -> Erased {
        let by = self.index.erased_by(&digest).unwrap_or(CommitDigest::NOBODY);
        Erased { key, digest, by }
    }

    fn key_of(&self, object: &Object) -> KeyPath {
        self.damaged.suite().key_path(object.id().as_str())
    }
}
