//! Decay in a thread of its own, which the host starts and which ends with its handle.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - TIC-1: no pass is under way once the handle is gone.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::super::agent::Agent;
use super::pass::{Decayed, Pass, Summarizer};
use crate::engine::Writer;
use crate::error::{Error, Result};
use crate::threads::Builder;

/// How far the clock may go ahead of the time that went by before it is told: a day.
const JUMP: Duration = Duration::from_hours(24);

/// Told what each pass did.
pub type Listener = Box<dyn Fn(&Result<Decayed>) + Send>;

/// A thread that does a pass of decay now and then. Dropping it ends the thread, after the pass that is under way.
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread: a pass every `interval`, the first one an interval from now.
    ///
    /// # Errors
    /// `Io` if the system starts no thread.
    pub fn start(
        agent: Agent,
        interval: Duration,
        summarizer: Option<Arc<dyn Summarizer>>,
        listener: Listener,
    ) -> Result<Self> {
        let (stop, stopped) = bounded::<()>(0);
        let work = move || {
            let mut clock = Watch::start(&agent);
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let jumped = clock.jumped(&agent);
                let pass = Pass {
                    summarizer: summarizer.as_deref(),
                    ..Pass::default()
                };
                let mut done = agent.decay(&pass, &Writer::new().actor("decay"));
                if let Ok(decayed) = &mut done {
                    decayed.warning = decayed.warning.take().or(jumped);
                }
                listener(&done);
            }
        };
        let started = Builder::new().name("treering-decay".to_owned()).spawn(work);
        let failed = |error: io::Error| Error::io("cannot start the thread of decay", error);
        Ok(Self {
            stop: Some(stop),
            thread: Some(started.map_err(failed)?),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // The channel closes, and the thread wakes up.
        drop(self.stop.take());
        // INVARIANT TIC-1. A listener that panicked has ended the thread already.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Tells a jump of the clock from time that went by.
struct Watch {
    since: Instant,
    clock_micros: i64,
}

impl Watch {
    fn start(agent: &Agent) -> Self {
        Self {
            since: Instant::now(),
            clock_micros: agent.memory().view().now().as_micros(),
        }
    }

    /// What is to be said of the clock since the last time this was asked.
    fn jumped(&mut self, agent: &Agent) -> Option<String> {
        let before = std::mem::replace(self, Self::start(agent));
        let went_by = i64::try_from(before.since.elapsed().as_micros()).unwrap_or(i64::MAX);
        let said = self.clock_micros.saturating_sub(before.clock_micros);
        let off = said.saturating_sub(went_by).unsigned_abs();
        let days = off / (JUMP.as_micros() as u64);
        (days > 0).then(|| {
            format!("the clock went {days} days ahead or back at once; each item goes one level down at most in a pass")
        })
    }
}
