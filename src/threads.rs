//! What threads share and wait by: locks, a pointer that is swapped, starting and sleeping, work done at the same time.
//!
//! They are named here and nowhere else below the program. In the package `schedules/` (`cargo schedules`), stand-ins take their
//! place that let one thread run at a time, and let a scheduler choose at each of their calls which one goes on.
//!
//! # Layer
//! L0.

#[cfg(not(shuttle))]
pub(crate) use {
    arc_swap::{ArcSwap, ArcSwapOption},
    parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard},
    std::thread::{Builder, sleep},
};
#[cfg(shuttle)]
pub(crate) use {
    chosen::{ArcSwap, ArcSwapOption, RwLock, sleep},
    shuttle::thread::Builder,
    shuttle_parking_lot::{MappedRwLockReadGuard, Mutex, RwLockReadGuard},
};

#[cfg(all(not(shuttle), any(test, feature = "testing")))]
pub(crate) use parking_lot::MutexGuard;
#[cfg(all(shuttle, any(test, feature = "testing")))]
pub(crate) use shuttle_parking_lot::MutexGuard;

#[cfg(not(shuttle))]
/// Does `here` on this thread and `there` on another one; behind `here`, if no thread can be started. Both are done when it
/// returns.
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
        (
            mine,
            theirs.expect("whoever comes first takes it, and only one comes"),
        )
    })
}

/// One after the other: what is done at the same time here shares nothing whose order matters.
#[cfg(shuttle)]
pub(crate) fn beside<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    (here(), there())
}

/// How many threads can run at the same time.
pub(crate) fn processors() -> usize {
    // Asked once: the system answers from files that it makes up anew each time.
    static PROCESSORS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// What there is no stand-in for, as far as the crate uses it.
#[cfg(shuttle)]
mod chosen {
    use std::sync::Arc;
    use std::time::Duration;

    use shuttle_parking_lot::{Mutex, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) struct ArcSwap<T>(Mutex<Arc<T>>);

    impl<T: Default> Default for ArcSwap<T> {
        fn default() -> Self {
            Self::from_pointee(T::default())
        }
    }

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> Self {
            Self(Mutex::new(Arc::new(value)))
        }

        pub(crate) fn load_full(&self) -> Arc<T> {
            self.0.lock().clone()
        }

        pub(crate) fn load(&self) -> Arc<T> {
            self.load_full()
        }

        pub(crate) fn store(&self, value: Arc<T>) {
            *self.0.lock() = value;
        }

        /// Others may come in between reading and writing, and then it is tried again.
        pub(crate) fn rcu(&self, change: impl Fn(&Arc<T>) -> T) {
            loop {
                let before = self.load_full();
                let after = Arc::new(change(&before));
                let mut now = self.0.lock();
                if Arc::ptr_eq(&now, &before) {
                    *now = after;
                    return;
                }
            }
        }
    }

    pub(crate) struct ArcSwapOption<T>(Mutex<Option<Arc<T>>>);

    impl<T> ArcSwapOption<T> {
        pub(crate) fn empty() -> Self {
            Self(Mutex::new(None))
        }

        pub(crate) fn load_full(&self) -> Option<Arc<T>> {
            self.0.lock().clone()
        }

        pub(crate) fn store(&self, value: Option<Arc<T>>) {
            *self.0.lock() = value;
        }
    }

    #[derive(Default)]
    pub(crate) struct RwLock<T>(shuttle_parking_lot::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle_parking_lot::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read()
        }

        /// May be called by who holds the lock for reading already, so no writer may stand in the queue.
        pub(crate) fn read_recursive(&self) -> RwLockReadGuard<'_, T> {
            self.0.read()
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            loop {
                if let Some(guard) = self.0.try_write() {
                    return guard;
                }
                shuttle::thread::yield_now();
            }
        }
    }

    /// Lets the others go on first.
    pub(crate) fn sleep(_: Duration) {
        shuttle::thread::yield_now();
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn both_are_done_at_the_same_time() {
        let (ask, asked) = channel();
        let (answer, answered) = channel();
        // Each waits for the other: one after the other would never end.
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
