//! What forks and merges cost, as ratios within one run.
//!
//! `cargo bench --bench forks` prints them; `TREERING_BENCH_MAX=100000` makes it faster. Times are medians.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the program prints its results; a failure ends the run"
)]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use common::{Random, anonymous_bytes, fill, id, median, object, ratio, time};
use treering::{Memory, Options, Writer};

mod common;

const ROUNDS: usize = 101;
/// The number of forks that live at once, and the number of changes in each.
const LIVE: usize = 1_000;
const CHANGES: usize = 100;
/// The number of commits of a deep fork.
const DEEP: usize = 1_000;

fn bytes_below(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder.join("log")).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Makes and drops forks of a small and a large memory alternately.
fn make(small: &Memory, large: &Memory, size: usize) {
    let (mut times, user) = ([const { Vec::new() }; 2], Writer::user());
    let before = anonymous_bytes();
    for round in 0..ROUNDS {
        for (at, memory) in [(0, small), (1, large)] {
            let name = format!("made-{round}");
            times[at].push(time(1, || drop(memory.fork(&name).by(&user).unwrap())));
        }
    }
    let grown = anonymous_bytes().saturating_sub(before) / (2 * ROUNDS as u64);
    let [of_small, of_large] = times.map(median);
    println!(
        "make a fork: 10 objects {of_small:.1?}, {size} objects {of_large:.1?}, ratio {:.2} (promised: at most 1.5); {grown} bytes of RAM each",
        ratio(of_large, of_small)
    );
    for round in 0..ROUNDS {
        for memory in [small, large] {
            drop(memory.drop_fork(&format!("made-{round}"), true, &user).unwrap());
        }
    }
}

/// Changes many forks, each in small commits.
fn live_forks(folder: &Path, size: usize) {
    let store = folder.join("live");
    let options = || Options::new().segment_bytes_max(1 << 20);
    let memory = options().create(&store).unwrap();
    fill(&memory, &(0..size).collect::<Vec<_>>(), 0);
    memory.close().unwrap();
    let open = |what: &str| -> Duration {
        let took = time(21, || {
            let memory = Options::new().read_only(true).open(&store).unwrap();
            black_box(memory.view().get(&id(1)).unwrap());
        });
        println!("open and first get {what}: {took:.1?}");
        took
    };
    let without = open("without forks");
    let memory = options().open(&store).unwrap();
    let (ram, log) = (anonymous_bytes(), bytes_below(&store));
    let user = Writer::user();
    let forks: Vec<Memory> = (0..LIVE)
        .map(|number| memory.fork(&format!("live-{number}")).by(&user).unwrap())
        .collect();
    let mut random = Random(3);
    for round in 0..CHANGES {
        for fork in &forks {
            drop(fork.put(object(random.below(size), round + 1), &user).unwrap());
        }
    }
    let changes = (LIVE * CHANGES) as u64;
    println!(
        "{LIVE} forks with {CHANGES} changes each: {} bytes of RAM a change (promised: at most 450), {} bytes of log a change, with the text of 280 bytes (promised: at most 800)",
        anonymous_bytes().saturating_sub(ram) / changes,
        bytes_below(&store).saturating_sub(log) / changes,
    );
    drop(forks);
    memory.close().unwrap();
    let with = open("with the forks");
    println!(
        "opening with the forks takes {:.1} ms longer (promised: at most 2)",
        (with.as_secs_f64() - without.as_secs_f64()) * 1_000.0
    );
}

/// Reads objects of a fork with many commits, and of the main line, alternately.
fn deep_gets(memory: &Memory, size: usize) {
    let user = Writer::user();
    let fork = memory.fork("deep").by(&user).unwrap();
    let mut random = Random(9);
    for round in 0..DEEP {
        drop(fork.put(object(random.below(size), round), &user).unwrap());
    }
    let ids: Vec<_> = (0..20_000).map(|_| id(random.below(size))).collect();
    let mut times = [const { Vec::new() }; 2];
    let views = [memory.view(), fork.view()];
    for _ in 0..11 {
        for (view, times) in views.iter().zip(&mut times) {
            times.push(time(1, || {
                for id in &ids {
                    black_box(view.get(id).unwrap().unwrap().kind().len());
                }
            }));
        }
    }
    let [main, deep] = times.map(median);
    println!(
        "get on a fork {DEEP} commits deep: {:.2} times a get on main (promised: at most 1.2)",
        ratio(deep, main)
    );
    drop(memory.drop_fork("deep", true, &user).unwrap());
}

/// Merges a change of one object in a hundred, and compares with the diff of that change.
fn merge(memory: &Memory, size: usize) {
    let user = Writer::user();
    let fork = memory.fork("merge").by(&user).unwrap();
    let step = 100;
    fill(&fork, &(0..size).step_by(step).collect::<Vec<_>>(), 1);
    drop(memory.put(object(1, 1), &user).unwrap());
    let (base, theirs) = (memory.view(), fork.view());
    let diff = time(5, || {
        let changes = memory.diff(&base, &theirs).unwrap();
        black_box(changes.len());
    });
    let planned = time(5, || drop(memory.merge("merge").preview(&user).unwrap()));
    let merged = time(1, || drop(memory.merge("merge").by(&user).unwrap()));
    let changed = size / step;
    println!(
        "merge of {changed} changes into {size} objects: {merged:.1?} (plan {planned:.1?}), {:.2} times their diff of {diff:.1?} (promised: at most 3)",
        ratio(merged, diff)
    );
}

fn main() {
    let large = std::env::var("TREERING_BENCH_MAX").ok();
    let large = large.and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let small = Memory::create(folder.path().join("small")).unwrap();
    fill(&small, &(0..10).collect::<Vec<_>>(), 0);
    let big = Memory::create(folder.path().join("large")).unwrap();
    fill(&big, &(0..large).collect::<Vec<_>>(), 0);
    make(&small, &big, large);
    deep_gets(&big, large);
    merge(&big, large);
    drop((small, big));
    live_forks(folder.path(), large.min(100_000));
}
