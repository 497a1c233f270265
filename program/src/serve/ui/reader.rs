//! The reader of the page, and the derived values that its requests share.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::inbox::{AskedInbox, inbox};
use parking_lot::{Mutex, MutexGuard};
use treering::agent::Agent;
use treering::inspect::engine::{Ledger, SortedIds};
use treering::inspect::object::lane_of;
use treering::inspect::slots::Slots;
use treering::{Change, CommitInfo, Memory, Revision, View, Writer};
use treering::{Result, Root};

/// The number of lines whose derived values are kept.
const LINES_KEPT: usize = 4;
/// The number of states whose sorted ids are kept.
const STATES_KEPT: usize = 4;
/// The number of differences that are kept.
const DIFFS_KEPT: usize = 4;
/// The number of filters whose objects are kept.
const FILTERS_KEPT: usize = 6;

/// What the requests of the page share.
#[derive(Default)]
pub(crate) struct Shared {
    /// The writer of the ways back; `None` if the page only reads (PAG-3).
    writer: Option<Writer>,
    /// The line that the server serves, if it is a fork.
    pub(super) served: Option<String>,
    /// The lines that were read last, the newest first, each with what was derived from it. Another store may take the place
    /// of theirs (SRV-5).
    lines: Mutex<VecDeque<(Memory, Arc<Derived>)>>,
}

/// The derived values of one line.
#[derive(Default)]
pub(super) struct Derived {
    ids: Slots<Root, SortedIds, STATES_KEPT>,
    diffs: Slots<(Root, Root), Vec<Change>, DIFFS_KEPT>,
    /// The places of the ids that a filter selects, by the filter, the seq of the head and the number of kept commits.
    pub(super) chosen: Slots<(String, u64, usize), Vec<u32>, FILTERS_KEPT>,
    ledger: Mutex<Ledger>,
    has_ledger: AtomicBool,
}

impl Shared {
    pub(crate) fn new(writer: Option<Writer>, served: Option<String>) -> Self {
        Self {
            writer,
            served,
            ..Self::default()
        }
    }

    /// Returns the derived values of a line.
    fn derived(&self, memory: &Memory) -> Arc<Derived> {
        let mut lines = self.lines.lock();
        let known = lines.iter().position(|(of, _)| of.is_same(memory));
        let line = known.and_then(|place| lines.remove(place));
        let line = line.unwrap_or_else(|| {
            lines.retain(|(of, _)| of.is_in_place());
            (memory.clone(), Arc::default())
        });
        let derived = Arc::clone(&line.1);
        lines.push_front(line);
        lines.truncate(LINES_KEPT);
        derived
    }
}

/// The memory, for one request.
pub(crate) struct Reader {
    pub(super) agent: Agent,
    pub(super) derived: Arc<Derived>,
    pub(super) shared: Arc<Shared>,
}

impl Reader {
    pub(crate) fn new(agent: Agent, shared: Arc<Shared>) -> Self {
        let derived = shared.derived(agent.memory());
        Self {
            agent,
            derived,
            shared,
        }
    }

    pub(super) fn memory(&self) -> &Memory {
        self.agent.memory()
    }

    pub(super) fn writer(&self) -> Option<&Writer> {
        self.shared.writer.as_ref()
    }

    /// Returns the state at the head, with the commits of other processes.
    ///
    /// # Errors
    /// The errors of [`Memory::refresh`].
    pub(super) fn head(&self) -> Result<View> {
        self.memory().refresh()
    }

    /// Returns the state that `revision` names, else the head.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a revision; `NotFound` if there is no such state.
    pub(super) fn state(&self, revision: Option<&str>) -> Result<View> {
        let head = self.head()?;
        match revision
            .filter(|text| !text.is_empty())
            .map(str::parse)
            .transpose()?
        {
            None | Some(Revision::Head) => Ok(head),
            Some(revision) => self.memory().view_at(&revision, lane_of(None, None)),
        }
    }

    /// Returns the commit that `revision` names, without its state.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(super) fn commit(&self, revision: &str) -> Result<CommitInfo> {
        self.head()?;
        self.memory().resolve(&revision.parse()?, lane_of(None, None))
    }

    /// Returns the sorted ids of a state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(super) fn ids(&self, view: &View) -> Result<Arc<SortedIds>> {
        self.derived.ids.get(view.root(), || view.sorted_ids())
    }

    /// Returns the differences of two states, sorted by id.
    ///
    /// # Errors
    /// The errors of [`Memory::diff`].
    pub(super) fn diff(&self, older: &View, newer: &View) -> Result<Arc<Vec<Change>>> {
        let between = (older.root(), newer.root());
        let diff = || self.memory().diff(older, newer);
        self.derived.diffs.get(between, diff)
    }

    /// Returns the ledger at the head. The first call reads the history.
    ///
    /// # Errors
    /// The errors of [`Ledger::follow`].
    pub(super) fn ledger(&self) -> Result<MutexGuard<'_, Ledger>> {
        let head = self.head()?;
        let mut ledger = self.derived.ledger.lock();
        ledger.follow(&head)?;
        self.derived.has_ledger.store(true, Ordering::Release);
        Ok(ledger)
    }

    /// Returns the ledger at the head, unless another thread is still reading the history.
    ///
    /// # Errors
    /// The errors of [`Ledger::follow`].
    pub(super) fn ledger_at_hand(&self) -> Result<Option<MutexGuard<'_, Ledger>>> {
        if !self.derived.has_ledger.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.ledger().map(Some)
    }

    /// Reads what the first requests need: the sorted ids, the ledger, the index of words and the inbox.
    ///
    /// # Errors
    /// The errors of [`Self::ids`], [`Self::ledger`], [`Agent::with_index`] and [`inbox`].
    pub(crate) fn prepare(&self) -> Result<()> {
        self.ids(&self.head()?)?;
        self.ledger().map(drop)?;
        self.agent.with_index(&self.head()?, |_, _| Ok(()))?;
        inbox(self, &AskedInbox::default()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two people who look at different lines take nothing from each other, and the number of kept lines has a limit.
    #[test]
    fn the_lines_that_were_read_last_keep_what_was_derived() {
        let memory = Memory::in_memory().unwrap();
        let forks = [0, 1, 2, 3].map(|number| {
            let name = format!("task-{number}");
            memory.fork(&name).by(&Writer::user()).unwrap()
        });
        let shared = Shared::new(None, None);
        let main = shared.derived(&memory);
        let [first, ..] = forks.each_ref().map(|fork| {
            assert!(Arc::ptr_eq(&main, &shared.derived(&memory)));
            shared.derived(fork)
        });
        assert_eq!(shared.lines.lock().len(), LINES_KEPT);
        assert!(!Arc::ptr_eq(&first, &shared.derived(&forks[0])));
        assert!(Arc::ptr_eq(&main, &shared.derived(&memory)));
    }
}
