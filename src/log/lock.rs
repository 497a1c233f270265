//! The two locks of a log: the writer's lock, and the lock for rewrites.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - RWR-1: at most one rewrite of a store runs at a time.

use std::time::Duration;

use crate::disk::{Disk, LockGuard, lock_within};
use crate::error::{Error, ErrorKind, OrIo as _, Result};

/// The name of the file of the writer's lock.
pub(crate) const LOCK_NAME: &str = "lock";

/// The name of the lock file that prevents two rewrites at the same time.
pub(crate) const COMPACTION_LOCK_NAME: &str = "compact.lock";

/// The acquired writer's lock, which allows appending. Dropping it releases the lock.
pub struct WriteLock {
    pub(super) guard: Box<dyn LockGuard>,
    /// The number of the handle that acquired the lock.
    pub(super) log: u64,
    pub(super) number: u64,
    /// The number of the lock that this handle acquired before, if no other handle had the lock since.
    pub(super) follows: Option<u64>,
}

/// The acquired lock for rewrites. Dropping it releases the lock. Other processes may append while this lock is held.
pub struct CompactionLock {
    guard: Box<dyn LockGuard>,
    store: (u64, u64),
}

impl WriteLock {
    /// Returns an error if the lock file was replaced, because another process may have locked the new file.
    pub(super) fn check_file(&self) -> Result<()> {
        check_current(&*self.guard)
    }
}

/// Returns an error if the path of the lock file no longer refers to the locked file.
fn check_current(guard: &dyn LockGuard) -> Result<()> {
    if guard.is_current().or_io("cannot check the lock file")? {
        return Ok(());
    }
    let message = "the lock file was removed or replaced while this process held the lock";
    Err(Error::new(ErrorKind::Poisoned, message).with_hint("open the store again"))
}

impl CompactionLock {
    /// Acquires the lock that prevents other rewrites of the store. Waits for at most `wait`. A process that needs both
    /// locks acquires this lock before the writer's lock.
    ///
    /// # Errors
    /// `Busy` with the name of the lock's holder, or `Io`.
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

    /// Acquires the lock like [`CompactionLock::take`]. Returns `None` if another process holds the lock.
    ///
    /// # Errors
    /// `Io`.
    pub fn take_if_free(disk: &dyn Disk, wait: Duration) -> Result<Option<Self>> {
        match Self::take(disk, wait) {
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            taken => taken.map(Some),
        }
    }

    /// Returns an error if the lock belongs to another store, or if the lock file was replaced (RWR-1).
    pub(super) fn check(&self, disk: &dyn Disk) -> Result<()> {
        if self.store != disk.identity() {
            return Err(Error::internal("the rewrite belongs to another store"));
        }
        check_current(&*self.guard)
    }
}
