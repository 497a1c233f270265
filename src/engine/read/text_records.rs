//! The texts in the records of the log, to search for content that should have been erased.
//!
//! # Layer
//! Layer 5. Reads only.

use crate::digest::{ContentDigest, Domain, TextDigest};
use crate::log::{Record, RecordKind};
use crate::object::{Commit, Object, Reference};
use crate::store::{Store, object_of};

use super::CommitInfo;

/// A record of the log that contains text.
#[derive(Clone, Debug)]
pub enum TextRecord {
    /// A version of an object that history or a draft keeps. A content that is a separate record is not included.
    Version(Object),
    /// A content that is stored as a separate record.
    Content(ContentDigest, String),
    /// The text of a reason or a source.
    Text(TextDigest, String),
    /// A commit, which contains the names of its operation, actor and session.
    Commit(CommitInfo),
    /// A reference, which contains its name, actor and session. Deleted references are included until garbage
    /// collection removes them.
    Reference(Reference),
}

/// Converts a record to a text record. Returns `None` if the record contains only digests.
pub(super) fn text_record(store: &Store, record: &Record) -> Option<TextRecord> {
    let said = || String::from_utf8_lossy(&record.body).into_owned();
    let hash = |domain| store.suite.hash_bytes(domain, &record.body);
    Some(match record.kind {
        RecordKind::Object => TextRecord::Version(object_of(record, store.suite)),
        RecordKind::Content => TextRecord::Content(ContentDigest::from_bytes(hash(Domain::Content)), said()),
        RecordKind::Text => TextRecord::Text(TextDigest::from_bytes(hash(Domain::Text)), said()),
        RecordKind::Commit => TextRecord::Commit(CommitInfo {
            digest: Commit::hash(&record.body, store.suite),
            commit: Commit::decode(&record.body).ok()?,
        }),
        RecordKind::Reference => TextRecord::Reference(Reference::decode(&record.body).ok()?),
        _ => return None,
    })
}
