//! The quick tier: a few seeds, less of each.

use std::time::Instant;

use super::{Kind, Settings, Tally, run_seed};

/// Runs seeds; a failure says how to see it again.
fn run(kind: Kind, seeds: std::ops::Range<u64>, settings: Settings) -> Tally {
    let started = Instant::now();
    let mut sum = Tally::default();
    for seed in seeds {
        match run_seed(kind, seed, settings) {
            Ok(tally) => sum += tally,
            Err(what) => panic!(
                "seed {seed}: {what}\nagain: TREERING_SEED={seed} cargo test --release --lib campaign -- --nocapture"
            ),
        }
    }
    eprintln!("{sum} in {:.1} s", started.elapsed().as_secs_f64());
    sum
}

/// The seed of the environment, or these.
fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let asked = std::env::var("TREERING_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    asked.map_or(usual, |seed: u64| seed..seed + 1)
}

#[test]
fn an_acknowledged_commit_survives_a_crash_at_every_call() {
    let sum = run(Kind::Crash, seeds(1..4), Settings::QUICK);
    assert!(
        sum.images > 10_000 && sum.distinct > 2_000 && sum.doubles > 500 && sum.recoveries > 200,
        "{sum}"
    );
}

#[test]
fn a_fault_at_any_call_loses_and_invents_nothing() {
    let sum = run(Kind::Fault, seeds(1..4), Settings::QUICK);
    assert!(sum.faults > 300, "{sum}");
}
