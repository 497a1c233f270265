//! The runtime of a server, and the signals that end it.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::server::CALLS_MAX;
use treering::{Error, Result};

/// Returns a runtime with one thread for the network, and one for each operation that may run. Dropping it waits for the
/// operations that run.
///
/// # Errors
/// `Io` if the system has no resources for it.
pub(super) fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().max_blocking_threads(CALLS_MAX as usize);
    builder.build().map_err(failed)
}

/// Returns what waits until the process gets SIGTERM or SIGINT. Neither ends the process from now on.
///
/// # Errors
/// `Io` if the system registers no signal.
pub(super) fn stopped() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn failed(error: std::io::Error) -> Error {
    Error::io("starting the server", error)
}
