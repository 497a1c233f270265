//! Finds the records that an erasure of whole ids removes, beside those that it names.
//!
//! # Layer
//! Layer 4, part of store/rewrite.
//!
//! # Invariants
//! - EID-1: who erases an id removes each version of it whose commit is not later than the erasing one, on each machine and
//!   in each remote. So it does not matter who learns of what first. A later version stays.

use std::collections::{HashMap, HashSet};

use super::{Erasure, erasable};
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite};
use crate::error::Result;
use crate::log::{Batch, RecordKind};
use crate::object::{Object, Time};
use crate::store::rewritten::ErasedId;
use crate::store::written::Times;

type Digest = [u8; DIGEST_LEN];

/// The digests of the records to erase, each with the erasing commit, and the first batch whose record is a later one.
pub(crate) type ErasedRecords = HashMap<Digest, (CommitDigest, u64)>;

/// The key paths of the ids to erase, each with the erasing commit and its time.
pub(crate) type ErasedIds = HashMap<Digest, (CommitDigest, Time)>;

/// Adds an erased id. Of two erasures of an id, the later one counts.
pub(crate) fn add_erased_id(ids: &mut ErasedIds, id: ErasedId, time: Time) {
    let known = ids.entry(*id.key.as_bytes()).or_insert((id.by, time));
    if known.1 < time {
        *known = (id.by, time);
    }
}

/// A search through the batches of a log, in order.
pub(crate) struct ErasedSearch<'a> {
    erasure: &'a ErasedRecords,
    ids: &'a ErasedIds,
    suite: HashSuite,
    /// The time of the newest commit so far.
    time: Time,
    found: Erasure,
    /// The contents of the found versions, and those of other versions.
    contents: Erasure,
    shared: HashSet<Digest>,
}

impl<'a> ErasedSearch<'a> {
    pub(crate) fn new(erasure: &'a ErasedRecords, ids: &'a ErasedIds, suite: HashSuite) -> Self {
        Self {
            erasure,
            ids,
            suite,
            time: Time::from_micros(0),
            found: Erasure::new(),
            contents: Erasure::new(),
            shared: HashSet::new(),
        }
    }

    /// Searches a batch. A batch behind thinned commits has versions of earlier times than that of its commit.
    ///
    /// # Errors
    /// `Corrupt` if the commit or a reference of the batch cannot be decoded.
    pub(crate) fn read(&mut self, batch: &Batch) -> Result<()> {
        let times = if self.ids.is_empty() {
            Times::default()
        } else {
            Times::of(batch)?
        };
        self.time = times.of_others(self.time);
        for record in &batch.records {
            let Some(digest) = erasable(record, self.suite) else {
                continue;
            };
            let erased = self.erasure.get(&digest);
            let mut by = erased
                .filter(|(_, until)| batch.number < *until)
                .map(|(by, _)| *by);
            if record.kind == RecordKind::Object && !self.ids.is_empty() {
                let time = times.own_of(&digest).unwrap_or(self.time);
                by = by.or_else(|| self.eraser_of_id(&record.body, time));
                let content = Object::content_digest_in(&record.body);
                let content = content.map(|(content, _)| *content.as_bytes());
                match by {
                    Some(by) => self.contents.extend(content.map(|content| (content, by))),
                    None => self.shared.extend(content),
                }
            }
            self.found.extend(by.map(|by| (digest, by)));
        }
        Ok(())
    }

    /// Returns the commit that erases a version of this time, because it is not later (EID-1).
    fn eraser_of_id(&self, version: &[u8], time: Time) -> Option<CommitDigest> {
        let key = self.suite.key_path(Object::id_in(version)?);
        let (by, erased) = self.ids.get(key.as_bytes())?;
        (time <= *erased).then_some(*by)
    }

    /// Returns what was found, with the contents that nothing else shares.
    pub(crate) fn found(mut self) -> Erasure {
        let mut contents = self.contents;
        contents.retain(|content, _| !self.shared.contains(content));
        self.found.extend(contents);
        self.found
    }
}
