//! The deadline of an event: a hook never keeps the agent or the person waiting for longer.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - HKC-4: an event ends at its deadline, whatever it waits for. The next event keeps what this one did not, if the client
//!   writes a transcript. opencode writes none, so what it told only this event is lost.

use std::io::{self, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli::errors::DONE;
use crate::cli::output;

/// The longest time of an event. The installed hooks are stopped after 10 seconds, without a word; and a person who waits
/// longer than this for an answer takes the agent for stuck.
const EVENT_MAX: Duration = Duration::from_secs(5);
/// The part of that time in which an event begins further work, such as another part of a transcript.
const WORK_MAX: Duration = Duration::from_secs(2);

/// The deadline of an event, from its start. Ends the process when the time is over, unless it is dropped before.
pub(crate) struct Deadline {
    start: Instant,
    /// Dropping this ends the watch.
    _watch: Sender<()>,
}

impl Deadline {
    /// Starts the time of an event.
    ///
    /// `answer` is printed then, because some clients expect a document from each event.
    pub(crate) fn start(answer: Option<&'static str>) -> Self {
        let (watch, dropped) = channel::<()>();
        let watcher = thread::Builder::new().spawn(move || {
            if dropped.recv_timeout(EVENT_MAX) == Err(RecvTimeoutError::Timeout) {
                // INVARIANT HKC-4: every file of the store and of the hook is written at once or not at all.
                let seconds = EVENT_MAX.as_secs();
                output::fault(&format!(
                    "the event took longer than {seconds} seconds, so the next event goes on with it"
                ));
                if let Some(answer) = answer {
                    drop(writeln!(io::stdout(), "{answer}"));
                }
                output::end(DONE);
            }
        });
        // If no thread starts, each wait still has its own limit.
        drop(watcher);
        Self {
            start: Instant::now(),
            _watch: watch,
        }
    }

    /// Returns the time that is left to wait for another process, which leaves some for the work itself.
    pub(crate) fn left(&self) -> Duration {
        EVENT_MAX
            .saturating_sub(WORK_MAX)
            .saturating_sub(self.start.elapsed())
    }

    /// Whether there is time to begin further work.
    pub(crate) fn has_time(&self) -> bool {
        self.start.elapsed() < WORK_MAX
    }
}
