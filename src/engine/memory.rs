//! The handle: opening, catching up, and what all parts of the engine share.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - MEM-1: within a process, one store opened twice for writing is one memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use parking_lot::Mutex;

use crate::digest::{HashAlgorithm, HashSuite, HistoryRoot, ObjectDigest, Root, TextDigest};
use crate::disk::{Disk, FileDisk, MemDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::log::{self, Batch, BatchBuilder, HeadMark, Log, LogOptions, Mode, RecordKind, WriteLock};
use crate::object::{Commit, HistoryTree, Id, NewObject, Object, Op, Origin};
use crate::store::{CommitEntry, CommitHistory, Store};
use crate::trie::{self, NoSource, Shape, Trie};

use super::commit::{Committed, Request};
use super::draft::{Draft, Writer};
use super::index::IndexCache;
use super::options::{Durability, Options, Progress};
use super::revision::{self, Revision};
use super::subtree::SubtreeCache;
use super::view::{CommitInfo, View};
use super::watch::{HeadMoved, Watchers};

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
    pub(super) inner: Arc<Inner>,
}

/// What only the writer touches, under its mutex.
pub(super) struct Writing {
    pub(super) log: Log,
    pub(super) history: CommitHistory,
    lock: Option<WriteLock>,
    /// Since when something is written but not synced.
    unsynced: Option<Instant>,
}

/// What all handles and views of one opened store share.
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) options: Options,
    pub(super) writing: Mutex<Writing>,
    pub(super) queue: Mutex<Vec<Request>>,
    pub(super) indexes: IndexCache,
    pub(super) subtrees: SubtreeCache,
    pub(super) path: Option<PathBuf>,
    pub(super) disk: Arc<dyn Disk>,
    watchers: Watchers,
    warnings: Mutex<Vec<String>>,
}

/// Stores by device and inode.
type Opened = HashMap<(u64, u64), Weak<Inner>>;

/// The writable stores that this process has open (MEM-1).
static OPENED: LazyLock<Mutex<Opened>> = LazyLock::new(Mutex::default);

impl Writing {
    /// Makes batches durable, or only written if the handle says that this is enough.
    pub(super) fn append(
        &mut self,
        group: Vec<(BatchBuilder, HeadMark)>,
        durability: Durability,
    ) -> Result<Vec<Batch>> {
        let lock = self
            .lock
            .as_ref()
            .ok_or_else(|| Error::internal("a write without the lock"))?;
        match durability {
            Durability::Sync => self.log.append(lock, group, log::Durability::Synced),
            // The first commit after the interval syncs all of it; a thread does if none comes.
            Durability::Interval(interval) => {
                let due = self.unsynced.is_some_and(|since| since.elapsed() >= interval);
                let when = if due {
                    log::Durability::Synced
                } else {
                    log::Durability::Later
                };
                let written = self.log.append(lock, group, when)?;
                self.unsynced = if due {
                    None
                } else {
                    self.unsynced.or_else(|| Some(Instant::now()))
                };
                Ok(written)
            }
        }
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        let Some(lock) = self.lock.as_ref().filter(|_| self.unsynced.is_some()) else {
            return Ok(());
        };
        self.log.sync(lock)?;
        self.unsynced = None;
        Ok(())
    }

    /// Lets the lock go, unless it is kept or something unsynced must not be overtaken.
    pub(super) fn release(&mut self, exclusive: bool) {
        if !self.log.is_usable() {
            // It will not write again: the next process finds what it left and recovers.
            (self.unsynced, self.lock) = (None, None);
        }
        if !exclusive && self.unsynced.is_none() {
            self.lock = None;
        }
    }
}

impl Inner {
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(
                Error::new(ErrorKind::Io, "this handle was opened for reading only").with_code("read_only"),
            );
        }
        Ok(())
    }

    /// Takes the lock if it is not held, and catches up with other processes.
    pub(super) fn begin(&self, writing: &mut Writing) -> Result<()> {
        self.check_writable()?;
        if writing.lock.is_none() {
            writing.lock = Some(writing.log.lock(self.options.wait)?);
        }
        let Writing {
            log, history, lock, ..
        } = writing;
        let lock = lock
            .as_ref()
            .ok_or_else(|| Error::internal("the lock was just taken"))?;
        let prepared = log.prepare(lock, &mut |batch| self.take_in(history, &batch));
        let prepared = prepared.and_then(|()| self.check_agreement(writing));
        if prepared.is_err() {
            writing.release(self.options.exclusive);
        }
        prepared
    }

    /// Whether memory holds what the log does: if taking in a batch failed, nothing may be built on either.
    fn check_agreement(&self, writing: &mut Writing) -> Result<()> {
        if self.store.head()?.digest == writing.log.newest_commit() {
            return Ok(());
        }
        writing.log.poison();
        Err(Error::new(ErrorKind::Poisoned, "memory and log no longer agree")
            .with_hint("open the store again"))
    }

    /// Takes the lock, catches up, does `work` and lets the lock go, whatever comes of it.
    pub(super) fn write<T>(&self, work: impl FnOnce(&mut Writing) -> Result<T>) -> Result<T> {
        let mut writing = self.writing.lock();
        self.begin(&mut writing)?;
        let outcome = work(&mut writing);
        writing.release(self.options.exclusive);
        outcome
    }

    fn take_in(&self, history: &mut CommitHistory, batch: &Batch) -> Result<()> {
        if let Some(entry) = self.store.apply(history, batch, None)? {
            self.notify(&entry);
        }
        Ok(())
    }

    pub(super) fn notify(&self, entry: &CommitEntry) {
        self.watchers.send(|| HeadMoved {
            commit: entry.digest,
            root: entry.commit.root,
            seq: entry.seq(),
            op: entry.commit.op.as_str().to_owned(),
        });
    }

    /// Reads what other processes committed, without lock and without writing.
    fn catch_up(&self, writing: &mut Writing) -> Result<()> {
        let Writing { log, history, .. } = writing;
        let (mut done, total) = (0, log.size().1);
        let tell = |done: u64| {
            if let Some(progress) = &self.options.progress {
                progress(Progress {
                    doing: "open",
                    done: done.min(total),
                    total,
                });
            }
        };
        let tail = log.catch_up(&mut |batch| {
            done += super::verify::body_bytes(&batch);
            tell(done);
            self.take_in(history, &batch)
        })?;
        tell(total);
        if let Some(damage) = &tail.damage {
            self.warnings
                .lock()
                .push(format!("reading stopped at damage: {damage}"));
        }
        if tail.torn_bytes > 0 {
            let text = format!(
                "{} bytes after the last whole commit are no whole commit: left by a crash, or damaged since",
                tail.torn_bytes
            );
            let mut warnings = self.warnings.lock();
            if !warnings.contains(&text) {
                warnings.push(text);
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Opens the store in the folder `path` with the defaults.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// Creates a store in the folder `path` with the defaults.
    ///
    /// # Errors
    /// As [`Options::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().create(path)
    }

    /// A memory that lives in this process only, for tests and for work that need not last.
    ///
    /// # Errors
    /// `Io` if the operating system has no random bytes to give.
    pub fn in_memory() -> Result<Self> {
        Self::on_disk(Arc::new(MemDisk::new()), Options::new(), true, None)
    }

    /// A memory in this process whose ids collide at will.
    #[cfg(test)]
    pub(crate) fn in_memory_with_suite(suite: HashSuite) -> Result<Self> {
        let options = Options {
            suite: Some(suite),
            ..Options::new()
        };
        Self::on_disk(Arc::new(MemDisk::new()), options, true, None)
    }

    pub(super) fn open_with(path: &Path, options: Options) -> Result<Self> {
        let disk = FileDisk::open(path).map_err(|error| no_store(path, error))?;
        let identity = disk.identity();
        if options.read_only || options.degraded {
            return Self::on_disk(Arc::new(disk), options, false, Some(path));
        }
        let mut opened = OPENED.lock();
        // A poisoned one, and one that was inherited by a fork, is of no use any more.
        let usable = |inner: &Arc<Inner>| {
            inner
                .writing
                .try_lock()
                .is_none_or(|writing| writing.log.is_usable())
        };
        let known = opened.get(&identity).and_then(Weak::upgrade).filter(usable);
        if let Some(inner) = known {
            options.check_same(&inner.options)?;
            let memory = Self { inner };
            drop(opened);
            memory.refresh()?;
            return Ok(memory);
        }
        let memory = Self::on_disk(Arc::new(disk), options, false, Some(path))?;
        opened.retain(|_, inner| inner.strong_count() > 0);
        opened.insert(identity, Arc::downgrade(&memory.inner));
        Ok(memory)
    }

    pub(super) fn create_with(path: &Path, options: Options) -> Result<Self> {
        let disk = FileDisk::create(path)
            .map_err(|error| error.context(format!("creating a store in {}", path.display())))?;
        let identity = disk.identity();
        let mut opened = OPENED.lock();
        let memory = Self::on_disk(Arc::new(disk), options, true, Some(path))?;
        opened.insert(identity, Arc::downgrade(&memory.inner));
        Ok(memory)
    }

    /// Opens or creates a memory on any disk: tests hand in a simulated one.
    ///
    /// # Errors
    /// As [`Options::open`] and [`Options::create`].
    pub(crate) fn on_disk(
        disk: Arc<dyn Disk>,
        mut options: Options,
        create: bool,
        path: Option<&Path>,
    ) -> Result<Self> {
        options.read_only |= options.degraded;
        let log_options = LogOptions {
            segment_bytes_max: u64::from(options.segment_bytes_max),
            map: options.map,
            degraded: options.degraded,
            ..LogOptions::default()
        };
        let log = if create {
            let (batch, mark) = first_batch(options.hash, &options)?;
            Log::create(Arc::clone(&disk), options.hash, batch, mark, log_options)?
        } else {
            let mode = if options.read_only {
                Mode::ReadOnly
            } else {
                Mode::ReadWrite
            };
            Log::open(Arc::clone(&disk), mode, log_options)?
        };
        let suite = options.suite.unwrap_or_else(|| HashSuite::new(log.format().hash));
        let inner = Inner {
            store: Store::new(suite, log.reader()),
            writing: Mutex::new(Writing {
                log,
                history: HistoryTree::new(suite),
                lock: None,
                unsynced: None,
            }),
            options,
            queue: Mutex::default(),
            indexes: IndexCache::default(),
            subtrees: SubtreeCache::default(),
            path: path.map(Path::to_path_buf),
            disk,
            watchers: Watchers::default(),
            warnings: Mutex::default(),
        };
        let memory = Self {
            inner: Arc::new(inner),
        };
        if let Durability::Interval(interval) = memory.inner.options.durability
            && !memory.inner.options.read_only
        {
            sync_every(&memory.inner, interval)?;
        }
        memory.inner.catch_up(&mut memory.inner.writing.lock())?;
        let head = memory.inner.store.head()?;
        let wall = memory.inner.options.clock.now();
        if head.commit.time.as_micros() > wall.as_micros().saturating_add(super::DAY_MICROS) {
            let warning = "the newest commit is more than a day ahead of this machine's clock; expiry goes by the clock";
            memory.inner.warnings.lock().push(warning.to_owned());
        }
        Ok(memory)
    }

    /// The state at the head, as far as this process knows it. Never blocks, never touches the disk.
    pub fn view(&self) -> View {
        let head = self
            .inner
            .store
            .head()
            .expect("a memory is opened only with a head, and heads only follow");
        View::new(Arc::clone(&self.inner), head)
    }

    /// The state at the head after reading what other processes committed. Takes no lock file.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub fn refresh(&self) -> Result<View> {
        // Who holds the writer's mutex is catching up or waiting for the lock; a reader waits for neither.
        if let Some(mut writing) = self.inner.writing.try_lock()
            && writing.lock.is_none()
        {
            self.inner.catch_up(&mut writing)?;
        }
        Ok(self.view())
    }

    /// The state that `revision` names for somebody in `lane`.
    ///
    /// # Errors
    /// `NotFound` if there is no such commit, `InvalidInput` if a prefix may mean several.
    pub fn view_at(&self, revision: &Revision, lane: &str) -> Result<View> {
        let entry = revision::resolve(&self.inner.store.catalog.read(), revision, lane)?;
        Ok(View::new(Arc::clone(&self.inner), entry))
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
            return Err(Error::not_found(format!("there is no object {id}")));
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
            .store
            .records
            .find_object(digest)?
            .map(|(_, object)| object))
    }

    /// A reason or source text.
    ///
    /// # Errors
    /// `NotFound` if it is not kept.
    pub fn text(&self, digest: &TextDigest) -> Result<String> {
        let text = self.inner.store.records.find_text(*digest)?;
        let text = text.ok_or_else(|| Error::not_found(format!("the text {digest} is not kept")))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
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

    /// What computes the digests of the store.
    pub fn suite(&self) -> HashSuite {
        self.inner.store.suite
    }

    /// The folder, unless the memory lives in this process only.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// What the owner should know: a torn tail, a clock that is off.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.warnings.lock().clone()
    }

    /// A channel that tells when the head moves, by this process or, at [`Self::refresh`] and at commits, by
    /// another. Moves that nobody takes out of the full channel are dropped: look at [`Self::view`].
    pub fn watch(&self) -> Receiver<HeadMoved> {
        self.inner.watchers.add()
    }

    /// Makes everything durable that was acknowledged; only with [`Durability::Interval`] is there anything.
    ///
    /// # Errors
    /// `Io` if the sync failed: the handle is poisoned then.
    pub fn sync(&self) -> Result<()> {
        let mut writing = self.inner.writing.lock();
        let synced = writing.sync();
        writing.release(self.inner.options.exclusive);
        synced
    }

    /// Makes everything durable and lets the handle go.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub fn close(self) -> Result<()> {
        self.sync()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A host that cares calls `close`; nobody is left to take this error.
        drop(self.writing.get_mut().sync());
    }
}

/// Syncs what waits every `interval` (at least a millisecond), until the memory is gone.
fn sync_every(inner: &Arc<Inner>, interval: Duration) -> Result<()> {
    let interval = interval.max(Duration::from_millis(1));
    let inner = Arc::downgrade(inner);
    let work = move || {
        loop {
            std::thread::sleep(interval);
            let Some(inner) = inner.upgrade() else { return };
            let mut writing = inner.writing.lock();
            if writing.unsynced.is_some() {
                // A failed sync poisons the handle, and the next commit says so.
                drop(writing.sync());
                writing.release(inner.options.exclusive);
            }
        }
    };
    let started = std::thread::Builder::new()
        .name("treering-sync".to_owned())
        .spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::io("cannot start the thread that syncs", error))
}

fn no_store(path: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    Error::not_found(format!("there is no store in {}", path.display()))
        .with_code("no_store")
        .with_hint("`treering init` creates one; --store or TREERING_STORE name another folder")
}

/// The commit seq 0 over the empty state.
fn first_batch(hash: HashAlgorithm, options: &Options) -> Result<(BatchBuilder, HeadMark)> {
    let suite = HashSuite::new(hash);
    let root: Root = Trie::new().root(suite, Shape::State, &NoSource)?;
    let history_root: HistoryRoot = HistoryTree::new(suite).root();
    let commit = Commit {
        parents: Vec::new(),
        root,
        seq: 0,
        history_root,
        time: options.clock.now(),
        op: Op::new("init")?,
        target: None,
        actor: None,
        session: None,
        source: None,
        trust: Origin::DirectUser,
        reason: None,
        reserved: std::collections::BTreeMap::new(),
    };
    let bytes = commit.encode()?;
    let mut batch = BatchBuilder::new();
    batch.add(RecordKind::Commit, 0, &bytes);
    Ok((
        batch,
        HeadMark {
            commit: Commit::hash(&bytes, suite),
            root,
            seq: 0,
        },
    ))
}
