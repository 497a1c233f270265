//! The two locks of a log: for writers, and for rewrites.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RWR-1: at most one rewrite of a store runs at a time.

use std::time::Duration;

use crate::disk::{Disk, LockGuard, lock_within};
use crate::error::{Error, ErrorKind, OrIo as _, Result};

/// Name of the lock file.
pub(crate) const LOCK_NAME: &str = "lock";

/// The name of the lock file that excludes a second rewrite.
pub(crate) const COMPACTION_LOCK_NAME: &str = "compact.lock";

/// The right to append, held until it is dropped.
pub struct WriteLock {
    pub(super) guard: Box<dyn LockGuard>,
    /// The number of the log handle, and the number of this lock.
    pub(super) log: u64,
    pub(super) number: u64,
}

/// The right to rewrite the log, held until it is dropped. Other processes may append meanwhile.
pub struct CompactionLock {
    guard: Box<dyn LockGuard>,
    store: (u64, u64),
}

impl WriteLock {
    /// Returns an error if the lock file was replaced, because another process may hold the lock of the new file.
    pub(super) fn check_file(&self) -> Result<()> {
        check_current(&*self.guard)
    }
}

/// Refuses a lock whose name no longer leads to the locked file.
fn check_current(guard: &dyn LockGuard) -> Result<()> {
    if guard.is_current().or_io("cannot check the lock file")? {
        return Ok(());
    }
    let message = "the lock file was removed or replaced while it was held";
    Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"))
}

impl CompactionLock {
    /// Takes the lock that excludes other rewrites of the store. Waits for it at most `wait`. Must be taken before the
    /// writer's lock.
    ///
    /// # Errors
    /// `Busy`, naming the holder; `Io`.
    pub fn take(disk: &dyn Disk, wait: Duration) -> Result<Self> {
        let guard = lock_within(disk, COMPACTION_LOCK_NAME, wait).map_err(|error| match error.kind() {
            ErrorKind::Busy => error.context("another rewrite is running"),
            _ => error,
        })?;
        Ok(Self {
            guard,
            store: disk.identity(),
        })
    }

    /// As [`CompactionLock::take`], but returns `None` if another process holds the lock.
    ///
    /// # Errors
    /// `Io`.
    pub fn take_if_free(disk: &dyn Disk, wait: Duration) -> Result<Option<Self>> {
        match Self::take(disk, wait) {
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Refuses a lock of another store, and a lock whose file was replaced (RWR-1).
    pub(super) fn check(&self, disk: &dyn Disk) -> Result<()> {
        if self.store != disk.identity() {
            return Err(Error::internal("the rewrite belongs to another store"));
        }
        check_current(&*self.guard)
    }
}
