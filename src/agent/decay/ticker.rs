//! A background thread that runs decay passes. The host starts the thread, and dropping the handle ends it.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The ticker cannot detect a clock that was wrong before the ticker started.
//!
//! # Invariants
//! - TIC-1: no pass runs after the handle is dropped.
//! - TIC-2: after the clock jumped by a day or more, no pass runs until the clock has been steady for a day.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::super::agent::Agent;
use super::pass::{Decayed, Pass, Summarizer};
use crate::engine::Writer;
use crate::error::{Error, Result};
use crate::object::Time;
use crate::threads::Builder;

/// The minimum size of a jump of the clock that pauses decay, and the time for which the clock must then be steady:
/// a day.
const JUMP: Duration = Duration::from_hours(24);

/// A callback that receives the result of each pass.
pub type Listener = Box<dyn Fn(&Result<Decayed>) + Send>;

/// A thread that runs a decay pass at a fixed interval. Dropping the handle waits for the current pass and ends the
/// thread.
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread. The first pass runs after one interval.
    ///
    /// # Errors
    /// `Io` if the system cannot start a thread.
    pub fn start(
        agent: Agent,
        interval: Duration,
        summarizer: Option<Arc<dyn Summarizer>>,
        listener: Listener,
    ) -> Result<Self> {
        let (stop, stopped) = bounded::<()>(0);
        let work = move || {
            let clock = || agent.memory().view().now();
            let mut watch = Watch::start(Instant::now(), clock());
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let now = clock();
                let pass = Pass {
                    summarizer: summarizer.as_deref(),
                    ..Pass::default()
                };
                // INVARIANT TIC-2: after a jump of the clock, no pass runs until the clock has been steady for a day.
                listener(&match watch.doubt(Instant::now(), now) {
                    doubt @ Some(_) => Ok(Decayed::nothing(now, doubt)),
                    None => agent.decay(&pass, &Writer::user().actor("decay")),
                });
            }
        };
        let started = Builder::new().name("treering-decay".to_owned()).spawn(work);
        let failed = |error: io::Error| Error::io("cannot start the decay thread", error);
        Ok(Self {
            stop: Some(stop),
            thread: Some(started.map_err(failed)?),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // Dropping the sender closes the channel, which wakes and ends the thread.
        drop(self.stop.take());
        // INVARIANT TIC-1. The join fails only if a listener panicked. In that case the thread has already ended.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Detects jumps of the clock.
struct Watch {
    /// The last moment at which the clock was right, and the time that the clock showed at this moment.
    since: Instant,
    said: Time,
    /// The moment when the jump was detected, and the error of the clock in microseconds; `None` if the clock is
    /// steady.
    jumped: Option<(Instant, i64)>,
}

impl Watch {
    fn start(since: Instant, said: Time) -> Self {
        Self {
            since,
            said,
            jumped: None,
        }
    }

    /// Checks the time `now` that the clock shows at the moment `at`. Returns the reason if the clock cannot be
    /// trusted.
    fn doubt(&mut self, at: Instant, now: Time) -> Option<String> {
        let went_by = i64::try_from(at.duration_since(self.since).as_micros()).unwrap_or(i64::MAX);
        let expected = self.said.as_micros().saturating_add(went_by);
        let off = now.as_micros().saturating_sub(expected);
        if is_even(off) {
            *self = Self::start(at, now);
            return None;
        }
        let (since, _) = match self.jumped {
            Some((since, before)) if is_even(off.saturating_sub(before)) => (since, before),
            _ => *self.jumped.insert((at, off)),
        };
        if at.duration_since(since) >= JUMP {
            *self = Self::start(at, now);
            return None;
        }
        let days = off / JUMP.as_micros() as i64;
        Some(format!(
            "the clock jumped {} days {}; decay pauses until the clock has been steady for a day",
            days.unsigned_abs(),
            if days < 0 { "back" } else { "ahead" }
        ))
    }
}

/// Checks whether an error of `off` microseconds is too small to count as a jump.
fn is_even(off: i64) -> bool {
    u128::from(off.unsigned_abs()) < JUMP.as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT TIC-2: after a jump of the clock, no pass runs until the clock has been steady for a day.
    #[test]
    fn a_clock_that_jumped_is_believed_after_an_even_day() {
        const HOUR: i64 = 3_600_000_000;
        let start = Instant::now();
        let mut watch = Watch::start(start, Time::from_micros(0));
        // Each row: the hours that passed, the hours that the clock shows, and whether a pass runs.
        for (row, (by, says, is_done)) in [
            (1, 1, true),
            (2, 25, true),
            (3, 26, true),
            // The clock is ten years ahead for less than a day.
            (4, 87_600, false),
            (5, 87_601, false),
            (26, 87_622, false),
            // A second jump restarts the waiting time of a day.
            (27, 200_000, false),
            (50, 200_023, false),
            (51, 200_024, true),
            (52, 200_025, true),
            // The clock jumps back, and is correct again before the waiting time is over.
            (53, 53, false),
            (54, 200_027, true),
            (55, 55, false),
            (79, 79, true),
        ]
        .into_iter()
        .enumerate()
        {
            let at = start + Duration::from_hours(by);
            let doubt = watch.doubt(at, Time::from_micros(says * HOUR));
            assert_eq!(doubt.is_none(), is_done, "row {row}: {doubt:?}");
        }
    }
}
