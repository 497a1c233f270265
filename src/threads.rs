//! What threads share and wait by: locks, a pointer that is swapped, starting and sleeping.
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
