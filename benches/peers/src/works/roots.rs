//! Digests of many objects, and the root of a state after a number of changes, beside BLAKE3 of as many objects, one at
//! a time.

use std::collections::BTreeMap;

use treering::Object;
use treering::testing::digest::KeyPath;
use treering::testing::trie::{Entry, NoSource, Shape, Trie};

use super::Run;
use crate::objects::{CANONICAL, SUITE, encode, id, object};
use crate::race::{Race, micros, nanos, timed};
use crate::table::Role;

const ROUNDS: usize = 21;
/// The number of objects that are hashed together.
const HASHED: u64 = 10_000;
/// The works, and the numbers of changes.
const WORKS: [(&str, u64); 2] = [("root-1", 1), ("root-10000", 10_000)];

fn entry(number: u64, version: u64) -> Entry {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_le_bytes());
    digest[8..16].copy_from_slice(&version.to_le_bytes());
    Entry {
        key: SUITE.key_path(id(number).as_str()),
        digest,
        place: number,
        created: 0,
    }
}

fn root(state: &Trie) -> [u8; 32] {
    *state.root(SUITE, Shape::State, &NoSource).unwrap().as_bytes()
}

/// Returns the state with new versions of `count` objects, which are spread over the state.
fn changed(state: &Trie, n: u64, count: u64, round: u64) -> Trie {
    let numbers = (0..count).map(|at| (round * 104_729 + at * 7_919) % n);
    let entries: BTreeMap<KeyPath, Entry> = numbers
        .map(|number| entry(number, round))
        .map(|entry| (entry.key, entry))
        .collect();
    let keys: Vec<KeyPath> = entries.keys().copied().collect();
    let mut change = |index: usize, _: Option<&Entry>| Ok(entries.get(&keys[index]).copied());
    state.clone().updated(&keys, &NoSource, &mut change).unwrap()
}

/// Measures the digests of many objects.
fn digests(run: &mut Run, n: u64) {
    run.progress.at("digests", n, 1, 1);
    let all: Vec<_> = (0..HASHED.min(n))
        .map(|number| encode(&object(number, 0)))
        .collect();
    let expected: Vec<_> = all.iter().map(|one| one.digest).collect();
    let each = |time| [nanos(time) / all.len() as f64];
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |_| {
        let (time, found) = timed(|| Object::hash_all(all.iter().map(|one| &one.bytes[..]), SUITE));
        assert_eq!(found, expected, "the digests");
        each(time)
    });
    race.enter("BLAKE3, one by one", Role::Limit, |_| {
        let hash_all = || {
            for one in &all {
                std::hint::black_box(blake3::hash(std::hint::black_box(&one.bytes)));
            }
        };
        each(timed(hash_all).0)
    });
    race.run(ROUNDS).record(["digests"], n, &mut run.table);
}

/// Measures the digests of many objects, and then the root alone, without the changes. The state keeps the digests of all unchanged nodes.
pub fn measure(run: &mut Run, n: u64) {
    digests(run, n);
    run.progress.at("root", n, 1, 1);
    let state = Trie::from_entries((0..n).map(|number| entry(number, 0)).collect());
    root(&state);
    let bytes = vec![7; CANONICAL];
    for (work, count) in WORKS.into_iter().filter(|(_, count)| *count <= n) {
        let mut race = Race::new();
        race.enter("Treering", Role::Treering, |round| {
            let newer = changed(&state, n, count, round);
            let (time, found) = timed(|| root(&newer));
            assert_ne!(found, root(&state), "the root has changed");
            [micros(time)]
        });
        race.enter("BLAKE3, one by one", Role::Limit, |_| {
            let hash_all = || {
                for _ in 0..count {
                    std::hint::black_box(blake3::hash(std::hint::black_box(&bytes)));
                }
            };
            [micros(timed(hash_all).0)]
        });
        race.run(ROUNDS).record([work], n, &mut run.table);
    }
}
