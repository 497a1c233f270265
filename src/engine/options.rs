//! How a store is opened.
//!
//! # Layer
//! L5.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::digest::{HashAlgorithm, HashSuite};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::Time;

use super::memory::Memory;
use super::upkeep::retention::Retention;
use super::write::policy::{Limits, WritePolicy};

/// Where the engine takes the time from.
pub trait Clock: Send + Sync {
    /// The wall clock now.
    fn now(&self) -> Time;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When it is durable: it survives a power loss. The default.
    #[default]
    Sync,
    /// When it is written; a sync follows within this time, at `sync` and at `close`. A loss of power may take the
    /// commits since the last sync, all or a newest part of them; nothing else. Until it is synced, the
    /// handle keeps the store's lock and other processes do not see it.
    Interval(Duration),
}

/// How far long work is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub doing: &'static str,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all, as far as known.
    pub total: u64,
}

/// Told about the progress of long work.
pub type ProgressListener = Arc<dyn Fn(Progress) + Send + Sync>;

/// How to open or create a store; start from [`Options::new`].
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches; callers see one method for each"
)]
pub struct Options {
    pub(crate) hash: HashAlgorithm,
    pub(crate) read_only: bool,
    pub(crate) degraded: bool,
    pub(crate) wait: Duration,
    pub(crate) exclusive: bool,
    pub(crate) map: bool,
    pub(crate) durability: Durability,
    pub(crate) policy: Option<Arc<dyn WritePolicy>>,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) indexes: bool,
    pub(crate) progress: Option<ProgressListener>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) segment_bytes_max: u32,
    pub(crate) checkpoints: bool,
    pub(crate) automatic_gc: Option<Retention>,
    /// Matches that a query without an index holds at once.
    pub(crate) scan_window: usize,
    /// Another suite than the store's hash gives, for tests of collisions.
    pub(crate) suite: Option<HashSuite>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hash: HashAlgorithm::Blake3,
            read_only: false,
            degraded: false,
            wait: Duration::from_secs(30),
            exclusive: false,
            map: true,
            durability: Durability::Sync,
            policy: None,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
            indexes: true,
            progress: None,
            stop: None,
            segment_bytes_max: 64 << 20,
            checkpoints: true,
            automatic_gc: Some(Retention::automatic()),
            scan_window: 1 << 17,
            suite: None,
        }
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
        self.hash = hash;
        self
    }

    /// Never lock and never write, whatever happens; works on a read-only mount.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Read a damaged store at its last good commit. Implies read-only.
    #[must_use]
    pub fn degraded(mut self, degraded: bool) -> Self {
        self.degraded = degraded;
        self
    }

    /// How long a writer waits for another process's lock.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Keep the lock from the first write until the handle is dropped, so that no other process writes.
    #[must_use]
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// Whether sealed segments are mapped (the default) or read into memory.
    #[must_use]
    pub fn map(mut self, map: bool) -> Self {
        self.map = map;
        self
    }

    /// When a commit is acknowledged.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
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
        self.limits = limits;
        self
    }

    /// Another clock, for tests and replays.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Whether queries build and keep indexes (the default) or scan: better for a process that asks once.
    #[must_use]
    pub fn indexes(mut self, indexes: bool) -> Self {
        self.indexes = indexes;
        self
    }

    /// Whom to tell about long work.
    #[must_use]
    pub fn progress(mut self, progress: ProgressListener) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Ends reading that takes long with an `Io` error of code `interrupted` while `stop` is set.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Tells how far work over `total` things has come, now and then, and ends it if that is wanted.
    pub(crate) fn step(&self, doing: &'static str, done: u64, total: u64) -> Result<()> {
        const EVERY: u64 = 1024;
        if done.is_multiple_of(EVERY) || done == total {
            self.check_stop()?;
            if let Some(progress) = &self.progress {
                progress(Progress { doing, done, total });
            }
        }
        Ok(())
    }

    pub(crate) fn check_stop(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Io, "stopped").with_code(ErrorCode::Interrupted))
            }
            _ => Ok(()),
        }
    }

    /// Whether checkpoints are used and made (the default): they spare a process that opens the store from reading the whole
    /// log. They are derived: without them everything is the same, but for time.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: bool) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// What is kept when garbage is collected without being asked: by [`Memory::close`], once for each doubling of the log, if
    /// more than half of it would go. A process that stays may close a clone of its handle when it has nothing else to do.
    /// Default: [`Retention::automatic`]; `None` never collects.
    #[must_use]
    pub fn automatic_gc(mut self, retention: Option<Retention>) -> Self {
        self.automatic_gc = retention;
        self
    }

    /// The largest segment of the log in bytes, between 64 KiB and 1 GiB. Default: 64 MiB.
    #[must_use]
    pub fn segment_bytes_max(mut self, bytes: u32) -> Self {
        self.segment_bytes_max = bytes.clamp(64 << 10, 1 << 30);
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
    pub(crate) fn check_same(&self, opened: &Self) -> Result<()> {
        let policy = match (&self.policy, &opened.policy) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let same = policy
            && self.limits == opened.limits
            && self.durability == opened.durability
            && self.exclusive == opened.exclusive;
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
