//! A small share of the damages, in a normal test run. `cargo soak damage` does the rest.

use std::thread;

use super::{Tally, run_store};

#[test]
fn no_damage_goes_unnoticed_is_read_wrong_or_costs_what_it_did_not_touch() {
    let mut sum = Tally::default();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = (0..2)
            .map(|part| {
                scope.spawn(move || {
                    (0..5)
                        .map(|seed| run_store(2 * seed + part, 10))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().expect("no panic"))
            .collect()
    });
    for outcome in outcomes {
        sum += outcome.unwrap_or_else(|failures| panic!("{failures}"));
    }
    assert!(sum.told > 50 && sum.salvaged > 80 && sum.written > 5, "{sum:?}");
    assert!(sum.versions > 1_000, "{sum:?}");
}
