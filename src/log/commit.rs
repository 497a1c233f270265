//! The steps of a commit, numbered as in docs/durability.md.
//!
//! 1. [`Log::lock`] acquires the lock.
//! 2. [`Log::prepare`] catches up. If no other handle had the lock since this handle last wrote, it is at the end of the
//!    log and reads nothing. Otherwise it continues in the active segment if `live` was written during the current boot
//!    and marks the end of the log, and else recovers.
//! 3. [`Log::append`] writes the group with one `pwrite`. If the segment has reached its limit, it first rotates to a new
//!    one. After a group that reaches the end of the file, it adds zeros for the next groups.
//! 4. [`Log::append`] syncs the segment.
//! 5. [`Log::append`] overwrites `live`.
//! 6. The caller publishes the batches that [`Log::append`] returns.
//! 7. Dropping the [`WriteLock`] releases the lock.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - APP-1: a handle writes only after `prepare`, under the same lock, moved it to the end of the log.
//! - APP-2: `live` declares bytes durable only after they were synced.
//! - APP-3: if the active segment has reached its limit, a new one is created before any byte of the group is written.
//! - APP-4: a handle continues without reading only if it was at the end of the log under the lock before, and no other
//!   handle had the lock since (LCK-2): nothing but this handle can have changed the log then.
//! - APP-5: a group leaves the reserve of a nearly full disk to the next rewrite.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::batch::{Batch, BatchBuilder, Continue, HeadMark, encode_group};
use super::fixed::is_zero;
use super::format_file::{FORMAT_NAME, Format, LINES};
use super::handle::{Log, Writing, next_number};
use super::live::{LIVE_NAME, Live};
use super::lock::{LOCK_NAME, WriteLock};
use super::reader::SegmentFile;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, SEGMENT_BYTES_LIMIT};
use super::walk::Visit;
use crate::disk::{self, Access, DiskFile, Holder, lock_as, read_full};
use crate::error::{Error, ErrorCode, OrIo as _, Result};

/// The number of bytes after the last batch that must be zero to continue in the active segment. An interrupted write
/// usually leaves its first bytes there. Leftover bytes further on form a torn tail, at which every scan stops.
const CLEAN_BYTES: usize = 4096;

/// Determines when an appended group becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The group is durable before `append` returns.
    Synced,
    /// The group becomes durable at the next synced `append` or `sync`, whichever is first. Before that, a power loss
    /// may remove the group and all later groups.
    Later,
}

impl Log {
    /// Acquires the writer's lock. Waits for at most `wait`.
    ///
    /// # Errors
    /// `Busy` with the name of the lock's holder, `Denied` for a read-only handle, `Poisoned`, or `Io`.
    pub fn lock(&self, wait: Duration) -> Result<WriteLock> {
        self.lock_while(wait, &|| Ok(()))
    }

    /// Acquires the writer's lock like [`Self::lock`]. An error of `go_on` ends the wait.
    ///
    /// # Errors
    /// The errors of [`Self::lock`] and of `go_on`.
    pub fn lock_while(&self, wait: Duration, go_on: &dyn Fn() -> Result<()>) -> Result<WriteLock> {
        self.check_writable()?;
        let holder = match self.holder.get() {
            Some(holder) => holder,
            None => {
                let holder = Holder::new(&*self.disk).or_io("cannot get random bytes")?;
                self.holder.get_or_init(|| holder)
            }
        };
        let guard = lock_as(&*self.disk, LOCK_NAME, holder, wait, go_on)?;
        let number = next_number();
        let before = self.locked.swap(number, Ordering::Relaxed);
        Ok(WriteLock {
            follows: guard.had_no_other_holder().then_some(before),
            guard,
            log: self.identity,
            number,
        })
    }

    /// Moves this handle to the end of the log, under the lock, and delivers the new batches. Does nothing if no other
    /// handle had the lock since this handle was at the end. Continues in the active segment if `live` was written
    /// during the current boot and marks the end of the log. Otherwise recovers into a new segment.
    ///
    /// # Errors
    /// The errors of [`Log::catch_up`] and [`Log::append`].
    ///
    /// # Durability
    /// When the call returns, every delivered batch is durable, except a group of this handle that waits for
    /// [`Log::sync`].
    pub fn prepare(&mut self, lock: &WriteLock, visit: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        self.check_lock(lock)?;
        if self.prepared == lock.number {
            return lock.check_file();
        }
        // INVARIANT APP-4: a handle continues without reading only if it was at the end of the log under the lock
        // before, and no other handle had the lock since.
        if self.prepared > 0 && lock.follows == Some(self.prepared) {
            self.prepared = lock.number;
            return Ok(());
        }
        lock.check_file()?;
        (self.writing, self.live_file) = (None, None);
        let live = self.look(visit)?;
        let segment = self.active_segment()?;
        if segment.unfinished {
            self.poison_on_error(|log| log.finish_name(segment.header.id))?;
        }
        self.poison_on_error(Self::make_names_durable)?;
        if self.go_on_in_place(live, &segment, visit)? {
            self.check_unlisted()?;
        } else {
            self.recover(live, &segment, visit)?;
        }
        if !self.leftovers_removed {
            self.poison_on_error(|log| log.remove_leftovers(None))?;
        }
        self.prepared = lock.number;
        Ok(())
    }

    /// Syncs the folders if another process published the manifest. That process may have ended after a rename and
    /// before the sync. New batches must not depend on a file name that a power loss can remove.
    fn make_names_durable(&mut self) -> Result<()> {
        let generation = self.manifest.generation;
        if self.named_generation == generation {
            return Ok(());
        }
        let sync = || {
            self.disk.sync_dir(LOG_FOLDER)?;
            self.disk.sync_dir("")?;
            if self.named_generation == 0 {
                self.disk.sync_parent()?;
            }
            Ok(())
        };
        sync().or_io("cannot sync the folders of the store")?;
        self.named_generation = generation;
        Ok(())
    }

    /// Catches up and returns true if writing can continue in the active segment. Otherwise returns false.
    fn go_on_in_place(
        &mut self,
        live: Option<Live>,
        segment: &SegmentFile,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let Some(end) = self.end_in_place(live, segment)? else {
            return Ok(false);
        };
        if end > self.cursor.offset {
            let scan = self.scan_active(segment, self.cursor, live, Some(end))?;
            segment.keep(self.cursor.offset, scan.bytes);
            for scanned in scan.batches {
                self.deliver(scanned, true, visit)?;
            }
        }
        if self.unsynced.is_none() {
            self.durable = end;
            self.unproven.clear();
        }
        Ok(true)
    }

    /// Returns the offset for the next batch if writing can continue in the active segment, otherwise `None`.
    pub(super) fn end_in_place(&self, live: Option<Live>, segment: &SegmentFile) -> Result<Option<u64>> {
        let Some(limit) = live.and_then(|live| self.live_limit(live)) else {
            return Ok(None);
        };
        let end = if self.unsynced.is_some() && limit == self.durable {
            self.cursor.offset
        } else {
            limit
        };
        let goes_on = end >= self.cursor.offset && is_clean_behind(segment, end)?;
        Ok(goes_on.then_some(end))
    }

    /// Appends a group of batches with one write. Each `HeadMark` describes the head after its batch. An empty group
    /// does nothing.
    ///
    /// With [`Durability::Later`], this handle can read the group at once. Other handles can read the group after
    /// [`Log::sync`]. Call `sync` before releasing the lock. Otherwise the next writer treats the group like a write
    /// that a crash interrupted.
    ///
    /// # Errors
    /// `InvalidInput` for a record or a group over a limit, before any write. After any other error, this handle
    /// refuses further writes with `Poisoned`. A store that is opened again contains either the complete group or no
    /// batch of it.
    ///
    /// # Durability
    /// `durability` determines when the group is durable. The seals of unsynced groups declare durable only the bytes
    /// that were durable before the first of these groups (LOG-2).
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
                "a commit group of {needed} bytes exceeds the size limit of a segment"
            )));
        }
        // INVARIANT APP-5: a group leaves the reserve of a nearly full disk to the next rewrite. Nothing was written yet,
        // so the handle stays usable for that rewrite.
        self.check_reserve(needed)?;
        self.poison_on_error(|log| log.append_group(lock, group, head, needed, durability))
    }

    /// Declares in the format file that the store has other lines than the main one, so that programs which know no lines
    /// refuse it. Does nothing if the file says so already.
    ///
    /// # Errors
    /// `Io` if the file cannot be replaced. After an error, this handle refuses further writes with `Poisoned`.
    ///
    /// # Durability
    /// When the call returns, the declaration is durable. After a crash before that, the file is the old or the new one.
    pub fn declare_lines(&mut self, lock: &WriteLock) -> Result<()> {
        self.check_prepared(lock)?;
        if self.format.features & LINES != 0 {
            return Ok(());
        }
        let format = Format {
            features: self.format.features | LINES,
            ..self.format
        };
        self.poison_on_error(|log| {
            disk::replace(&*log.disk, FORMAT_NAME, &format.encode())
                .or_io(format_args!("cannot replace {FORMAT_NAME}"))
        })?;
        self.format = format;
        Ok(())
    }

    /// Syncs the groups that were appended with [`Durability::Later`]. Without such groups, does nothing.
    ///
    /// # Errors
    /// The errors of [`Log::append`].
    ///
    /// # Durability
    /// When the call returns, everything that this handle appended is durable.
    pub fn sync(&mut self, lock: &WriteLock) -> Result<()> {
        self.check_lock(lock)?;
        if self.unsynced.is_none() {
            return Ok(());
        }
        self.check_prepared(lock)?;
        self.poison_on_error(Self::sync_group).map_err(|error| {
            error.with_hint("commits since the last sync may be lost: open the store again and check which commits the store contains")
        })
    }

    pub(super) fn check_prepared(&self, lock: &WriteLock) -> Result<()> {
        self.check_lock(lock)?;
        // INVARIANT APP-1: a handle writes only after `prepare`, under the same lock, moved it to the end of the log.
        if self.prepared == lock.number {
            return Ok(());
        }
        Err(Error::internal("the handle wrote without calling `prepare`"))
    }

    /// Runs `work`, which writes to the disk. Poisons the handle after an error, because the content of the disk is
    /// then unknown (LOG-5).
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
        let (mut file, length) = self.open_to_write(&segment)?;
        // INVARIANT APP-3: creates a new segment before writing.
        if self.is_full(length, needed) {
            self.sync_group()?;
            segment = self.rotate(lock)?;
            (file, _) = self.open_to_write(&segment)?;
        }
        let after = Continue {
            segment: segment.header.id,
            seed: segment.header.seed(),
            start: self.cursor.offset,
            synced_upto: self.durable,
            chain: self.cursor.chain(),
        };
        let group = group.into_iter().map(|(builder, head)| (builder, head.commit));
        let (bytes, batches) = encode_group(group, self.suite, after)?;
        let writing = |error| cannot_write(&segment, error);
        file.write_shared(after.start, &bytes).map_err(writing)?;
        self.unsynced = Some(head);
        let end = after.start + bytes.len() as u64;
        self.fill_ahead(end, needed).map_err(writing)?;
        if let Some(last) = batches.last() {
            self.cursor = self.cursor.after(last, end);
        }
        segment.keep(after.start, bytes);
        match durability {
            Durability::Synced => {
                file.sync().map_err(|error| outcome_unknown(&segment, error))?;
                self.mark_durable(head).map_err(done_untold)?;
            }
            Durability::Later => {
                self.unproven.extend(batches.iter().cloned());
            }
        }
        self.visited = self.cursor.batch;
        self.visited_commit = self.cursor.commit;
        self.visited_sum = batches.last().map(Batch::sum);
        Ok(batches)
    }

    /// Returns the file of a segment, open for writing, and its length. Keeps the file open for the next batch.
    pub(super) fn open_to_write(&mut self, segment: &SegmentFile) -> Result<(Arc<dyn DiskFile>, u64)> {
        let id = segment.header.id;
        if let Some(writing) = self.writing.as_ref().filter(|writing| writing.segment == id) {
            return Ok((Arc::clone(&writing.file), writing.length));
        }
        let open = || {
            let file = self.disk.open(&segment.name(), Access::ReadWrite)?;
            let length = file.length()?;
            Ok((file, length))
        };
        let (file, length) = open().map_err(|error| cannot_write(segment, error))?;
        self.writing = Some(Writing {
            segment: id,
            file: Arc::clone(&file),
            length,
            filled: 0,
        });
        Ok((file, length))
    }

    /// Syncs the earlier appends. An error does not have an unknown outcome: the earlier `append` calls have already
    /// returned, and the current group is not written yet.
    pub(super) fn sync_group(&mut self) -> Result<()> {
        let Some(head) = self.unsynced else { return Ok(()) };
        let segment = self.segment(self.cursor.segment)?;
        let synced = segment.file.sync();
        synced.or_io(format_args!("cannot sync {}", segment.name()))?;
        self.mark_durable(head)
    }

    /// Writes `live`. The caller has synced all bytes up to the cursor (APP-2).
    pub(super) fn mark_durable(&mut self, head: HeadMark) -> Result<()> {
        let live = Live {
            lineage: self.format.lineage,
            instance: self.format.instance,
            boot: self.disk.boot_id(),
            segment: self.cursor.segment,
            offset: self.cursor.offset,
            batch: self.cursor.batch,
            head,
        };
        let open = || match self.disk.open(LIVE_NAME, Access::ReadWrite) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.create(LIVE_NAME),
            other => other,
        };
        // LIV-1: the callers have synced the segment up to the cursor.
        let file = self.live_file.take().map_or_else(open, Ok);
        let written = file.and_then(|file| file.write_at(0, &live.encode()).map(|()| file));
        self.live_file = Some(written.or_io(format_args!("cannot write {LIVE_NAME}"))?);
        self.durable = self.cursor.offset;
        self.unsynced = None;
        self.unproven.clear();
        Ok(())
    }
}

fn cannot_write(segment: &SegmentFile, error: io::Error) -> Error {
    Error::io(format!("cannot write {}", segment.name()), error)
}

/// Returns whether the first [`CLEAN_BYTES`] bytes after `end` are zero.
pub(super) fn is_clean_behind(segment: &SegmentFile, end: u64) -> Result<bool> {
    let mut behind = [0; CLEAN_BYTES];
    let count = read_full(&*segment.file, end, &mut behind).map_err(|error| segment.cannot_read(error))?;
    Ok(is_zero(&behind[..count]))
}

/// Returns the error of a failed sync. The bytes were written, but a later reader may find all of them or none.
fn outcome_unknown(segment: &SegmentFile, error: io::Error) -> Error {
    Error::io(format!("cannot sync {}", segment.name()), error)
        .with_code(ErrorCode::OutcomeUnknown)
        .with_hint("it is unknown whether the change was saved: make another write, then check `treering log` before you repeat the change")
}

/// Converts the error of a write that failed before a rewrite was published. If the error reports an unknown outcome,
/// replaces that report, because the rewrite changed nothing.
pub(crate) fn not_rewritten(error: Error) -> Error {
    if error.code() != ErrorCode::OutcomeUnknown {
        return error;
    }
    error
        .with_code(ErrorCode::Io)
        .with_hint("nothing was erased or collected: free some space, then try again")
}

/// Returns the error for a failed write of `live`. The group was synced before, so the change is durable.
fn done_untold(error: Error) -> Error {
    error.behind_change("other processes see the change after the next write")
}
