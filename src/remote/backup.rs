//! Backup: copies all batches of a store to a closed log in a bucket. The next run copies only what is new.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - BUP-1: a manifest of a backup lists a whole prefix of one log, so an interrupted backup restores as an earlier state,
//!   and the next run goes on behind it.
//! - BUP-2: a backup of a log that was rewritten since has all of the new log before anything of the old one goes. Then all
//!   of the old one goes, so nothing erased stays. The next run removes what an interrupted one left.
//! - BUP-3: a backup takes the place of another one only if it has all commits of that one.
//! - BUP-4: a backup goes on behind another one only if the log has every record of the newest segment of that one.

use super::Progress;
use super::bucket::{check_apart, without_password};
use super::keys::Keys;
use super::place::{Outcome, Place, Published, garbage, head_of, highest_number};
use crate::engine::{Copied, Memory, copied};
use crate::error::{Error, ErrorCode, Result};
use crate::log::closed::{CLOSED_SEGMENT_BYTES, ClosedLog, Group, Purpose, Source};
use crate::log::{Batch, BatchBuilder, Record, RecordKind, UNLINKED};
use crate::store::ForeignCommit;
use crate::threads::handed_on;

/// The result of a backup.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackedUp {
    /// The place of the backup, without a password.
    pub url: String,
    /// The number of commits that this run sent.
    pub commits: u64,
    /// The number of versions of objects that this run sent.
    pub objects: u64,
    /// The number of bytes that this run sent.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
}

/// Copies the store of `memory` to a backup at `url`: all lines, snapshots, drafts and taints. Sends only what the backup
/// lacks. Others may write meanwhile.
///
/// # Errors
/// `InvalidInput` (code `not_a_remote`) if the place is a store that programs open or a remote, or (code `unrelated`) a
/// backup of another store; `Conflict` if another backup to this place runs, or (code `remote_ahead`) the place has commits of
/// another copy of this store, or of a newer one, that this one lacks; `Corrupt` or `Io` if the log cannot be read, or
/// the bucket cannot be written. Then the next call goes on where this one stopped.
///
/// # Durability
/// When the call returns, the backup is as durable as the bucket promises.
pub fn backup(memory: &Memory, url: &str) -> Result<BackedUp> {
    backup_with(memory, url, None)
}

/// Copies as [`backup`] does, and encrypts with the first of the keys. An earlier run must have had one of them.
///
/// # Errors
/// The errors of [`backup`]; `InvalidInput` (code `no_key`, `wrong_key` or `not_encrypted`) if the keys do not fit.
///
/// # Durability
/// As [`backup`].
pub fn backup_with(memory: &Memory, url: &str, keys: Option<&Keys>) -> Result<BackedUp> {
    if let Some(path) = memory.path() {
        check_apart(url, path)?;
    }
    let place = Place::open(url, true, keys, memory.inner.settings().wait)?;
    back_up(memory, &place, url)
}

pub(super) fn back_up(memory: &Memory, place: &Place, url: &str) -> Result<BackedUp> {
    let copied = copied(memory)?;
    let source = Source {
        instance: copied.format.instance,
        epoch: u64::from(copied.epoch),
    };
    let mut known = place.read_or_begin(&copied.format, Purpose::Backup, source)?;
    let is_behind = known.log.source == source && continues(&copied, &known.log, place)?;
    let mut run = Copying {
        place,
        copied: &copied,
        progress: Progress::of(memory, "backup", copied.bytes),
        commits: 0,
        objects: 0,
    };
    if is_behind {
        run.append(&mut known)?;
    } else {
        check_has_all(memory, &known.log, source, place)?;
        run.replace(&known, source)?;
    }
    Ok(BackedUp {
        url: without_password(url),
        commits: run.commits,
        objects: run.objects,
        bytes: place.bucket.sent(),
        requests: place.bucket.requests(),
    })
}

/// Returns an error if a backup has commits that the store lacks, of any line (BUP-3). They are of another copy of the store,
/// or this is an older image of it.
fn check_has_all(memory: &Memory, backup: &ClosedLog, source: Source, place: &Place) -> Result<()> {
    if backup.last_batch() == 0 {
        return Ok(());
    }
    let own = memory.inner.main().store().all_commits()?;
    // A collection removes the commits of dropped forks, so of an older log only the main line is compared.
    let is_rewritten = backup.source.instance == source.instance && backup.source.epoch < source.epoch;
    let mut has_all = own.contains(&backup.head);
    for index in 0..backup.segments.len() {
        if is_rewritten || !has_all {
            break;
        }
        for batch in place.batches(backup, index)? {
            let commit = ForeignCommit::of(&batch, backup.suite())?;
            has_all &= commit.is_none_or(|commit| own.contains(&commit.digest));
        }
    }
    if has_all {
        return Ok(());
    }
    let text = format!(
        "{} is the backup of another or a newer copy of this store, with commits that this one lacks",
        place.bucket.bucket().describe()
    );
    Err(Error::conflict(text).with_code(ErrorCode::RemoteAhead).with_hint(
        "choose another place, or `clone` the backup; two machines share a memory through a remote: `treering remote add`",
    ))
}

/// Returns whether the log has the newest segment of a backup as the backup has it (BUP-4). An older image of the store may have
/// the same main line and other forks.
fn continues(copied: &Copied, backup: &ClosedLog, place: &Place) -> Result<bool> {
    let Some(newest) = backup.segments.last() else {
        return Ok(true);
    };
    if newest.last_batch > copied.end.batch {
        return Ok(false);
    }
    let index = backup.segments.len() - 1;
    let mut theirs = place.batches(backup, index)?.into_iter();
    let (before, last) = (newest.first_batch - 1, newest.last_batch);
    let mut is_same = true;
    copied.reader.batches_behind(before, last, &mut |own| {
        is_same &= theirs.next().is_some_and(|batch| is_copy(&batch, &own));
        Ok(())
    })?;
    Ok(is_same && theirs.next().is_none())
}

/// Returns whether a batch of a backup is a copy of this one.
fn is_copy(copy: &Batch, own: &Batch) -> bool {
    let mut records = copy.records.iter().zip(&own.records);
    let said = |record: &Record| (record.kind, record.flags, record.body.clone());
    (copy.number, copy.commit, copy.records.len()) == (own.number, own.commit, own.records.len())
        && records.all(|(copy, own)| said(copy) == said(own))
}

/// One run of a backup.
struct Copying<'a> {
    place: &'a Place,
    copied: &'a Copied,
    progress: Progress<'a>,
    commits: u64,
    objects: u64,
}

impl Copying<'_> {
    /// Sends the batches behind those of the backup, and publishes each segment (BUP-1). Then removes what an interrupted run
    /// left (BUP-2).
    fn append(&mut self, known: &mut Published) -> Result<()> {
        let before = self.place.segment_names()?;
        self.place.check_listed(&before, &known.log)?;
        // INVARIANT RPL-2
        let (floor, generation) = (highest_number(&before), known.log.generation);
        // The first epoch of a backup is that of its store, so that its batch numbers may skip where those of the store do.
        let empty = known.log.segments.is_empty();
        if empty {
            known.log.epoch = self.copied.epoch;
            known.log.generation = u64::from(self.copied.epoch);
        }
        let after = known.log.last_batch();
        let place = self.place;
        self.segments(after, |(first, group)| {
            let head = head_of(&group).unwrap_or(known.log.head);
            let segment = place.put(&known.log, floor, first, group)?;
            *known = published(place, known, known.log.with(&segment, head))?;
            Ok(())
        })?;
        if known.log.generation == generation && garbage(&before, &known.log).next().is_some() {
            // Another run that has stored such a segment and not published it finds a newer manifest.
            let mut next = known.log.clone();
            next.generation += 1;
            *known = published(place, known, next)?;
        }
        place.collect(&before, &known.log)
    }

    /// Sends the whole log, publishes it in place of the old one, and deletes the old segments (BUP-2).
    fn replace(&mut self, known: &Published, source: Source) -> Result<()> {
        let place = self.place;
        let before = place.segment_names()?;
        let mut next = ClosedLog {
            source,
            epoch: self.copied.epoch,
            generation: known.log.generation.max(u64::from(self.copied.epoch)),
            segments: Vec::new(),
            ..known.log.clone()
        };
        // INVARIANT RPL-2: the new numbers are above those of all files that are deleted, also of files that no manifest lists.
        let mut floor = known.log.highest_id().max(highest_number(&before));
        self.segments(0, |(first, group)| {
            let head = head_of(&group).unwrap_or(next.head);
            let segment = place.put(&next, floor, first, group)?;
            floor = segment.listed.id;
            next = next.with(&segment, head);
            Ok(())
        })?;
        place.collect(&before, &published(place, known, next)?.log)
    }

    /// Passes the batches behind `after` to `put`, as groups for one segment each, with the number of the first batch. The next
    /// group is read while `put` stores the one before it.
    fn segments(&mut self, after: u64, put: impl FnMut((u64, Group)) -> Result<()> + Send) -> Result<()> {
        let stopped = || Error::internal("the thread that stores the segments stopped");
        handed_on(|hand_on| self.groups(after, hand_on), put, stopped)
    }

    fn groups(&mut self, after: u64, hand_on: &mut dyn FnMut((u64, Group)) -> Result<()>) -> Result<()> {
        let (mut group, mut bytes, mut first, mut next): (Group, u64, u64, u64) = (Vec::new(), 0, 0, 0);
        let copied = self.copied;
        copied
            .reader
            .batches_behind(after, copied.end.batch, &mut |batch| {
                let copy = BatchBuilder::copy_of(&batch);
                let size = copy.encoded_bytes();
                let is_full = bytes + size > CLOSED_SEGMENT_BYTES || batch.number != next;
                if is_full && !group.is_empty() {
                    hand_on((first, std::mem::take(&mut group)))?;
                    bytes = 0;
                }
                if group.is_empty() {
                    first = batch.number;
                }
                self.count(&batch);
                self.progress.step(size)?;
                (bytes, next) = (bytes + size, batch.number + 1);
                group.push((copy, batch.commit));
                Ok(())
            })?;
        if group.is_empty() {
            Ok(())
        } else {
            hand_on((first, group))
        }
    }

    fn count(&mut self, batch: &Batch) {
        for record in &batch.records {
            self.commits += u64::from(record.kind == RecordKind::Commit);
            self.objects += u64::from(record.kind == RecordKind::Object && record.flags & UNLINKED == 0);
        }
    }
}

/// Publishes a manifest in place of the one that is `known`.
fn published(place: &Place, known: &Published, next: ClosedLog) -> Result<Published> {
    match place.publish(known, next)? {
        Outcome::Done(published) => Ok(published),
        Outcome::Lost => Err(
            Error::conflict("another backup to this place ran at the same time")
                .with_hint("the backup is whole; try again to add what it lacks"),
        ),
    }
}
