//! Durable commits of one object, beside an append of the same bytes.

use super::Run;
use super::stores::Stores;
use crate::objects::{encode, object, some_numbers};
use crate::peers::raw::{self, RawFile};
use crate::race::{Race, micros, timed};
use crate::table::Role;

const ROUNDS: usize = 301;
/// The version of the objects that this work writes is this number plus the round.
const VERSIONS: u64 = 1_000;

pub fn measure(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("commit", n, 1, 1);
    let folder = run.folder("commit-");
    let mut raw = RawFile::create(folder.path(), "raw");
    let numbers = some_numbers(n, ROUNDS, 3);
    let next = |round: u64| object(numbers[round as usize - 1], VERSIONS + round);
    let mut race = Race::new();
    for (name, role, store) in stores.all() {
        race.enter(name, role, move |round| {
            let objects = vec![next(round)];
            [micros(timed(|| store.put(objects)).0)]
        });
    }
    race.enter(raw::NAME, Role::Limit, |round| {
        let bytes = encode(&next(round)).bytes;
        [micros(timed(|| raw.append(&bytes)).0)]
    });
    race.run(ROUNDS).record(["commit"], n, &mut run.table);
    let ids: Vec<_> = numbers.iter().map(|&number| crate::objects::id(number)).collect();
    stores.check_equal(&ids);
}
