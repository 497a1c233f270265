//! The ratios that this project promises, each measured within one run.
//!
//! `cargo bench --bench figures` prints the ratios; `TREERING_BENCH_MAX=100000` makes it faster. Times are medians.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the program prints its results; a failure ends the run"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Random, anonymous_bytes, fill, id, median, object, ratio, time};
use treering::{Memory, Object, Options, Revision, Writer};

mod common;

const ROUNDS: usize = 301;

/// Measures snapshot and rollback of a small and a large memory alternately, so that other load on the machine affects
/// both.
fn snapshot_and_rollback(what: &str, small: &Memory, large: &Memory, sizes: (usize, usize)) {
    let prepare = |memory: &Memory| {
        memory.snapshot(Some("good"), &Writer::user()).unwrap();
        memory.put(object(0, 99), &Writer::user()).unwrap();
    };
    prepare(small);
    prepare(large);
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (at, memory) in [(0, small), (1, large)] {
            times[at].push(time(1, || drop(memory.snapshot(None, &Writer::user()).unwrap())));
            let good = Revision::Name("good".to_owned());
            times[at + 2].push(time(1, || {
                drop(memory.rollback(&good).by(&Writer::user()).unwrap());
            }));
            memory
                .rollback(Revision::Ancestor(1))
                .by(&Writer::user())
                .unwrap();
        }
    }
    let [small_snapshot, large_snapshot, small_rollback, large_rollback] = times.map(median);
    for (verb, small, large) in [
        ("snapshot", small_snapshot, large_snapshot),
        ("rollback", small_rollback, large_rollback),
    ] {
        let (few, many) = sizes;
        println!(
            "{what} {verb}: {few} objects {small:.1?}, {many} objects {large:.1?}, ratio {:.2} (promised: at most 2)",
            ratio(large, small)
        );
    }
}

fn get(memory: &Memory, size: usize) {
    let view = memory.view();
    let map: HashMap<String, Arc<Object>> = view
        .objects()
        .map(|object| {
            let object = object.unwrap();
            (object.id().to_string(), Arc::new(object))
        })
        .collect();
    let mut random = Random(7);
    let ids: Vec<_> = (0..200_000).map(|_| id(random.below(size))).collect();
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..7 {
        times[0].push(time(1, || {
            for id in &ids {
                black_box(map.get(id.as_str()).unwrap().kind().len());
            }
        }));
        times[1].push(time(1, || {
            for id in &ids {
                black_box(view.get(id).unwrap().unwrap().kind().len());
            }
        }));
    }
    let [theirs, ours] = times.map(median);
    let each = |time: Duration| time / ids.len() as u32;
    println!(
        "get by id and one field, {size} objects: HashMap<String, Arc<_>> {:.0?}, Memory {:.0?}, ratio {:.2} (promised: at most 3)",
        each(theirs),
        each(ours),
        ratio(ours, theirs)
    );
}

/// Opens each store from its checkpoint, and reads one object that was not read before.
fn open_and_get(middle: &Path, large: &Path, size: usize) {
    let mut random = Random(5);
    let mut open = |store: &Path, size: usize| {
        let wanted = id(random.below(size));
        let memory = Options::new().read_only(true).open(store).unwrap();
        let found = memory.view().get(&wanted).unwrap();
        black_box(found.unwrap().content().map(str::len));
    };
    // Measures the two alternately, so that other load on the machine affects both.
    let (mut of_middle, mut of_large) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        of_middle.push(time(1, || open(middle, size.min(10_000))));
        of_large.push(time(1, || open(large, size)));
    }
    let (of_middle, of_large) = (median(of_middle), median(of_large));
    println!(
        "open and first get: {of_large:.1?} of {size} objects, {of_middle:.1?} of 10,000: {:.2} times (promised: at most 2)",
        ratio(of_large, of_middle)
    );
}

/// Measures the memory that snapshots use. Runs in a separate process, because the reuse of freed memory would hide an
/// increase.
fn memory_of_snapshots(store: &Path, size: usize) {
    // Uses small segments, because the active segment is in memory.
    let memory = Options::new().segment_bytes_max(1 << 20).create(store).unwrap();
    fill(&memory, &(0..size).collect::<Vec<_>>(), 0);
    let mut random = Random(11);
    let before = anonymous_bytes();
    let mut changed = 0_u64;
    for round in 1..=20 {
        memory
            .snapshot(Some(&format!("round-{round}")), &Writer::user())
            .unwrap();
        let mut numbers: Vec<_> = (0..size / 100).map(|_| random.below(size)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        changed += numbers.len() as u64;
        fill(&memory, &numbers, round);
    }
    let grown = anonymous_bytes().saturating_sub(before);
    println!(
        "20 snapshots of {size} objects, 1 % changed between: {} bytes of anonymous memory per changed object (promised: at most 450; the versions themselves are on disk)",
        grown / changed
    );
}

const CHILD: &str = "TREERING_FIGURES_CHILD";

fn main() {
    let large = std::env::var("TREERING_BENCH_MAX")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    if let Ok(store) = std::env::var(CHILD) {
        return memory_of_snapshots(Path::new(&store), large);
    }
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<_> = (0..large).collect();

    let small = Memory::in_memory().unwrap();
    fill(&small, &all[..10], 0);
    let big = Memory::in_memory().unwrap();
    fill(&big, &all, 0);
    snapshot_and_rollback("in memory,", &small, &big, (10, large));
    drop((small, big));

    let small = Memory::create(folder.path().join("small")).unwrap();
    fill(&small, &all[..10], 0);
    let store = folder.path().join("large");
    let big = Memory::create(&store).unwrap();
    let start = Instant::now();
    fill(&big, &all, 0);
    let filled = start.elapsed();
    println!(
        "bulk put of {large} objects, 10,000 a commit: {:.0} objects a second",
        large as f64 / filled.as_secs_f64()
    );
    snapshot_and_rollback("durable,", &small, &big, (10, large));
    drop((big, small));
    let middle = folder.path().join("middle");
    let memory = Memory::create(&middle).unwrap();
    fill(&memory, &all[..large.min(10_000)], 0);
    memory.close().unwrap();
    open_and_get(&middle, &store, large);
    let start = Instant::now();
    let big = Options::new().checkpoints(false).open(&store).unwrap();
    println!(
        "open of {large} objects without a checkpoint: {:.1?}",
        start.elapsed()
    );
    get(&big, large);
    drop(big);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    assert!(
        child
            .env(CHILD, folder.path().join("snapshots"))
            .status()
            .unwrap()
            .success()
    );
}
