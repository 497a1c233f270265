//! The requests of a client that wait for their answers, and the answers of batches.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - MCQ-1: a request is here from its line until its answer is written, or the client cancels it.
//! - MCQ-2: a batch is answered once, by an array, when each of its requests is answered or cancelled.

use std::collections::HashMap;

use rmcp::model::RequestId;
use tokio::sync::Notify;

use parking_lot::Mutex;

/// The requests that wait for their answers.
#[derive(Default)]
pub(super) struct Requests {
    waiting: Mutex<Waiting>,
    /// Tells that a request ended.
    ended: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Each request, with the number of its batch.
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, Batch>,
    newest_batch: u64,
}

/// A batch that is not answered yet.
#[derive(Default)]
struct Batch {
    answers: Vec<String>,
    /// The number of answers that are missing.
    missing: usize,
}

impl Requests {
    /// Registers a request. Returns false if a request with this id waits.
    pub(super) fn start(&self, id: RequestId, batch: Option<u64>) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.requests.contains_key(&id) {
            return false;
        }
        waiting.requests.insert(id, batch);
        if let Some(batch) = batch.and_then(|batch| waiting.batches.get_mut(&batch)) {
            batch.missing += 1;
        }
        true
    }

    /// Ends a request that is answered or cancelled. `answer` belongs to its batch. Returns the array that answers the
    /// batch if this was the last request of it.
    pub(super) fn end(&self, id: &RequestId, answer: Option<String>) -> Option<String> {
        let answers = {
            let mut waiting = self.waiting.lock();
            let number = waiting.requests.remove(id).flatten();
            number.and_then(|number| {
                let batch = waiting.batches.get_mut(&number)?;
                batch.answers.extend(answer);
                batch.missing -= 1;
                waiting.finished(number)
            })
        };
        self.ended.notify_waiters();
        answers
    }

    pub(super) fn is_in_batch(&self, id: &RequestId) -> bool {
        matches!(self.waiting.lock().requests.get(id), Some(Some(_)))
    }

    /// Begins a batch, and returns its number.
    pub(super) fn new_batch(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.newest_batch += 1;
        let number = waiting.newest_batch;
        waiting.batches.insert(number, Batch::default());
        number
    }

    /// Adds the answer to an element of a batch that is no message.
    pub(super) fn refused(&self, batch: u64, answer: String) {
        if let Some(batch) = self.waiting.lock().batches.get_mut(&batch) {
            batch.answers.push(answer);
        }
    }

    /// Says that the batch is whole. Returns the array that answers it, if no answer is missing.
    pub(super) fn close_batch(&self, number: u64) -> Option<String> {
        self.waiting.lock().finished(number)
    }

    /// Waits until fewer than `limit` requests wait.
    pub(super) async fn fewer_than(&self, limit: usize) {
        loop {
            // Made before the check, so that no end between the check and the wait is missed.
            let ended = self.ended.notified();
            if self.waiting.lock().requests.len() < limit {
                return;
            }
            ended.await;
        }
    }
}

impl Waiting {
    /// Removes a batch without missing answers, and returns the array that answers it. A batch of notifications has no
    /// answer.
    fn finished(&mut self, number: u64) -> Option<String> {
        if self.batches.get(&number)?.missing > 0 {
            return None;
        }
        let answers = self.batches.remove(&number)?.answers;
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    /// INVARIANT MCQ-1: a request is here until its answer is written, or the client cancels it.
    #[tokio::test]
    async fn a_request_waits_until_it_ends() {
        use std::time::Duration;
        use tokio::time::timeout;
        let requests = Requests::default();
        assert!(requests.start(id(1), None));
        let soon = Duration::from_millis(20);
        assert!(timeout(soon, requests.fewer_than(1)).await.is_err());
        let ended = async {
            tokio::task::yield_now().await;
            requests.end(&id(1), None)
        };
        let (waited, _) = tokio::join!(timeout(Duration::from_secs(9), requests.fewer_than(1)), ended);
        assert!(waited.is_ok());
        assert!(requests.start(id(1), None), "the id is free again");
    }

    /// INVARIANT MCQ-2: a batch is answered once, when each of its requests is answered or cancelled.
    #[test]
    fn a_batch_is_answered_once() {
        let requests = Requests::default();
        let batch = requests.new_batch();
        assert!(requests.start(id(1), Some(batch)) && requests.start(id(2), Some(batch)));
        assert!(!requests.start(id(2), Some(batch)), "the id waits");
        requests.refused(batch, "0".to_owned());
        assert_eq!(requests.close_batch(batch), None);
        assert_eq!(requests.end(&id(1), Some("1".to_owned())), None);
        assert_eq!(requests.end(&id(1), Some("1".to_owned())), None);
        // The client cancels the last one.
        assert_eq!(requests.end(&id(2), None).as_deref(), Some("[0,1]"));
        let batch = requests.new_batch();
        assert_eq!(requests.close_batch(batch), None, "nothing to answer");
    }
}
