//! The options with which a store is opened.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;
use std::time::Duration;

use crate::digest::HashAlgorithm;

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

    /// Sets the hash algorithm of a new store. Opening an existing store ignores this option.
    pub fn hash(mut self, hash: HashAlgorithm) -> Self {
        self.settings.hash = hash;
        self
    }

    /// Sets whether the handle is read-only. A read-only handle takes no lock and writes no file, so it works on a
    /// read-only mount.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Sets whether to open a damaged store at its last undamaged commit. A degraded handle is read-only.
    pub fn degraded(mut self, degraded: bool) -> Self {
        self.settings.degraded = degraded;
        self
    }

    /// Sets how long a writer waits for the lock while another process holds it.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// Sets whether the handle holds the lock from its first write until the handle is dropped, so that no other
    /// process can write.
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.settings.exclusive = exclusive;
        self
    }

    /// Sets whether sealed segments are mapped (the default) or read into memory.
    pub fn map(mut self, map: bool) -> Self {
        self.settings.map = map;
        self
    }

    /// Sets when a commit is acknowledged: once it is durable (the default), or earlier.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Sets the policy that reviews every draft before this handle commits it.
    pub fn policy(mut self, policy: Arc<dyn WritePolicy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the limits on the objects that this handle writes.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Replaces the system clock, for tests and replays.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Sets whether queries build indexes and retain them (the default), or scan all objects. A scan is faster for a
    /// process that runs one query.
    #[doc(hidden)]
    pub fn indexes(mut self, indexes: bool) -> Self {
        self.settings.indexes = indexes;
        self
    }

    /// Makes undo, redo, rollback, restore and revert protect more trusted objects from every writer (STN-4). The default
    /// protects them from untrusted writers.
    #[doc(hidden)]
    pub fn strict_reversals(mut self) -> Self {
        self.settings.has_strict_reversals = true;
        self
    }

    /// Limits the class of origin that a reader sees to `origin`, for a store that came from elsewhere. Implies
    /// read-only.
    #[doc(hidden)]
    pub fn best_origin(mut self, origin: crate::object::Origin) -> Self {
        self.settings.best_origin = origin;
        self.settings.read_only |= origin != crate::object::Origin::DirectUser;
        self
    }

    /// Sets the listener that receives progress reports of long work.
    #[doc(hidden)]
    pub fn progress(mut self, progress: ProgressListener) -> Self {
        self.settings.progress = Some(progress);
        self
    }

    /// Sets a function by which the host asks to stop. Once `stop` returns true, a wait for the lock and long reads end
    /// with an `Io` error of code `interrupted`, and change nothing. The calling thread calls `stop` often.
    pub fn stop(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.settings.stop = Some(Arc::new(stop));
        self
    }

    /// Sets whether the handle uses and writes checkpoints (the default). With a checkpoint, opening the store does not
    /// read the whole log. Without a checkpoint, opening takes longer but gives the same result.
    pub fn checkpoints(mut self, checkpoints: bool) -> Self {
        self.settings.checkpoints = checkpoints;
        self
    }

    /// Sets the retention of automatic garbage collection. The default is [`Retention::automatic`]; `None` disables
    /// automatic collection. [`Memory::close`](crate::Memory::close) collects once for each doubling of the log, if
    /// that would free more than half of the log. A long-running process can close a clone of its handle when idle; the
    /// other handles stay open.
    pub fn automatic_gc(mut self, retention: Option<Retention>) -> Self {
        self.settings.automatic_gc = retention;
        self
    }

    /// Sets the maximal size of a segment of the log in bytes, between 64 KiB and 1 GiB. Default: 64 MiB.
    pub fn segment_bytes_max(mut self, bytes: u32) -> Self {
        self.settings.segment_bytes_max = bytes.clamp(64 << 10, 1 << 30);
        self
    }

    /// Sets when a handle with large states writes a checkpoint: once the records since the newest checkpoint exceed
    /// both this many bytes and this many versions.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn checkpoint_heavy(mut self, bytes: u64, versions: usize) -> Self {
        self.settings.checkpoint_heavy_bytes = bytes;
        self.settings.checkpoint_heavy_versions = versions;
        self
    }
    /// Lets a small store divide its work, and free states, as only a large store does otherwise.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn small_sizes(mut self) -> Self {
        self.settings.sizes = crate::store::Sizes::SMALL;
        self
    }
}
