//! A bucket that counts requests and bytes, and repeats a request whose outcome is unknown.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
//!
//! # Invariants
//! - RTR-1: a write whose answer was lost is settled by reading the object back. So a caller learns that its own write is
//!   there, and never takes it for the write of another client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Bucket, BucketError, BucketResult, Stored, Version};
use crate::threads::sleep;

/// How often a request is sent.
const TRIES: u32 = 8;
/// The pause before the second try. It doubles.
const PAUSE: Duration = Duration::from_millis(20);

/// The time after which a request is not sent again.
const REPEAT: Duration = Duration::from_mins(1);

/// A bucket with the counts of one call of a remote.
pub(in crate::remote) struct Counted {
    bucket: Arc<dyn Bucket>,
    requests: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    pause: Duration,
    tries: u32,
    wait: Duration,
}

impl Counted {
    /// Counts the requests to a bucket. They do not wait for its lock, unless the caller says so ([`Self::waiting`]).
    pub(in crate::remote) fn new(bucket: Arc<dyn Bucket>) -> Self {
        Self {
            bucket,
            requests: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            pause: PAUSE,
            tries: TRIES,
            wait: Duration::ZERO,
        }
    }

    /// Returns this bucket with another wait for the lock of the store.
    pub(in crate::remote) fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Returns this bucket without pauses and with few tries, for a simulated service.
    #[cfg(any(test, feature = "testing"))]
    pub(in crate::remote) fn impatient(self) -> Self {
        Self {
            pause: Duration::ZERO,
            tries: 2,
            ..self
        }
    }

    pub(in crate::remote) fn bucket(&self) -> &dyn Bucket {
        &*self.bucket
    }

    pub(in crate::remote) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(in crate::remote) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(in crate::remote) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a request until its outcome is known, but not for ever.
    fn send<T>(&self, request: impl Fn() -> BucketResult<T>) -> BucketResult<T> {
        let mut pause = self.pause;
        let (mut sent, mut is_unclear, started) = (0, false, Instant::now());
        loop {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let answer = request();
            sent += 1;
            is_unclear |= matches!(answer, Err(BucketError::Unclear(_)));
            match answer {
                // BKT-3: every other answer is certain.
                Err(BucketError::Unclear(_) | BucketError::Unreachable(_))
                    if sent < self.tries && started.elapsed() + pause < REPEAT =>
                {
                    sleep(pause);
                    pause *= 2;
                }
                // The call has waited, so the next one follows at once.
                Err(BucketError::Busy(_)) if started.elapsed() < self.wait => {}
                // An earlier request may have had its effect.
                Err(error) if is_unclear => return Err(error.of_write()),
                answer => return answer,
            }
        }
    }

    /// Returns the object behind a write whose effect is in question.
    fn find_again(&self, name: &str, bytes: &[u8]) -> BucketResult<Option<Stored>> {
        let found = self.find(name, bytes.len() as u64 + 1);
        found.map_err(BucketError::of_write)
    }

    /// Returns at most the first `limit` bytes of an object.
    pub(in crate::remote) fn get(&self, name: &str, limit: u64) -> BucketResult<Stored> {
        let stored = self.send(|| self.bucket.get(name, Some(0..limit)));
        let stored = stored.map_err(BucketError::of_read)?;
        self.count_received(&stored.bytes);
        Ok(stored)
    }

    fn count_received(&self, bytes: &[u8]) {
        self.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    /// Returns at most the first `limit` bytes of an object without its version, or `None` if it is missing.
    pub(in crate::remote) fn read(&self, name: &str, limit: u64) -> BucketResult<Option<Vec<u8>>> {
        match self.send(|| self.bucket.read(name, Some(0..limit))) {
            Err(BucketError::Missing) => Ok(None),
            read => {
                let bytes = read.map_err(BucketError::of_read)?;
                self.count_received(&bytes);
                Ok(Some(bytes))
            }
        }
    }

    /// Returns at most the first `limit` bytes of an object, or `None` if it is missing.
    pub(in crate::remote) fn find(&self, name: &str, limit: u64) -> BucketResult<Option<Stored>> {
        match self.get(name, limit) {
            Err(BucketError::Missing) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates an object. Returns [`BucketError::Exists`] only if the name has other bytes (RTR-1).
    pub(in crate::remote) fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        match self.send(|| self.bucket.put_new(name, bytes)) {
            // The service, or a library below, may have repeated a request that had its effect.
            Err(BucketError::Exists) => match self.find_again(name, bytes)? {
                Some(stored) if stored.bytes == bytes => Ok(()),
                _ => Err(BucketError::Exists),
            },
            put => put,
        }
    }

    /// Replaces an object. Returns [`BucketError::Stale`] only if the object has other bytes than `bytes` (RTR-1).
    pub(in crate::remote) fn swap(
        &self,
        name: &str,
        version: &Version,
        bytes: &[u8],
    ) -> BucketResult<Version> {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        match self.send(|| self.bucket.swap(name, version, bytes)) {
            Err(BucketError::Stale) => match self.find_again(name, bytes)? {
                Some(stored) if stored.bytes == bytes => Ok(stored.version),
                _ => Err(BucketError::Stale),
            },
            swapped => swapped,
        }
    }

    pub(in crate::remote) fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        self.send(|| self.bucket.list(prefix))
            .map_err(BucketError::of_read)
    }

    pub(in crate::remote) fn delete(&self, name: &str) -> BucketResult<()> {
        self.send(|| self.bucket.delete(name))
    }
}
