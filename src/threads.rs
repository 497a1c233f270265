//! Primitives for threads: locks, a swappable pointer, parallel work and sleeping.
//!
//! Only this file and the command line use these primitives directly. The package `schedules/` (`cargo schedules`)
//! replaces them by test versions. The test versions let one thread run at a time, and call a scheduler that chooses
//! the next thread.
//!
//! # Layer
//! Layer 0.

#[cfg(not(shuttle))]
pub(crate) use {
    arc_swap::{ArcSwap, ArcSwapOption},
    parking_lot::{Condvar, MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard},
    std::thread::{Builder, sleep},
};
#[cfg(shuttle)]
pub(crate) use {
    shuttle::thread::Builder,
    shuttle_parking_lot::{MappedRwLockReadGuard, Mutex, RwLockReadGuard, RwLockWriteGuard},
    stand_ins::{ArcSwap, ArcSwapOption, Condvar, RwLock, sleep},
};

#[cfg(not(shuttle))]
pub(crate) use parking_lot::MutexGuard;
#[cfg(shuttle)]
pub(crate) use shuttle_parking_lot::MutexGuard;

#[cfg(not(shuttle))]
/// Runs `here` on this thread and `there` on another thread. If no thread can be started, runs `there` after `here`.
/// Returns after both have finished.
pub(crate) fn beside<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    let there = Mutex::new(Some(there));
    let work = || {
        let work = there.lock().take();
        work.map(|work| work())
    };
    std::thread::scope(|scope| {
        let other = Builder::new().spawn_scoped(scope, work).ok();
        let mine = here();
        let theirs = match other {
            Some(other) => other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => work(),
        };
        (mine, theirs.expect("only one call takes the closure"))
    })
}

/// Runs the closures one after the other. The result is the same, because parallel closures in this crate share no
/// state that depends on their order.
#[cfg(shuttle)]
pub(crate) fn beside<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    (here(), there())
}

/// Passes what `make` makes to `take`, which runs on another thread if one can be started. One value may wait. Returns the
/// first error. `make` gets the error `stopped` for its next value after `take` failed.
#[cfg(all(feature = "remote", not(shuttle)))]
pub(crate) fn handed_on<T: Send, E: Send>(
    make: impl FnOnce(&mut dyn FnMut(T) -> Result<(), E>) -> Result<(), E>,
    take: impl FnMut(T) -> Result<(), E> + Send,
    stopped: impl Fn() -> E,
) -> Result<(), E> {
    let take = &Mutex::new(take);
    let take = move |value| (*take.lock())(value);
    let (hand_on, handed) = crossbeam_channel::bounded(1);
    std::thread::scope(|scope| {
        let taker = Builder::new().spawn_scoped(scope, move || handed.into_iter().try_for_each(take));
        let Ok(taker) = taker else {
            return make(&mut { take });
        };
        let made = make(&mut |value| hand_on.send(value).map_err(|_| stopped()));
        drop(hand_on);
        let taken = taker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(made)
    })
}

/// With fewer bytes of work, a thread costs more time than it saves.
pub(crate) const BESIDE_BYTES: u64 = 256 << 10;

/// Runs both closures as [`beside`] does, if they have much to do; otherwise one after the other.
pub(crate) fn beside_if<A, B: Send>(
    is_much: bool,
    here: impl FnOnce() -> A,
    there: impl FnOnce() -> B + Send,
) -> (A, B) {
    if is_much {
        beside(here, there)
    } else {
        (here(), there())
    }
}

/// The least items for each thread of [`in_parallel`]. With fewer items, a thread costs more time than it saves.
#[cfg(feature = "ingest")]
const THREAD_ITEMS_MIN: usize = 64;

/// Applies `work` to each item, on all processors. Returns the results in the order of `items`.
#[cfg(feature = "ingest")]
pub fn in_parallel<T: Send, U: Send>(items: Vec<T>, work: &(impl Fn(T) -> U + Sync)) -> Vec<U> {
    on_threads(processors(), items, work)
}

/// Applies `work` to each item as [`in_parallel`] does, on at most `threads` threads.
#[cfg(feature = "ingest")]
fn on_threads<T: Send, U: Send>(
    threads: usize,
    mut items: Vec<T>,
    work: &(impl Fn(T) -> U + Sync),
) -> Vec<U> {
    if threads < 2 || items.len() < 2 * THREAD_ITEMS_MIN {
        return items.into_iter().map(work).collect();
    }
    let there = items.split_off(items.len() / 2);
    let (mut done, more) = beside(
        || on_threads(threads.div_ceil(2), items, work),
        || on_threads(threads / 2, there, work),
    );
    done.extend(more);
    done
}

/// Returns how many threads can run at the same time.
pub(crate) fn processors() -> usize {
    // Asks the system only once, because the kernel generates the files to read again for each query.
    static PROCESSORS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

#[cfg(shuttle)]
#[path = "testing/stand_ins.rs"]
mod stand_ins;

#[cfg(test)]
#[cfg(not(shuttle))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[cfg(feature = "remote")]
    #[test]
    fn values_are_handed_on_until_one_side_fails() {
        let run = |made: u32, fails_at: u32| {
            let mut taken = Vec::new();
            let done = handed_on(
                |hand_on| {
                    (0..made).try_for_each(hand_on)?;
                    if made < 100 { Ok(()) } else { Err("made") }
                },
                |value| {
                    taken.push(value);
                    if value < fails_at { Ok(()) } else { Err("taken") }
                },
                || "stopped",
            );
            (taken, done)
        };
        assert_eq!(run(9, 10), ((0..9).collect(), Ok(())));
        assert_eq!(run(9, 5), ((0..6).collect(), Err("taken")));
        assert_eq!(run(100, 1_000), ((0..100).collect(), Err("made")));
    }

    #[test]
    #[cfg(feature = "ingest")]
    fn the_results_have_the_order_of_the_items() {
        for threads in 1..6 {
            let doubled = on_threads(threads, (0..1_000).collect(), &|number: usize| number * 2);
            assert!(
                doubled.into_iter().eq((0..1_000).map(|number| number * 2)),
                "{threads}"
            );
        }
    }

    #[test]
    fn both_are_done_at_the_same_time() {
        let (ask, asked) = channel();
        let (answer, answered) = channel();
        // Each closure waits for the other. If the closures ran one after the other, the test would never end.
        let found = beside(
            || {
                ask.send(20).unwrap();
                answered.recv().unwrap()
            },
            move || {
                let number: u32 = asked.recv().unwrap();
                answer.send(number + 1).unwrap();
                "there"
            },
        );
        assert_eq!(found, (21, "there"));
    }
}
