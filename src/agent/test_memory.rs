//! A memory for tests, with a clock that the test controls.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Agent, Settings};
use crate::engine::{Clock, Options};
use crate::object::Time;

pub(super) use treering_text::calendar::DAY_MICROS as DAY;

/// A clock that stands still until the test advances it.
pub(super) struct TestClock(AtomicI64);

impl TestClock {
    pub(super) fn add(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A memory in a temporary folder. The clock starts at noon of day 20,000 after 1970-01-01.
pub(super) struct TestMemory {
    pub(super) agent: Agent,
    pub(super) clock: Arc<TestClock>,
    _folder: tempfile::TempDir,
}

impl TestMemory {
    pub(super) fn new(settings: Settings) -> Self {
        let clock = Arc::new(TestClock(AtomicI64::new(20_000 * DAY + DAY / 2)));
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new().clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let memory = options.create(folder.path().join("store")).unwrap();
        Self {
            agent: Agent::new(memory, settings),
            clock,
            _folder: folder,
        }
    }
}
