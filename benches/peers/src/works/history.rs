//! The history of an id that few of many commits changed, in a store that is opened for this question.

use std::time::Duration;

use treering::{Durability, Memory, Options};

use super::Run;
use crate::objects::{id, object};
use crate::peers::put;
use crate::race::{Race, millis, timed};
use crate::table::Role;

const ROUNDS: usize = 9;
/// The number of commits that change the id.
const CHANGES: u64 = 20;

/// Measures a history of `n` commits, beside the newest commits of the same history.
pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("history", n, 1, 1);
    let folder = run.folder("history-");
    let path = folder.path().join("treering");
    // One sync for many commits makes the same history, faster.
    let durability = Durability::Interval(Duration::from_secs(1));
    let memory = Options::new().durability(durability).create(&path).unwrap();
    for commit in 1..=n {
        let number = if commit % (n / CHANGES) == 0 { 0 } else { commit };
        put(&memory, vec![object(number, commit)]);
    }
    memory.close().unwrap();
    let open = || -> Memory { Options::new().read_only(true).open(&path).unwrap() };
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |_| {
        let (time, history) = timed(|| open().history(&id(0)).unwrap());
        assert_eq!(history.len() as u64, CHANGES, "the changes of the id");
        [millis(time)]
    });
    race.enter("Treering, newest commits", Role::Limit, |_| {
        let (time, commits) = timed(|| {
            open()
                .commits()
                .take(CHANGES as usize)
                .map(Result::unwrap)
                .count()
        });
        assert_eq!(commits as u64, CHANGES, "the newest commits");
        [millis(time)]
    });
    race.run(ROUNDS).record(["history"], n, &mut run.table);
}
