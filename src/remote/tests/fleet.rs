//! Random schedules of machines with one remote, in a service with faults.

use std::ops::Range;

use crate::testing::fleet::{Counts, Schedules, run};

/// The seeds of the schedules: so many from 0 on, or what `TREERING_SCHEDULES` says: a count, or two seeds with a hyphen.
fn seeds(count: u64) -> Range<u64> {
    let asked = std::env::var("TREERING_SCHEDULES").unwrap_or_else(|_| count.to_string());
    let (from, to) = asked.split_once('-').unwrap_or(("0", &asked));
    from.parse().unwrap()..to.parse().unwrap()
}

/// Runs these schedules, and returns what they did.
fn run_all(seeds: Range<u64>, schedules: Schedules) -> Counts {
    let (mut sum, mut failed) = (Counts::default(), Vec::new());
    for seed in seeds {
        match run(seed, schedules) {
            Ok(counts) => sum.add(&counts),
            Err(wrong) => failed.push(format!("seed {seed}: {wrong}")),
        }
    }
    println!("{sum:?}");
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
    sum
}

#[test]
fn nothing_is_lost_whatever_the_service_does() {
    let sum = run_all(seeds(80), Schedules::Plain);
    let is_short = seeds(80).count() < 80;
    assert!(
        is_short
            || sum.pushes > 100
                && sum.merges > 100
                && sum.failures > 40
                && sum.behind > 20
                && sum.erasures > 10
                && sum.thinned > 20,
        "{sum:?}"
    );
}

/// Also with caps, conflicts, forks, a second remote and backups.
#[test]
fn nothing_is_lost_in_wide_schedules() {
    let sum = run_all(seeds(240), Schedules::Wide);
    let seldom = sum.named().into_iter().filter(|(_, count)| *count < 10);
    let seldom: Vec<_> = seldom.collect();
    assert!(seeds(240).count() < 240 || seldom.is_empty(), "{seldom:?}");
}

/// In this schedule, a rival from before a crash pulls as another process of its machine. Then the new process writes.
#[test]
fn a_process_writes_behind_an_older_one_of_its_machine() {
    run(236, Schedules::Plain).unwrap();
}

/// OUT-1: in this schedule, a collection drops a side line, and its machine sends it anew without what it thinned. A version
/// that only the dropped line had is no version of the remote.
#[test]
fn a_side_line_that_was_sent_anew_has_not_what_it_had() {
    run(6450, Schedules::Plain).unwrap();
}

/// FOR-1: in these schedules, a thinned history names versions that the remote had in older batches, and a machine has
/// thinned those. It gets them again.
#[test]
fn a_map_brings_the_versions_that_are_missing_here() {
    for seed in [26_205, 62_051, 100_192, 182_494] {
        run(seed, Schedules::Plain).unwrap();
    }
}

/// The probe refuses a service that ignores conditions. Without the probe, it would lose pushes, and the checks see that.
#[test]
fn a_service_that_ignores_conditions_is_found_out() {
    let wrong = (0..60)
        .filter(|seed| run(*seed, Schedules::Careless).is_err())
        .count();
    assert!(wrong > 5, "{wrong} of 60");
}
