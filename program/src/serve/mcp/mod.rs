//! The Model Context Protocol: the operations as tools, states and items as resources, and three prompts.
//!
//! [`serve`] answers one client over two streams until the input ends or the process is told to stop.
//!
//! # Layer
//! Layer 9, part of serve. Uses rmcp.
//!
//! # Invariants
//! - MCP-1: the runtime never waits for the disk: the server runs each operation off it (SRV-4).
//! - MCP-2: an error of an operation is an answer that a model can act on: its code, a sentence and the next step.

mod app;
mod decide;
mod handler;
mod memory_files;
mod memory_tool;
mod message;
mod prompts;
mod requests;
mod resources;
mod tickets;
mod transport;

use std::io::{Read, Write};
use std::sync::Arc;

use rmcp::service::serve_directly;
use tokio::sync::Notify;

pub(crate) use self::handler::{Connection, Handler};
#[cfg(feature = "http")]
pub(crate) use self::message::{checked_id, not_allowed};
use self::transport::Lines;
use super::stop::{runtime, stopped};
use crate::serve::Server;
use treering::Result;

/// Answers one client until the input ends, or until the process gets SIGTERM or SIGINT. Requests that are read before
/// are answered. `ticket` is the secret by which the inbox in a chat decides.
///
/// # Errors
/// `Io` if the system starts no thread or no runtime.
pub(crate) fn serve(
    server: Server,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let stop = Arc::new(Notify::new());
    let (lines, written) = Lines::start(input, output, server.clone(), Arc::clone(&stop))?;
    runtime()?.block_on(async {
        let stopped = stopped()?;
        let handler = Handler::new(server, |_| Connection::default(), true);
        let ended = serve_directly(handler, lines, None).waiting();
        tokio::pin!(ended);
        tokio::select! {
            _ = &mut ended => {}
            () = stopped => {
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
