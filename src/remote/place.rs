//! A closed log in a bucket: reads its manifest, adds segments, and publishes a new manifest.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - RPL-1: a segment is acknowledged when a manifest that lists it took the place of the one that was read. So of two
//!   writers, one wins, and the other learns it.
//! - RPL-2: a number of a segment is never used twice: a name that exists is left alone, and the next number is taken.
//! - RPL-3: a writer whose swap failed deletes nothing. A service may carry out a delete late, when another writer has
//!   taken the number. Its segment is garbage, which nobody reads.
//! - RPL-4: a manifest that nobody could read is never published.

use std::sync::Arc;
use std::time::Duration;

use super::bucket::{BucketError, Counted, KeyFault, Sealed, Stored, Version, open_bucket};
use super::keys::Keys;
use crate::digest::CommitDigest;
use crate::disk::random_bytes;
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Result};
use crate::log::closed::{
    ClosedLog, ClosedSegment, FORMAT_FILE, FORMAT_LIMIT, Group, LIVE_FILE, MANIFEST_FILE, MANIFEST_LIMIT,
    NewSegment, Purpose, ReadSegment, Source,
};
use crate::log::{Batch, Format, sealed_format};

/// The most numbers that other writers took between a manifest and a new segment.
const NUMBERS_MAX: u64 = 1_000;

/// How often a reader reads a manifest whose segments others replace meanwhile. Each time, others have published.
const READS: u32 = 60;

/// The place of a closed log.
pub(super) struct Place {
    pub(super) bucket: Counted,
}

/// A manifest that was read, and its version in the bucket; no version if there is none yet.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) log: ClosedLog,
    pub(super) version: Option<Version>,
}

/// The outcome of a try to publish.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and never in a list"
)]
pub(super) enum Outcome {
    Done(Published),
    /// Another writer published first.
    Lost,
}

impl Place {
    /// Opens the place at a URL, encrypted with `keys` if there are some. `wait` is the longest wait for its lock.
    pub(super) fn open(url: &str, create: bool, keys: Option<&Keys>, wait: Duration) -> Result<Self> {
        let bucket = open_bucket(url, create)?;
        let bucket = match keys {
            Some(keys) => Arc::new(Sealed::new(bucket, keys.clone())),
            None => bucket,
        };
        Ok(Self::of(Counted::new(bucket).waiting(wait)))
    }

    pub(super) fn of(bucket: Counted) -> Self {
        Self { bucket }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(BucketError) -> Error + '_ {
        move |error| error.at(self.bucket.bucket(), doing)
    }

    /// Returns at most the first `limit` bytes of a file, or `None` if it is missing.
    fn find(&self, name: &str, limit: u64) -> Result<Option<Stored>> {
        self.bucket.find(name, limit).map_err(self.failed("cannot read"))
    }

    /// Names the place in an error about the bytes of this closed log. They are not those of the user's store.
    pub(super) fn damaged(&self, error: Error) -> Error {
        match error.code() {
            ErrorCode::Corrupt => error.context(self.bucket.bucket().describe()).with_hint(
                "your own store is not damaged: restore the place from a copy, or send to an empty place",
            ),
            ErrorCode::UnsupportedFormat => error.context(self.bucket.bucket().describe()),
            _ => error,
        }
    }

    /// Returns an error if a process opened the folder as a store.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_a_remote`); `Io`.
    pub(super) fn check_closed(&self) -> Result<()> {
        match self.find(LIVE_FILE, 1)? {
            None => Ok(()),
            Some(_) => Err(self.refused(
                "is a store that programs open",
                "choose an empty folder, or another one with an earlier backup",
            )),
        }
    }

    fn refused(&self, what: &str, hint: &str) -> Error {
        let text = format!("{} {what}", self.bucket.bucket().describe());
        Error::invalid(text)
            .with_code(ErrorCode::NotARemote)
            .with_hint(hint)
    }

    /// Returns the format of the closed log; `None` if the place is empty.
    pub(super) fn format(&self) -> Result<Option<Format>> {
        let Some(stored) = self.find(FORMAT_FILE, FORMAT_LIMIT)? else {
            return Ok(None);
        };
        if matches!(sealed_format(&stored.bytes), Ok(Some(_))) {
            return Err(KeyFault::Needed.at(&self.bucket.bucket().describe()));
        }
        let format = Format::of_bytes(&stored.bytes).map(Some);
        format.map_err(|error| self.damaged(error))
    }

    /// Returns what is published with this format; `None` if nothing is.
    pub(super) fn published(&self, format: Format) -> Result<Option<Published>> {
        let Some(stored) = self.find(MANIFEST_FILE, MANIFEST_LIMIT)? else {
            return Ok(None);
        };
        let decoded = ClosedLog::decode(format, &stored.bytes);
        match decoded.map_err(|error| self.damaged(error))? {
            Some(log) => Ok(Some(Published {
                log,
                version: Some(stored.version),
            })),
            None => Err(self.refused(
                "is a store, not a remote or backup",
                "`backup URL` makes a backup of a store, and `push` a remote",
            )),
        }
    }

    /// Returns what is published, for a reader.
    ///
    /// # Errors
    /// `NotFound` (code `not_a_remote`) if nothing is; `Corrupt` if a file of a closed log is missing.
    pub(super) fn read(&self) -> Result<Published> {
        let Some(format) = self.format()? else {
            self.check_empty()?;
            let text = format!(
                "{} contains no remote and no backup",
                self.bucket.bucket().describe()
            );
            let hint =
                "check the path in the URL; a first `push` makes a remote there, and `backup URL` a backup";
            return Err(Error::not_found(text)
                .with_code(ErrorCode::NotARemote)
                .with_hint(hint));
        };
        self.published(format)?.ok_or_else(|| {
            self.lacks(MANIFEST_FILE)
                .with_hint("a first `push` or `backup` that did not end goes on when it runs again; otherwise restore the place from a copy")
        })
    }

    /// Returns an error if a place without a format has other files of a closed log.
    fn check_empty(&self) -> Result<()> {
        if self.find(MANIFEST_FILE, 1)?.is_none() && self.segment_names()?.is_empty() {
            return Ok(());
        }
        Err(self.lacks(FORMAT_FILE))
    }

    fn lacks(&self, file: &str) -> Error {
        self.damaged(Error::damaged(Damage::new(file, 0, Cause::Missing)))
    }

    /// Returns what is published as [`Self::read`] does. `format` is the format that the place had before.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub(super) fn read_with(&self, format: Option<Format>) -> Result<Published> {
        match format.map(|format| self.published(format)) {
            Some(Ok(Some(published))) => Ok(published),
            Some(Err(error)) if !error.is_corruption() => Err(error),
            // Another remote may have taken its place.
            _ => self.read(),
        }
    }

    /// Passes what is published to `read`. If a segment is missing or another one is in its place, and another manifest is
    /// published by now, `read` gets that one (FET-2).
    ///
    /// # Errors
    /// The errors of [`Self::read`] and of `read`.
    pub(super) fn reading(
        &self,
        mut published: Published,
        read: &mut dyn FnMut(&Published) -> Result<()>,
    ) -> Result<()> {
        for _ in 1..READS {
            match read(&published) {
                Err(error) if error.is_corruption() => {
                    let now = self.read_with(Some(published.log.format))?;
                    if now.version == published.version {
                        return Err(error);
                    }
                    published = now;
                }
                done => return done,
            }
        }
        read(&published)
    }

    /// Returns the outcome of work on the segments of a manifest; `None` if it read a damaged one, and another manifest is
    /// published by now. Then another writer has replaced and deleted what was read.
    ///
    /// # Errors
    /// The error of the work; those of [`Self::read`].
    pub(super) fn unless_outdated<T>(
        &self,
        (format, version): (Format, Option<&Version>),
        outcome: Result<Option<T>>,
    ) -> Result<Option<T>> {
        let Err(error) = outcome else { return outcome };
        if error.is_corruption() && self.read_with(Some(format))?.version.as_ref() != version {
            return Ok(None);
        }
        Err(error)
    }

    /// Returns what is published, or an empty closed log of the store `own`. Writes the format file of the latter.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_a_remote`) if the place is for something else, or (code `unrelated`) has another store;
    /// `Corrupt` if only the format file is missing.
    pub(super) fn read_or_begin(&self, own: &Format, purpose: Purpose, source: Source) -> Result<Published> {
        let mut format = self.format()?;
        if format.is_none() {
            self.check_closed()?;
            if let Err(damage) = self.check_empty() {
                // Another writer may have begun just now.
                format = Some(self.format()?.ok_or(damage)?);
            }
        }
        if format.is_none() {
            let new = own.closed(random_bytes()?);
            match self.bucket.put_new(FORMAT_FILE, &new.to_bytes()) {
                Ok(()) => format = Some(new),
                // Another writer began at the same time.
                Err(BucketError::Exists) => format = self.format()?,
                Err(error) => return Err(self.failed("cannot write to")(error)),
            }
        }
        let format = format.ok_or_else(|| Error::internal("a bucket lost its format file"))?;
        let published = self.published(format)?;
        self.check_related(&format, own)?;
        let Some(published) = published else {
            self.check_closed()?;
            let log = ClosedLog::new(format, purpose, source, 0);
            return Ok(Published { log, version: None });
        };
        self.check_purpose(&published.log, purpose)?;
        Ok(published)
    }

    /// Returns an error if a closed log is of another store than `own` and its clones.
    ///
    /// # Errors
    /// `InvalidInput` (code `unrelated`).
    pub(super) fn check_related(&self, format: &Format, own: &Format) -> Result<()> {
        if format.lineage == own.lineage && format.hash == own.hash {
            return Ok(());
        }
        let text = format!(
            "{} has the data of another store",
            self.bucket.bucket().describe()
        );
        let error = Error::invalid(text).with_code(ErrorCode::Unrelated);
        Err(error.with_hint("choose an empty place; nothing was changed"))
    }

    /// Returns an error if a closed log is not for `purpose`.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_a_remote`).
    pub(super) fn check_purpose(&self, log: &ClosedLog, purpose: Purpose) -> Result<()> {
        match (log.purpose, purpose) {
            (Purpose::Backup, Purpose::Shared) => Err(self.refused(
                "is a backup, not a remote",
                "choose an empty place for the remote",
            )),
            (Purpose::Shared, Purpose::Backup) => Err(self.refused(
                "is a remote, not a backup",
                "choose an empty place for the backup",
            )),
            _ => Ok(()),
        }
    }

    /// Stores a segment with the batches from number `first` on, which no manifest lists yet. Its number is above `floor` and
    /// those of the log.
    pub(super) fn put(&self, log: &ClosedLog, floor: u64, first: u64, group: Group) -> Result<NewSegment> {
        let id = log.highest_id().max(floor) + 1;
        let mut segment = NewSegment::encode(log, id, random_bytes()?, first, group)?;
        // INVARIANT RPL-2
        for id in id..id + NUMBERS_MAX {
            segment.number(log, id);
            match self.bucket.put_new(&segment.listed.name(), segment.bytes()) {
                Ok(()) => return Ok(segment),
                Err(BucketError::Exists) => {}
                Err(error) => return Err(self.failed("cannot write to")(error)),
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "other writers took every number of a segment",
        ))
    }

    /// Replaces the manifest that was `known` by one of `next`, unless another writer did so first.
    pub(super) fn publish(&self, known: &Published, next: ClosedLog) -> Result<Outcome> {
        let bytes = next.encode();
        // INVARIANT RPL-4: a forged number may leave no room for the next one.
        drop(ClosedLog::decode(next.format, &bytes).map_err(|error| self.damaged(error))?);
        let swapped = match &known.version {
            Some(version) => self.bucket.swap(MANIFEST_FILE, version, &bytes).map(Some),
            None => self.bucket.put_new(MANIFEST_FILE, &bytes).map(|()| None),
        };
        let version = match swapped {
            Ok(Some(version)) => version,
            Ok(None) => {
                let stored = self.bucket.get(MANIFEST_FILE, bytes.len() as u64 + 1);
                let stored = stored.map_err(self.failed("cannot read"))?;
                if stored.bytes != bytes {
                    return Ok(Outcome::Lost);
                }
                stored.version
            }
            // INVARIANT RPL-3
            Err(BucketError::Stale | BucketError::Exists) => return Ok(Outcome::Lost),
            Err(error) => return Err(self.failed("cannot write to")(error)),
        };
        // INVARIANT RPL-1
        Ok(Outcome::Done(Published {
            log: next,
            version: Some(version),
        }))
    }

    /// Deletes the segments that a list from before the swap had and that the published manifest does not name.
    pub(super) fn collect(&self, listed: &[String], published: &ClosedLog) -> Result<()> {
        for name in garbage(listed, published) {
            let deleted = self.bucket.delete(name);
            deleted.map_err(self.failed("cannot delete from"))?;
        }
        Ok(())
    }

    /// Returns the names of all segments, listed or not. Other files are not ours.
    pub(super) fn segment_names(&self) -> Result<Vec<String>> {
        let prefix = format!("{}/", crate::log::LOG_FOLDER);
        let mut names = self.bucket.list(&prefix).map_err(self.failed("cannot list"))?;
        names.retain(|name| ClosedSegment::id_in(name).is_some());
        Ok(names)
    }

    /// Returns an error if a segment that the manifest lists is missing. `names` is a sorted list, which may be old.
    pub(super) fn check_listed(&self, names: &[String], log: &ClosedLog) -> Result<()> {
        for name in log.segments.iter().map(ClosedSegment::name) {
            if names.binary_search(&name).is_err() && self.find(&name, 1)?.is_none() {
                return Err(self.lacks(&name));
            }
        }
        Ok(())
    }

    /// Returns the batches of a listed segment.
    ///
    /// # Errors
    /// `Corrupt` if it is missing or damaged; `Io`.
    pub(super) fn batches(&self, log: &ClosedLog, index: usize) -> Result<Vec<Batch>> {
        self.read_segment(log, index).map(|read| read.batches)
    }

    /// Reads a listed segment.
    ///
    /// # Errors
    /// The errors of [`Self::batches`].
    pub(super) fn read_segment(&self, log: &ClosedLog, index: usize) -> Result<ReadSegment> {
        let bytes = self.segment(log, index)?;
        if bytes.is_empty() {
            return Err(self.lacks(&log.segments[index].name()));
        }
        let read = log.read(index, bytes);
        read.map_err(|error| self.damaged(error))
    }

    /// Returns the bytes of a listed segment, or of the start of a longer file. Nothing if it is missing, which is damage too.
    pub(super) fn segment(&self, log: &ClosedLog, index: usize) -> Result<Vec<u8>> {
        let segment = &log.segments[index];
        let limit = segment.length.saturating_add(1);
        let read = self.bucket.read(&segment.name(), limit);
        Ok(read.map_err(self.failed("cannot read"))?.unwrap_or_default())
    }
}

/// Returns the segments in a list that a manifest does not list. A number above those of the manifest may be used again, so
/// such a segment stays until a higher one is published (RPL-2).
pub(super) fn garbage<'a>(listed: &'a [String], log: &ClosedLog) -> impl Iterator<Item = &'a String> {
    listed.iter().filter(move |name| {
        let id = ClosedSegment::id_in(name).filter(|id| *id < log.highest_id());
        id.is_some_and(|id| {
            log.segments.iter().all(|segment| segment.id != id) && log.leaving.iter().all(|old| old.id != id)
        })
    })
}

/// Returns the head after the last batch of a group.
pub(super) fn head_of(group: &Group) -> Option<CommitDigest> {
    group.last().map(|(_, head)| *head)
}

/// Returns the highest number in the names of segments.
pub(super) fn highest_number(names: &[String]) -> u64 {
    let numbers = names.iter().filter_map(|name| ClosedSegment::id_in(name));
    numbers.max().unwrap_or_default()
}
