//! Shows on the terminal which work runs, at which size.

use std::io::{IsTerminal, Write};
use std::time::Instant;

/// A line on the standard error, if it is a terminal.
pub struct Progress {
    is_terminal: bool,
    start: Instant,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            start: Instant::now(),
        }
    }

    /// Shows the work that begins, and which of its repetitions.
    pub fn at(&self, work: &str, n: u64, time: u64, times: u64) {
        let repetition = if times > 1 {
            format!(", {time} of {times}")
        } else {
            String::new()
        };
        self.show(&format!(
            "{n} objects: {work}{repetition} ({} s so far)",
            self.start.elapsed().as_secs()
        ));
    }

    /// Removes the line.
    pub fn end(&self) {
        self.show("");
    }

    fn show(&self, line: &str) {
        if self.is_terminal {
            let mut terminal = std::io::stderr().lock();
            // A terminal that is gone needs no progress.
            drop(write!(terminal, "\r\x1b[K{line}").and_then(|()| terminal.flush()));
        }
    }
}
