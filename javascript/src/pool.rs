//! The threads that run calls. The event loop only hands calls to them.
//!
//! The threads of Node's own pool would not do: they are four, and `fetch` and `fs` need them. A call whose callback
//! waits for such a thread would wait for ever if other calls hold all of them.
//!
//! # Invariants
//! - POOL-1: a thread that waits for a callback does not count, so callbacks that make calls cannot use up the pool.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A call that waits for a thread.
type Job = Box<dyn FnOnce() + Send>;

/// The time after which a thread without work ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

struct State {
    jobs: VecDeque<Job>,
    /// The threads that wait for a job.
    idle: usize,
    /// The threads, without those that wait for a callback.
    active: usize,
}

static STATE: Mutex<State> = Mutex::new(State {
    jobs: VecDeque::new(),
    idle: 0,
    active: 0,
});
static WAKE: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most threads that work at the same time. Commits of several threads share one sync of the disk.
fn threads_max() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (2 * cores).max(4)
}

/// Starts a thread if a job waits that no idle thread takes.
fn grow(mut state: MutexGuard<'_, State>) {
    if state.jobs.len() <= state.idle || state.active >= threads_max() {
        return;
    }
    state.active += 1;
    drop(state);
    let made = thread::Builder::new().name("treering".to_owned()).spawn(work);
    if made.is_err() {
        // The other threads take the job.
        self::state().active -= 1;
    }
}

/// Runs a job on a thread of the pool.
pub(crate) fn run(job: Job) {
    let mut state = state();
    state.jobs.push_back(job);
    WAKE.notify_one();
    grow(state);
}

/// Waits in a callback. Another thread may take this one's place meanwhile.
pub(crate) fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    let mut state = self::state();
    // INVARIANT POOL-1: the thread does not count while it waits.
    state.active = state.active.saturating_sub(1);
    grow(state);
    let done = wait();
    self::state().active += 1;
    done
}

fn work() {
    let mut state = self::state();
    loop {
        if let Some(job) = state.jobs.pop_front() {
            drop(state);
            job();
            state = self::state();
            continue;
        }
        state.idle += 1;
        let (woken, waited) = WAKE
            .wait_timeout(state, IDLE_MAX)
            .unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if waited.timed_out() && state.jobs.is_empty() {
            state.active -= 1;
            return;
        }
    }
}
