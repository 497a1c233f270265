//! Interrupts (Ctrl+C) while the main thread waits for the store's lock or does long work.
//!
//! The library asks [`is_asked`] often, in the thread that called it. In the main thread, this runs Python's handlers of
//! signals about ten times a second. If a handler raises, the library ends the work before it changes anything, and the
//! call raises the exception.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::exit::attached;

/// The pause between two looks for signals.
const PAUSE: Duration = Duration::from_millis(100);

thread_local! {
    /// The time of the last look, or of the start of the call.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The exception that ended the work.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether this is the main thread of the process with this number.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Begins a call.
pub(crate) fn begin() {
    LOOKED.set(Some(Instant::now()));
}

/// Returns the exception that ended the work of this thread.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Returns whether the work of this thread must stop.
pub(crate) fn is_asked() -> bool {
    if LOOKED.get().is_none_or(|looked| looked.elapsed() < PAUSE) {
        return RAISED.with_borrow(Option::is_some);
    }
    if is_main()
        && let Err(error) = attached(|py| py.check_signals())
    {
        RAISED.set(Some(error));
    }
    begin();
    RAISED.with_borrow(Option::is_some)
}

/// Returns whether this is the main thread, in which alone Python runs handlers. A fork makes another thread the main one.
fn is_main() -> bool {
    let process = std::process::id();
    if let Some((of, is_main)) = IS_MAIN.get()
        && of == process
    {
        return is_main;
    }
    let is_main = attached(|py| {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?;
        Ok::<_, PyErr>(main.is(&threading.call_method0("current_thread")?))
    });
    let is_main = is_main.unwrap_or(false);
    IS_MAIN.set(Some((process, is_main)));
    is_main
}
