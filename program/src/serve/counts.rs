//! Counts of the calls of a server, which its metrics show.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// The calls so far, by operation and by the code of the error, which is `ok` for a success. Both are names of this
/// program, so a client cannot add keys.
#[derive(Default)]
pub(crate) struct Counts(Mutex<BTreeMap<(&'static str, &'static str), Calls>>);

/// The number of calls, and how long they took together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Calls {
    pub(crate) count: u64,
    pub(crate) time: Duration,
}

impl Counts {
    /// Counts a call.
    pub(crate) fn add(&self, operation: &'static str, code: &'static str, time: Duration) {
        let mut counts = self.0.lock();
        let calls = counts.entry((operation, code)).or_default();
        calls.count += 1;
        calls.time += time;
    }

    /// Returns the counts, by operation and code.
    pub(crate) fn all(&self) -> BTreeMap<(&'static str, &'static str), Calls> {
        self.0.lock().clone()
    }
}
