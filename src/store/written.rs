//! When the versions in a batch were written: by its commit, or earlier, if their records moved to it.
//!
//! # Layer
//! Layer 4. Handles single batches, and no states.
//!
//! # Invariants
//! - WRT-1: a version whose record moves to the batch of a later commit keeps the time at which it was written. A `written` record
//!   of that batch has the time, unless its map has it. So each store finds the same time, whoever moved the record (EID-1).
//!
//! # Format
//! docs/format.md, "Rewritten logs".

use std::collections::HashMap;

use crate::codec::Reader;
use crate::digest::DIGEST_LEN;
use crate::error::{Error, Result};
use crate::log::{BODY_BYTES_MAX, Batch, BatchBuilder, Fixed, RecordKind, layout};
use crate::object::{Commit, Reference, Time};

use super::rewritten::entries_of;

type Digest = [u8; DIGEST_LEN];

/// The kind of the records that say when versions were written. A program that does not know it skips it.
pub(crate) const WRITTEN: RecordKind = RecordKind::Ignorable(0x91);

/// The time at which a version was written, in microseconds.
#[derive(Clone, Copy)]
struct WrittenAt {
    digest: Digest,
    time: i64,
}

layout! {
    WrittenAt { digest: Digest, time: i64 }
}

/// The entries of `written` records.
#[derive(Default)]
pub(crate) struct Written(Vec<u8>);

impl Written {
    pub(crate) fn add(&mut self, digest: Digest, time: Time) {
        let time = time.as_micros();
        WrittenAt { digest, time }.put(&mut self.0);
    }

    /// Returns the times of versions that moved to a batch whose commit has the time `latest`. Each version has the number of the
    /// batch from which it moved.
    #[cfg(feature = "remote")]
    pub(crate) fn of_moved(
        moved: &[(Digest, u64)],
        latest: Time,
        times: &HashMap<(Digest, u64), Time>,
    ) -> Self {
        let mut written = Self::default();
        for version in moved {
            if let Some(time) = times.get(version).filter(|time| **time < latest) {
                written.add(version.0, *time);
            }
        }
        written
    }

    pub(crate) fn add_to(&self, batch: &mut BatchBuilder) {
        let part = BODY_BYTES_MAX / WrittenAt::BYTES * WrittenAt::BYTES;
        for entries in self.0.chunks(part) {
            batch.add(WRITTEN, 0, entries);
        }
    }
}

/// When the versions in a batch were written.
#[derive(Default)]
pub(crate) struct Times {
    /// The time of the commit, or of the newest reference of a batch without one.
    of_batch: Option<Time>,
    has_commit: bool,
    /// The times that the map of the batch has.
    mapped: HashMap<Digest, Time>,
    /// The times in `written` records.
    stated: HashMap<Digest, Time>,
}

impl Times {
    /// # Errors
    /// `Corrupt` if the commit or a reference of the batch cannot be decoded.
    pub(crate) fn of(batch: &Batch) -> Result<Self> {
        let mut times = Self::default();
        let mut newest = None;
        for record in &batch.records {
            let damaged = |error| Error::corrupt(format!("a {} is damaged: {error}", record.kind.name()));
            match record.kind {
                RecordKind::Commit => {
                    times.of_batch = Some(Commit::decode(&record.body).map_err(damaged)?.time);
                    times.has_commit = true;
                }
                RecordKind::Reference => {
                    newest = newest.max(Some(Reference::decode(&record.body).map_err(damaged)?.time));
                }
                RecordKind::Base | RecordKind::Delta => {
                    let known = entries_of(record).filter_map(|entry| {
                        let digest = *entry.digest?.as_bytes();
                        Some((digest, Time::from_micros(entry.updated)))
                    });
                    times.mapped.extend(known);
                }
                WRITTEN => {
                    let entries = record.body.as_chunks::<{ WrittenAt::BYTES }>().0.iter();
                    let entries = entries.filter_map(|entry| WrittenAt::take(&mut Reader::new(entry)).ok());
                    let known = entries.map(|entry| (entry.digest, Time::from_micros(entry.time)));
                    times.stated.extend(known);
                }
                _ => {}
            }
        }
        times.of_batch = times.of_batch.or(newest);
        Ok(times)
    }

    /// Returns when the versions of the batch were written of which it says nothing. `before` is the time of the newest commit
    /// before it: the reference to a kept draft is not earlier.
    pub(crate) fn of_others(&self, before: Time) -> Time {
        match self.of_batch {
            Some(time) if self.has_commit => time,
            Some(time) => time.max(before),
            None => before,
        }
    }

    /// Returns when a version of the batch was written; `None` if the batch does not say it.
    #[cfg(feature = "remote")]
    pub(crate) fn of_version(&self, digest: &Digest) -> Option<Time> {
        self.own_of(digest).or(self.of_batch)
    }

    /// Returns the time that the batch has of a single version.
    pub(crate) fn own_of(&self, digest: &Digest) -> Option<Time> {
        let stated = self.stated.get(digest).copied();
        // No version is later than the commit that has it.
        let stated = stated.map(|time| match self.of_batch.filter(|_| self.has_commit) {
            Some(latest) => time.min(latest),
            None => time,
        });
        stated.or_else(|| self.mapped.get(digest).copied())
    }

    /// Returns whether a `written` record of the batch has the time of a version.
    pub(super) fn states(&self, digest: &Digest) -> bool {
        self.stated.contains_key(digest)
    }

    /// Returns whether the batch has times of single versions.
    pub(super) fn has_versions(&self) -> bool {
        !(self.stated.is_empty() && self.mapped.is_empty())
    }
}
