//! The handles of JavaScript: numbers that name stores, views, drafts and watches.
//!
//! A number belongs to the environment that got it, and is released when JavaScript forgets its handle or the environment
//! ends. A store can have several numbers, also in several environments. It is closed once, for all of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use crossbeam_channel::Receiver;
use treering::agent::{Agent, Caller};
use treering::{HeadMoved, Memory, Writer};

use crate::draft::Draft;
use crate::fault::{Done, Fault};
use crate::input;
use crate::store::By;

/// The memory and the agent of an open store.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) memory: Memory,
    pub(crate) agent: Option<Agent>,
}

/// An open store, shared by everything that was made from it. Closing it closes its forks, too.
pub(crate) struct Shared {
    opened: RwLock<Option<Opened>>,
    forks: Mutex<Vec<Weak<Self>>>,
}

impl Shared {
    pub(crate) fn new(memory: Memory, agent: Option<Agent>) -> Arc<Self> {
        Arc::new(Self {
            opened: RwLock::new(Some(Opened { memory, agent })),
            forks: Mutex::default(),
        })
    }

    /// Returns the handle of a fork, which ends with this handle.
    pub(crate) fn fork(&self, memory: Memory, agent: Option<Agent>) -> Arc<Self> {
        let fork = Self::new(memory, agent);
        let mut forks = self.forks.lock().unwrap_or_else(PoisonError::into_inner);
        forks.retain(|other| other.strong_count() > 0);
        forks.push(Arc::downgrade(&fork));
        fork
    }

    pub(crate) fn opened(&self) -> Done<Opened> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner).clone();
        opened.ok_or_else(Fault::closed)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Closes the store. A second call does nothing.
    pub(crate) fn close(&self) -> Done<()> {
        let forks = std::mem::take(&mut *self.forks.lock().unwrap_or_else(PoisonError::into_inner));
        for fork in forks.iter().filter_map(Weak::upgrade) {
            fork.close()?;
        }
        let taken = self.opened.write().unwrap_or_else(PoisonError::into_inner).take();
        match taken {
            // The rest of the store stays open.
            Some(Opened { memory, .. }) if memory.fork_name().is_some() => memory.sync()?,
            Some(Opened {
                memory,
                agent: Some(agent),
            }) => {
                drop(memory);
                agent.close()?;
            }
            Some(Opened { memory, agent: None }) => memory.close()?,
            None => {}
        }
        Ok(())
    }
}

/// A store as one handle sees it: with its usual writer.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) shared: Arc<Shared>,
    /// The project and the usual writer.
    pub(crate) caller: Caller,
}

impl Store {
    pub(crate) fn memory(&self) -> Done<Memory> {
        Ok(self.shared.opened()?.memory)
    }

    pub(crate) fn agent(&self) -> Done<Agent> {
        let missing = || {
            Fault::new("Handle", "closed", "the handle has no agent").hint("open the store with `Agent.open`")
        };
        self.shared.opened()?.agent.ok_or_else(missing)
    }

    /// Returns a handle of the same store with another writer.
    pub(crate) fn with_writer(&self, writer: Writer) -> Self {
        let mut store = self.clone();
        store.caller.writer = writer;
        store
    }
}

/// One state of a store.
pub(crate) struct View {
    pub(crate) shared: Arc<Shared>,
    pub(crate) view: treering::View,
}

impl View {
    /// Returns the view, if its store is open.
    pub(crate) fn open(&self) -> Done<&treering::View> {
        if self.shared.is_open() {
            Ok(&self.view)
        } else {
            Err(Fault::closed())
        }
    }
}

/// A queue of the moves of the head.
pub(crate) struct Watch {
    pub(crate) shared: Arc<Shared>,
    pub(crate) moves: Receiver<HeadMoved>,
}

/// A remote of a store, with the writer of its commits.
pub(crate) struct Remote {
    pub(crate) store: Store,
    pub(crate) remote: treering::remote::Remote,
}

impl Remote {
    /// Returns the store, and the writer of a call.
    pub(crate) fn by(&self, input: By) -> (&Store, Writer) {
        (&self.store, input::Writer::or(input.writer, &self.store))
    }
}

/// What a handle names.
#[derive(Clone)]
pub(crate) enum Thing {
    Store(Arc<Store>),
    View(Arc<View>),
    Draft(Arc<Draft>),
    Watch(Arc<Watch>),
    Remote(Arc<Remote>),
}

impl Thing {
    fn shared(&self) -> &Shared {
        match self {
            Self::Store(store) => &store.shared,
            Self::View(view) => &view.shared,
            Self::Draft(draft) => &draft.store.shared,
            Self::Watch(watch) => &watch.shared,
            Self::Remote(remote) => &remote.store.shared,
        }
    }
}

struct Entry {
    thing: Thing,
    host: u32,
}

static TABLE: LazyLock<Mutex<HashMap<u32, Entry>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU32 = AtomicU32::new(1);

fn table() -> MutexGuard<'static, HashMap<u32, Entry>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a thing a number in an environment.
pub(crate) fn add(thing: Thing, host: u32) -> u32 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    table().insert(number, Entry { thing, host });
    number
}

/// Returns what a number names.
pub(crate) fn get(number: u32) -> Done<Thing> {
    let found = table().get(&number).map(|entry| entry.thing.clone());
    found.ok_or_else(Fault::closed)
}

/// Returns whether a number names something whose store is open.
pub(crate) fn is_open(number: u32) -> bool {
    get(number).is_ok_and(|thing| thing.shared().is_open())
}

/// Forgets a number. Returns what it named, because the last holder of a store writes to the disk when it is dropped.
pub(crate) fn release(number: u32) -> Option<Thing> {
    table().remove(&number).map(|entry| entry.thing)
}

/// Forgets the numbers of an environment, and returns what they named.
pub(crate) fn release_all(host: u32) -> Vec<Thing> {
    let mut table = table();
    let of_host = table.extract_if(|_, entry| entry.host == host);
    of_host.map(|(_, entry)| entry.thing).collect()
}
