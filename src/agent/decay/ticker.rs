//! Decay in a thread of its own, which the host starts and which ends with its handle.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - TIC-1: no pass is under way once the handle is gone.
//! - TIC-2: no pass is done by a clock that jumped more than a day, before it went evenly for a day.

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

/// How far the clock may be off the time that went by before it is not believed, and for how long it then is not: a day.
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
            let clock = || agent.memory().view().now();
            let mut watch = Watch::start(Instant::now(), clock());
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let now = clock();
                let pass = Pass {
                    summarizer: summarizer.as_deref(),
                    ..Pass::default()
                };
                // INVARIANT TIC-2.
                listener(&match watch.doubt(Instant::now(), now) {
                    Some(doubt) => Ok(Decayed::nothing(now, doubt)),
                    None => agent.decay(&pass, &Writer::new().actor("decay")),
                });
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
    /// A moment when the clock was believed, and what it said.
    since: Instant,
    said: Time,
    /// Since when it is not believed, and by how much it was off then, in microseconds.
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

    /// Why the clock is not to be believed at the moment `at`, when it says `now`.
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
            "the clock went {} days {} at once; nothing decays until it went evenly for a day",
            days.unsigned_abs(),
            if days < 0 { "back" } else { "ahead" }
        ))
    }
}

/// Whether a clock that is off so many microseconds did not jump.
fn is_even(off: i64) -> bool {
    u128::from(off.unsigned_abs()) < JUMP.as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT TIC-2.
    #[test]
    fn a_clock_that_jumped_is_believed_after_an_even_day() {
        const HOUR: i64 = 3_600_000_000;
        let start = Instant::now();
        let mut watch = Watch::start(start, Time::from_micros(0));
        // Hours that went by, and hours that the clock says; whether a pass is done.
        for (row, (by, says, is_done)) in [
            (1, 1, true),
            (2, 25, true),
            (3, 26, true),
            // Ten years ahead, and so for less than a day.
            (4, 87_600, false),
            (5, 87_601, false),
            (26, 87_622, false),
            // A second jump begins anew.
            (27, 200_000, false),
            (50, 200_023, false),
            (51, 200_024, true),
            (52, 200_025, true),
            // Back, and right again before the day is over.
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
