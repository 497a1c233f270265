//! Reads by id and of all objects.

use treering::{Id, View};

use super::Run;
use super::stores::Stores;
use crate::maps::Map;
use crate::objects::{Seen, id, some_numbers};
use crate::peers::read;
use crate::race::{Race, nanos, timed};
use crate::table::Role;

/// The number of gets in a round.
const GETS: usize = 20_000;
const ROUNDS: usize = 9;

/// Random ids and what a read of their first versions finds, for each round.
pub struct Queries(Vec<(Vec<Id>, Seen)>);

impl Queries {
    /// Makes the queries of some rounds for `n` objects.
    pub fn new(n: u64, gets: usize, rounds: usize) -> Self {
        let round = |seed| {
            let numbers = some_numbers(n, gets, seed);
            (
                numbers.iter().map(|&number| id(number)).collect(),
                Seen::of(numbers, 0),
            )
        };
        Self((1..=rounds as u64).map(round).collect())
    }

    /// Measures the time for each get of a round.
    pub fn nanos(&self, round: u64, get: impl FnOnce(&[Id]) -> Seen) -> f64 {
        let (ids, expected) = self.round(round);
        let (time, seen) = timed(|| get(ids));
        assert_eq!(seen, *expected, "the objects that were read");
        nanos(time) / ids.len() as f64
    }

    /// Returns the ids of a round, and what a read of them finds.
    pub fn round(&self, round: u64) -> &(Vec<Id>, Seen) {
        &self.0[(round as usize - 1) % self.0.len()]
    }
}

/// Measures gets by id: of Treering beside maps and beside stores. One measurement gives both rows.
pub fn get(run: &mut Run, n: u64, stores: &Stores, maps: &[(&'static str, Box<dyn Map>)]) {
    run.progress.at("get", n, 1, 1);
    let queries = Queries::new(n, GETS, ROUNDS);
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        let of_role = move |value| [if role == Role::Treering { value } else { f64::NAN }, value];
        let queries = &queries;
        race.enter(name, role, move |round| {
            of_role(queries.nanos(round, |ids| store.read(ids)))
        });
    }
    for (name, map) in maps {
        race.enter(*name, Role::Peer, |round| {
            [queries.nanos(round, |ids| map.read(ids)), f64::NAN]
        });
    }
    race.run(ROUNDS).record(["get", "get-durable"], n, &mut run.table);
}

/// Measures gets of 64 ids at once, beside maps that get one id after the other.
pub fn get_all(run: &mut Run, n: u64, stores: &Stores, maps: &[(&'static str, Box<dyn Map>)]) {
    run.progress.at("get-all", n, 1, 1);
    let queries = Queries::new(n, GETS, ROUNDS);
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        let view = stores.treering.memory.view();
        [queries.nanos(round, |ids| read_all(&view, ids))]
    });
    for (name, map) in maps {
        race.enter(*name, Role::Peer, |round| {
            [queries.nanos(round, |ids| map.read(ids))]
        });
    }
    race.run(ROUNDS).record(["get-all"], n, &mut run.table);
}

fn read_all(view: &View, ids: &[Id]) -> Seen {
    let mut seen = Seen::default();
    for ids in ids.chunks(64) {
        for object in view.get_all(ids).unwrap() {
            seen.add_object(&object.unwrap());
        }
    }
    seen
}

/// Measures gets in the last snapshot, which differs by 1 % from the head. The maps hold the first versions, as the
/// snapshot may not: so only the count of objects is checked.
pub fn get_in_snapshot(run: &mut Run, n: u64, stores: &Stores, maps: &[(&'static str, Box<dyn Map>)]) {
    run.progress.at("get-snapshot", n, 1, 1);
    let queries = Queries::new(n, GETS, ROUNDS);
    let snapshot = stores
        .treering
        .memory
        .at(stores.treering.last_snapshot().as_str())
        .unwrap();
    let count = |round, get: &dyn Fn(&[Id]) -> Seen| {
        let (ids, _) = queries.round(round);
        let (time, seen) = timed(|| get(ids));
        assert_eq!(seen.count, ids.len() as u64, "the objects that were read");
        [nanos(time) / ids.len() as f64]
    };
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        count(round, &|ids| read(&snapshot, ids))
    });
    for (name, map) in maps {
        race.enter(*name, Role::Peer, |round| count(round, &|ids| map.read(ids)));
    }
    race.run(ROUNDS).record(["get-snapshot"], n, &mut run.table);
}

/// Measures a scan of all versions, which are all current.
pub fn scan(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("scan", n, 1, 1);
    let expected = Seen::of(0..n, 0);
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        race.enter(name, role, move |_| {
            let (time, seen) = timed(|| store.scan());
            assert_eq!(seen, expected, "the objects that were read");
            [nanos(time) / n as f64]
        });
    }
    race.run(rounds_of(n)).record(["scan"], n, &mut run.table);
}

/// Returns the number of rounds of a work that reads all objects.
pub fn rounds_of(n: u64) -> usize {
    (1_000_000 / n).clamp(3, 9) as usize
}
