//! The options with which a store is opened.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::digest::HashAlgorithm;
use crate::object::Origin;

use super::settings::{Clock, Durability, Limits, ProgressListener, Settings};
use super::upkeep::Retention;
use super::write::WritePolicy;

/// Options for opening or creating a store; start from [`Options::new`].
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use treering::{Id, Kind, Memory, NewObject, Options, Writer};
///
/// # let folder = std::env::temp_dir().join(format!("treering-options-{}", std::process::id()));
/// # drop(std::fs::remove_dir_all(&folder));
/// let (memory, is_new) = Options::new().wait(Duration::from_secs(5)).open_or_create(&folder)?;
/// assert!(is_new);
/// memory.put(NewObject::new(Id::new("tea")?, Kind::new("fact")?), &Writer::user())?;
///
/// // A read-only handle takes no lock, so it opens beside the writer.
/// let reader = Options::new().read_only(true).open(&folder)?;
/// assert!(reader.view().contains(&Id::new("tea")?)?);
/// # drop((reader, memory));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), treering::Error>(())
/// ```
#[must_use]
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
    /// Returns the defaults: read and write, make every commit durable, and wait 30 seconds for the lock.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hash of a new store; an existing store keeps its own.
    pub fn hash(mut self, hash: HashAlgorithm) -> Self {
        self.settings.hash = hash;
        self
    }

    /// Makes the handle read-only: it takes no lock and writes no file, so it works on a read-only mount.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Reads a damaged store at its last good commit. Implies read-only.
    pub fn degraded(mut self, degraded: bool) -> Self {
        self.settings.degraded = degraded;
        self
    }

    /// Sets how long a writer waits for another process's lock.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// Keeps the lock from the first write until the handle is dropped, so that no other process writes.
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.settings.exclusive = exclusive;
        self
    }

    /// Sets whether sealed segments are mapped (the default) or read into memory.
    pub fn map(mut self, map: bool) -> Self {
        self.settings.map = map;
        self
    }

    /// Defines when a commit is acknowledged.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Sets the rules that every commit of this handle must pass.
    pub fn policy(mut self, policy: Arc<dyn WritePolicy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the limits on the objects that this handle writes.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets another clock, for tests and replays.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Sets whether queries build and keep indexes (the default) or scan, which is better for a process that runs one
    /// query.
    pub(crate) fn indexes(mut self, indexes: bool) -> Self {
        self.settings.indexes = indexes;
        self
    }

    /// Reads every object as if it had at best this class of origin, for a store that came from elsewhere. Implies
    /// read-only.
    pub fn best_origin(mut self, origin: Origin) -> Self {
        self.settings.best_origin = origin;
        self.settings.read_only |= origin != Origin::DirectUser;
        self
    }

    /// Sets the listener for the progress of long work.
    pub(crate) fn progress(mut self, progress: ProgressListener) -> Self {
        self.settings.progress = Some(progress);
        self
    }

    /// Ends long reads with an `Io` error of code `interrupted` once `stop` is set.
    pub(crate) fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.settings.stop = Some(stop);
        self
    }

    /// Sets whether the handle uses and writes checkpoints (the default). With a checkpoint, opening the store need not
    /// read the whole log. Without one, opening only takes longer.
    pub fn checkpoints(mut self, checkpoints: bool) -> Self {
        self.settings.checkpoints = checkpoints;
        self
    }

    /// Sets the retention of automatic garbage collection; the default is [`Retention::automatic`], and `None` never
    /// collects. [`Memory::close`](crate::Memory::close) runs a collection once for each doubling of the log, if it would free more than
    /// half. A long-running process can call it on a clone of its handle when idle; the other handles stay open.
    pub fn automatic_gc(mut self, retention: Option<Retention>) -> Self {
        self.settings.automatic_gc = retention;
        self
    }

    /// Sets the maximal size of a segment of the log in bytes, between 64 KiB and 1 GiB. Default: 64 MiB.
    pub fn segment_bytes_max(mut self, bytes: u32) -> Self {
        self.settings.segment_bytes_max = bytes.clamp(64 << 10, 1 << 30);
        self
    }

    /// Sets when a handle with large states writes a checkpoint: after this many bytes of records, and this many
    /// versions, since the newest one.
    #[cfg(test)]
    pub(crate) fn checkpoint_heavy(mut self, bytes: u64, versions: usize) -> Self {
        self.settings.checkpoint_heavy_bytes = bytes;
        self.settings.checkpoint_heavy_versions = versions;
        self
    }
}
