//! Durable snapshots, and rollbacks of a change of 1 %.

use super::Run;
use super::stores::Stores;
use crate::objects::{encode, id, object, objects, one_percent};
use crate::peers::Store as _;
use crate::peers::raw::{self, RawFile};
use crate::race::{Race, micros, timed};
use crate::table::Role;

const ROUNDS: usize = 21;
/// The number of snapshots that follow each other.
const SNAPSHOTS: usize = 201;
/// The version of the objects that this work writes is this number plus the round.
const VERSIONS: u64 = 1 << 24;

/// Makes a snapshot, changes 1 % and rolls back, in each round. In the end the stores keep one more change of 1 %, so that
/// the last snapshot differs from the head.
pub fn measure(run: &mut Run, n: u64, mut stores: Stores) -> Stores {
    run.progress.at("snapshot", n, 1, 1);
    let folder = run.folder("snapshot-");
    let mut raw = RawFile::create(folder.path(), "raw");
    let bytes = encode(&object(0, 0)).bytes;
    let mut race = Race::new();
    for (name, role, store) in stores.all_mut() {
        race.enter(name, role, move |round| {
            let numbers = one_percent(n, round);
            let ids: Vec<_> = numbers.iter().map(|&number| id(number)).collect();
            let before = store.read(&ids);
            let (snapshot, has_snapshots) = timed(|| store.snapshot());
            store.put(objects(numbers, VERSIONS + round));
            // A store without snapshots keeps the change, so all stores have as many versions.
            if !has_snapshots {
                return [f64::NAN; 2];
            }
            assert_ne!(store.read(&ids), before, "{name} has changed");
            let rollback = timed(|| store.roll_back()).0;
            assert_eq!(store.read(&ids), before, "{name} is as it was");
            [micros(snapshot), micros(rollback)]
        });
    }
    race.enter(raw::NAME, Role::Limit, |_| {
        [
            micros(timed(|| raw.append(&bytes)).0),
            micros(timed(|| raw.append(&bytes)).0),
        ]
    });
    race.run(ROUNDS)
        .record(["snapshot", "rollback"], n, &mut run.table);
    one_after_the_other(run, n, &mut stores, &mut raw);
    for (_, _, store) in stores.all() {
        store.put(objects(one_percent(n, 1), VERSIONS));
    }
    stores
}

/// Makes snapshots in turns with appends, so that nothing else happens between them.
fn one_after_the_other(run: &mut Run, n: u64, stores: &mut Stores, raw: &mut RawFile) {
    run.progress.at("snapshots", n, 1, 1);
    let bytes = encode(&object(0, 0)).bytes;
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |_| {
        [micros(timed(|| stores.treering.snapshot()).0)]
    });
    race.enter(raw::NAME, Role::Limit, |_| {
        [micros(timed(|| raw.append(&bytes)).0)]
    });
    race.run(SNAPSHOTS).record(["snapshots"], n, &mut run.table);
}
