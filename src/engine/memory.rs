//! The handle, and what all parts of the engine share.
//!
//! # Layer
//! L5.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::digest::{HashAlgorithm, HashSuite, KeyPath, ObjectDigest, TextDigest};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Id, NewObject, Object};
use crate::store::Store;
use crate::threads::{ArcSwap, Mutex};
use crate::trie;

use super::options::Options;
use super::read::children::Newer;
use super::read::index::IndexCache;
use super::read::revision::{self, Revision};
use super::read::subtree::SubtreeCache;
use super::read::view::{CommitInfo, View};
use super::upkeep::erase::erased_by;
use super::upkeep::last_access::Stamps;
use super::watch::{HeadMoved, Watchers};
use super::write::authorisation::Authorisation;
use super::write::commit::{Committed, Request};
use super::write::draft::Draft;
use super::write::log_handle::Writing;
use super::write::policy::Limits;
use super::write::writer::Writer;

/// For how long a handle that goes waits for somebody who rewrites the log, to write when memories were used.
const STAMPS_PATIENCE: Duration = Duration::from_secs(1);

/// The memory of an agent: one store, opened. Cloning it gives another handle to the same one.
///
/// Reading takes a [`View`]; writing stages a [`Draft`] and commits it. All calls are synchronous, and
/// handles may be used from any thread.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let id = Id::new("facts/editor")?;
/// let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
/// fact.content = Some("The user edits with Helix.".to_owned());
/// memory.put(fact, Writer::new())?;
///
/// let snapshot = memory.snapshot(Some("good"), &Writer::new())?;
/// memory.remove(&id, false, Writer::new())?;
/// assert!(memory.view().get(&id)?.is_none());
///
/// memory.rollback(&"good".parse()?, false, &Writer::new())?;
/// assert_eq!(memory.view().root(), snapshot.root);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone)]
pub struct Memory {
    pub(crate) inner: Arc<Inner>,
}

/// What all handles and views of one opened store share.
pub(crate) struct Inner {
    /// What the store and its copies have in common.
    pub(crate) lineage: [u8; 16],
    /// What tells the store from all others.
    pub(crate) instance: [u8; 16],
    /// What was read of the log; another one takes its place when the log was rewritten.
    pub(crate) store: ArcSwap<Store>,
    pub(crate) options: Options,
    pub(crate) writing: Mutex<Writing>,
    pub(crate) queue: Mutex<Vec<Request>>,
    pub(crate) indexes: IndexCache,
    pub(crate) subtrees: SubtreeCache,
    /// What changed since the checkpoint, for the state that was asked about last.
    pub(crate) newer: Mutex<Option<Arc<Newer>>>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) watchers: Watchers,
    pub(crate) warnings: Mutex<Vec<String>>,
    /// Where reading stopped, if the handle reads a damaged store.
    pub(crate) damage: OnceLock<String>,
    /// When objects were used.
    pub(crate) stamps: Mutex<Stamps>,
    /// Objects that a handle of a damaged store could not read and passed over.
    pub(crate) unreadable: Mutex<HashSet<KeyPath>>,
}

impl Inner {
    /// Passes over the object at `key` if it is damaged and the handle reads a damaged store; elsewhere that is an error.
    pub(crate) fn or_passed_over(&self, key: KeyPath, loaded: Result<Object>) -> Result<Option<Object>> {
        match loaded {
            Err(error) if self.options.degraded && error.kind() == ErrorKind::Corrupt => {
                self.unreadable.lock().insert(key);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Reads what other processes have committed, and says whether it could.
    pub(crate) fn follow(&self) -> Result<bool> {
        // Who holds the writer's mutex is catching up or waiting for the lock; a reader waits for neither.
        match self.writing.try_lock() {
            Some(mut writing) if !writing.has_lock() => self.catch_up(&mut writing).map(|()| true),
            // Who has the lock knows what there is.
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    /// What was read of the log.
    pub(crate) fn store(&self) -> Arc<Store> {
        self.store.load_full()
    }
}

impl Memory {
    /// The state at the head, as far as this process knows it. Never blocks, never touches the disk.
    pub fn view(&self) -> View {
        let store = self.inner.store();
        let view = store
            .head()
            .and_then(|head| View::new(Arc::clone(&self.inner), store, head));
        view.expect("a memory is opened only with a head, whose state is at hand, and heads only follow")
    }

    /// The state at the head after reading what other processes committed. Takes no lock file. While another thread writes
    /// by this memory, it is the state that is known already.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub fn refresh(&self) -> Result<View> {
        self.inner.follow()?;
        self.inner.stamps.lock().may_be_behind();
        Ok(self.view())
    }

    /// The state that `revision` names for somebody in `lane`.
    ///
    /// # Errors
    /// `NotFound` if there is no such commit, `InvalidInput` if a prefix may mean several.
    pub fn view_at(&self, revision: &Revision, lane: &str) -> Result<View> {
        let store = self.inner.store();
        let entry = revision::resolve(&store, revision, lane)?;
        View::new(Arc::clone(&self.inner), store, entry)
    }

    /// The commit that `revision` names for somebody in `lane`.
    ///
    /// # Errors
    /// As [`Self::view_at`].
    pub fn resolve(&self, revision: &Revision, lane: &str) -> Result<CommitInfo> {
        Ok(self.view_at(revision, lane)?.commit())
    }

    /// Starts changes to the state at the head.
    pub fn draft(&self, writer: Writer) -> Draft {
        Draft::new(self.view(), writer)
    }

    /// Commits one object.
    ///
    /// # Errors
    /// As [`Draft::put`] and [`Self::commit`].
    pub fn put(&self, object: NewObject, writer: Writer) -> Result<Committed> {
        let mut draft = self.draft(writer);
        draft.put(object)?;
        draft.authorise(Authorisation::Removals);
        self.commit(draft, "put")
    }

    /// Commits the removal of one object, or of all below it too.
    ///
    /// # Errors
    /// `NotFound` if there is none; as [`Self::commit`].
    pub fn remove(&self, id: &Id, recursive: bool, writer: Writer) -> Result<Committed> {
        let mut draft = self.draft(writer);
        let found = if recursive {
            draft.remove_recursive(id)? > 0
        } else {
            draft.remove(id)?
        };
        if !found {
            return Err(Error::not_found(format!("there is no object '{id}'"))
                .with_hint("`list` shows what there is"));
        }
        self.commit(draft, "remove")
    }

    /// The version with this digest, current or not: history keeps every version.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub fn version(&self, digest: ObjectDigest) -> Result<Option<Object>> {
        Ok(self
            .inner
            .store()
            .records
            .find_object(digest)?
            .map(|(_, object)| object))
    }

    /// A reason or source text.
    ///
    /// # Errors
    /// `NotFound` if it is not kept: with the code `erased` or `lost` if it once was.
    pub fn text(&self, digest: &TextDigest) -> Result<String> {
        let store = self.inner.store();
        if let Some(text) = store.records.find_text(*digest)? {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        match store.records.erasure(digest.as_bytes())? {
            Some(by) => Err(erased_by(&store, &format!("the text {digest}"), Some(by))),
            None => Err(Error::not_found(format!("the text {digest} is not kept"))),
        }
    }

    /// Proves that a state has this version of `id`, or that it has no `id`; see [`trie::verify_proof`].
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read.
    pub fn prove(&self, id: &Id, view: &View) -> Result<trie::Proof> {
        view.prove(id)
    }

    /// The hash of the store.
    pub fn hash(&self) -> HashAlgorithm {
        self.suite().algorithm()
    }

    /// The limits that every commit of this handle keeps.
    pub fn limits(&self) -> Limits {
        self.inner.options.limits
    }

    /// What computes the digests of the store.
    pub fn suite(&self) -> HashSuite {
        self.inner.store().suite
    }

    /// Random bytes that were drawn when the store was made, and that its copies share.
    pub fn lineage(&self) -> [u8; 16] {
        self.inner.lineage
    }

    /// Fills `bytes` with random ones.
    ///
    /// # Errors
    /// `Io`: the system gives none.
    #[cfg(feature = "agent")]
    pub(crate) fn random(&self, bytes: &mut [u8]) -> Result<()> {
        let drawn = self.inner.disk.random(bytes);
        drawn.map_err(|error| Error::io("asking for random bytes", error))
    }

    /// The folder, unless the memory lives in this process only.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// What the owner should know: a torn tail, a clock that is off.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.warnings.lock().clone()
    }

    /// Where reading stopped, for a handle that reads a damaged store ([`Options::degraded`]): what was committed behind
    /// is not known here, so that an id that is not found may still have been there.
    pub fn damage(&self) -> Option<&str> {
        self.inner.damage.get().map(String::as_str)
    }

    /// How many objects listing and exporting passed over so far because their records are damaged, for a handle that reads a
    /// damaged store; [`View::get`](super::View::get) says of each what is wrong with it.
    pub fn unreadable(&self) -> usize {
        self.inner.unreadable.lock().len()
    }

    /// A channel that tells when the head moves, by this process or, at [`Self::refresh`] and at commits, by
    /// another. Moves that nobody takes out of the full channel are dropped: look at [`Self::view`].
    pub fn watch(&self) -> Receiver<HeadMoved> {
        self.inner.watchers.add()
    }

    /// Makes everything durable that was acknowledged; only with [`Durability::Interval`](super::Durability::Interval) is there anything.
    ///
    /// # Errors
    /// `Io` if the sync failed: the handle is poisoned then.
    pub fn sync(&self) -> Result<()> {
        let mut writing = self.inner.writing.lock();
        let synced = writing.sync();
        writing.release(self.inner.options.exclusive);
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
        if !self.inner.options.read_only {
            let mut writing = self.inner.writing.lock();
            // Who only looked leaves the log as it is.
            let has_written = writing.has_written();
            if has_written {
                self.inner.cover_if_due(&mut writing, true);
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
        // A host that cares calls `close`; nobody is left to take this error.
        drop(self.writing.get_mut().sync());
        // Nobody else can hold it any more.
        if let Some(mut writing) = self.writing.try_lock().filter(|writing| writing.has_written()) {
            self.cover_if_due(&mut writing, true);
        }
        self.keep_stamps(STAMPS_PATIENCE);
    }
}
