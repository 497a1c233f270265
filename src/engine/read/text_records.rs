//! Iterates every text in the log, to search for content that should have been erased.
//!
//! # Layer
//! L5. Reads only.

use crate::digest::{ContentDigest, Domain, TextDigest};
use crate::error::Result;
use crate::log::{Record, RecordKind};
use crate::object::{Commit, Object, Reference};
use crate::store::{Store, object_of};

use super::view::CommitInfo;
use crate::engine::inner::Inner;
use crate::engine::write::log_handle::body_bytes;

/// A record of the log that contains text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextRecord {
    /// A version of an object that history or a draft keeps. A content that is a record of its own is not included.
    Version(Object),
    /// A content that is a record of its own.
    Content(ContentDigest, String),
    /// A reason or a source.
    Text(TextDigest, String),
    /// A commit, for its op, actor and session.
    Commit(CommitInfo),
    /// A reference, for its name, actor and session. Deleted references are included until garbage collection.
    Reference(Reference),
}

impl Inner {
    /// As [`Memory::text_records`](crate::Memory::text_records).
    pub(crate) fn text_records(&self, visit: &mut dyn FnMut(TextRecord) -> Result<()>) -> Result<()> {
        self.refresh()?;
        let cut = self.cut(&self.log.lock());
        let (mut done, total) = (0, cut.bytes);
        cut.store.read_log(cut.position.batch, &mut |batch| {
            done += body_bytes(batch);
            self.settings().step("search", done.min(total), total)?;
            for record in &batch.records {
                text_record(&cut.store, record).map_or(Ok(()), &mut *visit)?;
            }
            Ok(())
        })
    }
}

/// Returns the text of a record; `None` if it contains only digests.
fn text_record(store: &Store, record: &Record) -> Option<TextRecord> {
    let said = || String::from_utf8_lossy(&record.body).into_owned();
    Some(match record.kind {
        RecordKind::Object => TextRecord::Version(object_of(record, store.suite)),
        RecordKind::Content => {
            let digest = store.suite.hash_bytes(Domain::Content, &record.body);
            TextRecord::Content(ContentDigest::from_bytes(digest), said())
        }
        RecordKind::Text => {
            let digest = store.suite.hash_bytes(Domain::Text, &record.body);
            TextRecord::Text(TextDigest::from_bytes(digest), said())
        }
        RecordKind::Commit => TextRecord::Commit(CommitInfo {
            digest: Commit::hash(&record.body, store.suite),
            commit: Commit::decode(&record.body).ok()?,
        }),
        RecordKind::Reference => TextRecord::Reference(Reference::decode(&record.body).ok()?),
        _ => return None,
    })
}
