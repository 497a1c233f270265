//! Finds the erasures that a remote lacks, and adds their markers to the batches of a push.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - PSH-3: the batch of a commit that erased something has the markers of all that it erased. So other machines learn of
//!   it, also of versions that no batch of theirs names.
//! - PSH-4: an erasure that came from another remote travels with the first commit behind it, as one of that commit. It
//!   takes along nothing that was put again here, and nothing if it erased nothing here (RML-4). It does not go to a remote
//!   that has it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::push::Sent;
use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::engine::inner::Inner;
use crate::error::Result;
use crate::log::{Record, RecordKind, UNLINKED};
use crate::object::{Object, Time};
use crate::store::{CommitEntry, Erased, ErasedIds, Erasure, Store, markers_in};

type Digest = [u8; DIGEST_LEN];

/// The commits that may have erased something that a remote has.
#[derive(Default)]
pub(super) struct Erasers {
    /// Each with the index of the batch that gets its markers, and the commit that the markers name.
    commits: HashMap<CommitDigest, (usize, CommitDigest)>,
    /// The ids that such a commit removed, with the commit that the markers name, its time, and the batch of the eraser.
    removed: HashMap<Digest, (CommitDigest, Time, u64)>,
}

impl Erasers {
    /// Adds a commit of a line, whose markers go to the batch of the commit `sent` of the main line.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    pub(super) fn add(
        &mut self,
        (line, eraser): (&Arc<Store>, &CommitEntry),
        (main, sent): (&Arc<Store>, &CommitEntry),
        index: usize,
    ) -> Result<()> {
        self.commits.insert(eraser.digest, (index, sent.digest));
        let before = line.before(eraser)?;
        let old = before.map_or(Ok(None), |before| line.state(&before).map(Some))?;
        let now = main.state(sent)?;
        for change in old.unwrap_or_default().diff(&line.state(eraser)?, &**line) {
            let change = change?;
            if change.new.is_none() && now.get(&change.key, &**main)?.is_none() {
                let removed = (sent.digest, sent.commit.time, eraser.batch);
                self.removed.insert(*change.key.as_bytes(), removed);
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Adds the markers of what these commits erased to the batches of a push (PSH-3). Returns what they erased, and the ids
    /// that lost all versions.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(super) fn add_markers(&self, erasers: &Erasers, sent: &mut [Sent]) -> Result<(Erasure, ErasedIds)> {
        let (mut erasure, mut kept) = (Erasure::new(), HashSet::new());
        if erasers.commits.is_empty() {
            return Ok((erasure, ErasedIds::new()));
        }
        let cut = self.main().cut(&self.log.lock());
        let suite = cut.store.suite;
        cut.read(self.settings(), "search", &mut |batch| {
            for erased in markers_in(batch)? {
                if let Some((index, by)) = erasers.commits.get(&erased.by)
                    && (*by == erased.by || !cut.store.is_found(&erased.digest)?)
                    && erasure.insert(erased.digest, *by).is_none()
                    && let Some(sent) = sent.get_mut(*index)
                {
                    let marker = Erased { by: *by, ..erased };
                    sent.batch.add(RecordKind::Erased, UNLINKED, &marker.encode());
                }
            }
            // A commit may remove an id of which it erased only some versions: those that were derived from another one.
            let is_version =
                |record: &&Record| record.kind == RecordKind::Object && !erasers.removed.is_empty();
            let versions = batch.records.iter().filter(is_version);
            for id in versions.filter_map(|record| Object::id_in(&record.body)) {
                let key = *suite.key_path(id).as_bytes();
                let removed = erasers.removed.get(&key);
                if removed.is_some_and(|(.., eraser)| batch.number < *eraser) {
                    kept.insert(key);
                }
            }
            Ok(())
        })?;
        let removed = erasers.removed.iter().filter(|(key, _)| !kept.contains(*key));
        let ids = removed.map(|(key, (by, time, _))| (*key, (*by, *time)));
        Ok((erasure, ids.collect()))
    }
}
