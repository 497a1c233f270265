//! The handle of a memory, and its calls for reading and writing.
//!
//! # Layer
//! Layer 5.

mod read;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::digest::{HashAlgorithm, HashSuite};
#[cfg(feature = "agent")]
use crate::error::Error;
use crate::error::Result;

use super::inner::Inner;
use super::read::view::View;
use super::settings::Limits;
use super::upkeep::checkpointing::checkpoint_if_due;
use super::watch::HeadMoved;

/// The time that a closing handle waits for a rewrite of the log before it writes the last-access times.
const STAMPS_PATIENCE: Duration = Duration::from_secs(1);

/// The memory of an agent: a handle to one open store. A clone is another handle to the same store.
///
/// Read through a [`View`]. Write by staging changes in a [`Draft`](crate::Draft) and committing it. All calls are
/// synchronous, and any thread may use a handle.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let id = Id::new("facts/editor")?;
/// let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
/// fact.content = Some("The user edits with Helix.".to_owned());
/// memory.put(fact, &Writer::user())?;
///
/// let snapshot = memory.snapshot(Some("good"), &Writer::user())?;
/// memory.remove(&id, &Writer::user())?;
/// assert!(memory.view().get(&id)?.is_none());
///
/// memory.rollback("good").by(&Writer::user())?;
/// assert_eq!(memory.view().root(), snapshot.root);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// Returns the state of the newest commit that this process has read. Never blocks and never reads the disk.
    pub fn view(&self) -> View {
        self.inner.view()
    }

    /// Reads the commits of other processes and returns the state at the head. Takes no file lock. While another thread
    /// writes through this memory, returns the state that is already known.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub fn refresh(&self) -> Result<View> {
        self.inner.refresh()
    }

    /// Returns the hash of the store, as [`Proof::verify`](crate::proof::Proof::verify) takes it.
    pub fn hash(&self) -> HashAlgorithm {
        self.suite().algorithm()
    }

    /// Returns the limits that every commit of this handle obeys.
    pub(crate) fn limits(&self) -> Limits {
        self.inner.settings().limits
    }

    /// Returns the functions that compute the digests of the store.
    #[doc(hidden)]
    pub fn suite(&self) -> HashSuite {
        self.inner.store().suite
    }

    /// Returns random bytes that were drawn when the store was created; copies of the store share them.
    pub(crate) fn lineage(&self) -> [u8; 16] {
        self.inner.opened().lineage
    }

    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    #[cfg(feature = "agent")]
    pub(crate) fn random(&self, bytes: &mut [u8]) -> Result<()> {
        let drawn = self.inner.disk().random(bytes);
        drawn.map_err(|error| Error::io("cannot read random bytes", error))
    }

    /// Returns the folder; `None` if the memory lives only in this process.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Returns warnings for the owner, such as a torn tail or a wrong clock.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.opened().warnings()
    }

    /// Returns where reading stopped, for a degraded handle ([`Options::degraded`](crate::Options::degraded)). Later
    /// commits are unknown to this handle, so an id that it does not find may still exist.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.inner.opened().damage.get().map(String::as_str)
    }

    /// Returns the number of damaged objects that lists and exports have skipped so far, for a degraded handle.
    /// [`View::get`](super::View::get) returns the error of each.
    pub(crate) fn unreadable(&self) -> usize {
        self.inner.opened().unreadable()
    }

    /// Returns a channel that gets a message for each new head. Heads of other processes are noticed by
    /// [`Self::refresh`] and by commits. If the channel is full, messages are dropped; [`Self::view`] still returns the
    /// newest head.
    pub fn watch(&self) -> Receiver<HeadMoved> {
        self.inner.opened().watchers.add()
    }

    /// Makes every acknowledged commit durable. Only [`Durability::Interval`](super::Durability::Interval) leaves
    /// commits to sync.
    ///
    /// # Errors
    /// `Io` if the sync failed; the handle is then poisoned.
    pub fn sync(&self) -> Result<()> {
        let mut writing = self.inner.log.lock();
        let synced = writing.sync();
        writing.release(self.inner.settings().exclusive);
        drop(writing);
        self.inner.keep_stamps(Duration::ZERO);
        synced
    }

    /// Makes every commit durable, does the upkeep that is due, and releases this handle. Clones of it stay open.
    ///
    /// # Errors
    /// The errors of [`Self::sync`].
    pub fn close(self) -> Result<()> {
        self.sync()?;
        if !self.inner.settings().read_only {
            let mut writing = self.inner.log.lock();
            // A handle that only read does no upkeep.
            let has_written = writing.has_written();
            if has_written {
                checkpoint_if_due(&self.inner.source, &mut writing, true);
            }
            drop(writing);
            if has_written {
                self.collect_if_due();
            }
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Drop cannot return this error; a host that needs the error calls `close`.
        drop(self.log.get_mut().sync());
        // No other handle or thread can hold this mutex.
        if let Some(mut writing) = self.log.try_lock().filter(|writing| writing.has_written()) {
            checkpoint_if_due(&self.source, &mut writing, true);
        }
        self.keep_stamps(STAMPS_PATIENCE);
    }
}
