//! The shared core of all handles of one open store: the source that views read from, and the one writer.
//!
//! # Layer
//! Layer 5.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use crossbeam_channel::{Sender, bounded};

use crate::disk::Disk;
use crate::error::Result;
use crate::store::Store;
use crate::threads::{Builder, Mutex};

use super::opened::Opened;
use super::read::{Source, View};
use super::settings::Settings;
use super::upkeep::checkpoint_if_due;
use super::write::{LogHandle, Queue, WritePolicy, Writer};

/// The shared core of all handles of one open store.
pub(crate) struct Inner {
    pub(crate) source: Arc<Source>,
    pub(crate) log: Arc<Mutex<LogHandle>>,
    pub(crate) queue: Arc<Queue>,
    /// The core of the main line, if this is the core of a fork.
    pub(crate) main: Option<Arc<Self>>,
    /// The cores of the forks in use, by name. Empty for a fork.
    pub(crate) forks: Mutex<BTreeMap<String, Weak<Self>>>,
    pub(crate) policy: Option<Arc<dyn WritePolicy>>,
    pub(crate) path: Option<PathBuf>,
    /// Dropped last, so that [`Self::free_beside`] frees the store after every other field let go of it.
    pub(crate) freeing: Option<Sender<()>>,
}

/// The number of records in memory from which on freeing a store takes longer than starting a thread.
const FREED_BESIDE: usize = 8_192;

impl Inner {
    /// Lets a thread of its own free the memory of the store after this handle is dropped, if that takes long. The caller
    /// of `close` does not wait for the thread, and neither does the end of the process.
    pub(super) fn free_beside(&mut self) {
        if self.store().records.newer() < FREED_BESIDE {
            return;
        }
        let (source, (dropped, wait)) = (Arc::clone(&self.source), bounded::<()>(0));
        let free = move || {
            // Ends when the sender is dropped.
            let _ = wait.recv();
            drop(source);
        };
        // If no thread can be started, this one frees the memory.
        if Builder::new()
            .name("treering-free".to_owned())
            .spawn(free)
            .is_ok()
        {
            self.freeing = Some(dropped);
        }
    }

    /// Returns the core of the main line.
    pub(crate) fn main(&self) -> &Self {
        self.main.as_deref().unwrap_or(self)
    }

    pub(crate) fn opened(&self) -> &Opened {
        &self.source.opened
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.source.opened.settings
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.source.opened.disk
    }

    /// Returns the store in memory, which contains the part of the log that this process has read.
    pub(crate) fn store(&self) -> Arc<Store> {
        self.source.opened.store()
    }

    /// Returns the state of the newest commit that this process has read.
    pub(crate) fn view(&self) -> View {
        View::head(&self.source)
    }

    /// Reads the commits of other processes. Returns false and reads nothing if another thread holds the writer's
    /// mutex.
    pub(crate) fn follow(&self) -> Result<bool> {
        // The thread that holds the writer's mutex may be reading the log or waiting for the lock. A reader must wait
        // for neither.
        match self.log.try_lock() {
            Some(mut log) if !log.has_lock() => {
                log.catch_up(&self.main().source)?;
                self.renew().map(|()| true)
            }
            // This process holds the lock, so it has already read the whole log.
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    /// Does the work of [`Memory::refresh`](crate::Memory::refresh).
    pub(crate) fn refresh(&self) -> Result<View> {
        self.follow()?;
        self.source.stamps.lock().may_be_behind();
        Ok(self.view())
    }

    /// Takes the lock, reads the commits of other processes, runs `work`, and releases the lock even after an error.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut LogHandle) -> Result<T>) -> Result<T> {
        self.write_with(&mut self.log.lock(), work)
    }

    /// Returns an error if the handle is read-only, or if the writer has an invalid name or text.
    pub(crate) fn check_writer(&self, writer: &Writer) -> Result<()> {
        self.opened().check_writable()?;
        writer.check()
    }

    /// Checks the names and texts of `writer`, then runs `work` as [`Self::write`] does.
    pub(crate) fn write_as<T>(
        &self,
        writer: &Writer,
        work: impl FnOnce(&mut LogHandle) -> Result<T>,
    ) -> Result<T> {
        self.check_writer(writer)?;
        self.write(work)
    }

    /// Runs `work` as [`Self::write`] does, for a caller that already holds the writer's mutex.
    pub(crate) fn write_with<T>(
        &self,
        log: &mut LogHandle,
        work: impl FnOnce(&mut LogHandle) -> Result<T>,
    ) -> Result<T> {
        let source = &self.main().source;
        log.begin(source)?;
        let outcome = self.renew().and_then(|()| work(log));
        log.release(self.settings().exclusive);
        checkpoint_if_due(source, log, false);
        outcome
    }
}
