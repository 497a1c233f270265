//! The open store behind the Python objects: it can be closed, and it belongs to one process.
//!
//! Every call into the library goes through [`run`], which releases the GIL and converts a panic to an exception.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use pyo3::prelude::*;
use treering::Memory;
use treering::agent::Agent;

use crate::callbacks::Raised;
use crate::errors::{OrRaise, panicked, unusable};
use crate::exit::{self, detached};
use crate::interrupt;

/// The open handles of this module, which are closed at the exit of the interpreter.
static OPEN: Mutex<Vec<Weak<Handle>>> = Mutex::new(Vec::new());

/// Calls the library without the GIL. An exception that ends a callback ends the call.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> treering::Result<T> + Send) -> PyResult<T> {
    interrupt::refuse_in_handler(py)?;
    interrupt::begin();
    let done = detached(py, || catch_unwind(AssertUnwindSafe(work)));
    if let Some(error) = interrupt::raised() {
        return Err(error);
    }
    match done {
        Ok(done) => done.or_raise(py),
        Err(panic) => {
            let panic = match panic.downcast::<Raised>() {
                Ok(raised) => return Err(raised.0),
                Err(panic) => panic,
            };
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(panicked(py, text.unwrap_or("no message")))
        }
    }
}

/// A value of the process that made it. A forked child neither uses nor drops it, because threads and locks of the
/// parent do not exist in the child.
pub(crate) struct OfProcess<T> {
    process: u32,
    value: Option<T>,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            process: std::process::id(),
            value: Some(value),
        }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// `HandleError` (code `forked`) in a forked child.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.value
            .as_ref()
            .filter(|_| self.process == std::process::id())
            .ok_or_else(|| {
                unusable(
                    py,
                    "the handle was opened in the parent process",
                    "forked",
                    "open the store again in the child, or start the child with the method `spawn`",
                )
            })
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}

/// The memory and the agent of an open handle.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) memory: Memory,
    pub(crate) agent: Option<Agent>,
}

/// An open store, shared by the Python objects that were made from it. Closing one closes all, and the open forks too.
pub(crate) struct Handle {
    opened: OfProcess<RwLock<Option<Opened>>>,
    forks: Mutex<Vec<Weak<Self>>>,
}

impl Handle {
    pub(crate) fn new(memory: Memory, agent: Option<Agent>) -> Arc<Self> {
        let opened = Some(Opened { memory, agent });
        let handle = Arc::new(Self {
            opened: OfProcess::new(RwLock::new(opened)),
            forks: Mutex::default(),
        });
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&handle));
        handle
    }

    /// Returns the handle of a fork, which ends with this handle.
    pub(crate) fn fork(&self, memory: Memory, agent: Option<Agent>) -> Arc<Self> {
        let fork = Self::new(memory, agent);
        let mut forks = self.forks.lock().unwrap_or_else(PoisonError::into_inner);
        forks.retain(|other| other.strong_count() > 0);
        forks.push(Arc::downgrade(&fork));
        fork
    }

    pub(crate) fn opened(&self, py: Python<'_>) -> PyResult<Opened> {
        let lock = self.opened.get(py)?;
        let opened = lock.read().unwrap_or_else(PoisonError::into_inner).clone();
        opened.ok_or_else(|| unusable(py, "the handle is closed", "closed", "open the store again"))
    }

    /// Checks that the handle is open and belongs to this process.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.opened(py).map(drop)
    }

    pub(crate) fn memory(&self, py: Python<'_>) -> PyResult<Memory> {
        Ok(self.opened(py)?.memory)
    }

    pub(crate) fn agent(&self, py: Python<'_>) -> PyResult<Agent> {
        let missing = || {
            unusable(
                py,
                "the handle has no agent",
                "closed",
                "open the store with `treering.open`",
            )
        };
        self.opened(py)?.agent.ok_or_else(missing)
    }

    /// Returns whether the handle was closed, or belongs to the parent process.
    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        self.check(py).is_err()
    }

    /// Closes the store. A second call does nothing.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        interrupt::refuse_in_handler(py)?;
        let lock = self.opened.get(py)?;
        let forks = std::mem::take(&mut *self.forks.lock().unwrap_or_else(PoisonError::into_inner));
        for fork in forks.iter().filter_map(Weak::upgrade) {
            fork.close(py)?;
        }
        let taken = detached(py, || lock.write().unwrap_or_else(PoisonError::into_inner).take());
        match taken {
            // The rest of the store stays open.
            Some(Opened { memory, .. }) if memory.fork_name().is_some() => run(py, move || memory.sync()),
            Some(Opened { memory, agent }) => run(py, move || match agent {
                Some(agent) => {
                    drop(memory);
                    agent.close()
                }
                None => memory.close(),
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let lock = self.opened.value.take();
        if self.opened.process != std::process::id() {
            std::mem::forget(lock);
            return;
        }
        // The last handle of a store syncs and may write a checkpoint, so other threads run meanwhile.
        let mut lock = Some(lock);
        Python::try_attach(|py| {
            let lock = lock.take();
            detached(py, || drop(lock));
        });
        drop(lock);
    }
}

/// Closes every handle of this process, and stops the threads that are inside a call. The interpreter calls this function
/// at its exit.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    for handle in open.iter().filter_map(Weak::upgrade) {
        // A failure at the exit cannot be handled: acknowledged changes are durable in any case.
        drop(handle.close(py));
    }
    exit::close(py)
}
