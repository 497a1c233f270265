//! Interrupts (Ctrl+C) while the main thread waits for the store's lock or does long work.
//!
//! The library asks [`is_asked`] often, in the thread that called it. In the main thread, this runs Python's handlers of
//! signals about ten times a second. If a handler raises, the library ends the work before it changes anything, and the
//! call raises the exception.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::unusable;
use crate::exit::attached;

/// The pause between two looks for signals.
const PAUSE: Duration = Duration::from_millis(100);

thread_local! {
    /// The time of the last look, or of the start of the call.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The exception that ended the work.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether this thread runs signal handlers inside a call.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Begins a call.
pub(crate) fn begin() {
    LOOKED.set(Some(Instant::now()));
}

/// Refuses a call from a signal handler that runs inside another call. The outer call may hold locks that this one needs.
///
/// # Errors
/// `HandleError` (code `in_signal_handler`) inside such a handler.
pub(crate) fn refuse_in_handler(py: Python<'_>) -> PyResult<()> {
    if !IN_HANDLER.get() {
        return Ok(());
    }
    Err(unusable(
        py,
        "a signal handler cannot use the store while a call of the same thread waits",
        "in_signal_handler",
        "raise an exception in the handler, or set a flag and use the store after the call",
    ))
}

/// Returns the exception that ended the work of this thread.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Returns whether the work of this thread must stop.
pub(crate) fn is_asked() -> bool {
    // A handler may drop the last handle of a store, whose close asks here.
    if IN_HANDLER.get() || LOOKED.get().is_none_or(|looked| looked.elapsed() < PAUSE) {
        return RAISED.with_borrow(Option::is_some);
    }
    // Python runs handlers in the main thread alone. In another thread, this look does nothing.
    let looked = attached(|py| {
        IN_HANDLER.set(true);
        let looked = py.check_signals();
        IN_HANDLER.set(false);
        looked
    });
    if let Err(error) = looked {
        RAISED.set(Some(error));
    }
    begin();
    RAISED.with_borrow(Option::is_some)
}
