//! What holds the log and the lock: taking it, catching up with other processes, appending, letting go.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - WRI-1: nothing is appended without the lock, and not before everything others committed is taken in.
//! - WRI-2: the lock is let go after every write, unless the handle is exclusive or something is not synced yet.
//! - WRI-3: what is in memory was read from the log as it is now: after a rewrite, and after a recovery that wrote again
//!   what had been read before, it is read anew, at the next try if the first one fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Cause, Error, ErrorCode, ErrorKind, Result};
use crate::log::{self, Batch, BatchBuilder, CompactionLock, HeadMark, Log, Rewrite, Rewritten, WriteLock};
use crate::store::{CommitEntry, Store};
use crate::threads::{Builder, sleep};

use crate::engine::memory::Inner;
use crate::engine::options::{Durability, Progress};
use crate::engine::watch::HeadMoved;

/// How often a log is read anew because it was rewritten while it was read.
const LOADS: u32 = 8;

/// What only the writer touches, under its mutex.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Writing {
    pub(crate) log: Log,
    lock: Option<WriteLock>,
    /// Since when something is written but not synced.
    unsynced: Option<Instant>,
    /// Bytes of records that were taken in since the newest checkpoint.
    pub(crate) tail_bytes: u64,
    /// Whether all that was taken in is known to be durable.
    proven: bool,
    /// Whether it is time to look for garbage.
    pub(crate) collect: bool,
    /// Bytes of the log when that was last asked; what it was opened with, where nobody knows.
    pub(crate) looked_at_bytes: u64,
    /// Whether the log was opened anew and not read to its end: then what was read before is of another log (WRI-3).
    is_behind: bool,
    /// Whether no checkpoint is left of the log before it was rewritten, as far as is known.
    pub(crate) is_tidy: bool,
    /// Whether this handle wrote anything.
    has_written: bool,
}

impl Writing {
    pub(crate) fn new(log: Log) -> Self {
        Self {
            log,
            lock: None,
            unsynced: None,
            tail_bytes: 0,
            proven: false,
            collect: false,
            looked_at_bytes: 0,
            is_behind: false,
            is_tidy: false,
            has_written: false,
        }
    }

    /// Whether this handle wrote anything: who only looked tidies nothing up.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Whether everything that was taken in is durable.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven && self.unsynced.is_none() && self.log.is_usable()
    }

    pub(crate) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// Makes batches durable, or only written if the handle says that this is enough.
    pub(crate) fn append(
        &mut self,
        group: Vec<(BatchBuilder, HeadMark)>,
        durability: Durability,
    ) -> Result<Vec<Batch>> {
        self.has_written = true;
        let lock = self
            .lock
            .as_ref()
            // WRI-1
            .ok_or_else(without_lock)?;
        match durability {
            Durability::Sync => self.log.append(lock, group, log::Durability::Synced),
            // The first commit after the interval syncs all of it; a thread does if none comes.
            Durability::Interval(interval) => {
                let due = self.unsynced.is_some_and(|since| since.elapsed() >= interval);
                let when = if due {
                    log::Durability::Synced
                } else {
                    log::Durability::Later
                };
                let written = self.log.append(lock, group, when)?;
                self.unsynced = if due {
                    None
                } else {
                    self.unsynced.or_else(|| Some(Instant::now()))
                };
                Ok(written)
            }
        }
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        let Some(lock) = self.lock.as_ref().filter(|_| self.unsynced.is_some()) else {
            return Ok(());
        };
        self.log.sync(lock)?;
        self.unsynced = None;
        Ok(())
    }

    /// Begins to rewrite the log, under the lock and after catching up.
    pub(crate) fn begin_rewrite(&mut self, alone: CompactionLock) -> Result<Rewrite> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        let rewrite = self.log.begin_rewrite(lock, alone)?;
        self.unsynced = None;
        Ok(rewrite)
    }

    /// Puts a rewrite in the place of the log; [`Inner::load`] is to follow.
    pub(crate) fn publish(&mut self, rewritten: Rewritten) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        // WRI-3: also if it fails half way.
        self.is_behind = true;
        self.log.publish(lock, rewritten).map(drop)
    }

    /// Lets the lock go, unless it is kept or something unsynced must not be overtaken.
    pub(crate) fn release(&mut self, exclusive: bool) {
        if !self.log.is_usable() {
            // It will not write again: the next process finds what it left and recovers.
            (self.unsynced, self.lock) = (None, None);
        }
        // WRI-2
        if !exclusive && self.unsynced.is_none() {
            self.lock = None;
        }
    }
}

fn without_lock() -> Error {
    Error::internal("a write without the lock")
}

impl Inner {
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(
                Error::new(ErrorKind::Io, "this handle was opened for reading only")
                    .with_code(ErrorCode::ReadOnly),
            );
        }
        Ok(())
    }

    /// Takes the lock if it is not held, and catches up with other processes.
    pub(crate) fn begin(&self, writing: &mut Writing) -> Result<()> {
        self.check_writable()?;
        if writing.lock.is_none() {
            writing.lock = Some(writing.log.lock(self.options.wait)?);
        }
        let mut prepared = if writing.is_behind {
            self.load(writing).and_then(|()| self.prepare(writing))
        } else {
            self.prepare(writing)
        };
        // WRI-3: what was read from a place that recovery has left is read again from where it is now.
        let is_elsewhere = match &prepared {
            Ok(()) => writing.log.has_moved(),
            Err(error) => error.code() == ErrorCode::Rewritten,
        };
        if is_elsewhere {
            prepared = self.load(writing).and_then(|()| self.prepare(writing));
        }
        let prepared = prepared.and_then(|()| self.check_agreement(writing));
        match &prepared {
            Ok(()) => self.remove_outdated(writing),
            Err(_) => writing.release(self.options.exclusive),
        }
        prepared
    }

    /// Catches up under the lock.
    fn prepare(&self, writing: &mut Writing) -> Result<()> {
        let Writing { log, lock, .. } = writing;
        let lock = lock.as_ref().ok_or_else(without_lock)?;
        let store = self.store();
        let mut bytes = 0;
        let prepared = log.prepare(lock, &mut |batch| {
            bytes += crate::engine::upkeep::verify::body_bytes(&batch);
            self.take_in(&store, &batch)
        });
        writing.tail_bytes += bytes;
        writing.proven = prepared.is_ok();
        prepared
    }

    /// Whether memory holds what the log does: if taking in a batch failed, nothing may be built on either.
    fn check_agreement(&self, writing: &mut Writing) -> Result<()> {
        if self.store().head()?.digest == writing.log.newest_commit() {
            return Ok(());
        }
        writing.log.poison();
        Err(Error::new(ErrorKind::Poisoned, "memory and log no longer agree")
            .with_hint("open the store again"))
    }

    /// Takes the lock, catches up, does `work` and lets the lock go, whatever comes of it.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Writing) -> Result<T>) -> Result<T> {
        let mut writing = self.writing.lock();
        self.begin(&mut writing)?;
        let outcome = work(&mut writing);
        writing.release(self.options.exclusive);
        self.cover_if_due(&mut writing, false);
        outcome
    }

    fn take_in(&self, store: &Store, batch: &Batch) -> Result<()> {
        if let Some(entry) = store.apply(batch, None)? {
            self.notify(&entry);
        }
        Ok(())
    }

    pub(crate) fn notify(&self, entry: &CommitEntry) {
        self.watchers.send(|| HeadMoved {
            commit: entry.digest,
            root: entry.commit.root,
            seq: entry.seq(),
            op: entry.commit.op.as_str().to_owned(),
        });
    }

    /// Reads what other processes committed, without lock and without writing.
    pub(crate) fn catch_up(&self, writing: &mut Writing) -> Result<()> {
        if writing.is_behind {
            return self.load(writing);
        }
        let store = self.store();
        match self.read_on(&mut writing.log, &mut |batch| self.take_in(&store, batch)) {
            Err(error) if error.code() == ErrorCode::Rewritten => self.load(writing),
            Err(error) => Err(error),
            Ok(bytes) => {
                writing.tail_bytes += bytes;
                // A reader's end of the log may yet be lost; a lock that is held means that it is this handle's own.
                writing.proven &= bytes == 0;
                Ok(())
            }
        }
    }

    /// Reads the log from its start into a store of its own, which takes the place of the one before: when it is opened,
    /// and when it was rewritten.
    pub(crate) fn load(&self, writing: &mut Writing) -> Result<()> {
        let before = self.store().head().ok();
        writing.is_behind = true;
        writing.is_tidy = false;
        let log = &mut writing.log;
        (writing.tail_bytes, writing.proven) = (0, false);
        let mut result = Err(Error::internal("the log was not read"));
        // Somebody may rewrite it again while it is read.
        for _ in 0..LOADS {
            log.reopen()?;
            let mut is_covered = false;
            let read = self.newest_store(log).and_then(|store| {
                is_covered = store.head().is_ok();
                let bytes = self.read_on(log, &mut |batch| store.apply(batch, None).map(drop))?;
                Ok((store, bytes))
            });
            match read {
                Err(error) if error.code() == ErrorCode::Rewritten => result = Err(error),
                Err(error) => return Err(error),
                Ok((store, bytes)) => {
                    writing.tail_bytes = bytes;
                    // The one who made the checkpoint asked.
                    let behind = if is_covered { bytes } else { 0 };
                    writing.looked_at_bytes = log.batch_bytes().saturating_sub(behind);
                    writing.is_behind = false;
                    self.indexes.clear();
                    self.subtrees.clear();
                    *self.newer.lock() = None;
                    let head = store.head().map_err(|error| self.because_of_damage(error))?;
                    self.store.store(Arc::new(store));
                    if before.is_some_and(|before| before.digest != head.digest) {
                        self.notify(&head);
                    }
                    return Ok(());
                }
            }
        }
        result
    }

    /// Hands the batches that are new to `visit`, and notes what is wrong with the end of the log; returns the bytes of
    /// their records.
    fn read_on(&self, log: &mut Log, visit: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<u64> {
        let (mut done, total) = (0, log.size().1);
        let tell = |done: u64| {
            if let Some(progress) = &self.options.progress {
                progress(Progress {
                    doing: "open",
                    done: done.min(total),
                    total,
                });
            }
        };
        let mut is_refused = false;
        let read = log.catch_up(&mut |batch| {
            done += crate::engine::upkeep::verify::body_bytes(&batch);
            tell(done);
            visit(&batch).inspect_err(|_| is_refused = true)
        });
        let tail = match read {
            // What a batch builds on is damaged, such as a version that it brings back: what is before it is served.
            Err(error) if is_refused && self.options.degraded && error.is_corruption() => {
                self.stop_at(&error);
                return Ok(done);
            }
            other => other?,
        };
        tell(total);
        match &tail.damage {
            Some(damage) => self.stop_at(damage),
            // By a checkpoint, all was known that the log says, and not all of it can be read.
            None => {
                for damage in log.passed_over() {
                    self.warn(format!("some objects cannot be read: {damage}"));
                }
            }
        }
        if tail.torn_bytes > 0 {
            let bytes = tail.torn_bytes;
            self.warn(Cause::UnprovenTail { bytes }.to_string());
        }
        Ok(done)
    }

    /// Notes the damage at which reading stopped.
    fn stop_at(&self, damage: &Error) {
        if self.damage.set(damage.to_string()).is_ok() {
            self.warn(format!("reading stopped at damage: {damage}"));
        }
    }

    /// Why there is no commit at all: whoever reads past damage is told of the damage.
    fn because_of_damage(&self, error: Error) -> Error {
        let Some(damage) = self.damage.get() else {
            return error;
        };
        Error::corrupt(format!("no commit before the damage is whole: {damage}"))
            .with_hint("`treering salvage` saves what is behind it")
    }

    /// Notes something that the owner should know, once.
    pub(crate) fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }
}

/// Syncs what waits every `interval` (at least a millisecond), until the memory is gone.
pub(crate) fn sync_every(inner: &Arc<Inner>, interval: Duration) -> Result<()> {
    let interval = interval.max(Duration::from_millis(1));
    let inner = Arc::downgrade(inner);
    let work = move || {
        loop {
            sleep(interval);
            let Some(inner) = inner.upgrade() else { return };
            let mut writing = inner.writing.lock();
            if writing.unsynced.is_some() {
                // A failed sync poisons the handle, and the next commit says so.
                drop(writing.sync());
                writing.release(inner.options.exclusive);
            }
        }
    };
    let started = Builder::new().name("treering-sync".to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::io("cannot start the thread that syncs", error))
}
