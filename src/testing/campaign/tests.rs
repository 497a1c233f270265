//! The campaign in a normal test run: a few seeds.

use std::thread;
use std::time::Instant;

use super::{Kind, Settings, Tally, run_seed};
use crate::testing::is_thorough;

/// Runs each seed in a thread. For a failure, prints the command that reproduces it.
fn run(kind: Kind, seeds: std::ops::Range<u64>, settings: Settings) -> Tally {
    let started = Instant::now();
    let mut sum = Tally::default();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = seeds
            .map(|seed| (seed, scope.spawn(move || run_seed(kind, seed, settings))))
            .collect();
        runs.into_iter()
            .map(|(seed, run)| (seed, run.join().unwrap()))
            .collect()
    });
    for (seed, outcome) in outcomes {
        match outcome {
            Ok(tally) => sum += tally,
            Err(what) => panic!(
                "seed {seed}: {what}\nagain: TREERING_SEED={seed} cargo test --release --lib campaign -- --nocapture"
            ),
        }
    }
    eprintln!("{sum} in {:.1} s", started.elapsed().as_secs_f64());
    sum
}

/// Returns the seed that is set in the environment.
fn asked() -> Option<u64> {
    std::env::var("TREERING_SEED").ok()?.parse().ok()
}

/// Returns the seed that is set in the environment, or else `usual`.
fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    asked().map_or(usual, |seed| seed..seed + 1)
}

/// Whether the build is unoptimised, which makes the tests check less.
const QUICK: bool = cfg!(debug_assertions);

#[test]
fn an_acknowledged_commit_survives_a_crash_at_every_call() {
    let settings = if QUICK { Settings::QUICK } else { Settings::SOAK };
    let sum = run(Kind::Crash, seeds(1..if is_thorough() { 3 } else { 2 }), settings);
    let is_enough = sum.images > 50_000 && sum.distinct > 15_000 && sum.doubles > 5_000;
    assert!(QUICK || asked().is_some() || is_enough, "{sum}");
    assert!(sum.recoveries > 100, "{sum}");
}

#[test]
fn a_fault_at_any_call_loses_and_invents_nothing() {
    let settings = if QUICK {
        Settings::QUICK
    } else {
        Settings {
            fault_every: if is_thorough() { 8 } else { 32 },
            ..Settings::SOAK
        }
    };
    let sum = run(Kind::Fault, seeds(1..4), settings);
    let is_enough = sum.faults > if is_thorough() { 8_000 } else { 2_000 };
    assert!(QUICK || asked().is_some() || is_enough, "{sum}");
    assert!(sum.faults > 100, "{sum}");
}
