//! The queue of the group commit: the drafts that wait, and the result for the caller of each.
//!
//! The caller whose draft is the first in an empty queue waits for the writer's mutex, and then commits every draft in
//! the queue. The other callers wait only for their results, so they do not compete for the mutex.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - GRP-1: a caller that the host stops before its group is taken from the queue ends no commit of another caller.
//! - GRP-2: the caller of the first request in the queue commits the group, or receives `Told::Lead`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorCode, Result};
use crate::store::{CommitEntry, settle};
use crate::threads::{Condvar, Mutex};

use super::Draft;
use crate::engine::inner::Inner;
use crate::engine::read::CommitInfo;
use crate::engine::settings::Settings;

/// The result of a call that writes.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Committed {
    /// The new commit, or the head if nothing changed.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub commit: CommitInfo,
    /// Whether the call made a new commit.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub changed: bool,
}

impl Committed {
    pub(crate) fn of(entry: &CommitEntry, changed: bool) -> Self {
        let commit = CommitInfo::of(entry);
        Self { commit, changed }
    }
}

/// One caller's draft in the queue of a group commit.
pub(crate) struct Request {
    /// The line of the draft.
    pub(crate) inner: Arc<Inner>,
    pub(crate) draft: Draft,
    pub(crate) op: String,
    pub(crate) answer: Arc<Answer>,
}

/// The pause between two questions of a waiting caller whether it must stop.
const STOP_EVERY: Duration = Duration::from_millis(100);

/// What a waiting caller is told.
#[expect(
    clippy::large_enum_variant,
    reason = "each commit has one value, and a box would be an allocation"
)]
enum Told {
    Result(Result<Committed>),
    /// The caller must commit the group, because the caller before it stopped.
    Lead,
}

/// The place where a caller waits for the result of its draft.
#[derive(Default)]
pub(crate) struct Answer {
    told: Mutex<Option<Told>>,
    given: Condvar,
}

impl Answer {
    /// Tells the caller something, and wakes it.
    fn tell(&self, told: Told) {
        *self.told.lock() = Some(told);
        self.given.notify_one();
    }

    fn give(&self, result: Result<Committed>) {
        self.tell(Told::Result(result));
    }

    /// Waits until the caller is told something. With `stop`, also asks often whether the caller must stop.
    ///
    /// # Errors
    /// The error of `stop`.
    fn wait(&self, stop: Option<&Settings>) -> Result<Told> {
        let mut told = self.told.lock();
        loop {
            if let Some(told) = told.take() {
                return Ok(told);
            }
            let Some(settings) = stop else {
                self.given.wait(&mut told);
                continue;
            };
            if self
                .given
                .wait_until(&mut told, Instant::now() + STOP_EVERY)
                .timed_out()
            {
                // Calls the host without the lock.
                drop(told);
                settings.check_stop()?;
                told = self.told.lock();
            }
        }
    }
}

/// A group waits for the callers of the group before it for at most this part of the time in which that group was written.
const PATIENCE: u32 = 2;
/// A group does not wait if its patience is shorter than this, because waking a thread takes about as long.
const PATIENCE_MIN: Duration = Duration::from_micros(20);

/// The drafts that wait for the next group commit.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    complete: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<Request>,
    /// The number of callers that the last group and the queue had when that group was written.
    expected: usize,
    /// The time in which the last group was written and synced.
    took: Duration,
}

impl Queue {
    /// Adds a request. Returns whether it is the first of its group: then its caller must commit the group.
    pub(super) fn push(&self, request: Request) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.requests.push(request);
        let count = waiting.requests.len();
        if count == waiting.expected {
            self.complete.notify_one();
        }
        count == 1
    }

    /// Takes the requests of a group out of the queue. The next request begins the next group. On a slow disk, first
    /// waits for the callers of the last group, because otherwise half of the callers would always miss a group.
    fn take(&self) -> Vec<Request> {
        let mut waiting = self.waiting.lock();
        let patience = waiting.took / PATIENCE;
        if patience >= PATIENCE_MIN {
            let until = Instant::now() + patience;
            while waiting.requests.len() < waiting.expected
                && !self.complete.wait_until(&mut waiting, until).timed_out()
            {}
        }
        std::mem::take(&mut waiting.requests)
    }

    /// Removes a request that no group has taken. Returns whether it did.
    fn withdraw(&self, answer: &Arc<Answer>) -> bool {
        let mut waiting = self.waiting.lock();
        let mut requests = waiting.requests.iter();
        let Some(at) = requests.position(|request| Arc::ptr_eq(&request.answer, answer)) else {
            return false;
        };
        waiting.requests.remove(at);
        // INVARIANT GRP-2: the next request is the first now, so its caller commits the group.
        if at == 0
            && let Some(next) = waiting.requests.first()
        {
            next.answer.tell(Told::Lead);
        }
        true
    }

    /// Notes how many callers a group had, and in which time it was written.
    fn written(&self, count: usize, took: Duration) {
        let mut waiting = self.waiting.lock();
        waiting.expected = count + waiting.requests.len();
        waiting.took = took;
    }

    /// Returns the number of waiting requests.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().requests.len()
    }
}

impl Inner {
    /// Commits a draft together with the drafts of other callers, and returns its result.
    pub(super) fn commit_in_group(self: &Arc<Self>, draft: Draft, op: String) -> Result<Committed> {
        let answer = Arc::new(Answer::default());
        let mut leads = self.queue.push(Request {
            inner: Arc::clone(self),
            draft,
            op,
            answer: Arc::clone(&answer),
        });
        let mut stop = self.settings().stop.is_some().then(|| self.settings());
        loop {
            if leads {
                self.commit_queue(&answer)?;
            }
            match answer.wait(stop) {
                Ok(Told::Result(result)) => return result,
                Ok(Told::Lead) => leads = true,
                Err(error) if self.queue.withdraw(&answer) => return Err(error),
                // A group has the draft, so its result is due.
                Err(_) => (leads, stop) = (false, None),
            }
        }
    }

    /// Commits the drafts in the queue as one group, and gives each caller its result. `own` is the answer of the caller,
    /// whose request is the first.
    ///
    /// # Errors
    /// `Io` (code `interrupted`) if the host stops this caller before the group is taken. Another caller commits it then.
    fn commit_queue(&self, own: &Arc<Answer>) -> Result<()> {
        let mut group = Group {
            queue: &self.queue,
            taken: None,
        };
        let mut writing = self.log.lock();
        let main = self.main();
        let results = main.write_with(&mut writing, |writing| {
            let requests = group.requests();
            let results = main.commit_group(writing, requests);
            self.queue.written(requests.len(), writing.took);
            results
        });
        // The next group can begin while this thread wakes the callers.
        drop(writing);
        if let Err(error) = &results
            && error.code() == ErrorCode::Interrupted
            && group.taken.is_none()
            && self.queue.withdraw(own)
        {
            // INVARIANT GRP-1: the stopped caller leaves, and the next one commits the group.
            group.taken = Some(Vec::new());
            return Err(error.clone());
        }
        group.answer(results);
        Ok(())
    }
}

/// The requests that are committed together. Each of them gets a result, even if the thread that commits them panics.
struct Group<'a> {
    queue: &'a Queue,
    taken: Option<Vec<Request>>,
}

impl Group<'_> {
    /// Returns the requests. The first call takes them out of the queue, and the next request begins the next group.
    fn requests(&mut self) -> &[Request] {
        self.taken.get_or_insert_with(|| self.queue.take())
    }

    /// Gives each caller its result.
    fn answer(mut self, results: Result<Vec<Result<Committed>>>) {
        let count = self.requests().len();
        let requests = self.taken.replace(Vec::new()).unwrap_or_default();
        let mut results = results
            .unwrap_or_else(|error| vec![Err(error); count])
            .into_iter();
        for request in &requests {
            request.answer.give(results.next().unwrap_or_else(without_result));
        }
        let changes = requests
            .iter()
            .map(|request| request.draft.staged.len() as u64)
            .sum();
        drop(requests);
        settle(changes);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for request in self.requests() {
            request.answer.give(without_result());
        }
    }
}

fn without_result() -> Result<Committed> {
    Err(Error::internal("the group commit returned no result for a draft"))
}
