//! The digests to erase, and the markers that replace their records.
//!
//! # Layer
//! Layer 4.

use std::collections::HashMap;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite};
use crate::log::{Record, RecordKind};
use crate::store::records::{digest_of, object_of};
use crate::store::rewritten::Erased;

/// The digests to erase, each with the commit that erases it.
#[derive(Default)]
pub(crate) struct Erasure {
    /// The digests of versions, contents and texts.
    pub(crate) digests: HashMap<[u8; DIGEST_LEN], CommitDigest>,
}

impl Erasure {
    /// Returns the marker that replaces an object, content or text record, if the record is to be erased.
    pub(super) fn of(&self, suite: HashSuite, record: &Record) -> Option<Erased> {
        if self.digests.is_empty() {
            return None;
        }
        let digest = digest_of(record, suite);
        let by = *self.digests.get(&digest)?;
        let key = (record.kind == RecordKind::Object)
            .then(|| suite.key_path(object_of(record, suite).id().as_str()));
        Some(Erased { key, digest, by })
    }
}
