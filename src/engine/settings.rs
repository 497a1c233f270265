//! The settings of an open store, which all parts of the engine use.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::digest::{HashAlgorithm, HashSuite};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{LogOptions, LogReader};
use crate::object::{NewObject, Origin, Time};
use crate::store::{Sizes, Store};

use super::upkeep::Retention;

/// The largest plausible error of a clock: one day.
pub(crate) const CLOCK_OFF_MICROS_MAX: i64 = treering_text::calendar::DAY_MICROS;
/// The warning about a store whose newest commit is later than the clock by more than [`CLOCK_OFF_MICROS_MAX`].
pub(crate) const CLOCK_AHEAD: &str = "the newest commit is more than a day ahead of this machine's clock: until the clock catches up, each new commit is dated one microsecond after the previous one; items expire according to the clock";

/// The source of the engine's time.
pub trait Clock: Send + Sync {
    /// Returns the present time.
    fn now(&self) -> Time;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time::now()
    }
}

impl Time {
    /// Returns the present time of the operating system's clock. A store may use another [`Clock`];
    /// [`View::now`](crate::View::now) returns the time of the store's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }
}

impl From<SystemTime> for Time {
    /// Returns the same moment, rounded to microseconds and limited to the range of [`Time`].
    fn from(moment: SystemTime) -> Self {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(match moment.duration_since(UNIX_EPOCH) {
            Ok(since) => micros(since),
            Err(before) => -micros(before.duration()),
        })
    }
}

/// Defines when a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A commit is acknowledged when it is durable: it survives a power loss. The default.
    #[default]
    Sync,
    /// A commit is acknowledged when it is written. A sync follows within this time, or earlier at `sync` and `close`.
    /// A power loss may lose some or all commits since the last sync, the newest first, but no earlier commit. Until
    /// the sync, the handle holds the store's lock, and other processes do not see the commits.
    Interval(Duration),
}

/// A report on the progress of long work.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The name of the work.
    pub doing: &'static str,
    /// The number of units done so far; a unit is usually a byte.
    pub done: u64,
    /// The total number of units, or an estimate of this number.
    pub total: u64,
}

/// Receives the progress of long work.
pub type ProgressListener = Arc<dyn Fn(Progress) + Send + Sync>;

/// Limits that a handle enforces on the objects that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximal length of a content, in bytes. Default: 1 MiB.
    pub content_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            content_bytes_max: 1 << 20,
        }
    }
}

impl Limits {
    /// Sets the maximal length of a content, in bytes.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_content_bytes_max(mut self, bytes: usize) -> Self {
        self.content_bytes_max = bytes;
        self
    }

    /// Checks that an object is within the limits.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`) if the object exceeds a limit.
    pub(crate) fn check(self, object: &NewObject) -> Result<()> {
        let length = object.content.as_ref().map_or(0, String::len);
        if length > self.content_bytes_max {
            let limit = self.content_bytes_max;
            return Err(Error::invalid(format!(
                "the content of {} has {length} bytes; at most {limit} are allowed",
                object.id
            ))
            .with_code(ErrorCode::OverLimit)
            .with_ids(vec![object.id.to_string()])
            .with_hint("split the content into several objects"));
        }
        Ok(())
    }
}

/// The settings of an open store, without the policy of its writers.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent, and callers set each by a method"
)]
pub(crate) struct Settings {
    pub(crate) hash: HashAlgorithm,
    pub(crate) read_only: bool,
    pub(crate) degraded: bool,
    pub(crate) wait: Duration,
    pub(crate) exclusive: bool,
    pub(crate) map: bool,
    pub(crate) durability: Durability,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) indexes: bool,
    /// Whether undo, redo, rollback, restore and revert protect more trusted objects from every writer (STN-4), and not only
    /// from untrusted ones (STN-1).
    pub(crate) has_strict_reversals: bool,
    pub(crate) progress: Option<ProgressListener>,
    pub(crate) stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    pub(crate) segment_bytes_max: u32,
    pub(crate) checkpoints: bool,
    /// Whether a thread writes the checkpoints. Otherwise, a commit that makes a checkpoint due writes it.
    pub(crate) has_background: bool,
    /// The first of two limits above which a handle with large states writes a checkpoint (COV-2): the bytes of records
    /// since the newest checkpoint.
    pub(crate) checkpoint_heavy_bytes: u64,
    /// The second of two limits above which a handle with large states writes a checkpoint (COV-2): the number of
    /// versions since the newest checkpoint. The handle must reach both limits.
    pub(crate) checkpoint_heavy_versions: usize,
    /// The sizes at which the store divides its work.
    pub(crate) sizes: Sizes,
    pub(crate) automatic_gc: Option<Retention>,
    /// The best class of origin that readers see.
    pub(crate) best_origin: Origin,
    /// A hash suite that replaces the suite of the store, for tests of collisions.
    pub(crate) suite: Option<HashSuite>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hash: HashAlgorithm::Blake3,
            read_only: false,
            degraded: false,
            wait: Duration::from_secs(30),
            exclusive: false,
            map: true,
            durability: Durability::Sync,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
            indexes: true,
            has_strict_reversals: false,
            progress: None,
            stop: None,
            segment_bytes_max: 64 << 20,
            checkpoints: true,
            has_background: false,
            checkpoint_heavy_bytes: 4 << 20,
            checkpoint_heavy_versions: 1 << 17,
            sizes: Sizes::default(),
            automatic_gc: Some(Retention::automatic()),
            best_origin: Origin::DirectUser,
            suite: None,
        }
    }
}

impl Settings {
    /// Returns how the log is read and written.
    pub(crate) fn log_options(&self) -> LogOptions {
        LogOptions {
            segment_bytes_max: u64::from(self.segment_bytes_max),
            map: self.map,
            degraded: self.degraded,
            ..LogOptions::default()
        }
    }

    /// Returns a store without a batch. It keeps what a checkpoint needs, if the handle writes checkpoints.
    pub(crate) fn empty_store(&self, reader: LogReader) -> Store {
        let suite = self.suite.unwrap_or_else(|| reader.suite());
        let store = Store::new(suite, reader).with_sizes(self.sizes);
        if self.has_checkpoints() {
            store.keep_order();
        }
        store
    }

    /// Returns whether checkpoints are read and written. They cannot contain the collisions of a test's hash suite.
    pub(crate) fn has_checkpoints(&self) -> bool {
        self.checkpoints && self.suite.is_none()
    }

    /// Reports the progress of long work to the listener.
    pub(crate) fn tell(&self, doing: &'static str, done: u64, total: u64) {
        if let Some(progress) = &self.progress {
            let done = done.min(total);
            progress(Progress { doing, done, total });
        }
    }

    /// Reports the progress of work over `total` units at intervals. Returns an error if the host asked to stop the
    /// work.
    pub(crate) fn step(&self, doing: &'static str, done: u64, total: u64) -> Result<()> {
        const EVERY: u64 = 1024;
        if done.is_multiple_of(EVERY) || done == total {
            self.check_stop()?;
            self.tell(doing, done, total);
        }
        Ok(())
    }

    /// Returns the latest time that a commit of a remote may have.
    #[cfg(feature = "remote")]
    pub(crate) fn latest(&self) -> Time {
        Time::from_micros(self.clock.now().as_micros().saturating_add(CLOCK_OFF_MICROS_MAX))
    }

    pub(crate) fn check_stop(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop() => {
                Err(Error::new(ErrorKind::Io, "stopped").with_code(ErrorCode::Interrupted))
            }
            _ => Ok(()),
        }
    }
}
