//! How a store is opened.
//!
//! # Layer
//! L5.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::digest::HashAlgorithm;
use crate::error::{Error, ErrorCode, Result};

use super::memory::Memory;
use super::settings::{Clock, Durability, Limits, ProgressListener, Settings};
use super::upkeep::retention::Retention;
use super::write::policy::WritePolicy;

/// How to open or create a store; start from [`Options::new`].
#[derive(Clone, Default)]
pub struct Options {
    pub(crate) settings: Settings,
    pub(crate) policy: Option<Arc<dyn WritePolicy>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("read_only", &self.settings.read_only)
            .field("durability", &self.settings.durability)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The defaults: read and write, every commit durable, wait 30 seconds for the lock.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hash of a store that is created; an existing store keeps its own.
    #[must_use]
    pub fn hash(mut self, hash: HashAlgorithm) -> Self {
        self.settings.hash = hash;
        self
    }

    /// Never lock and never write, whatever happens; works on a read-only mount.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Read a damaged store at its last good commit. Implies read-only.
    #[must_use]
    pub fn degraded(mut self, degraded: bool) -> Self {
        self.settings.degraded = degraded;
        self
    }

    /// How long a writer waits for another process's lock.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// Keep the lock from the first write until the handle is dropped, so that no other process writes.
    #[must_use]
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.settings.exclusive = exclusive;
        self
    }

    /// Whether sealed segments are mapped (the default) or read into memory.
    #[must_use]
    pub fn map(mut self, map: bool) -> Self {
        self.settings.map = map;
        self
    }

    /// When a commit is acknowledged.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Rules that every commit of this handle passes.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn WritePolicy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Limits on what this handle writes.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Another clock, for tests and replays.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Whether queries build and keep indexes (the default) or scan: better for a process that asks once.
    #[must_use]
    pub(crate) fn indexes(mut self, indexes: bool) -> Self {
        self.settings.indexes = indexes;
        self
    }

    /// The listener for the progress of long work.
    #[must_use]
    pub(crate) fn progress(mut self, progress: ProgressListener) -> Self {
        self.settings.progress = Some(progress);
        self
    }

    /// Ends reading that takes long with an `Io` error of code `interrupted` while `stop` is set.
    #[must_use]
    pub(crate) fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.settings.stop = Some(stop);
        self
    }

    /// Whether checkpoints are used and made (the default): they spare a process that opens the store from reading the whole
    /// log. They are derived: without them everything is the same, but for time.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: bool) -> Self {
        self.settings.checkpoints = checkpoints;
        self
    }

    /// The retention of automatic garbage collection: by [`Memory::close`], once for each doubling of the log, if
    /// more than half of it would go. A process that stays may close a clone of its handle when it has nothing else to do.
    /// Default: [`Retention::automatic`]; `None` never collects.
    #[must_use]
    pub fn automatic_gc(mut self, retention: Option<Retention>) -> Self {
        self.settings.automatic_gc = retention;
        self
    }

    /// The largest segment of the log in bytes, between 64 KiB and 1 GiB. Default: 64 MiB.
    #[must_use]
    pub fn segment_bytes_max(mut self, bytes: u32) -> Self {
        self.settings.segment_bytes_max = bytes.clamp(64 << 10, 1 << 30);
        self
    }

    /// Bytes of records and versions behind the newest checkpoint from which on a handle whose states take much memory
    /// makes one.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn checkpoint_heavy(mut self, bytes: u64, versions: usize) -> Self {
        self.settings.checkpoint_heavy_bytes = bytes;
        self.settings.checkpoint_heavy_versions = versions;
        self
    }

    /// Opens the store in the folder `path`. If this process has it open for writing already, that memory is
    /// given; asking for another policy, other limits or another durability is refused (code `already_open`).
    ///
    /// # Errors
    /// `NotFound` (code `no_store`) if there is none, `Corrupt`, `UnsupportedFormat`, `Io`.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Memory> {
        Memory::open_with(path.as_ref(), self)
    }

    /// Refuses to give a memory that is open already to somebody who asks for other rules than it has.
    pub(crate) fn check_same(&self, opened: &Settings, policy: Option<&Arc<dyn WritePolicy>>) -> Result<()> {
        let policy = match (&self.policy, policy) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let same = policy
            && self.settings.limits == opened.limits
            && self.settings.durability == opened.durability
            && self.settings.exclusive == opened.exclusive;
        if same {
            return Ok(());
        }
        Err(
            Error::invalid("this process has the store open with another policy, limits or durability")
                .with_code(ErrorCode::AlreadyOpen)
                .with_hint("clone that handle, or let it go first"),
        )
    }

    /// Creates a store in the folder `path`, which may exist if it is empty.
    ///
    /// # Errors
    /// `InvalidInput` (code `store_exists`) if there is a store: nothing is touched; `Io`.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Memory> {
        Memory::create_with(path.as_ref(), self)
    }

    /// Opens the store in the folder `path`, or creates it; says whether it was created.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::create`].
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<(Memory, bool)> {
        match self.clone().open(path.as_ref()) {
            Ok(memory) => Ok((memory, false)),
            Err(error) if error.code() == ErrorCode::NoStore => match self.clone().create(path.as_ref()) {
                // Another process was faster; its store is as good as ours.
                Err(error) if error.code() == ErrorCode::StoreExists => Ok((self.open(path)?, false)),
                created => Ok((created?, true)),
            },
            Err(error) => Err(error),
        }
    }
}
