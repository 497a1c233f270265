//! Appending: one buffer, one write, one sync, then `live`.
//!
//! # Layer
//! L2.
//!
//! # Invariants
//! - APP-1: nothing is written before `prepare` has placed this handle at the end of the log under the same lock.
//! - APP-2: `live` is written after the sync that it tells of.
//! - APP-3: a full segment is followed by a new one before anything of the group is written.

use std::io;
use std::sync::Arc;

use super::batch::{Batch, BatchBuilder, Continue, HeadMark, encode_group};
use super::catch_up::{FIRST_OFFSET, content_of};
use super::live::{LIVE_NAME, Live};
use super::manifest::{MANIFEST_NAME, Manifest, SegmentEntry};
use super::reader::SegmentFile;
use super::segment::{SEGMENT_BYTES_LIMIT, SegmentHeader, create_segment};
use super::{Log, WriteLock, of_other_kind};
use crate::digest::CommitDigest;
use crate::disk::{self, Access, LockGuard};
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// When an appended group becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before `append` returns.
    Synced,
    /// At the next synced `append` or `sync`, whichever comes first; until then a loss of power may take it, with
    /// what was appended after it.
    Later,
}

impl Log {
    /// Appends a group of batches with one write; `head` of each is the head after it. A group of none does nothing.
    ///
    /// With [`Durability::Later`] the group is readable by this handle at once, by others after [`Log::sync`]; sync
    /// before the lock is let go, or the next writer treats the group as one that a crash left.
    ///
    /// # Errors
    /// `InvalidInput` for a record or a group over a limit, before anything is written. Any other error leaves it
    /// unknown whether the group will be found when the store is opened again (whole, if at all), and this handle
    /// refuses to write from then on with `Poisoned`.
    ///
    /// # Durability
    /// As asked for. Groups that were not synced count as one: each of their seals states as durable what was
    /// so before the first of them (LOG-2).
    pub fn append(
        &mut self,
        lock: &WriteLock,
        group: Vec<(BatchBuilder, HeadMark)>,
        durability: Durability,
    ) -> Result<Vec<Batch>> {
        self.check_prepared(lock)?;
        let Some(head) = group.last().map(|(_, head)| *head) else {
            return Ok(Vec::new());
        };
        let mut needed = 0_u64;
        for (builder, _) in &group {
            builder.check()?;
            needed = needed.saturating_add(builder.encoded_bytes());
        }
        if needed > SEGMENT_BYTES_LIMIT - 2 * FIRST_OFFSET {
            return Err(Error::invalid(format!(
                "a group of {needed} bytes is over the limit of a segment"
            )));
        }
        self.poison_on_error(|log| log.append_group(lock, group, head, needed, durability))
    }

    /// Makes a group that was appended with [`Durability::Later`] durable; does nothing if there is none.
    ///
    /// # Errors
    /// As [`Log::append`].
    ///
    /// # Durability
    /// When this returns, everything that this handle appended is durable.
    pub fn sync(&mut self, lock: &WriteLock) -> Result<()> {
        self.check_lock(lock)?;
        if self.unsynced.is_none() {
            return Ok(());
        }
        self.check_prepared(lock)?;
        self.poison_on_error(Self::sync_group).map_err(|error| {
            error.with_hint(
                "what was acknowledged since the last sync may be lost: open the store again and look",
            )
        })
    }

    pub(super) fn check_prepared(&self, lock: &WriteLock) -> Result<()> {
        self.check_lock(lock)?;
        // INVARIANT APP-1.
        if self.prepared == lock.number {
            return Ok(());
        }
        Err(Error::internal("a write before prepare under this lock"))
    }

    /// Runs what writes; an error leaves the state of the disk unknown (LOG-5).
    pub(super) fn poison_on_error<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let result = work(self);
        if result.is_err() {
            self.poisoned = true;
        }
        result
    }

    fn append_group(
        &mut self,
        lock: &WriteLock,
        group: Vec<(BatchBuilder, HeadMark)>,
        head: HeadMark,
        needed: u64,
        durability: Durability,
    ) -> Result<Vec<Batch>> {
        let mut segment = self.segment(self.cursor.segment)?;
        let name = segment.name();
        let writing = |error| Error::io(format!("cannot write {name}"), error);
        let mut file = self.disk.open(&name, Access::ReadWrite).map_err(writing)?;
        // INVARIANT APP-3: the length of the file is what may be written, because a segment never grows (SEG-1).
        if self.cursor.offset.saturating_add(needed) > file.length().map_err(writing)? {
            self.sync_group()?;
            segment = self.rotate(lock, self.cursor.offset, needed)?;
            file = self
                .disk
                .open(&segment.name(), Access::ReadWrite)
                .map_err(writing)?;
        }
        let after = Continue {
            segment: segment.header.id,
            seed: segment.header.seed(),
            start: self.cursor.offset,
            synced_upto: self.durable,
            last_batch: self.cursor.batch,
            last_digest: self.cursor.digest,
        };
        let group = group
            .into_iter()
            .map(|(builder, head)| (builder, head.commit))
            .collect();
        let (bytes, batches) = encode_group(group, self.suite, after)?;
        file.write_at(after.start, &bytes).map_err(writing)?;
        let length = bytes.len() as u64;
        segment.keep(after.start, bytes);
        self.unsynced = Some(head);
        self.cursor.offset += length;
        for batch in &batches {
            self.cursor.batch = batch.number;
            self.cursor.digest = *batch.digest.as_bytes();
            self.cursor.commit = batch.commit;
        }
        match durability {
            Durability::Synced => {
                file.sync().map_err(|error| outcome_unknown(&name, error))?;
                self.mark_durable(head).map_err(done_untold)?;
            }
            Durability::Later => {
                let contents = batches
                    .iter()
                    .map(|batch| (batch.number, content_of(batch, self.suite)));
                self.unproven.extend(contents);
            }
        }
        self.visited = self.cursor.batch;
        self.visited_commit = self.cursor.commit;
        Ok(batches)
    }

    /// Makes durable what was appended before, whose callers have their answers: nothing of what the caller asks for is done yet.
    pub(super) fn sync_group(&mut self) -> Result<()> {
        let Some(head) = self.unsynced else { return Ok(()) };
        let segment = self.segment(self.cursor.segment)?;
        let synced = segment.file.sync();
        synced.map_err(|error| Error::io(format!("cannot sync {}", segment.name()), error))?;
        self.mark_durable(head)
    }

    /// Writes `live` after everything up to the cursor was synced (APP-2).
    pub(super) fn mark_durable(&mut self, head: HeadMark) -> Result<()> {
        let live = Live {
            lineage: self.format.lineage,
            instance: self.format.instance,
            boot: self.disk.boot_id(),
            segment: self.cursor.segment,
            offset: self.cursor.offset,
            batch: self.cursor.batch,
            commit: head.commit,
            root: head.root,
            seq: head.seq,
        };
        let writing = |error: io::Error| {
            let failed = Error::io(format!("cannot write {LIVE_NAME}"), error);
            disk::with_what_stands_at(&*self.disk, LIVE_NAME, failed)
        };
        let file = match self.disk.open(LIVE_NAME, Access::ReadWrite) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.create(LIVE_NAME),
            other => other,
        };
        // LIV-1: the callers have synced the segment up to the cursor.
        file.and_then(|file| file.write_at(0, &live.encode()))
            .map_err(writing)?;
        self.durable = self.cursor.offset;
        self.unsynced = None;
        self.unproven.clear();
        Ok(())
    }

    /// Seals the active segment at the cursor and goes on in a new one, as large as behind one that used `used` bytes.
    pub(super) fn rotate(&mut self, lock: &WriteLock, used: u64, needed: u64) -> Result<Arc<SegmentFile>> {
        lock.check_file()?;
        let (sealed, previous) = self.sealed_at_cursor();
        let header = self.new_header(previous)?;
        create_segment(&*self.disk, &header, &self.options, used, needed)?;
        // MAN-2: the file is durable, and nothing is in it yet.
        let active = SegmentEntry::active(header.id, self.cursor.batch + 1);
        let is_empty = self.cursor.offset == FIRST_OFFSET;
        self.publish_manifest(self.manifest.epoch, sealed, active)?;
        let segment = self.enter_new(header.id)?;
        if is_empty {
            // The one before is not listed any more.
            self.remove_leftovers(None)?;
        }
        Ok(segment)
    }

    /// The sealed segments if the active one ends at the cursor, and the end of the last of them. An active segment
    /// without a batch is left out: there is nothing in it to seal.
    pub(super) fn sealed_at_cursor(&self) -> (Vec<SegmentEntry>, super::manifest::SegmentEnd) {
        let mut sealed = self.manifest.sealed().to_vec();
        let active = self.manifest.active();
        if self.cursor.offset > FIRST_OFFSET {
            sealed.push(SegmentEntry {
                length: self.cursor.offset,
                last_batch: self.cursor.batch,
                last_digest: self.cursor.digest,
                ..*active
            });
        }
        let end = sealed.last().map(SegmentEntry::end).unwrap_or_default();
        (sealed, end)
    }

    /// A header for the next segment, under a number that no file has (MAN-3).
    pub(super) fn new_header(&self, previous: super::manifest::SegmentEnd) -> Result<SegmentHeader> {
        Ok(SegmentHeader {
            instance: self.format.instance,
            id: self.new_numbers(1)?,
            nonce: new_nonce(&*self.disk)?,
            previous,
        })
    }

    /// The first of `count` segment numbers that no file has (MAN-3).
    pub(super) fn new_numbers(&self, count: u64) -> Result<u64> {
        let names = self.disk.list(super::segment::LOG_FOLDER);
        let names = names.map_err(|error| Error::io("cannot list the log", error))?;
        let on_disk = names
            .iter()
            .filter_map(|name| super::segment::parse_segment_name(name))
            .map(|(id, _)| id);
        let highest = on_disk
            .filter(|id| *id < u64::from(u32::MAX))
            .fold(self.manifest.highest_id(), u64::max);
        if highest.saturating_add(count) >= u64::from(u32::MAX) {
            return Err(Error::invalid("the log has used up its segment numbers"));
        }
        Ok(highest + 1)
    }

    /// Replaces the manifest by one of the next generation.
    pub(super) fn publish_manifest(
        &mut self,
        epoch: u32,
        sealed: Vec<SegmentEntry>,
        active: SegmentEntry,
    ) -> Result<()> {
        let generation = self.manifest.generation + 1;
        let manifest = Manifest::new(self.format.instance, generation, epoch, sealed, active);
        if manifest.is_over_limit() {
            return Err(Error::invalid("the log has as many segments as it may have")
                .with_hint("`treering gc` merges many small segments into few"));
        }
        disk::replace(&*self.disk, MANIFEST_NAME, &manifest.encode()).map_err(|error| {
            // The name itself is never to be removed: what stood there was needed.
            of_other_kind(&*self.disk, MANIFEST_NAME).unwrap_or_else(|| {
                let failed = Error::io(format!("cannot replace {MANIFEST_NAME}"), error);
                disk::with_what_stands_at(&*self.disk, &disk::unfinished_name(MANIFEST_NAME), failed)
            })
        })?;
        self.named_generation = manifest.generation;
        self.keep_manifest(manifest);
        Ok(())
    }

    /// Moves the cursor to the start of the new active segment and maps the one before.
    pub(super) fn enter_new(&mut self, id: u64) -> Result<Arc<SegmentFile>> {
        let before = self.manifest.before_active();
        if before.id != 0 {
            self.segment(before.id)?.seal(before.length, self.options.map);
        }
        self.cursor.segment = id;
        self.cursor.offset = FIRST_OFFSET;
        self.durable = FIRST_OFFSET;
        self.segment(id)
    }

    /// The commit of the newest batch read; zero if none was.
    pub(super) fn head_commit(&self) -> CommitDigest {
        self.cursor.commit
    }
}

/// A nonce for a new segment (SEG-2).
pub(super) fn new_nonce(disk: &dyn disk::Disk) -> Result<[u8; 16]> {
    let mut nonce = [0; 16];
    disk.random(&mut nonce)
        .map_err(|error| Error::io("cannot get random bytes", error))?;
    Ok(nonce)
}

impl WriteLock {
    /// Refuses to go on when the lock file was replaced: another process may hold the new one.
    pub(super) fn check_file(&self) -> Result<()> {
        check_current(&*self.guard)
    }
}

/// Refuses a lock whose file is no longer the one of its name.
pub(super) fn check_current(guard: &dyn LockGuard) -> Result<()> {
    match guard.is_current() {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = "the lock file was removed or replaced while it was held";
            Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"))
        }
        Err(error) => Err(Error::io("cannot check the lock file", error)),
    }
}

/// The error of a sync that failed: the bytes are written, and may be found whole by the next writer, or not.
fn outcome_unknown(name: &str, error: io::Error) -> Error {
    Error::io(format!("cannot sync {name}"), error)
        .with_code(ErrorCode::OutcomeUnknown)
        .with_hint("it may be done or not: the next write settles it, so look at `treering log` after one before you do it again")
}

/// The error of what has to be written before the log is written anew: it says nothing of that, which did not begin.
pub(crate) fn not_rewritten(error: Error) -> Error {
    if error.code() != ErrorCode::OutcomeUnknown {
        return error;
    }
    error
        .with_code(ErrorCode::Io)
        .with_hint("nothing was erased or collected: make room, then do it again")
}

/// The error of `live` that could not be written behind a sync: what was written is there for good.
fn done_untold(error: Error) -> Error {
    error.behind_change("others see it with the next write. Make room, or remove live if it is no file")
}
