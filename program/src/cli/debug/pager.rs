//! Sends answers to the pager of `$PAGER`.
//!
//! # Layer
//! Layer 10, part of cli. Starts a process only at a terminal.

use std::env;
use std::process::{Child, Command, Stdio};

use crate::cli::output::Output;

/// A running pager.
pub(super) struct Pager(Child);

impl Pager {
    /// Starts the pager of `$TREERING_PAGER` or `$PAGER` and sends the output to it. Returns `None` if there is no
    /// pager.
    pub(super) fn start(output: &mut Output) -> Option<Self> {
        let named = ["TREERING_PAGER", "PAGER"]
            .into_iter()
            .find_map(|name| env::var(name).ok())?;
        let mut words = named.split_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            // These flags make `less` show colours, exit if the answer fits on the screen, and leave the answer on the
            // screen.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let input = child.stdin.take()?;
        output.redirect(Some(Box::new(input))).ok()?;
        Some(Self(child))
    }

    /// Sends the output to the terminal again, and waits until the user exits the pager.
    pub(super) fn finish(mut self, output: &mut Output) {
        // The buffered output cannot be written if the user exited the pager. This failure is ignored.
        drop(output.redirect(None));
        drop(self.0.wait());
    }
}
