//! Counts of the calls of a server, which its metrics show.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// The bounds of the times of calls that are counted apart, in milliseconds.
pub(crate) const BOUNDS_MS: [u64; 9] = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

/// What calls are counted by: the operation, the code of the error, which is `ok` for a success, and the client, which is
/// empty without clients of their own. The first two are names of this program and the third one is of the file of clients,
/// so a client cannot add keys.
pub(crate) type Key = (&'static str, &'static str, String);

#[derive(Default)]
pub(crate) struct Counts(Mutex<Counted>);

/// The calls so far.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    pub(crate) calls: BTreeMap<Key, Calls>,
    /// The times of the calls of each operation.
    pub(crate) times: BTreeMap<&'static str, Times>,
}

/// The number of calls, and how long they took together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Calls {
    pub(crate) count: u64,
    pub(crate) time: Duration,
}

/// The numbers of calls that took at most each of [`BOUNDS_MS`], and of all.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) within: [u64; BOUNDS_MS.len()],
    pub(crate) all: Calls,
}

impl Counts {
    /// Counts a call.
    pub(crate) fn add(
        &self,
        operation: &'static str,
        code: &'static str,
        client: Option<&str>,
        time: Duration,
    ) {
        let mut counted = self.0.lock();
        let key = (operation, code, client.unwrap_or_default().to_owned());
        counted.calls.entry(key).or_default().add(time);
        let times = counted.times.entry(operation).or_default();
        times.all.add(time);
        for (bound, within) in BOUNDS_MS.iter().zip(&mut times.within) {
            *within += u64::from(time <= Duration::from_millis(*bound));
        }
    }

    /// Returns all counts.
    pub(crate) fn all(&self) -> Counted {
        self.0.lock().clone()
    }
}

impl Calls {
    fn add(&mut self, time: Duration) {
        self.count += 1;
        self.time += time;
    }
}
