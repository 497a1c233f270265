//! The states that a store may have: the states after each operation of an undisturbed run.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::HashMap;
use std::sync::Arc;

use super::forks::fork_name;
use super::workload::{Operation, Run, Specified, operations, options, thins};
use crate::digest::{CommitDigest, Domain, HashAlgorithm, HashSuite};
use crate::disk::Disk;
use crate::engine::{Memory, Revision, View};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::object::Id;
use crate::testing::model::{ModelState, Outcome};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, SimDisk};

/// Everything about a store that is visible from outside. The head's digest represents every commit and state before
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) head: CommitDigest,
    pub(super) seq: u64,
    names: Vec<(String, Option<CommitDigest>)>,
}

impl Fingerprint {
    pub(super) fn of(memory: &Memory) -> Self {
        let commit = memory.view().commit();
        // The name of an automatic snapshot contains the number of its batch. A failed attempt may have left an empty
        // batch, which shifts the number, so the number is removed.
        let name = |name: String| match name.split_once(':') {
            Some((ring, _)) => ring.to_owned(),
            None => name,
        };
        let references = memory.references().into_iter();
        let mut names: Vec<_> = references.map(|one| (name(one.name), one.commit)).collect();
        // The head of a fork represents its state, which is computed here.
        for fork in memory.forks().expect("the newest commits of forks can be read") {
            let opened = memory.open_fork(&fork.name).expect("a fork can be read");
            assert_eq!(opened.view().root(), fork.root, "fork {}", fork.name);
            names.push((format!("heads/{}", fork.name), Some(fork.head)));
        }
        names.sort_unstable();
        Self {
            head: commit.digest,
            seq: commit.commit.seq,
            names,
        }
    }
}

/// The state of a store after an operation; `None` before its creation.
#[derive(Clone)]
pub(super) struct Event {
    pub(super) outcome: Outcome,
    pub(super) found: Option<Fingerprint>,
    /// The folder before the operation. A run can start there.
    pub(super) before: SimDisk,
}

/// The undisturbed run of a seed.
pub(super) struct Expected {
    pub(super) operations: Vec<Operation>,
    /// The events: number 0 is the empty folder, number 1 the new store, and number n + 2 the store after operation n.
    pub(super) events: Vec<Event>,
    /// The commits with their states, by seq.
    pub(super) history: Vec<(CommitDigest, ModelState)>,
    /// Whether the workload thins history.
    pub(super) thins: bool,
}

impl Expected {
    /// Runs the workload of a seed undisturbed, and compares each step with the model.
    pub(super) fn of(seed: u64, count: usize) -> Self {
        let operations = operations(seed, count);
        let mut run = Run::new(SimDisk::new(seed));
        let mut specified = Specified::default();
        let before = run.disk.copy();
        let empty = Event {
            outcome: Outcome::Unchanged,
            found: None,
            before: before.copy(),
        };
        run.create().expect("creating a store on a working disk succeeds");
        let memory = run.memory().expect("it was just created");
        let mut events = vec![
            empty,
            Event {
                outcome: Outcome::Committed,
                found: Some(Fingerprint::of(&memory)),
                before,
            },
        ];
        let mut digests = vec![memory.view().commit().digest];
        drop(memory);
        for (step, operation) in (1..).zip(&operations) {
            let before = run.disk.copy();
            let outcome = run.apply(step, operation);
            let outcome = outcome.unwrap_or_else(|error| panic!("step {step}, {operation:?}: {error:?}"));
            let wanted = specified.apply(step, operation);
            assert_eq!(outcome, wanted, "step {step}, {operation:?}");
            let memory = run.memory().expect("a disk that works");
            let found = Fingerprint::of(&memory);
            assert_eq!(
                found.seq as usize + 1,
                specified.model.commits.len(),
                "step {step}, {operation:?}"
            );
            if outcome == Outcome::Committed {
                digests.push(found.head);
            }
            let kept = memory
                .commits()
                .map(|commit| commit.map(|commit| commit.commit.seq as usize));
            let kept: Result<_> = kept.collect();
            specified.thin(operation, &kept.expect("a disk that works"));
            expect_state(
                &memory.view(),
                specified.model.head(),
                false,
                &format!("step {step}, {operation:?}"),
            );
            for (name, (_, state)) in &specified.forks {
                let fork = memory
                    .open_fork(&fork_name(*name))
                    .expect("the model has the fork");
                let what = format!("step {step}, {operation:?}, fork {name}");
                expect_state(&fork.view(), state, true, &what);
            }
            events.push(Event {
                outcome,
                found: Some(found),
                before,
            });
        }
        let states = specified.model.commits.into_iter().map(|commit| commit.state);
        Self {
            operations,
            events,
            history: digests.into_iter().zip(states).collect(),
            thins: thins(seed),
        }
    }
}

/// Compares every object of a view with the model. If `erased` is true, some objects may have been erased since.
pub(super) fn expect_state(view: &View, wanted: &ModelState, erased: bool, what: &str) {
    let mut seen = 0;
    for (id, wanted) in wanted {
        let object = Id::new(id).and_then(|id| view.get(&id));
        match object {
            Ok(Some(object)) => {
                let same = wanted.parent.as_deref() == object.parent()
                    && Some(wanted.content.as_str()) == object.content();
                assert!(same, "{what}: {id} differs from the object that was put");
            }
            Err(error) if erased && error.code() == ErrorCode::Erased => {}
            other => panic!("{what}: {id}: {other:?}"),
        }
        seen += 1;
    }
    assert_eq!(
        view.len(),
        seen,
        "{what}: the state contains an object that was not put"
    );
}

/// The states that a reader may find. A reader must not find an older state than the first state in the list.
#[derive(Clone)]
pub(super) struct Allowed<'a> {
    /// The states in the order of time. `None` means that no store exists.
    pub(super) found: Vec<Option<Fingerprint>>,
    pub(super) history: &'a [(CommitDigest, ModelState)],
    /// Whether past commits may have been thinned.
    pub(super) thins: bool,
}

impl Allowed<'_> {
    /// Opens the folder for reading and checks that its state is one of the allowed states. Returns the index of that
    /// state.
    pub(super) fn read(&self, disk: &SimDisk, random: &mut SplitMix64, what: &str) -> usize {
        let found = self.read_whole(disk, random, what);
        self.position(found.as_ref(), what)
    }

    /// As [`Self::read`], but does not read a folder with the same files again.
    pub(super) fn read_once(
        &self,
        disk: &SimDisk,
        seen: &mut Seen,
        random: &mut SplitMix64,
        what: &str,
    ) -> usize {
        let key = seen.key(disk);
        let found = match seen.found.get(&key) {
            Some(found) => found.clone(),
            None => {
                let found = self.read_whole(disk, random, what);
                seen.found.insert(key, found.clone());
                found
            }
        };
        self.position(found.as_ref(), what)
    }

    fn read_whole(&self, disk: &SimDisk, random: &mut SplitMix64, what: &str) -> Option<Fingerprint> {
        let before = disk.contents();
        let found = match open(disk, true) {
            Ok(memory) => {
                let found = Fingerprint::of(&memory);
                self.expect_states(&memory, &found, random, what);
                Some(found)
            }
            Err(error) if error.kind() == ErrorKind::NotFound && error.code() == ErrorCode::NoStore => None,
            Err(error) => panic!("{what}: {error:?}"),
        };
        assert!(before == disk.contents(), "{what}: reading changed the store");
        found
    }

    /// Returns the states that are allowed from now on. After a power loss, only durable states remain. If a process
    /// was killed, readers may have seen a state that can still be lost.
    pub(super) fn behind(&self, position: usize, image: CrashImage) -> Self {
        let first = match image {
            CrashImage::Killed | CrashImage::KilledInWrite(_) => 0,
            _ => position,
        };
        Self {
            found: self.found[first..].to_vec(),
            ..*self
        }
    }

    /// Returns the index of this state among the allowed states.
    pub(super) fn position(&self, found: Option<&Fingerprint>, what: &str) -> usize {
        let position = self.found.iter().position(|allowed| allowed.as_ref() == found);
        position.unwrap_or_else(|| {
            panic!(
                "{what}: found {found:#?}\nallowed, from the last acknowledged state on: {:#?}",
                self.found
            )
        })
    }

    /// Compares the head and one state before it with the model, object by object.
    fn expect_states(&self, memory: &Memory, found: &Fingerprint, random: &mut SplitMix64, what: &str) {
        let past = random.below(self.history.len().min(found.seq as usize).max(1));
        for seq in [found.seq as usize, past] {
            let view = match memory.view_at(&Revision::Seq(seq as u64), "") {
                Err(error) if self.thins && error.kind() == ErrorKind::NotFound => continue,
                other => other.unwrap_or_else(|error| panic!("{what}: {error:?}")),
            };
            // Commits that the checks themselves make are not in the list.
            match self.history.get(seq) {
                Some((digest, state)) if *digest == view.commit().digest => {
                    expect_state(&view, state, self.thins, &format!("{what}, commit {seq}"));
                }
                _ => {}
            }
        }
    }
}

/// The state found in each folder that was read, by a digest of its files, because many crash images are equal.
#[derive(Default)]
pub(super) struct Seen {
    found: HashMap<[u8; 32], Option<Fingerprint>>,
    /// Digests of contents that several images share, by the address of the content.
    contents: HashMap<usize, (Arc<Vec<u8>>, [u8; 32])>,
}

impl Seen {
    /// Returns the number of folders that were read.
    pub(super) fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// Drops the contents that belong to one crash.
    pub(super) fn forget_contents(&mut self) {
        self.contents.clear();
    }

    fn key(&mut self, disk: &SimDisk) -> [u8; 32] {
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let mut parts = disk.boot_id().to_vec();
        for (name, content) in disk.contents() {
            let place = Arc::as_ptr(&content).addr();
            let digest = match self.contents.get(&place) {
                Some((_, digest)) => *digest,
                None => {
                    let digest = suite.hash_bytes(Domain::Content, &content);
                    self.contents.insert(place, (content, digest));
                    digest
                }
            };
            parts.extend_from_slice(name.as_bytes());
            parts.extend_from_slice(&digest);
        }
        suite.hash_bytes(Domain::Content, &parts)
    }
}

/// Opens the store of a folder.
pub(super) fn open(disk: &SimDisk, read_only: bool) -> Result<Memory> {
    let options = options(1_000_000).read_only(read_only);
    Memory::on_disk(Arc::new(disk.clone()) as Arc<dyn Disk>, options, false, None)
}
