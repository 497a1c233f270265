//! Measures a revert of 1,000 of 10,000 commits.
//!
//! `cargo test --release --lib revert::cost -- --ignored --nocapture` prints the times.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::{by, note};
use super::session;
use crate::disk::MemDisk;
use crate::engine::{Memory, Options};

#[test]
#[ignore = "a measurement of release builds"]
fn a_thousand_of_ten_thousand_commits_take_less_than_a_second() {
    let disk = Arc::new(MemDisk::new());
    let open = |create| {
        let options = Options::new().automatic_gc(None);
        Memory::on_disk(Arc::clone(&disk) as _, options, create, None).unwrap()
    };
    let memory = open(true);
    for number in 0..10_000 {
        let writer = by(if number % 10 == 7 { "night" } else { "day" });
        let text = format!("what commit {number} says");
        drop(
            memory
                .put(note(&format!("o/{}", number % 4_999), &text), &writer)
                .unwrap(),
        );
    }
    // The first time, the states are in memory. The second time, a new process reads a checkpoint.
    let started = Instant::now();
    let planned = memory.revert(session("night")).preview(&by("owner")).unwrap();
    let in_memory = started.elapsed();
    memory.close().unwrap();
    let started = Instant::now();
    let memory = open(false);
    let opened = started.elapsed();
    let started = Instant::now();
    let reverted = memory.revert(session("night")).by(&by("owner")).unwrap();
    let reopened = started.elapsed();
    assert_eq!(planned.reverted, reverted.reverted);
    // Half of the commits of the session wrote over others, and others wrote over the other half.
    assert_eq!(reverted.selected, 1_000);
    assert!(reverted.reverted.len() > 400 && reverted.kept.len() > 400);
    println!(
        "1,000 of 10,000 commits, {} reverted, {} kept: planned in {in_memory:.1?}; opened in {opened:.1?}, reverted in {reopened:.1?}",
        reverted.reverted.len(),
        reverted.kept.len()
    );
    assert!(in_memory < Duration::from_secs(1) && reopened < Duration::from_secs(1));
}
