//! A closed log in a bucket: reads its manifest, adds segments, and publishes a new manifest.
//!
//! # Layer
//! Layer 6.
//!
//! # Invariants
//! - RPL-1: a segment is acknowledged when a manifest that lists it took the place of the one that was read. So of two
//!   writers, one wins, and the other learns it.
//! - RPL-2: a number of a segment is never used twice: a name that exists is left alone, and the next number is taken.
//! - RPL-3: a writer whose swap failed deletes nothing. A service may carry out a delete late, when another writer has
//!   taken the number. Its segment is garbage, which nobody reads.

use super::bucket::{BucketError, Counted, Version, open_bucket};
use crate::digest::CommitDigest;
use crate::disk::random_bytes;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::Format;
use crate::log::closed::{
    ClosedLog, FORMAT_FILE, Group, LIVE_FILE, MANIFEST_FILE, NewSegment, Purpose, Source,
};

/// The most numbers that other writers took between a manifest and a new segment.
const NUMBERS_MAX: u64 = 1_000;

/// How often a reader reads a manifest whose segments others replace meanwhile.
const READS: u32 = 6;

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
pub(super) enum Outcome {
    Done(Published),
    /// Another writer published first.
    Lost,
}

impl Place {
    pub(super) fn open(url: &str, create: bool) -> Result<Self> {
        Ok(Self {
            bucket: Counted::new(open_bucket(url, create)?),
        })
    }

    pub(super) fn of(bucket: Counted) -> Self {
        Self { bucket }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(BucketError) -> Error + '_ {
        move |error| error.at(self.bucket.bucket(), doing)
    }

    /// Returns an error if a process opened the folder as a store.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_a_remote`); `Io`.
    pub(super) fn check_closed(&self) -> Result<()> {
        match self.bucket.find(LIVE_FILE).map_err(self.failed("cannot read"))? {
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
        let stored = self
            .bucket
            .find(FORMAT_FILE)
            .map_err(self.failed("cannot read"))?;
        stored.map(|stored| Format::of_bytes(&stored.bytes)).transpose()
    }

    /// Returns what is published with this format; `None` if nothing is.
    pub(super) fn published(&self, format: Format) -> Result<Option<Published>> {
        let Some(stored) = self
            .bucket
            .find(MANIFEST_FILE)
            .map_err(self.failed("cannot read"))?
        else {
            return Ok(None);
        };
        match ClosedLog::decode(format, &stored.bytes)? {
            Some(log) => Ok(Some(Published {
                log,
                version: Some(stored.version),
            })),
            None => Err(self.refused(
                "is a store, and no remote or backup",
                "`backup URL` makes a backup of a store, and `push` a remote",
            )),
        }
    }

    /// Returns what is published, for a reader.
    ///
    /// # Errors
    /// `NotFound` (code `not_a_remote`) if nothing is.
    pub(super) fn read(&self) -> Result<Published> {
        let published = self.format()?.map_or(Ok(None), |format| self.published(format))?;
        published.ok_or_else(|| {
            let text = format!(
                "{} contains no remote and no backup",
                self.bucket.bucket().describe()
            );
            Error::not_found(text).with_code(ErrorCode::NotARemote)
        })
    }

    /// Returns what is published as [`Self::read`] does. `format` is the format that the place had before.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub(super) fn read_with(&self, format: Option<Format>) -> Result<Published> {
        let published = format.map(|format| self.published(format));
        match published {
            Some(Ok(Some(published))) => Ok(published),
            // Another remote may have taken its place.
            _ => self.read(),
        }
    }

    /// Passes what is published to `read`. If a segment is missing or another one is in its place, and another manifest is
    /// published by now, `read` gets that one (FET-2). `format` is the format that the place had before.
    ///
    /// # Errors
    /// The errors of [`Self::read`] and of `read`.
    pub(super) fn reading(
        &self,
        format: Option<Format>,
        read: &mut dyn FnMut(&Published) -> Result<()>,
    ) -> Result<()> {
        let mut published = self.read_with(format)?;
        for _ in 1..READS {
            match read(&published) {
                Err(error) if error.is_corruption() => {
                    let now = self.read()?;
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

    /// Returns what is published, or an empty closed log of the store `own`. Writes the format file of the latter.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_a_remote`) if the place is for something else, or (code `unrelated`) has another store.
    pub(super) fn read_or_begin(&self, own: &Format, purpose: Purpose, source: Source) -> Result<Published> {
        let mut format = self.format()?;
        if format.is_none() {
            self.check_closed()?;
            let new = own.closed(random_bytes()?);
            match self.bucket.put_new(FORMAT_FILE, &new.to_bytes()) {
                Ok(()) => format = Some(new),
                // Another writer began at the same time.
                Err(BucketError::Exists) => format = self.format()?,
                Err(error) => return Err(self.failed("cannot write to")(error)),
            }
        }
        let format = format.ok_or_else(|| Error::internal("a bucket lost its format file"))?;
        if format.lineage != own.lineage || format.hash != own.hash {
            let text = format!(
                "{} has the data of another store",
                self.bucket.bucket().describe()
            );
            let error = Error::invalid(text).with_code(ErrorCode::Unrelated);
            return Err(error.with_hint("choose an empty place; nothing was changed"));
        }
        let Some(published) = self.published(format)? else {
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
                "is a backup, and no remote",
                "choose an empty place for the remote",
            )),
            (Purpose::Shared, Purpose::Backup) => Err(self.refused(
                "is a remote, and no backup",
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
            segment.renumber(log, id);
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
        let swapped = match &known.version {
            Some(version) => self.bucket.swap(MANIFEST_FILE, version, &bytes).map(Some),
            None => self.bucket.put_new(MANIFEST_FILE, &bytes).map(|()| None),
        };
        match swapped {
            // INVARIANT RPL-1
            Ok(Some(version)) => Ok(Outcome::Done(Published {
                log: next,
                version: Some(version),
            })),
            Ok(None) => {
                let stored = self
                    .bucket
                    .get(MANIFEST_FILE)
                    .map_err(self.failed("cannot read"))?;
                let is_own = stored.bytes == bytes;
                let published = Published {
                    log: next,
                    version: Some(stored.version),
                };
                Ok(if is_own {
                    Outcome::Done(published)
                } else {
                    Outcome::Lost
                })
            }
            // INVARIANT RPL-3
            Err(BucketError::Stale | BucketError::Exists) => Ok(Outcome::Lost),
            Err(error) => Err(self.failed("cannot write to")(error)),
        }
    }

    /// Deletes the segments that a list from before the swap had and that the published manifest does not name.
    pub(super) fn collect(&self, listed: &[String], published: &ClosedLog) -> Result<()> {
        for name in listed {
            let stays = published.segments.iter().any(|segment| segment.name() == *name)
                || published.leaving.iter().any(|old| old.name() == *name);
            if !stays {
                self.bucket
                    .delete(name)
                    .map_err(self.failed("cannot delete from"))?;
            }
        }
        Ok(())
    }

    /// Returns the names of all segments, listed or not.
    pub(super) fn segment_names(&self) -> Result<Vec<String>> {
        let prefix = format!("{}/", crate::log::LOG_FOLDER);
        self.bucket.list(&prefix).map_err(self.failed("cannot list"))
    }

    /// Returns the bytes of a listed segment.
    pub(super) fn segment(&self, log: &ClosedLog, index: usize) -> Result<Vec<u8>> {
        let name = log.segments[index].name();
        match self.bucket.find(&name).map_err(self.failed("cannot read"))? {
            Some(stored) => Ok(stored.bytes),
            // `read` says that the segment is damaged.
            None => Ok(Vec::new()),
        }
    }
}

/// Returns the head after the last batch of a group.
pub(super) fn head_of(group: &Group) -> Option<CommitDigest> {
    group.last().map(|(_, head)| *head)
}

/// Returns the highest number in the names of segments.
pub(super) fn highest_number(names: &[String]) -> u64 {
    let number = |name: &String| name.rsplit('/').next()?.strip_suffix(".seg")?.parse().ok();
    names.iter().filter_map(number).max().unwrap_or_default()
}
