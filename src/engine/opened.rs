//! An opened store for readers: the part of the log that this process has read, the settings, and the warnings.
//!
//! # Layer
//! Layer 5. Never takes the writer's lock.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::digest::{CommitDigest, KeyPath, Root};
use crate::disk::Disk;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{Log, Mode};
use crate::object::{Object, Origin};
use crate::store::{CommitEntry, Store};
use crate::threads::{ArcSwap, Mutex};

use super::settings::Settings;

/// The maximal number of notifications waiting in a channel; further notifications are dropped.
const WAITING_MAX: usize = 256;

/// A notification that the store has a new head.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct HeadMoved {
    /// The new head.
    pub commit: CommitDigest,
    /// The root of the new head's state.
    pub root: Root,
    /// The seq of the new head.
    pub seq: u64,
    /// The operation of the new head: `put`, `rollback` and so on.
    pub op: String,
}

/// The data that all views and writers of an opened store share.
pub(crate) struct Opened {
    /// Random bytes that identify a store and all its copies.
    pub(crate) lineage: [u8; 16],
    /// Random bytes that identify this store. The checksum of every frame includes these bytes.
    pub(crate) instance: [u8; 16],
    pub(crate) settings: Settings,
    pub(crate) disk: Arc<dyn Disk>,
    /// The line that this process reads and writes through the handle; `None` for the main line.
    pub(crate) line: Option<LineOf>,
    watchers: Arc<Watchers>,
    /// The watchers of the forks in use, by name. Empty for a fork.
    forks: Mutex<BTreeMap<String, Weak<Watchers>>>,
    /// The store in memory, which contains the part of the log that this process has read. After a rewrite of the log,
    /// the handle loads a new store.
    pub(crate) current: ArcSwap<Store>,
    /// The damage at which a degraded handle stopped reading.
    pub(crate) damage: OnceLock<String>,
    warnings: Mutex<Vec<String>>,
    /// How often the handle took the lock of the writer, and the microseconds that it waited. Forks share it.
    pub(crate) lock_waits: Arc<(AtomicU64, AtomicU64)>,
    /// Damaged objects that a degraded handle skipped.
    unreadable: Mutex<HashSet<KeyPath>>,
}

/// The channels of the hosts that watch for a new head of one line.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<Vec<Sender<HeadMoved>>>);

impl Watchers {
    /// Notifies the watchers of a new head.
    fn notify(&self, entry: &CommitEntry) {
        let moved = HeadMoved {
            commit: entry.digest,
            root: entry.commit.root,
            seq: entry.seq(),
            op: entry.commit.op.as_str().to_owned(),
        };
        // A channel without an own bound allocates only what waits, so a dropped receiver leaves next to nothing behind.
        let is_open =
            |sender: &Sender<HeadMoved>| sender.len() >= WAITING_MAX || sender.send(moved.clone()).is_ok();
        self.0.lock().retain(is_open);
    }
}

/// A fork that a handle reads and writes.
pub(crate) struct LineOf {
    pub(crate) name: String,
    /// The most trusted class of what is written through the handle.
    pub(crate) cap: Origin,
}

impl Opened {
    pub(crate) fn new(
        (lineage, instance): ([u8; 16], [u8; 16]),
        settings: Settings,
        disk: Arc<dyn Disk>,
        store: Store,
    ) -> Self {
        store.records.cap_origins(settings.best_origin);
        Self {
            lineage,
            instance,
            settings,
            disk,
            line: None,
            watchers: Arc::default(),
            forks: Mutex::default(),
            current: ArcSwap::from_pointee(store),
            damage: OnceLock::new(),
            warnings: Mutex::default(),
            lock_waits: Arc::default(),
            unreadable: Mutex::default(),
        }
    }

    /// Returns the part of a fork, whose watchers this main line notifies.
    pub(crate) fn of_fork(&self, line: LineOf, store: Arc<Store>) -> Self {
        let watchers = Arc::default();
        self.forks
            .lock()
            .insert(line.name.clone(), Arc::downgrade(&watchers));
        Self {
            lineage: self.lineage,
            instance: self.instance,
            settings: Settings {
                automatic_gc: None,
                ..self.settings.clone()
            },
            disk: Arc::clone(&self.disk),
            line: Some(line),
            watchers,
            forks: Mutex::default(),
            current: ArcSwap::new(store),
            damage: OnceLock::new(),
            warnings: Mutex::default(),
            lock_waits: Arc::clone(&self.lock_waits),
            unreadable: Mutex::default(),
        }
    }

    /// Returns the store in memory, which contains the part of the log that this process has read.
    pub(crate) fn store(&self) -> Arc<Store> {
        self.current.load_full()
    }

    /// Replaces the store by one that contains the same commits.
    pub(crate) fn replace(&self, store: impl Into<Arc<Store>>) {
        let store = store.into();
        store.records.cap_origins(self.settings.best_origin);
        self.current.store(store);
    }

    /// Returns the class that a write of the class `class` through this handle gets.
    pub(crate) fn capped(&self, class: Origin) -> Origin {
        let line = self.line.as_ref();
        line.map_or(class, |line| Origin::least(class, line.cap))
    }

    /// Returns the loaded object. If the object is damaged and the handle is degraded, counts the object as skipped and
    /// returns `None`.
    pub(crate) fn or_passed_over(&self, key: KeyPath, loaded: Result<Object>) -> Result<Option<Object>> {
        match loaded {
            Err(error) if self.settings.degraded && error.kind() == ErrorKind::Corrupt => {
                self.unreadable.lock().insert(key);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Returns the number of damaged objects that a degraded handle skipped.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable.lock().len()
    }

    /// Returns an error if the handle is read-only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.settings.read_only {
            let message = "this handle was opened for reading only";
            return Err(Error::new(ErrorKind::Io, message).with_code(ErrorCode::ReadOnly));
        }
        Ok(())
    }

    /// Returns an error if the path of the store leads to another folder than the opened one, for example because a
    /// backup was restored. The handle would otherwise write where nobody reads.
    ///
    /// # Errors
    /// `NotFound` (code `store_moved`).
    pub(crate) fn check_in_place(&self) -> Result<()> {
        if self.disk.is_in_place() {
            return Ok(());
        }
        let folder = self.disk.describe();
        let message = format!("the store in {folder} was replaced or removed after it was opened");
        Err(Error::not_found(message)
            .with_code(ErrorCode::StoreMoved)
            .with_hint("open the store again; nothing was read or written"))
    }

    /// Returns `error`, unless it is damage that only says that another store has the folder.
    pub(crate) fn or_replaced(&self, error: Error) -> Error {
        let format = || Log::format_in(&*self.disk, Mode::ReadOnly);
        if !error.is_corruption() || !format().is_ok_and(|format| format.instance != self.instance) {
            return error;
        }
        let folder = self.disk.describe();
        Error::not_found(format!(
            "{folder} contains another store than the one that was opened"
        ))
        .with_code(ErrorCode::StoreMoved)
        .with_hint("start the program again, which opens the store that is there now")
    }

    /// Adds a warning for the owner, unless the warning is already in the list.
    pub(crate) fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Returns the warnings for the owner.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }

    /// Returns a channel that receives a message for each new head.
    pub(crate) fn watch(&self) -> Receiver<HeadMoved> {
        let (sender, receiver) = unbounded();
        self.watchers.0.lock().push(sender);
        receiver
    }

    /// Notifies the watchers of a new head of the handle's line.
    pub(crate) fn notify(&self, entry: &CommitEntry) {
        self.watchers.notify(entry);
    }

    /// Notifies the watchers of a fork of its new head.
    pub(crate) fn notify_fork(&self, name: &str, entry: &CommitEntry) {
        let watchers = self.forks.lock().get(name).and_then(Weak::upgrade);
        if let Some(watchers) = watchers {
            watchers.notify(entry);
        }
    }

    /// Records the damage at which reading stopped.
    pub(crate) fn stop_at(&self, damage: &Error) {
        if self.damage.set(damage.to_string()).is_ok() {
            self.warn(format!("reading stopped at damage: {damage}"));
        }
    }

    /// Returns the error for a store without a readable commit: an error that names the damage if reading stopped at
    /// damage, otherwise `error`.
    pub(crate) fn because_of_damage(&self, error: Error) -> Error {
        let Some(damage) = self.damage.get() else {
            return error;
        };
        Error::corrupt(format!(
            "the store has no complete commit before the damage: {damage}"
        ))
        .with_hint("`treering salvage` recovers the commits after the damage")
    }
}

/// Marks an error that occurred after a change took effect, so that the error states that the change took effect.
pub(crate) fn done_anyway(error: Error) -> Error {
    error.behind_change("open the store again to continue")
}
