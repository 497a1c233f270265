//! Opens and creates stores, in a folder or on a disk, as a memory that has read its log.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - Within one process, a store that is open for writing has one memory. Opening it again with another policy, other
//!   limits or another durability is refused (`already_open`).
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
use crate::log::{BatchBuilder, HeadMark, Log, LogOptions, Mode, RecordKind};
use crate::object::{Commit, HistoryTree, Op, Origin};
use crate::store::Store;
use crate::threads::{Builder, Mutex, sleep};
use crate::trie::{NoSource, Shape, Trie};

use super::inner::Inner;
use super::memory::Memory;
use super::opened::Opened;
use super::options::Options;
use super::read::source::Source;
use super::settings::{CLOCK_AHEAD, CLOCK_OFF_MICROS_MAX, Durability, Settings};
use super::upkeep::checkpointing::places_of;
use super::write::log_handle::LogHandle;

/// The open stores, by the device and inode of their folder.
type Stores = HashMap<(u64, u64), Weak<Inner>>;

/// The writable stores that this process has open (MEM-1).
static OPENED: LazyLock<Mutex<Stores>> = LazyLock::new(Mutex::default);

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

    /// Creates a memory that lives only in this process, for tests and temporary work.
    ///
    /// # Errors
    /// `Io` if the operating system provides no random bytes.
    pub fn in_memory() -> Result<Self> {
        // No other handle can open this store, so checkpoints would have no reader.
        let options = Options::new().checkpoints(false);
        Self::on_disk(Arc::new(MemDisk::new()), options, true, None)
    }

    /// Creates a memory in this process with a given suite, such as one whose ids collide.
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

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Self> {
        let disk = FileDisk::open(path).map_err(|error| no_store(path, error))?;
        let identity = disk.identity();
        if options.settings.read_only || options.settings.degraded {
            return Self::on_disk(Arc::new(disk), options, false, Some(path));
        }
        let mut opened = OPENED.lock();
        // A poisoned memory, or one that was copied by a fork, cannot be shared.
        let usable = |inner: &Arc<Inner>| {
            let log = inner.log.try_lock();
            log.is_none_or(|handle| handle.log.is_usable())
        };
        let known = opened.get(&identity).and_then(Weak::upgrade).filter(usable);
        if let Some(inner) = known {
            options.check_same(inner.settings(), inner.policy.as_ref())?;
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

    pub(crate) fn create_with(path: &Path, options: Options) -> Result<Self> {
        let disk = FileDisk::create(path)
            .map_err(|error| error.context(format!("creating a store in {}", path.display())))?;
        let identity = disk.identity();
        let mut opened = OPENED.lock();
        let memory = Self::on_disk(Arc::new(disk), options, true, Some(path))?;
        opened.insert(identity, Arc::downgrade(&memory.inner));
        Ok(memory)
    }

    /// Opens or creates a memory on any disk, such as the simulated one of tests.
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
        settings.read_only |= settings.degraded;
        // An index must cover all objects, so a degraded handle, which skips damaged ones, builds none.
        settings.indexes &= !settings.degraded;
        let log_options = LogOptions {
            segment_bytes_max: u64::from(settings.segment_bytes_max),
            map: settings.map,
            degraded: settings.degraded,
            ..LogOptions::default()
        };
        let mut log = if create {
            let (batch, mark) = first_batch(&settings)?;
            Log::create(Arc::clone(&disk), settings.hash, batch, mark, log_options)?
        } else {
            let mode = if settings.read_only {
                Mode::ReadOnly
            } else {
                Mode::ReadWrite
            };
            Log::open(Arc::clone(&disk), mode, log_options)?
        };
        log.ask_places(places_of(&disk));
        let suite = settings
            .suite
            .unwrap_or_else(|| HashSuite::new(log.format().hash));
        let ids = (log.format().lineage, log.format().instance);
        let opened = Opened::new(ids, settings, disk, Store::new(suite, log.reader()));
        let memory = Self {
            inner: Arc::new(Inner {
                source: Arc::new(Source::new(opened)),
                log: Mutex::new(LogHandle::new(log)),
                queue: Mutex::default(),
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
        inner.log.lock().load(&inner.source)?;
        let head = inner.store().head()?;
        let wall = inner.settings().clock.now();
        if head.commit.time.as_micros() > wall.as_micros().saturating_add(CLOCK_OFF_MICROS_MAX) {
            inner.opened().warn(CLOCK_AHEAD.to_owned());
        }
        Ok(memory)
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

/// Returns the batch of the first commit (seq 0), whose state is empty.
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
        op: Op::constant(Op::INIT),
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

/// Syncs written batches every `interval` (at least a millisecond), until the memory is closed.
fn sync_every(inner: &Arc<Inner>, interval: Duration) -> Result<()> {
    let interval = interval.max(Duration::from_millis(1));
    let inner = Arc::downgrade(inner);
    let work = move || {
        loop {
            sleep(interval);
            let Some(inner) = inner.upgrade() else { return };
            let mut log = inner.log.lock();
            if log.is_unsynced() {
                // A failed sync poisons the handle, and the next commit reports that.
                drop(log.sync());
                log.release(inner.settings().exclusive);
            }
        }
    };
    let started = Builder::new().name("treering-sync".to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::io("cannot start the thread that syncs", error))
}
