//! Threads of one memory, and handles of several memories on one disk, in orders that a scheduler chooses: `cargo
//! schedules`.
//!
//! The whole crate uses the scheduler's types in `src/threads.rs`, and one thread runs at a time. The scheduler chooses
//! the next thread at every lock, every swapped pointer and every call of the simulated disk. The tests check the
//! protocol of publication. No reader sees a commit that a power loss would remove. After a commit is acknowledged, all
//! readers see it. No commit is lost or applied twice.
//!
//! `TREERING_SCHEDULES` sets the number of schedules of each test (default 5,000), and `TREERING_SEED` the first seed.
//! The same seed gives the same schedules.
#![expect(clippy::unwrap_used, reason = "a program of tests; a panic is the failure")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread;
use shuttle::{Config, FailurePersistence, Runner};
use treering::testing::opening::memory_on;
use treering::testing::sim_disk::{CrashImage, SimDisk};
use treering::upkeep::{Retention, VerifyDepth};
use treering::{CommitDigest, Durability, Id, Kind, Memory, NewObject, Options, View, Writer};

/// Runs `scenario` under random schedules for half of the requested number, and under schedules with few, well placed
/// changes of the thread for the other half.
fn under_schedules(scenario: fn()) {
    let asked = |name, otherwise: u64| match std::env::var(name) {
        Ok(number) => number.parse().unwrap(),
        Err(_) => otherwise,
    };
    let count = asked("TREERING_SCHEDULES", 5000).div_ceil(2) as usize;
    let seed = asked("TREERING_SEED", 1);
    let mut config = Config::new();
    // A commit needs a larger stack than the 32 KiB that a thread has by default.
    config.stack_size = 256 << 10;
    // The seed contains the same information in one line.
    config.failure_persistence = FailurePersistence::None;
    Runner::new(RandomScheduler::new_from_seed(seed, count), config.clone()).run(scenario);
    Runner::new(PctScheduler::new_from_seed(seed, 3, count), config).run(scenario);
}

/// A disk, and the states that readers of its memories have seen.
#[derive(Clone)]
struct Witness {
    disk: SimDisk,
    /// The commits that were seen, by their seq.
    seen: Arc<Mutex<BTreeMap<u64, CommitDigest>>>,
}

impl Witness {
    fn new() -> (Self, Memory) {
        let disk = SimDisk::new(1);
        let memory = memory_on(Arc::new(disk.clone()), Options::new(), true).unwrap();
        let seen = Arc::default();
        (Self { disk, seen }, memory)
    }

    fn open(&self, options: Options) -> Memory {
        memory_on(Arc::new(self.disk.clone()), options, false).unwrap()
    }

    /// Returns the memory that a power loss would leave now.
    fn left(&self) -> Memory {
        let left = self.disk.crash_image(CrashImage::Nothing);
        memory_on(Arc::new(left), Options::new().read_only(true), false).unwrap()
    }

    /// Checks that a state is durable and belongs to the only history. Returns its seq.
    fn look(&self, view: &View) -> u64 {
        let (commit, digest) = (view.commit().commit, view.commit().digest);
        let left = self.left().view().commit();
        assert!(
            left.commit.seq >= commit.seq,
            "commit {} was seen, and {} is durable",
            commit.seq,
            left.commit.seq
        );
        for (seq, digest) in [(commit.seq, digest), (left.commit.seq, left.digest)] {
            let before = self.seen.lock().unwrap().insert(seq, digest);
            assert!(before.is_none_or(|before| before == digest), "two commits {seq}");
        }
        commit.seq
    }

    /// Puts an object, and checks what its acknowledgement promises.
    fn put(&self, memory: &Memory, name: &str) {
        let acknowledged = memory.put(note(name), &Writer::user()).unwrap();
        assert!(acknowledged.changed, "{name} was put once");
        assert!(
            has(&self.left().view(), name),
            "{name} is acknowledged and not durable"
        );
        let view = memory.view();
        assert!(has(&view, name), "{name} is acknowledged and not to be seen");
        assert!(self.look(&view) >= acknowledged.commit.commit.seq);
    }

    /// Reads the head repeatedly, and checks that it never moves back.
    fn follow(&self, memory: &Memory, times: usize) {
        let mut newest = 0;
        for _ in 0..times {
            let seq = self.look(&memory.refresh().unwrap());
            assert!(seq >= newest, "the head went back from {newest} to {seq}");
            newest = seq;
            thread::yield_now();
        }
    }

    /// Checks that in the end every reader finds everything exactly once.
    fn end(&self, memories: Vec<Memory>, names: &[&str], commits: u64) {
        let mut left = vec![self.left()];
        left.extend(memories);
        for memory in left {
            // A refresh never waits, and the thread that syncs may still be checking the new commit.
            while memory.refresh().unwrap().commit().commit.seq < commits {
                thread::yield_now();
            }
            let view = memory.view();
            assert_eq!(view.commit().commit.seq, commits);
            assert_eq!(view.len(), names.len() as u64);
            assert!(names.iter().all(|name| has(&view, name)));
            for (seq, digest) in self.seen.lock().unwrap().iter() {
                let found = memory.at(*digest).unwrap().commit();
                assert_eq!(
                    found.commit.seq, *seq,
                    "a commit was seen that is not of this history"
                );
            }
            assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
        }
    }
}

fn note(name: &str) -> NewObject {
    let mut object = NewObject::new(Id::new(name).unwrap(), Kind::new("note").unwrap());
    object.content = Some(format!("of {name}"));
    object
}

fn has(view: &View, name: &str) -> bool {
    let found = view.get(&Id::new(name).unwrap()).unwrap();
    found.is_some_and(|object| object.content() == Some(&format!("of {name}")))
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn commits_of_several_threads_share_their_syncs_and_are_seen_when_durable() {
    under_schedules(|| {
        let (witness, memory) = Witness::new();
        let mut threads = Vec::new();
        for name in ["a", "b", "c"] {
            let (witness, memory) = (witness.clone(), memory.clone());
            threads.push(thread::spawn(move || witness.put(&memory, name)));
        }
        let follower = (witness.clone(), memory.clone());
        threads.push(thread::spawn(move || follower.0.follow(&follower.1, 3)));
        join(threads);
        witness.end(vec![memory], &["a", "b", "c"], 3);
    });
}

#[test]
fn handles_take_turns_and_readers_follow_what_is_durable() {
    under_schedules(|| {
        let (witness, memory) = Witness::new();
        let other = witness.open(Options::new());
        let reader = witness.open(Options::new().read_only(true));
        let mut threads = Vec::new();
        for (memory, name) in [(&memory, "a"), (&other, "b"), (&other, "c")] {
            let (witness, memory) = (witness.clone(), memory.clone());
            threads.push(thread::spawn(move || witness.put(&memory, name)));
        }
        let follower = (witness.clone(), reader.clone());
        threads.push(thread::spawn(move || follower.0.follow(&follower.1, 3)));
        join(threads);
        witness.end(vec![memory, other, reader], &["a", "b", "c"], 3);
    });
}

#[test]
fn a_collection_takes_the_place_of_the_log_under_writers_and_readers() {
    under_schedules(|| {
        let (witness, memory) = Witness::new();
        witness.put(&memory, "a");
        let other = witness.open(Options::new());
        let reader = witness.open(Options::new().read_only(true));
        let mut threads = Vec::new();
        for (memory, name) in [(&memory, "b"), (&other, "c")] {
            let (witness, memory) = (witness.clone(), memory.clone());
            threads.push(thread::spawn(move || witness.put(&memory, name)));
        }
        let collecting = memory.clone();
        threads.push(thread::spawn(move || {
            collecting.gc(&Retention::everything(), None).unwrap();
        }));
        let follower = (witness.clone(), reader.clone());
        threads.push(thread::spawn(move || follower.0.follow(&follower.1, 2)));
        join(threads);
        witness.end(vec![memory, other, reader], &["a", "b", "c"], 3);
    });
}

#[test]
fn what_waits_for_its_sync_is_seen_by_nobody_else() {
    under_schedules(|| {
        let (witness, memory) = Witness::new();
        drop(memory);
        witness.disk.relax();
        let relaxed = Options::new().durability(Durability::Interval(Duration::from_millis(1)));
        let memory = witness.open(relaxed);
        let other = witness.open(Options::new());
        let reader = witness.open(Options::new().read_only(true));
        let mut threads = Vec::new();
        for name in ["a", "b"] {
            let (witness, memory) = (witness.clone(), memory.clone());
            threads.push(thread::spawn(move || {
                assert!(memory.put(note(name), &Writer::user()).unwrap().changed);
                assert!(has(&memory.view(), name));
                memory.sync().unwrap();
                assert!(
                    has(&witness.left().view(), name),
                    "{name} is synced and not durable"
                );
            }));
        }
        let strict = (witness.clone(), other.clone());
        threads.push(thread::spawn(move || strict.0.put(&strict.1, "c")));
        let follower = (witness.clone(), reader.clone());
        threads.push(thread::spawn(move || follower.0.follow(&follower.1, 2)));
        join(threads);
        witness.end(vec![memory, other, reader], &["a", "b", "c"], 3);
    });
}

#[test]
fn a_commit_that_is_found_before_it_is_the_head_has_its_own_versions() {
    under_schedules(|| {
        let (_, memory) = Witness::new();
        let put = |memory: &Memory, text: &str| {
            let mut object = note("a");
            object.content = Some(text.to_owned());
            memory.put(object, &Writer::user()).unwrap();
        };
        put(&memory, "old");
        let fork = memory.fork("f").by(&Writer::user()).unwrap();
        let content = |view: &View| {
            let found = view.get(&Id::new("a").unwrap()).unwrap().unwrap();
            found.content().unwrap().to_owned()
        };
        // Each reads it once, so the cache of places has it.
        assert_eq!(
            [&memory, &fork].map(|memory| content(&memory.view())),
            ["old", "old"]
        );
        let mut threads = Vec::new();
        for memory in [memory, fork] {
            let seq = memory.view().commit().commit.seq + 1;
            let reader = memory.clone();
            threads.push(thread::spawn(move || put(&memory, "new")));
            threads.push(thread::spawn(move || {
                for _ in 0..4 {
                    if let Ok(view) = reader.at(format!("seq:{seq}").as_str()) {
                        assert_eq!(content(&view), "new");
                    }
                    thread::yield_now();
                }
            }));
        }
        join(threads);
    });
}

#[test]
fn a_fork_that_is_made_while_another_thread_commits_is_whole() {
    under_schedules(|| {
        let (witness, memory) = Witness::new();
        let writer = memory.clone();
        let threads = vec![
            thread::spawn(move || {
                for name in ["a", "b"] {
                    assert!(writer.put(note(name), &Writer::user()).unwrap().changed);
                }
            }),
            thread::spawn(move || {
                let fork = memory.fork("f").by(&Writer::user()).unwrap();
                assert!(fork.put(note("c"), &Writer::user()).unwrap().changed);
                assert!(has(&fork.view(), "c"));
            }),
        ];
        join(threads);
        let left = witness.left();
        let fork = left.open_fork("f").unwrap();
        assert!(has(&fork.view(), "c") && has(&left.view(), "a"));
        assert!(left.verify(VerifyDepth::Full).unwrap().ok);
    });
}

#[test]
fn a_rollback_changes_no_view_and_hides_what_it_left() {
    under_schedules(|| {
        let (_, memory) = Witness::new();
        let name = |number: u32| Id::new(&format!("o/{number}")).unwrap();
        let put = |memory: &Memory, numbers: &[u32], text: &str| {
            let mut draft = memory.draft(&Writer::user());
            for number in numbers {
                let mut object = NewObject::new(name(*number), Kind::new("note").unwrap());
                object.content = Some(text.to_owned());
                draft.put(object).unwrap();
            }
            memory.commit(draft, "put").unwrap();
        };
        let texts = move |view: &View| {
            [0, 1].map(|number| {
                let found = view.get(&name(number)).unwrap().unwrap();
                found.content().unwrap().to_owned()
            })
        };
        // With fewer objects, the cache of places would be too small for a change.
        put(&memory, &(0..12).collect::<Vec<_>>(), "right");
        let before = memory.view();
        let target = before.commit().commit.seq;
        assert_eq!(texts(&before), ["right", "right"]);
        put(&memory, &[0], "wrong");
        let between = memory.view();
        assert_eq!(texts(&between), ["wrong", "right"]);
        let mut threads = Vec::new();
        for (view, expected) in [(before, "right"), (between, "wrong")] {
            threads.push(thread::spawn(move || {
                for _ in 0..3 {
                    assert_eq!(texts(&view), [expected, "right"]);
                    thread::yield_now();
                }
            }));
        }
        let back = memory.clone();
        threads.push(thread::spawn(move || {
            let rollback = back.rollback(format!("seq:{target}").as_str());
            rollback.across_lanes().by(&Writer::user()).unwrap();
            assert_eq!(texts(&back.view()), ["right", "right"]);
        }));
        threads.push(thread::spawn(move || {
            for _ in 0..3 {
                let view = memory.view();
                let expected = if view.commit().commit.seq == target + 1 {
                    "wrong"
                } else {
                    "right"
                };
                assert_eq!(texts(&view), [expected, "right"]);
                thread::yield_now();
            }
        }));
        join(threads);
    });
}
