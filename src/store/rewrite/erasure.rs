//! The erased digests, and the markers that replace their records.
//!
//! # Layer
//! L4.

use std::collections::HashMap;

use crate::bytes::Bytes;
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, ObjectDigest};
use crate::log::Record;
use crate::object::Object;
use crate::store::records::digest_of;
use crate::store::rewritten::Erased;

/// The digests to erase, each with the erasing commit.
#[derive(Default)]
pub(crate) struct Erasure {
    /// Versions, contents and texts.
    pub(crate) digests: HashMap<[u8; DIGEST_LEN], CommitDigest>,
}

impl Erasure {
    /// Returns the marker that replaces an object record, if it is erased.
    pub(super) fn of_object(&self, suite: HashSuite, body: &Bytes) -> Option<Erased> {
        if self.digests.is_empty() {
            return None;
        }
        let digest = Object::hash(body, suite);
        let by = *self.digests.get(digest.as_bytes())?;
        let object = Object::from_verified(body.clone(), digest);
        Some(erased(Some(suite.key_path(object.id())), digest, by))
    }

    /// Returns the marker that replaces a content or text record, if it is erased.
    pub(super) fn of_text(&self, suite: HashSuite, record: &Record) -> Option<Erased> {
        if self.digests.is_empty() {
            return None;
        }
        let digest = digest_of(record, suite);
        let by = *self.digests.get(&digest)?;
        Some(erased(None, ObjectDigest::from_bytes(digest), by))
    }
}

fn erased(key: Option<KeyPath>, digest: ObjectDigest, by: CommitDigest) -> Erased {
    Erased {
        key,
        digest: *digest.as_bytes(),
        by,
    }
}
