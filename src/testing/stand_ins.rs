//! Test versions of thread primitives that the crate uses, but that the scheduler library of `schedules/` does not
//! contain. `src/threads.rs` includes this file in that package.
//!
//! # Layer
//! Layer 0.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shuttle_parking_lot::{Mutex, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

pub(crate) struct ArcSwap<T>(Mutex<Arc<T>>);

impl<T: Default> Default for ArcSwap<T> {
    fn default() -> Self {
        Self::from_pointee(T::default())
    }
}

impl<T> ArcSwap<T> {
    pub(crate) fn new(value: Arc<T>) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn from_pointee(value: T) -> Self {
        Self::new(Arc::new(value))
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

    /// Tries again if another thread wrote between the read and the write.
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

    pub(crate) fn from_pointee(value: T) -> Self {
        Self(Mutex::new(Some(Arc::new(value))))
    }

    pub(crate) fn load(&self) -> Option<Arc<T>> {
        self.load_full()
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

    /// Acquires the lock for reading. A thread that already has the lock may call this, so a waiting writer must not
    /// block that thread.
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

#[derive(Default)]
pub(crate) struct Condvar(());

impl Condvar {
    /// Lets the other threads run. May return without a notification, as every condition variable may.
    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        MutexGuard::unlocked(guard, shuttle::thread::yield_now);
    }

    /// Lets the other threads run, and then stops waiting.
    pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _: Instant) -> TimedOut {
        self.wait(guard);
        TimedOut
    }

    pub(crate) fn notify_one(&self) {}
}

pub(crate) struct TimedOut;

impl TimedOut {
    pub(crate) fn timed_out(&self) -> bool {
        true
    }
}

/// Lets the other threads run first.
pub(crate) fn sleep(_: Duration) {
    shuttle::thread::yield_now();
}
