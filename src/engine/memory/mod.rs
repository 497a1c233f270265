//! The handle, and what all parts of the engine share.
//!
//! # Layer
//! L5.

mod read;
mod upkeep;
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

/// For how long a handle that goes waits for somebody who rewrites the log, to write when memories were used.
const STAMPS_PATIENCE: Duration = Duration::from_secs(1);

/// The memory of an agent: one store, opened. Cloning it gives another handle to the same one.
///
/// Reading takes a [`View`]; writing stages a [`Draft`](crate::Draft) and commits it. All calls are synchronous, and
/// handles may be used from any thread.
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
/// memory.rollback(&"good".parse()?).by(&Writer::user())?;
/// assert_eq!(memory.view().root(), snapshot.root);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone)]
pub struct Memory {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// The state at the head, as far as this process knows it. Never blocks, never touches the disk.
    pub fn view(&self) -> View {
        self.inner.view()
    }

    /// The state at the head after reading what other processes committed. Takes no lock file. While another thread writes
    /// by this memory, it is the state that is known already.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub fn refresh(&self) -> Result<View> {
        self.inner.refresh()
    }

    /// The hash of the store.
    pub(crate) fn hash(&self) -> HashAlgorithm {
        self.suite().algorithm()
    }

    /// The limits that every commit of this handle keeps.
    pub(crate) fn limits(&self) -> Limits {
        self.inner.settings().limits
    }

    /// The functions that compute the digests of the store.
    pub fn suite(&self) -> HashSuite {
        self.inner.store().suite
    }

    /// Random bytes that were drawn when the store was made, and that its copies share.
    pub(crate) fn lineage(&self) -> [u8; 16] {
        self.inner.opened().lineage
    }

    /// Fills `bytes` with random ones.
    ///
    /// # Errors
    /// `Io`: the system gives none.
    #[cfg(feature = "agent")]
    pub(crate) fn random(&self, bytes: &mut [u8]) -> Result<()> {
        let drawn = self.inner.disk().random(bytes);
        drawn.map_err(|error| Error::io("asking for random bytes", error))
    }

    /// The folder, unless the memory lives in this process only.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Warnings for the owner, such as a torn tail or a clock that is off.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.opened().warnings()
    }

    /// Where reading stopped, for a handle that reads a damaged store ([`Options::degraded`](crate::Options::degraded)): what was committed behind
    /// is not known here, so that an id that is not found may still have been there.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.inner.opened().damage.get().map(String::as_str)
    }

    /// How many objects listing and exporting passed over so far because their records are damaged, for a handle that reads a
    /// damaged store; [`View::get`](super::View::get) says of each what is wrong with it.
    pub(crate) fn unreadable(&self) -> usize {
        self.inner.opened().unreadable()
    }

    /// A channel that tells when the head moves, by this process or, at [`Self::refresh`] and at commits, by
    /// another. A full channel drops moves; [`Self::view`] has the head.
    pub fn watch(&self) -> Receiver<HeadMoved> {
        self.inner.opened().watchers.add()
    }

    /// Makes everything durable that was acknowledged; only with [`Durability::Interval`](super::Durability::Interval) is there anything.
    ///
    /// # Errors
    /// `Io` if the sync failed: the handle is poisoned then.
    pub fn sync(&self) -> Result<()> {
        let mut writing = self.inner.log.lock();
        let synced = writing.sync();
        writing.release(self.inner.settings().exclusive);
        drop(writing);
        self.inner.keep_stamps(Duration::ZERO);
        synced
    }

    /// Makes everything durable, tidies up if it is time to, and lets the handle go.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub fn close(self) -> Result<()> {
        self.sync()?;
        if !self.inner.settings().read_only {
            let mut writing = self.inner.log.lock();
            // A handle that only read leaves the log as it is.
            let has_written = writing.has_written();
            if has_written {
                checkpoint_if_due(&self.inner.source, &mut writing, true);
            }
            drop(writing);
            if has_written {
                self.inner.collect_if_due();
            }
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Drop cannot return this error; a host that needs it calls `close`.
        drop(self.log.get_mut().sync());
        // No other owner is left.
        if let Some(mut writing) = self.log.try_lock().filter(|writing| writing.has_written()) {
            checkpoint_if_due(&self.source, &mut writing, true);
        }
        self.keep_stamps(STAMPS_PATIENCE);
    }
}
