//! A pager for answers that are longer than the screen; shorter ones go straight to it.
//!
//! # Layer
//! L9, part of cli. Starts a process only when a screen is full and somebody looks on.

use std::env;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::cli::output::Screen;

/// What an answer is written to. The pager's process is shared with whoever waits for it.
pub(super) struct Pager {
    /// Lines that fit on the screen; the prompt needs one.
    lines_left: usize,
    held: Vec<u8>,
    into: Option<ChildStdin>,
    screen: Screen,
    /// No pager could be started: everything goes to standard output.
    direct: bool,
    process: Paging,
}

/// The pager's process, once there is one.
#[derive(Clone, Default)]
pub(super) struct Paging(Arc<Mutex<Option<Child>>>);

impl Paging {
    /// Waits until the person has left the pager.
    pub(super) fn wait(&self) {
        if let Some(mut child) = self.0.lock().take() {
            // However it ended, the person is back at the prompt.
            drop(child.wait());
        }
    }
}

impl Pager {
    /// A pager for a screen of so many lines.
    pub(super) fn new(lines: usize, screen: Screen) -> (Self, Paging) {
        let process = Paging::default();
        let pager = Self {
            lines_left: lines.saturating_sub(1),
            held: Vec::new(),
            into: None,
            screen,
            direct: false,
            process: process.clone(),
        };
        (pager, process)
    }

    fn is_holding(&self) -> bool {
        self.into.is_none() && !self.direct
    }

    fn start(&mut self) -> io::Result<()> {
        // Before the pager has the screen, what stands there must go.
        self.screen.flush()?;
        match spawn() {
            Some(mut child) => {
                self.into = child.stdin.take();
                *self.process.0.lock() = Some(child);
            }
            None => self.direct = true,
        }
        let held = std::mem::take(&mut self.held);
        self.pass(&held)
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.into {
            Some(into) => into.write_all(bytes),
            None => self.screen.write_all(bytes),
        }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_holding() {
            self.pass(bytes)?;
            return Ok(bytes.len());
        }
        let lines = bytes.split(|byte| *byte == b'\n').count().saturating_sub(1);
        self.held.extend_from_slice(bytes);
        if lines > self.lines_left {
            self.start()?;
        }
        self.lines_left = self.lines_left.saturating_sub(lines);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.into {
            Some(into) => into.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // A short answer is on the screen when it is whole. Whoever cannot read it cannot be told so either.
        let held = std::mem::take(&mut self.held);
        drop(self.screen.write_all(&held).and_then(|()| self.screen.flush()));
    }
}

/// Starts the pager that the environment names, else `less`, which leaves short answers on the screen.
fn spawn() -> Option<Child> {
    let named = ["TREERING_PAGER", "PAGER"]
        .into_iter()
        .find_map(|name| env::var(name).ok());
    let line = named.unwrap_or_else(|| "less".to_owned());
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}
