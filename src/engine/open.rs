//! Opens and creates stores, in a folder or on a disk. The returned memory has read the log of the store.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - A process has one memory for each store that it has open for writing. Opening the store again with another policy,
//!   other limits or another durability fails (`already_open`).
//!
//! # Invariants
//! - MEM-1: within a process, opening one store twice for writing returns the same memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use crate::digest::{HashSuite, HistoryRoot, Root};
use crate::disk::{Disk, FileDisk, MemDisk};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{BatchBuilder, DamagedLog, HeadMark, Log, Mode, RecordKind};
use crate::object::{Commit, HistoryTree, Op, Origin};
use crate::store::Store;
use crate::threads::{ArcSwap, Builder, Mutex, sleep};
use crate::trie::{NoSource, Shape, Trie};

use super::inner::Inner;
use super::memory::Memory;
use super::opened::Opened;
use super::options::Options;
use super::read::Source;
use super::settings::{CLOCK_AHEAD, CLOCK_OFF_MICROS_MAX, Durability, Settings};
use super::trace::{self, Timer};
use super::upkeep::{places_of, salvage};
#[cfg(feature = "remote")]
use super::write::ReadLog;
use super::write::{LogHandle, Queue, WritePolicy};

/// The open stores, by the device and inode of their folder.
type Stores = HashMap<(u64, u64), Weak<Inner>>;

/// The writable stores that a process has open (MEM-1).
struct Registry {
    process: u32,
    stores: Mutex<Stores>,
}

impl Registry {
    fn new() -> Self {
        Self {
            process: std::process::id(),
            stores: Mutex::default(),
        }
    }

    /// Returns the registry of this process. A fork copies that of its parent, perhaps while a thread that the child does
    /// not have holds a lock in it. So the child begins with an empty registry.
    fn of_process() -> Arc<Self> {
        static REGISTRY: LazyLock<ArcSwap<Registry>> =
            LazyLock::new(|| ArcSwap::from_pointee(Registry::new()));
        static RENEWING: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);
        let is_ours = |registry: &Arc<Self>| registry.process == std::process::id();
        let known = REGISTRY.load_full();
        if is_ours(&known) {
            return known;
        }
        let _one_at_a_time = RENEWING.lock();
        if !is_ours(&REGISTRY.load_full()) {
            REGISTRY.store(Arc::new(Self::new()));
        }
        REGISTRY.load_full()
    }
}

impl Memory {
    /// Opens the store in the folder `path` with the defaults.
    ///
    /// # Errors
    /// The errors of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// Creates a store in the folder `path` with the defaults.
    ///
    /// # Errors
    /// The errors of [`Options::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().create(path)
    }

    /// Returns the id of the store in the folder `path`, without opening the store.
    ///
    /// # Errors
    /// `NotFound` (code `no_store`) if there is no store; `Corrupt`, `UnsupportedFormat`, `Io`.
    #[doc(hidden)]
    pub fn id_of_store(path: &Path) -> Result<[u8; 16]> {
        let disk = FileDisk::open(path).map_err(|error| no_store(path, error))?;
        Ok(Log::format_in(&disk, Mode::ReadOnly)?.instance)
    }

    /// Returns a class of trust as a reader of this memory sees it: at most `Options::best_origin`.
    #[doc(hidden)]
    pub fn seen_origin(&self, stored: Origin) -> Origin {
        Origin::least(stored, self.inner.settings().best_origin)
    }

    /// Creates a memory that lives only in this process, for tests and temporary work.
    ///
    /// # Errors
    /// `Io` if the operating system provides no random bytes.
    pub fn in_memory() -> Result<Self> {
        // Disables checkpoints, because no other handle can open this store and read a checkpoint.
        let options = Options::new().checkpoints(false);
        Self::on_disk(Arc::new(MemDisk::new()), options, true, None)
    }

    /// Creates a memory in this process with the given hash suite, such as one in which key paths collide.
    #[cfg(test)]
    pub(crate) fn in_memory_with_suite(suite: HashSuite) -> Result<Self> {
        let options = Options {
            settings: Settings {
                suite: Some(suite),
                ..Settings::default()
            },
            policy: None,
        };
        Self::on_disk(Arc::new(MemDisk::new()), options, true, None)
    }

    /// Opens a store whose format file or manifest is damaged with `error`: salvages the segments into memory, and opens
    /// the result for reading. Returns `error` if nothing can be salvaged.
    fn of_segments(
        disk: Arc<dyn Disk>,
        mut options: Options,
        path: Option<&Path>,
        error: Error,
    ) -> Result<Self> {
        options.settings.degraded = false;
        let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let salvaged = DamagedLog::open(disk).and_then(|log| salvage::write(&log, &target, &options));
        if let Err(failed) = salvaged {
            let is_stopped = failed.code() == ErrorCode::Interrupted;
            return Err(if is_stopped { failed } else { error });
        }
        let memory = Self::on_disk(target, options, false, path)?;
        memory.inner.opened().stop_at(&error);
        Ok(memory)
    }

    /// Opens or creates a memory on any disk, such as the simulated disk of tests.
    ///
    /// # Errors
    /// The errors of [`Options::open`] and [`Options::create`].
    pub(crate) fn on_disk(
        disk: Arc<dyn Disk>,
        options: Options,
        create: bool,
        path: Option<&Path>,
    ) -> Result<Self> {
        let Options { mut settings, policy } = options;
        let timer = Timer::start();
        settings.read_only |= settings.degraded;
        // A degraded handle builds no indexes, because an index must contain all objects, and the handle skips damaged
        // objects.
        settings.indexes &= !settings.degraded;
        let log_options = settings.log_options();
        let log = if create {
            let (batch, mark) = first_batch(&settings)?;
            Log::create(Arc::clone(&disk), settings.hash, batch, mark, log_options)?
        } else {
            let writable = !settings.read_only;
            let mode = if writable { Mode::ReadWrite } else { Mode::ReadOnly };
            match Log::open(Arc::clone(&disk), mode, log_options) {
                Err(error) if settings.degraded && error.is_damage() => {
                    return Self::of_segments(disk, Options { settings, policy }, path, error);
                }
                opened => opened?,
            }
        };
        let suite = settings.suite.unwrap_or(HashSuite::new(log.format().hash));
        let store = Store::new(suite, log.reader()).with_sizes(settings.sizes);
        let options = Options { settings, policy };
        let memory = Self::of_log((LogHandle::new(log), store), disk, options, path)?;
        memory.inner.log.lock().load(&memory.inner.source)?;
        memory.report_opened(create, timer)?;
        Ok(memory)
    }

    /// Opens a store that this process has just written. `read` is its log.
    #[cfg(feature = "remote")]
    pub(crate) fn on_written_disk(
        disk: Arc<dyn Disk>,
        options: Options,
        read: ReadLog,
        path: Option<&Path>,
    ) -> Result<Self> {
        if options.settings.read_only || options.settings.degraded {
            return Self::on_disk(disk, options, false, path);
        }
        let timer = Timer::start();
        let memory = Self::of_log(LogHandle::of_read(read), disk, options, path)?;
        memory.report_opened(false, timer)?;
        Ok(memory)
    }

    /// Returns the memory of a log, with its store in memory.
    fn of_log(
        (mut handle, store): (LogHandle, Store),
        disk: Arc<dyn Disk>,
        Options { settings, policy }: Options,
        path: Option<&Path>,
    ) -> Result<Self> {
        handle.log.ask_places(places_of(&disk));
        let format = handle.log.format();
        let opened = Opened::new((format.lineage, format.instance), settings, disk, store);
        let memory = Self {
            inner: Arc::new(Inner {
                freeing: None,
                source: Arc::new(Source::new(opened)),
                log: Arc::new(Mutex::new(handle)),
                queue: Arc::new(Queue::default()),
                main: None,
                forks: Mutex::default(),
                policy,
                path: path.map(Path::to_path_buf),
            }),
        };
        let inner = &memory.inner;
        if let Durability::Interval(interval) = inner.settings().durability
            && !inner.settings().read_only
        {
            sync_every(inner, interval)?;
        }
        Ok(memory)
    }

    /// Warns of a wrong clock, and traces the opening.
    fn report_opened(&self, create: bool, timer: Timer) -> Result<()> {
        let inner = &self.inner;
        let newest = inner.store().head()?.commit.time.as_micros();
        let wall = inner.settings().clock.now().as_micros();
        if newest > wall.saturating_add(CLOCK_OFF_MICROS_MAX) {
            inner.opened().warn(CLOCK_AHEAD.to_owned());
        }
        let (settings, view) = (inner.settings(), self.view());
        let mode = match (create, settings.degraded, settings.read_only) {
            (true, ..) => "create",
            (_, true, _) => "degraded",
            (.., true) => "read_only",
            _ => "read_write",
        };
        trace::opened(
            inner.path.as_deref(),
            mode,
            view.commit().commit.seq,
            view.len(),
            timer,
        );
        Ok(())
    }
}

impl Options {
    /// Opens the store in the folder `path`. If this process already has the store open for writing, returns that
    /// memory. In this case, a different policy, different limits or a different durability is an error (code
    /// `already_open`).
    ///
    /// # Errors
    /// `NotFound` (code `no_store`) if there is no store; `Corrupt` if the store is damaged; `UnsupportedFormat` if the
    /// store needs a newer program; `Io` if a file cannot be read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Memory> {
        self.open_with(path.as_ref(), Memory::on_disk)
    }

    /// Opens the store in the folder `path` with the log that this process has read while it wrote it.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    #[cfg(feature = "remote")]
    pub(crate) fn open_written(self, path: &Path, read: ReadLog) -> Result<Memory> {
        self.open_with(path, |disk, options, _, path| {
            Memory::on_written_disk(disk, options, read, path)
        })
    }

    /// Opens the store in the folder `path` with `open`, unless this process has it open.
    fn open_with(
        self,
        path: &Path,
        open: impl FnOnce(Arc<dyn Disk>, Self, bool, Option<&Path>) -> Result<Memory>,
    ) -> Result<Memory> {
        let disk = FileDisk::open(path).map_err(|error| no_store(path, error))?;
        let identity = disk.identity();
        if self.settings.read_only || self.settings.degraded {
            return open(Arc::new(disk), self, false, Some(path));
        }
        let registry = Registry::of_process();
        let mut opened = registry.stores.lock();
        // A poisoned memory cannot be shared.
        let usable = |inner: &Arc<Inner>| {
            let log = inner.log.try_lock();
            log.is_none_or(|handle| handle.log.is_usable())
        };
        let known = opened.get(&identity).and_then(Weak::upgrade).filter(usable);
        if let Some(inner) = known {
            self.check_same(inner.settings(), inner.policy.as_ref())?;
            let memory = Memory { inner };
            drop(opened);
            memory.refresh()?;
            return Ok(memory);
        }
        let memory = open(Arc::new(disk), self.in_background(), false, Some(path))?;
        opened.retain(|_, inner| inner.strong_count() > 0);
        opened.insert(identity, Arc::downgrade(&memory.inner));
        Ok(memory)
    }

    /// Creates a store in the folder `path`, which may already exist as an empty folder.
    ///
    /// # Errors
    /// `InvalidInput` (code `store_exists`) if the folder already contains a store, which stays unchanged; `Io` if a
    /// file cannot be written.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Memory> {
        let path = path.as_ref();
        let disk = FileDisk::create(path)
            .map_err(|error| error.context(format!("creating a store in {}", path.display())))?;
        let identity = disk.identity();
        let registry = Registry::of_process();
        let mut opened = registry.stores.lock();
        let memory = Memory::on_disk(Arc::new(disk), self.in_background(), true, Some(path))?;
        opened.insert(identity, Arc::downgrade(&memory.inner));
        Ok(memory)
    }

    /// Writes checkpoints on a thread, except with the settings of tests for which the time of a checkpoint matters.
    fn in_background(mut self) -> Self {
        self.settings.has_background =
            self.settings.checkpoint_heavy_bytes == Settings::default().checkpoint_heavy_bytes;
        self
    }

    /// Returns an error if a caller opens a store that is already open, but with another policy, other limits or
    /// another durability.
    fn check_same(&self, opened: &Settings, policy: Option<&Arc<dyn WritePolicy>>) -> Result<()> {
        let address = |policy: &Arc<dyn WritePolicy>| Arc::as_ptr(policy).cast::<()>();
        let same = self.policy.as_ref().map(address) == policy.map(address)
            && self.settings.limits == opened.limits
            && self.settings.durability == opened.durability
            && self.settings.exclusive == opened.exclusive;
        if same {
            return Ok(());
        }
        Err(Error::invalid(
            "this process already has the store open with another policy, other limits or another durability",
        )
        .with_code(ErrorCode::AlreadyOpen)
        .with_hint("clone the open handle, or drop it and open the store again"))
    }

    /// Opens the store in the folder `path`, or creates it. Also returns whether the call created the store.
    ///
    /// # Errors
    /// The errors of [`Self::open`] and [`Self::create`].
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<(Memory, bool)> {
        match self.clone().open(path.as_ref()) {
            Ok(memory) => Ok((memory, false)),
            Err(error) if error.code() == ErrorCode::NoStore => match self.clone().create(path.as_ref()) {
                // Another process created the store in the meantime, so this call opens it.
                Err(error) if error.code() == ErrorCode::StoreExists => Ok((self.open(path)?, false)),
                created => Ok((created?, true)),
            },
            Err(error) => Err(error),
        }
    }
}

fn no_store(path: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    Error::not_found(format!("{} contains no store", path.display()))
        .with_code(ErrorCode::NoStore)
        .with_hint("`treering init` creates one; --store or TREERING_STORE chooses another folder")
}

/// Returns the batch with the first commit (seq 0), whose state is empty.
fn first_batch(settings: &Settings) -> Result<(BatchBuilder, HeadMark)> {
    let suite = HashSuite::new(settings.hash);
    let root: Root = Trie::new().root(suite, Shape::State, &NoSource)?;
    let history_root: HistoryRoot = HistoryTree::new(suite).root();
    let commit = Commit {
        parents: Vec::new(),
        root,
        seq: 0,
        history_root,
        time: settings.clock.now(),
        op: Op::new(Op::INIT)?,
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
    let mark = HeadMark {
        commit: Commit::hash(&bytes, suite),
        root,
        seq: 0,
    };
    Ok((batch, mark))
}

/// Syncs written batches every `interval` (at least a millisecond), until the memory is closed.
fn sync_every(inner: &Arc<Inner>, interval: Duration) -> Result<()> {
    let interval = interval.max(Duration::from_millis(1));
    let inner = Arc::downgrade(inner);
    let work = move || {
        loop {
            sleep(interval);
            let Some(inner) = inner.upgrade() else { return };
            let mut log = inner.log.lock();
            // A failed sync poisons the handle, and the next commit returns the error `Poisoned`.
            drop(log.sync());
            log.release(inner.settings().exclusive);
        }
    };
    let started = Builder::new().name("treering-sync".to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::io("cannot start the thread that syncs", error))
}
