//! The log of an open store with its lock: takes the lock, reads the commits of other processes, appends, and releases
//! the lock.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - WRI-1: a handle appends only while it holds the lock and after it has read every commit of other processes.
//! - WRI-2: a handle releases the lock after every write, unless it is exclusive or has written bytes that are not
//!   synced.
//! - WRI-3: the store in memory mirrors the present log. After a rewrite, or a recovery that moved batches already
//!   read, the handle loads the log again. If this load fails, the next call repeats it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::error::{Cause, Error, ErrorCode, ErrorKind, Result};
use crate::log::{
    self, Batch, BatchBuilder, CompactionLock, HeadMark, Log, RecordKind, Rewrite, Rewritten, Seal, WriteLock,
};
use crate::store::{Bulk, Store};

use crate::engine::opened::Opened;
use crate::engine::read::Source;
use crate::engine::settings::Durability;
use crate::engine::trace::{self, Timer};
use crate::engine::upkeep::{Checkpoints, newest_store, remove_outdated};

/// The maximal number of attempts to load a log that other processes keep rewriting.
const LOADS: u32 = 8;

/// A log that this process has read while it wrote it, with its store in memory and the bytes of its records.
#[cfg(feature = "remote")]
pub(crate) type ReadLog = (Log, Store, u64);

/// The state of the writer, which a mutex protects.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub(crate) struct LogHandle {
    pub(crate) log: Log,
    lock: Option<WriteLock>,
    /// The time in which the last group was written, and synced if necessary.
    pub(crate) took: Duration,
    /// The time of the first write that is not synced.
    unsynced: Option<Instant>,
    /// The bytes of records that were read or written since the store in memory was loaded.
    pub(crate) tail_bytes: u64,
    pub(crate) checkpoints: Checkpoints,
    /// Whether every commit in memory is known to be durable in the log.
    proven: bool,
    /// Whether the next close should search for garbage.
    pub(crate) collect: bool,
    /// The size of the log in bytes at the last search for garbage. Before the first search, this is the size at which
    /// the log was opened.
    pub(crate) looked_at_bytes: u64,
    /// Whether the log was reopened but not yet read to its end. If so, the store in memory still mirrors the previous
    /// log (WRI-3).
    is_behind: bool,
    /// Whether this handle knows that no checkpoint from before the last rewrite of the log remains.
    pub(crate) is_tidy: bool,
    /// Whether this handle wrote anything. A handle that has written nothing does no upkeep when it closes.
    pub(crate) has_written: bool,
}

impl LogHandle {
    pub(crate) fn new(log: Log) -> Self {
        Self {
            log,
            lock: None,
            took: Duration::ZERO,
            unsynced: None,
            tail_bytes: 0,
            checkpoints: Checkpoints::default(),
            proven: false,
            collect: false,
            looked_at_bytes: 0,
            is_behind: false,
            is_tidy: false,
            has_written: false,
        }
    }

    /// Returns the handle of a log that this process has read while it wrote it.
    #[cfg(feature = "remote")]
    pub(crate) fn of_read((log, store, bytes): ReadLog) -> (Self, Store) {
        let handle = Self {
            tail_bytes: bytes,
            looked_at_bytes: log.batch_bytes(),
            checkpoints: Checkpoints::of(&store),
            ..Self::new(log)
        };
        (handle, store)
    }

    /// Returns whether every commit in memory is known to be durable.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven && self.unsynced.is_none() && self.log.is_usable()
    }

    pub(crate) fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// Makes batches durable, or only writes them if the handle's durability allows that.
    pub(crate) fn append(
        &mut self,
        group: Vec<(BatchBuilder, HeadMark)>,
        durability: Durability,
    ) -> Result<Vec<Batch>> {
        self.has_written = true;
        let lock = self
            .lock
            .as_ref()
            // INVARIANT WRI-1: a handle appends only while it holds the lock and after it has read every commit of
            // other processes.
            .ok_or_else(without_lock)?;
        // The first commit after the interval syncs all earlier commits. If no further commit follows, a background
        // thread syncs them.
        let waits = |interval| self.unsynced.is_none_or(|since| since.elapsed() < interval);
        let (when, unsynced) = match durability {
            Durability::Interval(interval) if waits(interval) => (
                log::Durability::Later,
                self.unsynced.or_else(|| Some(Instant::now())),
            ),
            _ => (log::Durability::Synced, None),
        };
        let started = Instant::now();
        let written = self.log.append(lock, group, when)?;
        self.took = started.elapsed();
        self.unsynced = unsynced;
        Ok(written)
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        let Some(lock) = self.lock.as_ref().filter(|_| self.unsynced.is_some()) else {
            return Ok(());
        };
        self.log.sync(lock)?;
        self.unsynced = None;
        Ok(())
    }

    /// Continues in a new segment if a group of `needed` bytes would go to one.
    pub(crate) fn make_room(&mut self, needed: u64) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        self.log.make_room(lock, needed)
    }

    /// Continues in a new segment for one empty batch. The caller must hold the lock and have read the whole log.
    pub(crate) fn begin_segment(&mut self) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        self.log.begin_segment(lock)
    }

    /// Declares that the store has forks. The caller must hold the lock and have read the whole log.
    pub(crate) fn declare_lines(&mut self) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        self.log.declare_lines(lock)
    }

    /// Removes the files that an interrupted rewrite left. The caller must hold the lock and have read the whole log.
    pub(crate) fn tidy(&mut self, alone: &CompactionLock) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        self.log.tidy(lock, alone)
    }

    /// Begins to rewrite the log. The caller must hold the lock and have read the whole log.
    pub(crate) fn begin_rewrite(&mut self, alone: CompactionLock, seal: Seal) -> Result<Rewrite> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        let rewrite = self.log.begin_rewrite(lock, alone, seal)?;
        self.unsynced = None;
        Ok(rewrite)
    }

    /// Replaces the log by a rewrite. The caller must call [`Self::load`] next.
    pub(crate) fn publish(&mut self, rewritten: Rewritten) -> Result<()> {
        let lock = self.lock.as_ref().ok_or_else(without_lock)?;
        // WRI-3: `is_behind` is set first, because the publication may fail halfway.
        self.is_behind = true;
        self.log.publish(lock, rewritten).map(drop)
    }

    /// Releases the lock, unless the handle is exclusive or has unsynced bytes.
    pub(crate) fn release(&mut self, exclusive: bool) {
        if !self.log.is_usable() {
            // A poisoned handle does not write again. The next process that writes finds the unsynced bytes and
            // recovers them.
            if self.lock.is_some() {
                trace::poisoned(self.log.newest_batch());
            }
            (self.unsynced, self.lock) = (None, None);
        }
        // INVARIANT WRI-2: a handle releases the lock after every write, unless it is exclusive or has written bytes
        // that are not synced.
        if !exclusive && self.unsynced.is_none() {
            self.lock = None;
        }
    }

    /// Takes the lock if the handle does not hold it, and reads the commits of other processes.
    pub(crate) fn begin(&mut self, source: &Source) -> Result<()> {
        source.opened.check_writable()?;
        source.opened.check_in_place()?;
        if self.lock.is_none() {
            let settings = &source.opened.settings;
            let since = Instant::now();
            let locked = self.log.lock_while(settings.wait, &|| settings.check_stop());
            let (count, micros) = &*source.opened.lock_waits;
            count.fetch_add(1, Ordering::Relaxed);
            micros.fetch_add(since.elapsed().as_micros() as u64, Ordering::Relaxed);
            self.lock = Some(locked?);
        }
        let loaded = if self.is_behind { self.load(source) } else { Ok(()) };
        let mut prepared = loaded.and_then(|()| self.prepare(source));
        if self.is_elsewhere(&prepared) {
            prepared = self.load(source).and_then(|()| self.prepare(source));
        }
        let prepared = prepared.map_err(|error| source.opened.or_replaced(error));
        let prepared = prepared.and_then(|()| self.check_agreement(source));
        match &prepared {
            Ok(()) => remove_outdated(&source.opened, self),
            Err(_) => self.release(source.opened.settings.exclusive),
        }
        prepared
    }

    /// Reads the commits of other processes while the handle holds the lock.
    fn prepare(&mut self, source: &Source) -> Result<()> {
        let Self { log, lock, .. } = self;
        let lock = lock.as_ref().ok_or_else(without_lock)?;
        let store = source.opened.store();
        let mut bytes = 0;
        let prepared = log.prepare(lock, &mut |batch| {
            bytes += body_bytes(&batch);
            take_in(&source.opened, &store, &batch)
        });
        if let Some(first) = log.take_recovered() {
            warn_of_recovered(&source.opened, &store, first);
        }
        self.tail_bytes += bytes;
        self.proven = prepared.is_ok();
        prepared
    }

    /// Returns whether the log must be loaded again, because a rewrite replaced it, or because recovery moved batches
    /// that this handle had read.
    fn is_elsewhere(&self, prepared: &Result<()>) -> bool {
        match prepared {
            Ok(()) => self.log.has_moved(),
            Err(error) => error.code() == ErrorCode::Rewritten,
        }
    }

    /// Checks that the store in memory mirrors the log: both have the same head, and no batch moved after it was read.
    /// The heads differ if applying a batch failed. In these cases, this handle must not write.
    fn check_agreement(&mut self, source: &Source) -> Result<()> {
        // INVARIANT WRI-3: a store with old places would end in a checkpoint that names segments that are gone.
        if source.opened.store().head()?.digest == self.log.newest_commit() && !self.log.has_moved() {
            return Ok(());
        }
        self.log.poison();
        Err(
            Error::new(ErrorKind::Poisoned, "the state in memory differs from the log")
                .with_hint("open the store again"),
        )
    }

    /// Reads the commits of other processes. Takes no lock and writes nothing.
    pub(crate) fn catch_up(&mut self, source: &Source) -> Result<()> {
        source.opened.check_in_place()?;
        self.read_new(source)
            .map_err(|error| source.opened.or_replaced(error))
    }

    fn read_new(&mut self, source: &Source) -> Result<()> {
        if self.is_behind {
            return self.load(source);
        }
        let store = source.opened.store();
        match read_on(&source.opened, &mut self.log, &mut |batch| {
            take_in(&source.opened, &store, &batch)
        }) {
            Err(error) if error.code() == ErrorCode::Rewritten => self.load(source),
            Err(error) => Err(error),
            Ok(bytes) => {
                self.tail_bytes += bytes;
                // Another process may not have synced these bytes yet, so a crash may lose them.
                self.proven &= bytes == 0;
                Ok(())
            }
        }
    }

    /// Reads the log, from the newest checkpoint or the start, into a new store that replaces the current one. Runs
    /// when the store is opened and after a rewrite.
    pub(crate) fn load(&mut self, source: &Source) -> Result<()> {
        let (before, timer) = (source.opened.store().head().ok(), Timer::start());
        self.is_behind = true;
        self.is_tidy = false;
        self.checkpoints = Checkpoints::default();
        let log = &mut self.log;
        (self.tail_bytes, self.proven) = (0, false);
        let mut read = || -> Result<(Store, bool, u64)> {
            match read_store(&source.opened, log, !source.opened.settings.degraded) {
                // INVARIANT BLK-2: after an error the store is not used. The batches one by one show the first wrong one.
                Err(error) if error.is_corruption() => read_store(&source.opened, log, false),
                read => read,
            }
        };
        let mut loaded = read();
        // Another process may rewrite the log again during the read.
        for _ in 1..LOADS {
            if loaded
                .as_ref()
                .is_err_and(|error| error.code() == ErrorCode::Rewritten)
            {
                loaded = read();
            }
        }
        let (store, is_covered, bytes) = loaded?;
        self.tail_bytes = bytes;
        // The process that wrote the checkpoint already searched the part of the log before the checkpoint for garbage.
        let behind = if is_covered { bytes } else { 0 };
        self.looked_at_bytes = self.log.batch_bytes().saturating_sub(behind);
        self.is_behind = false;
        self.checkpoints = Checkpoints::of(&store);
        source.clear();
        let because = |error| source.opened.because_of_damage(error);
        let head = store.head().map_err(because)?;
        source.opened.replace(store);
        trace::loaded(&head, is_covered, bytes, timer);
        if before.is_some_and(|before| before.digest != head.digest) {
            source.opened.notify(&head);
        }
        Ok(())
    }
}

/// Warns the owner of the commits that recovery brought in, from the batch `first` on. No reader has seen them, so a writer
/// that takes back the newest commit may mean another one.
fn warn_of_recovered(opened: &Opened, store: &Store, first: u64) {
    let new_at = |index: usize| {
        let entry = store.commit_at(index).ok().flatten();
        entry
            .filter(|entry| entry.batch >= first)
            .map(|entry| entry.seq())
    };
    let new: Vec<_> = (0..store.kept()).rev().map_while(new_at).collect();
    let mut what = match (new.last(), new.first()) {
        (Some(oldest), Some(newest)) if oldest != newest => vec![format!("seq:{oldest} to seq:{newest}")],
        (Some(seq), _) => vec![format!("seq:{seq}")],
        _ => Vec::new(),
    };
    let lines = store.lines();
    let changed = lines.live().filter(|line| line.newest_batch() >= first);
    what.extend(changed.map(|line| format!("a change of the line '{}'", line.name)));
    if what.is_empty() {
        what.push("a batch without a commit".to_owned());
    }
    let what = what.join(" and ");
    opened.warn(format!(
        "recovery brought in {what}: the writer was interrupted before it acknowledged this, so no reader had seen it"
    ));
}

fn without_lock() -> Error {
    Error::internal("a write without the lock")
}

/// Returns the size of the records of a batch in bytes.
pub(crate) fn body_bytes(batch: &Batch) -> u64 {
    batch.records.iter().map(|record| record.body.len() as u64).sum()
}

/// Reads the log, from the newest checkpoint or the start, into a new store: all batches together, or one by one. Also
/// returns whether there is a checkpoint, and the size of the records in bytes.
fn read_store(opened: &Opened, log: &mut Log, together: bool) -> Result<(Store, bool, u64)> {
    log.reopen()?;
    let store = newest_store(opened, log)?;
    let is_covered = store.head().is_ok();
    if !together {
        let bytes = read_on(opened, log, &mut |batch| store.apply(&batch, None).map(drop))?;
        return Ok((store, is_covered, bytes));
    }
    let go_on = || opened.settings.check_stop();
    // `verify` compares every root. Other past states are compared when they are first computed.
    let mut bulk = Bulk::new(&store, &go_on)?.newest_root();
    let bytes = read_on(opened, log, &mut |batch| bulk.add(batch))?;
    bulk.finish()?;
    Ok((store, is_covered, bytes))
}

fn take_in(opened: &Opened, store: &Store, batch: &Batch) -> Result<()> {
    if let Some(entry) = store.apply(batch, None)? {
        let is_beside = batch.records.iter().any(|record| record.kind == RecordKind::Line);
        match store.lines().of_commit(&entry.digest).filter(|_| is_beside) {
            None => opened.notify(&entry),
            Some(line) => opened.notify_fork(&line.name, &entry),
        }
    }
    Ok(())
}

/// Passes the new batches to `visit`, and records damage at which reading stopped. Returns the size of the batches'
/// records in bytes.
fn read_on(opened: &Opened, log: &mut Log, visit: &mut dyn FnMut(Batch) -> Result<()>) -> Result<u64> {
    let (mut done, total) = (0, log.size().1);
    let tell = |done: u64| opened.settings.tell("open", done, total);
    let mut is_refused = false;
    let read = log.catch_up(&mut |batch| {
        done += body_bytes(&batch);
        tell(done);
        visit(batch).inspect_err(|_| is_refused = true)
    });
    let tail = match read {
        // The batch refers to damaged bytes, for example a damaged version that the batch restores. A degraded handle
        // stops reading before that batch.
        Err(error) if is_refused && opened.settings.degraded && error.is_damage() => {
            opened.stop_at(&error);
            return Ok(done);
        }
        other => other?,
    };
    tell(total);
    match &tail.damage {
        Some(damage) => opened.stop_at(damage),
        // The read skipped some damaged batches, because a checkpoint covers them.
        None => {
            for damage in log.passed_over() {
                opened.warn(format!("some objects cannot be read: {damage}"));
            }
        }
    }
    if tail.torn_bytes > 0 {
        let bytes = tail.torn_bytes;
        opened.warn(Cause::UnprovenTail { bytes }.to_string());
    }
    Ok(done)
}
