//! Reads objects, contents and texts back from the log by place or by digest.
//!
//! # Layer
//! L4. Knows that a record's body is an object, a content or a text; does not know states or commits.
//!
//! # Invariants
//! - RCS-1: a record found by digest has that digest; it is hashed before it is handed out.

use parking_lot::RwLock;

use crate::bytes::Bytes;
use crate::digest::{ContentDigest, Domain, HashSuite, ObjectDigest, TextDigest};
use crate::error::{Error, Result};
use crate::log::{Locator, LogReader, Record, RecordKind};
use crate::object::Object;

use super::versions::DigestIndex;

/// Everything that history holds, found by digest.
pub(crate) struct Records {
    suite: HashSuite,
    reader: LogReader,
    objects: RwLock<DigestIndex>,
    /// Contents and texts; the domain of their digest tells them apart.
    texts: RwLock<DigestIndex>,
}

impl Records {
    pub(super) fn new(suite: HashSuite, reader: LogReader) -> Self {
        Self {
            suite,
            reader,
            objects: RwLock::default(),
            texts: RwLock::default(),
        }
    }

    /// How many versions of objects are kept.
    pub(crate) fn versions(&self) -> u64 {
        self.objects.read().len() as u64
    }

    /// The object whose record is at `place` and is known to have `digest`, with its content.
    ///
    /// # Errors
    /// `Corrupt` if the place holds something else or the content is missing.
    pub(crate) fn object_at(&self, place: u64, digest: ObjectDigest) -> Result<Object> {
        let record = self.reader.read(Locator::from_u64(place))?;
        if record.kind != RecordKind::Object {
            return Err(Error::corrupt(format!(
                "the record of version {digest} is not an object"
            )));
        }
        self.with_content(Object::from_verified(record.body, digest))
    }

    fn with_content(&self, object: Object) -> Result<Object> {
        let Some((digest, _)) = object.content_digest() else {
            return Ok(object);
        };
        let content = self
            .find_content(digest)?
            .ok_or_else(|| Error::corrupt(format!("the content {digest} of {} is missing", object.id())))?;
        Ok(object.with_content(content))
    }

    /// The version with this digest, wherever history keeps it.
    ///
    /// # Errors
    /// As [`Self::object_at`].
    pub(crate) fn find_object(&self, digest: ObjectDigest) -> Result<Option<(Locator, Object)>> {
        let mut found = None;
        let place = self.objects.read().find(digest.as_bytes(), |place| {
            let body = self.reader.read(place)?.body;
            // RCS-1: the index holds parts of digests; the record itself decides.
            let matches = self.suite.hash_bytes(Domain::Object, &body) == *digest.as_bytes();
            if matches {
                found = Some(body);
            }
            Ok(matches)
        })?;
        match place.zip(found) {
            Some((place, body)) => Ok(Some((
                place,
                self.with_content(Object::from_verified(body, digest))?,
            ))),
            None => Ok(None),
        }
    }

    /// Where the version with this digest is kept.
    ///
    /// # Errors
    /// As [`Self::object_at`].
    pub(crate) fn find_place(&self, digest: ObjectDigest) -> Result<Option<Locator>> {
        self.objects.read().find(digest.as_bytes(), |place| {
            let body = self.reader.read(place)?.body;
            Ok(self.suite.hash_bytes(Domain::Object, &body) == *digest.as_bytes())
        })
    }

    /// Where the content record with this digest is kept.
    ///
    /// # Errors
    /// As [`Self::find_content`].
    pub(crate) fn find_content_place(&self, digest: ContentDigest) -> Result<Option<Locator>> {
        self.texts.read().find(digest.as_bytes(), |place| {
            let body = self.reader.read(place)?.body;
            Ok(self.suite.hash_bytes(Domain::Content, &body) == *digest.as_bytes())
        })
    }

    /// The record at a place.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be read.
    pub(crate) fn record(&self, place: Locator) -> Result<Record> {
        self.reader.read(place)
    }

    fn find_hashed(&self, domain: Domain, digest: &[u8; 32]) -> Result<Option<Bytes>> {
        let mut found = None;
        self.texts.read().find(digest, |place| {
            let body = self.reader.read(place)?.body;
            let matches = self.suite.hash_bytes(domain, &body) == *digest;
            if matches {
                found = Some(body);
            }
            Ok(matches)
        })?;
        Ok(found)
    }

    /// The content record with this digest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn find_content(&self, digest: ContentDigest) -> Result<Option<Bytes>> {
        self.find_hashed(Domain::Content, digest.as_bytes())
    }

    /// The reason or source text with this digest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn find_text(&self, digest: TextDigest) -> Result<Option<Bytes>> {
        self.find_hashed(Domain::Text, digest.as_bytes())
    }

    /// The number of the batch that holds the record at `place`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn batch_of(&self, place: u64) -> Result<u64> {
        Ok(self.reader.read(Locator::from_u64(place))?.batch)
    }

    /// Indexes an object record under its digest, unless that digest is known.
    pub(super) fn add_object(&self, digest: ObjectDigest, place: Locator) -> Result<()> {
        if self.find_place(digest)?.is_none() {
            self.objects.write().insert(digest.as_bytes(), place);
        }
        Ok(())
    }

    pub(super) fn add_text(&self, domain: Domain, body: &[u8], place: Locator) -> Result<()> {
        let digest = self.suite.hash_bytes(domain, body);
        if self.find_hashed(domain, &digest)?.is_none() {
            self.texts.write().insert(&digest, place);
        }
        Ok(())
    }
}
