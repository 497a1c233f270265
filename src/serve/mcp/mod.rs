//! The Model Context Protocol: the operations as tools, states and items as resources, and three prompts.
//!
//! [`serve`] answers one client over two streams until the input ends or the process is told to stop.
//!
//! # Layer
//! Layer 9, part of serve. Uses rmcp.
//!
//! # Invariants
//! - MCP-1: the runtime never waits for the disk: each operation runs in a thread of its own.
//! - MCP-2: an error of an operation is an answer that a model can act on: its code, a sentence and the next step.

mod handler;
mod memory_files;
mod memory_tool;
mod prompts;
mod requests;
mod resources;
mod transport;

use std::io::{Read, Write};
use std::sync::Arc;

use rmcp::service::serve_directly;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, Semaphore};

use self::handler::Handler;
use self::transport::{Lines, REQUESTS_MAX};
use super::operations::Profile;
use crate::agent::Agent;
use crate::error::{Error, Result};
use crate::serve::Caller;

/// How a server presents itself to one client.
pub(crate) struct Serving {
    pub(crate) agent: Agent,
    /// The caller. A missing actor, and a session that nobody named, are named after the client.
    pub(crate) caller: Caller,
    pub(crate) profile: Profile,
}

/// Answers one client until the input ends, or until the process gets SIGTERM or SIGINT. Requests that are read before
/// are answered.
///
/// # Errors
/// `Io` if the system starts no thread or no runtime.
pub(crate) fn serve(
    serving: Serving,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let failed = |error| Error::io("starting the server", error);
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(REQUESTS_MAX)
        .build()
        .map_err(failed)?;
    let permits = Arc::new(Semaphore::new(REQUESTS_MAX));
    let stop = Arc::new(Notify::new());
    let (lines, written) = Lines::start(input, output, Arc::clone(&permits), Arc::clone(&stop))?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let signalled = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        let ended = serve_directly(Handler::new(serving, permits), lines, None).waiting();
        tokio::pin!(ended);
        tokio::select! {
            _ = &mut ended => {}
            () = signalled => {
                // A signal is like the end of the input (MCT-5).
                stop.notify_one();
                drop(ended.await);
            }
        }
        written.wait().await;
        Ok(())
    })
    // The thread that reads the input may wait for a line for ever, so nobody waits for it.
}
