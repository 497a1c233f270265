//! A simulated bucket: a storage service that a seed makes lose answers, fail, repeat requests, apply them late and list
//! slowly. Clones are clients of the same service.
//!
//! # Layer
//! For tests.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::remote::bucket::{Bucket, BucketError, BucketResult, Stored, Version};
use crate::testing::random::SplitMix64;
use crate::threads::Mutex;

/// The service.
#[derive(Clone, Default)]
pub struct SimBucket {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, (u64, Vec<u8>)>,
    /// The version of the newest write.
    newest: u64,
    /// Requests whose answer was lost and that will have their effect later, if their condition still holds then.
    late: Vec<Write>,
    /// The names when the last list was asked for.
    listed: Vec<String>,
    faults: Option<Faults>,
    /// Whether the service ignores the conditions of writes.
    is_careless: bool,
    /// What another client does just before the next manifest is written.
    rival: Option<Box<dyn FnOnce() + Send>>,
    /// The number of requests that write.
    writes: u64,
}

struct Faults {
    random: SplitMix64,
    /// One request in so many has a fault.
    one_in: usize,
}

#[derive(Clone)]
enum Write {
    New(String, Vec<u8>),
    Swap(String, Version, Vec<u8>),
    Delete(String),
}

/// What happens to a request.
enum Fate {
    Normal,
    /// The service is down (503). Nothing happens.
    Refused,
    /// It has its effect, and the answer is lost.
    Lost,
    /// The answer is lost, and it has its effect later.
    Late,
    /// A proxy repeats it, and the client gets the answer to the second one.
    Repeated,
}

impl SimBucket {
    /// Makes a service whose schedule the seed determines: one request in `one_in` has a fault.
    pub fn new(seed: u64, one_in: usize) -> Self {
        let bucket = Self::default();
        let random = SplitMix64::new(seed);
        bucket.state.lock().faults = Some(Faults { random, one_in });
        bucket
    }

    /// Makes the service ignore the conditions of writes, as some stores do.
    #[must_use]
    pub fn careless(self) -> Self {
        self.state.lock().is_careless = true;
        self
    }

    /// Lets another client act just before the next manifest is written: between the segment of a push and its swap.
    pub fn before_swap(&self, rival: impl FnOnce() + Send + 'static) {
        self.state.lock().rival = Some(Box::new(rival));
    }

    /// Ends all faults and rivals. Requests that are late have their effect now.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        (state.faults, state.rival) = (None, None);
        for write in std::mem::take(&mut state.late) {
            drop(state.apply(&write));
        }
    }

    /// Returns the names and bytes of all objects.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state.lock();
        let objects = state.objects.iter();
        objects
            .map(|(name, (_, bytes))| (name.clone(), bytes.clone()))
            .collect()
    }

    /// Returns the number of requests so far that write, also of those that failed.
    pub fn writes(&self) -> u64 {
        self.state.lock().writes
    }

    /// Replaces the objects, as an operator does who restores an older copy.
    pub fn restore(&self, objects: BTreeMap<String, Vec<u8>>) {
        let mut state = self.state.lock();
        state.objects.clear();
        for (name, bytes) in objects {
            state.put(name, bytes);
        }
    }

    fn write(&self, write: &Write) -> BucketResult<Version> {
        if matches!(write, Write::Swap(..)) {
            let rival = self.state.lock().rival.take();
            if let Some(rival) = rival {
                rival();
            }
        }
        let mut state = self.state.lock();
        state.writes += 1;
        state.apply_late();
        match state.fate() {
            Fate::Normal => state.apply(write),
            Fate::Refused => Err(BucketError::Unclear("503".to_owned())),
            Fate::Lost => {
                drop(state.apply(write));
                Err(BucketError::Unclear("the answer was lost".to_owned()))
            }
            Fate::Late => {
                state.late.push(write.clone());
                Err(BucketError::Unclear("timed out".to_owned()))
            }
            Fate::Repeated => {
                drop(state.apply(write));
                state.apply(write)
            }
        }
    }

    /// Returns an error if the service fails now.
    fn reach(&self) -> BucketResult<()> {
        let mut state = self.state.lock();
        state.apply_late();
        match state.fate() {
            Fate::Refused | Fate::Lost | Fate::Late => Err(BucketError::Unclear("500".to_owned())),
            Fate::Normal | Fate::Repeated => Ok(()),
        }
    }
}

impl State {
    fn fate(&mut self) -> Fate {
        let Some(Faults { random, one_in }) = &mut self.faults else {
            return Fate::Normal;
        };
        if !random.one_in(*one_in) {
            return Fate::Normal;
        }
        match random.below(4) {
            0 => Fate::Refused,
            1 => Fate::Lost,
            2 => Fate::Late,
            _ => Fate::Repeated,
        }
    }

    fn apply_late(&mut self) {
        let Some(Faults { random, .. }) = &mut self.faults else {
            return;
        };
        if !self.late.is_empty() && random.one_in(3) {
            let write = self.late.swap_remove(random.below(self.late.len()));
            drop(self.apply(&write));
        }
    }

    fn put(&mut self, name: String, bytes: Vec<u8>) -> Version {
        self.newest += 1;
        self.objects.insert(name, (self.newest, bytes));
        Version(self.newest.to_string())
    }

    fn apply(&mut self, write: &Write) -> BucketResult<Version> {
        match write {
            Write::New(name, _) if !self.is_careless && self.objects.contains_key(name) => {
                Err(BucketError::Exists)
            }
            Write::New(name, bytes) => Ok(self.put(name.clone(), bytes.clone())),
            Write::Swap(name, version, bytes) => {
                let known = self.objects.get(name).map(|(number, _)| number.to_string());
                if !self.is_careless && known.as_ref() != Some(&version.0) {
                    return Err(BucketError::Stale);
                }
                Ok(self.put(name.clone(), bytes.clone()))
            }
            Write::Delete(name) => {
                self.objects.remove(name);
                Ok(Version(String::new()))
            }
        }
    }
}

impl Bucket for SimBucket {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        self.reach()?;
        let state = self.state.lock();
        let (version, bytes) = state.objects.get(name).ok_or(BucketError::Missing)?;
        let range = range.map_or(0..bytes.len(), |range| range.start as usize..range.end as usize);
        let end = range.end.min(bytes.len());
        Ok(Stored {
            bytes: bytes[range.start.min(end)..end].to_vec(),
            version: Version(version.to_string()),
        })
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        self.write(&Write::New(name.to_owned(), bytes.to_vec())).map(drop)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        self.write(&Write::Swap(name.to_owned(), version.clone(), bytes.to_vec()))
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        self.reach()?;
        let mut state = self.state.lock();
        let is_slow = state
            .faults
            .as_mut()
            .is_some_and(|faults| faults.random.one_in(faults.one_in));
        let now: Vec<String> = state.objects.keys().cloned().collect();
        let before = std::mem::replace(&mut state.listed, now.clone());
        let mut names = if is_slow { before } else { now };
        names.retain(|name| name.starts_with(prefix));
        Ok(names)
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        self.write(&Write::Delete(name.to_owned())).map(drop)
    }

    fn describe(&self) -> String {
        "sim://bucket".to_owned()
    }
}
