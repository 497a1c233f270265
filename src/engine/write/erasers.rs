//! Finds the erasures that a remote lacks, and adds their markers to the batches of a push.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - PSH-3: the batch of a commit that erased something has the markers of all that it erased. So other machines learn of
//!   it, also of versions that no batch of theirs names.
//! - PSH-4: an erasure that came from another remote travels with the first commit behind it, as one of that commit, but with the
//!   time of the first eraser. It takes along nothing that was put again here, and nothing if it erased nothing here (RML-4). It
//!   does not go to a remote that has it.

use std::collections::HashMap;

use super::push::Sent;
use crate::digest::CommitDigest;
use crate::engine::inner::Inner;
use crate::error::Result;
use crate::log::{Fixed, RecordKind, UNLINKED};
use crate::object::Time;
use crate::store::{
    ERASED_IDS, Erased, ErasedId, ErasedIds, Erasure, add_erased_id, erased_ids_in, markers_in,
};

/// The commits that may have erased something that a remote has. Each with the index of the batch that gets its markers, and the
/// commit that the markers name.
#[derive(Default)]
pub(super) struct Erasers(HashMap<CommitDigest, (usize, CommitDigest)>);

impl Erasers {
    /// Adds a commit, whose markers go to the batch of the commit `sent` of the main line.
    pub(super) fn add(&mut self, eraser: CommitDigest, sent: CommitDigest, index: usize) {
        self.0.insert(eraser, (index, sent));
    }
}

impl Inner {
    /// Adds the markers of what these commits erased to the batches of a push (PSH-3). Returns what they erased, and the ids
    /// of which they erased all versions.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(super) fn add_markers(&self, erasers: &Erasers, sent: &mut [Sent]) -> Result<(Erasure, ErasedIds)> {
        let (mut erasure, mut ids) = (Erasure::new(), ErasedIds::new());
        if erasers.0.is_empty() {
            return Ok((erasure, ids));
        }
        let cut = self.main().cut(&self.log.lock());
        cut.read(self.settings(), "search", &mut |batch| {
            for erased in markers_in(batch)? {
                if let Some((index, by)) = erasers.0.get(&erased.by)
                    && (*by == erased.by || !cut.store.is_found(&erased.digest)?)
                    && erasure.insert(erased.digest, *by).is_none()
                    && let Some(sent) = sent.get_mut(*index)
                {
                    let marker = Erased { by: *by, ..erased };
                    sent.batch.add(RecordKind::Erased, UNLINKED, &marker.encode());
                }
            }
            for erased in erased_ids_in(batch)? {
                let Some((index, by)) = erasers.0.get(&erased.by) else {
                    continue;
                };
                // The time of the erasure stays. So a version that is put between it and the push stays, too.
                let id = ErasedId { by: *by, ..erased };
                add_erased_id(&mut ids, id, Time::from_micros(id.time));
                if let Some(sent) = sent.get_mut(*index) {
                    let mut body = Vec::new();
                    id.put(&mut body);
                    sent.batch.add(ERASED_IDS, 0, &body);
                }
            }
            Ok(())
        })?;
        Ok((erasure, ids))
    }
}
