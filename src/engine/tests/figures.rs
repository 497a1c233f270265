//! Compares the size of a history after garbage collection with the promised size. Each write is a separate commit.
//!
//! `cargo test --release --lib figures -- --ignored --nocapture` prints the sizes for 200,000 commits over 10,000
//! objects.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use super::{id, note};
use crate::Result;
use crate::digest::{CommitDigest, Root};
use crate::disk::MemDisk;
use crate::engine::{Clock, Containment, Memory, Options, Retention, SystemClock, VerifyDepth, Writer};
use crate::object::Time;
use crate::testing::random::SplitMix64;

/// The clock of an agent that works in bursts. Commits are `step` microseconds apart, and a week without commits
/// follows every `burst` commits.
struct Bursts {
    asked: AtomicI64,
    step: i64,
    burst: i64,
}

impl Clock for Bursts {
    fn now(&self) -> Time {
        const WEEK: i64 = 7 * 86_400 * 1_000_000;
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        Time::from_micros(1_700_000_000_000_000 + asked * self.step + asked / self.burst * WEEK)
    }
}

struct Case {
    name: &'static str,
    commits: u64,
    objects: u64,
    clock: Arc<dyn Clock>,
    retention: Retention,
    /// Whether the size of the log must be within the promised size.
    promised: bool,
}

fn measure(case: Case) -> Result<()> {
    let options = Options::new().clock(case.clock).automatic_gc(None);
    let memory = Memory::on_disk(Arc::new(MemDisk::new()), options, true, None)?;
    let mut random = SplitMix64::new(1);
    let mut digests: Vec<(CommitDigest, Root)> = Vec::new();
    let mut snapshots: Vec<(String, Root, u64)> = Vec::new();
    let started = Instant::now();
    for number in 0..case.commits {
        // Writes every object once before it writes any object again.
        let which = if number < case.objects {
            number
        } else {
            random.below(case.objects as usize) as u64
        };
        let text = format!(
            "what is known of {which} at {number}: {:0240x}",
            random.next_u64()
        );
        let committed = memory.put(note(&format!("o/{which}"), &text), &Writer::user())?;
        digests.push((committed.commit.digest, memory.view().root()));
        // Each snapshot keeps a whole state, so the test makes few snapshots.
        if [case.commits / 2, case.commits - 7].contains(&number) {
            let taken = memory.snapshot(Some(&format!("s{number}")), &Writer::user())?;
            snapshots.push((taken.name, taken.root, memory.view().len()));
        }
    }
    let written = started.elapsed();
    let live = memory.stats()?.live_bytes;
    let started = Instant::now();
    let report = memory.gc(&case.retention, None)?;
    let most = 3 * live + 64 * (case.commits + 1);
    println!(
        "{}: {} commits over {} objects, written in {written:.1?}; gc in {:.1?}: {} kept, {} thinned, {} of {} versions; \
         {} of {} bytes; live {live}, promised {most}, {:.2} of it",
        case.name,
        case.commits,
        case.objects,
        started.elapsed(),
        report.kept,
        report.thinned,
        report.versions,
        report.versions_before,
        report.bytes,
        report.bytes_before,
        report.bytes as f64 / most as f64,
    );
    assert!(!case.promised || report.bytes <= most, "{}", case.name);
    for (name, root, objects) in snapshots {
        let view = memory.view_at(&name.parse()?, "")?;
        let read = view.objects().map(Result::unwrap).fold(0, |count, _| count + 1);
        assert_eq!((view.root(), read), (root, objects), "{name}");
        assert!(view.get(&id("o/7"))?.is_some(), "{name}");
    }
    let roots: HashMap<_, _> = digests.iter().copied().collect();
    for (place, info) in memory.commits().enumerate() {
        let info = info?;
        let view = memory.view_at(&info.digest.to_hex().parse()?, "")?;
        assert!(roots.get(&info.digest).is_none_or(|root| *root == view.root()));
        if place.is_multiple_of(500) {
            assert_eq!(view.objects().flatten().count() as u64, view.len());
        }
    }
    let verified = memory.verify(VerifyDepth::Full)?;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(
        (verified.commits, verified.thinned),
        (report.kept, report.thinned)
    );
    for (digest, _) in digests.iter().step_by((case.commits / 200) as usize) {
        assert_ne!(memory.contains(&digest.to_hex())?, Containment::Absent);
    }
    Ok(())
}

fn bursts(step: i64, burst: i64) -> Arc<dyn Clock> {
    Arc::new(Bursts {
        asked: AtomicI64::new(0),
        step,
        burst,
    })
}

#[test]
fn a_collected_history_is_small() -> Result<()> {
    let retention = Retention {
        newest: 150,
        ..Retention::default()
    };
    for (name, clock) in [
        ("real clock", Arc::new(SystemClock) as Arc<dyn Clock>),
        ("bursts", bursts(50_000, 3_000)),
    ] {
        measure(Case {
            name,
            commits: 6_000,
            objects: 300,
            clock,
            retention,
            promised: true,
        })?;
    }
    Ok(())
}

#[test]
#[ignore = "takes minutes: the full size"]
fn two_hundred_thousand_commits_are_small() -> Result<()> {
    for (name, clock, promised) in [
        ("real clock", Arc::new(SystemClock) as Arc<dyn Clock>, true),
        ("one in 10 ms", bursts(10_000, i64::MAX), true),
        // Each kept hour, day or week has a state in which nearly every object has a different version. With more kept
        // states, more of an object's 20 versions stay, so this case exceeds the promised size.
        (
            "bursts of 50,000 commits, 50 ms apart, a week between",
            bursts(50_000, 50_000),
            false,
        ),
        ("evenly, one a minute", bursts(60_000_000, i64::MAX), false),
        ("evenly, one in 5 seconds", bursts(5_000_000, i64::MAX), false),
    ] {
        measure(Case {
            name,
            commits: 200_000,
            objects: 10_000,
            clock,
            retention: Retention::default(),
            promised,
        })?;
    }
    Ok(())
}
