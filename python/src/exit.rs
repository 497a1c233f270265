//! The exit of the interpreter while daemon threads are inside calls.
//!
//! Python ends a daemon thread that waits for the GIL after the interpreter has ended: up to Python 3.13 by
//! `pthread_exit`, which unwinds the stack. A frame of Rust cannot be unwound in this way, so the process would abort.
//! Therefore [`close`], which the interpreter calls at its exit, does two things:
//!
//! - It stops every other thread at the next point where the thread would take the GIL, for ever. The thread ends with
//!   the process.
//! - It waits for the threads that are past this point, which are those that take the GIL or run Python code for a call.
//!
//! # Invariants
//! - EXT-1: a thread releases the GIL inside a call only in [`detached`], or while it holds an [`Inside`].

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The longest wait for the callbacks of other threads at the exit. A callback that takes longer is left behind.
const WAIT_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// Whether the interpreter exits.
static EXITING: AtomicBool = AtomicBool::new(false);
/// The number of threads that hold an [`Inside`].
static INSIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of [`Inside`] that this thread holds.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread ends the interpreter, so that it goes on.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// A part of a call in which the thread takes the GIL or runs Python code. It belongs to one thread.
pub(crate) struct Inside(());

impl Inside {
    /// Begins the part. Returns `None` if the interpreter exits and the thread must stop.
    fn try_enter() -> Option<Self> {
        let depth = DEPTH.get();
        if depth == 0 {
            INSIDE.fetch_add(1, Ordering::SeqCst);
        }
        DEPTH.set(depth + 1);
        let inside = Self(());
        // The count comes first, so that the exiting thread either sees it or has set the flag before.
        let stops = depth == 0 && !ENDS.get() && EXITING.load(Ordering::SeqCst);
        (!stops).then_some(inside)
    }

    /// Begins the part in a thread that has not the GIL.
    fn enter() -> Self {
        Self::try_enter().unwrap_or_else(stop)
    }

    /// Begins the part in a thread that has the GIL.
    pub(crate) fn attached(py: Python<'_>) -> Self {
        Self::try_enter().unwrap_or_else(|| py.detach(stop))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let depth = DEPTH.get().saturating_sub(1);
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Stops this thread until the process ends.
fn stop<T>() -> T {
    loop {
        std::thread::park();
    }
}

/// Does work without the GIL.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    // The part ends after the thread has the GIL again.
    let (done, _inside) = py.detach(|| (work(), Inside::enter()));
    done
}

/// Does work with the GIL in a thread that called the library.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _inside = Inside::enter();
    Python::attach(work)
}

/// Stops the other threads, and waits for those that run Python code for a call.
///
/// # Errors
/// `KeyboardInterrupt` if the person who waits interrupts.
pub(crate) fn close(py: Python<'_>) -> PyResult<()> {
    ENDS.set(true);
    EXITING.store(true, Ordering::SeqCst);
    let end = Instant::now() + WAIT_MAX;
    let own = usize::from(DEPTH.get() > 0);
    // This thread has the GIL whenever it looks, so no other thread begins such a part after the last look.
    while INSIDE.load(Ordering::SeqCst) > own && Instant::now() < end {
        py.detach(|| std::thread::sleep(PAUSE));
        py.check_signals()?;
    }
    Ok(())
}

/// Forgets the threads of the parent, of which a forked child has none but its own.
#[pyfunction]
pub(crate) fn after_fork() {
    INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
}
