//! Several threads on one store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::Run;
use super::reads::Queries;
use super::stores::Stores;
use crate::objects::{object, objects, one_percent};
use crate::peers::Store;
use crate::race::{Race, rate, timed};
use crate::table::Role;

const THREADS: usize = 8;
/// The number of commits of each thread.
const COMMITS: usize = 50;
/// The number of gets of each reader.
const GETS: usize = 50_000;
const ROUNDS: usize = 5;
/// The versions that these works write begin here.
const VERSIONS: u64 = 1 << 20;

/// Commits one object `commits` times in each of `threads` threads, different objects in all of them. Returns the rate.
fn commit(store: &dyn Store, n: u64, version: &mut u64, threads: usize, commits: usize) -> f64 {
    let mut next = || {
        *version += 1;
        vec![object(*version % n, VERSIONS + *version)]
    };
    let lists: Vec<Vec<_>> = (0..threads)
        .map(|_| (0..commits).map(|_| next()).collect())
        .collect();
    let work = || {
        thread::scope(|scope| {
            for list in lists {
                scope.spawn(move || list.into_iter().for_each(|objects| store.put(objects)));
            }
        });
    };
    rate(threads * commits, timed(work).0)
}

/// Measures 8 committing threads, beside one that commits as often.
pub fn commits(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("threads-8", n, 1, 1);
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        let mut version = 0;
        race.enter(name, role, move |_| {
            [commit(store, n, &mut version, THREADS, COMMITS)]
        });
    }
    let (treering, mut version) = (&*stores.treering, 1 << 19);
    race.enter("Treering, one thread", Role::Limit, move |_| {
        [commit(treering, n, &mut version, 1, THREADS * COMMITS)]
    });
    race.run(ROUNDS).record(["threads-8"], n, &mut run.table);
}

/// Reads all ids of the round in each of `readers` threads. Returns the rate of all gets.
fn read(store: &dyn Store, queries: &Queries, round: u64, readers: usize) -> f64 {
    let work = || {
        thread::scope(|scope| {
            for reader in 0..readers as u64 {
                scope.spawn(move || {
                    let (ids, expected) = queries.round(round + reader);
                    assert_eq!(store.read(ids), *expected, "the objects that were read");
                });
            }
        });
    };
    rate(readers * GETS, timed(work).0)
}

/// Measures two readers, beside one.
pub fn readers(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("readers-2", n, 1, 1);
    let queries = Queries::new(n, GETS, ROUNDS + 1);
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        let queries = &queries;
        race.enter(name, role, move |round| [read(store, queries, round, 2)]);
    }
    let treering = &*stores.treering;
    race.enter("Treering, one reader", Role::Limit, |round| {
        [read(treering, &queries, round, 1)]
    });
    race.run(ROUNDS).record(["readers-2"], n, &mut run.table);
}

/// Measures a reader beside a thread that commits 100 objects at a time as fast as it can, and alone.
pub fn reader_beside_writer(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("reader-writer", n, 1, 1);
    let queries = Queries::new(n, GETS, ROUNDS);
    let count = |store: &dyn Store, round| {
        let (ids, _) = queries.round(round);
        let (time, seen) = timed(|| store.read(ids));
        assert_eq!(seen.count, GETS as u64, "the objects that were read");
        rate(GETS, time)
    };
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        let (count, mut version) = (&count, VERSIONS << 1);
        race.enter(name, role, move |round| {
            let is_done = AtomicBool::new(false);
            let rate = thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        version += 1;
                        store.put(objects(one_percent(n, version).into_iter().take(100), version));
                    }
                });
                let rate = count(store, round);
                is_done.store(true, Ordering::Relaxed);
                rate
            });
            [rate]
        });
    }
    let treering = &*stores.treering;
    race.enter("Treering, no writer", Role::Limit, |round| {
        [count(treering, round)]
    });
    race.run(ROUNDS).record(["reader-writer"], n, &mut run.table);
}
