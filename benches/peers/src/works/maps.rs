//! Snapshots, updates, differences and rollbacks in RAM.

use super::Run;
use crate::maps::{PERSISTENT, TREERING};
use crate::objects::{id, objects, one_percent};
use crate::race::{Race, micros, nanos, timed};
use crate::table::Role;

const ROUNDS: usize = 21;

/// Makes a snapshot, changes 1 %, lists the difference and rolls back, in each round. No snapshot is released.
pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("snapshot-ram", n, 1, 1);
    let peers = run.maps(&[PERSISTENT], n);
    let kinds =
        std::iter::once((TREERING, Role::Treering)).chain(peers.into_iter().map(|kind| (kind, Role::Peer)));
    let mut maps: Vec<_> = kinds
        .map(|(kind, role)| (kind.name, role, kind.filled(n)))
        .collect();
    let mut differences = vec![None; ROUNDS];
    let differences = std::cell::RefCell::new(&mut differences);
    let mut race = Race::new();
    for (name, role, map) in &mut maps {
        let (name, differences) = (*name, &differences);
        race.enter(name, *role, move |round| {
            let numbers = one_percent(n, round);
            let ids: Vec<_> = numbers.iter().map(|&number| id(number)).collect();
            let (changed, before) = (objects(numbers, round), map.read(&ids));
            let (snapshot, _) = timed(|| map.snapshot());
            let (update, ()) = timed(|| map.put(changed));
            assert_ne!(map.read(&ids), before, "{name} has changed");
            let (diff, found) = timed(|| map.diff());
            if let Some(found) = found {
                let expected = *differences.borrow_mut()[round as usize - 1].get_or_insert(found);
                assert_eq!(found, expected, "the differences of {name}");
                assert_eq!(found.count, ids.len() as u64, "the differences of {name}");
            }
            let (rollback, ()) = timed(|| map.roll_back());
            assert_eq!(map.read(&ids), before, "{name} is as it was");
            let diff = found.map_or(f64::NAN, |_| micros(diff));
            [
                micros(snapshot),
                nanos(update) / ids.len() as f64,
                diff,
                micros(rollback),
            ]
        });
    }
    let works = ["snapshot-ram", "update-ram", "diff", "rollback-ram"];
    race.run(ROUNDS).record(works, n, &mut run.table);
}
