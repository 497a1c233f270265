//! Measures verbs as processes, and the envelope in a process, at growing numbers of memories.
//!
//! `cargo bench --bench processes` stores 1,000, 10,000 and 100,000 memories, runs each verb at all sizes in turn, and
//! prints the smallest and the median time of each, with the ratio of the smallest times to the smallest store.
//! `TREERING_BENCH_MAX=1000000` adds a store of a million.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure ends the run, and the program prints its results"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use treering::Memory;
use treering::agent::{Agent, EnvelopeRequest, Reach, Settings};

/// The numbers of memories. The environment limits them.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The number of rounds of each measurement.
const ROUNDS: usize = 15;
/// The number of envelopes in one process.
const ENVELOPES: usize = 200;

/// Returns a line for `remember --jsonl`: eight words of 2,000, and one word that about five memories share.
fn line(number: usize, count: usize) -> String {
    let mixed = |salt: usize| (number + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    let words = (0..8).map(|salt| {
        let part = mixed(salt * 7919) % 2_000;
        format!("word{}", part * part / 2_000)
    });
    let words = words.collect::<Vec<_>>().join(" ");
    let kind = match number % 20 {
        0..17 => "fact",
        17 => "rule",
        18 => "decision",
        _ => "task",
    };
    let mut line = format!(
        r#"{{"text":"The team noted {words} rare{} about item{number}.","kind":"{kind}""#,
        mixed(1) % (count / 5),
    );
    if number.is_multiple_of(3) {
        let speaker = if number.is_multiple_of(2) { "Anna" } else { "Ben" };
        write!(line, r#","session":"s{}","speaker":"{speaker}""#, number / 30).unwrap();
    }
    // A scope has at most a million items, so some are in other scopes.
    if number.is_multiple_of(10) {
        write!(line, r#","scope":"team{}""#, number % 70).unwrap();
    }
    line.push_str("}\n");
    line
}

fn run(store: &Path, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_treering"))
        .arg("--store")
        .arg(store)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let time = start.elapsed();
    assert!(status.unwrap().success(), "{arguments:?}");
    time
}

/// Stores `count` memories, and runs each verb once, which writes the derived files.
fn store(folder: &Path, count: usize) -> PathBuf {
    let lines: String = (0..count).map(|number| line(number, count)).collect();
    let file = folder.join("lines.jsonl");
    std::fs::write(&file, lines).unwrap();
    let store = folder.join(format!("store-{count}"));
    run(&store, &["remember", "--jsonl", file.to_str().unwrap()]);
    run(&store, &["remember", "--id", "first", "the first text"]);
    for verb in ["recall", "envelope"] {
        run(&store, &[verb, "rare1"]);
    }
    store
}

fn show(name: &str, stores: &[(usize, PathBuf)], mut time: impl FnMut(&Path, usize) -> Duration) {
    let mut times = vec![Vec::new(); stores.len()];
    for round in 0..ROUNDS {
        for (times, (_, store)) in times.iter_mut().zip(stores) {
            times.push(time(store, round));
        }
    }
    let mut first = None;
    for (mut times, (count, _)) in times.into_iter().zip(stores) {
        times.sort_unstable();
        let millis = |at: usize| times[at].as_secs_f64() * 1e3;
        let least = millis(0);
        let ratio = least / *first.get_or_insert(least);
        let middle = millis(ROUNDS / 2);
        println!("{name:<24} {count:>9}  least {least:>8.2} ms  median {middle:>8.2} ms  ratio {ratio:.2}");
    }
}

fn show_in_process(stores: &[(usize, PathBuf)]) {
    for (count, store) in stores {
        let agent = Agent::new(Memory::open(store).unwrap(), Settings::default());
        let view = agent.memory().view();
        let request = EnvelopeRequest::new(Reach::All);
        drop(agent.envelope(&view, &request).unwrap());
        let once = |_| {
            let start = Instant::now();
            drop(agent.envelope(&view, &request).unwrap());
            start.elapsed()
        };
        let mut times: Vec<Duration> = (0..ENVELOPES).map(once).collect();
        times.sort_unstable();
        let millis = |at: usize| times[at].as_secs_f64() * 1e3;
        let (p50, p95) = (millis(ENVELOPES / 2), millis(ENVELOPES * 95 / 100));
        println!(
            "{:<24} {count:>9}  p50   {p50:>8.2} ms  p95    {p95:>8.2} ms",
            "envelope in process"
        );
    }
}

fn main() {
    let most = std::env::var("TREERING_BENCH_MAX").map_or(100_000, |most| most.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let sizes = SIZES.into_iter().filter(|size| *size <= most);
    let stores: Vec<(usize, PathBuf)> = sizes.map(|size| (size, store(folder.path(), size))).collect();
    show("get", &stores, |store, _| run(store, &["get", "first"]));
    show("recall", &stores, |store, round| {
        run(store, &["recall", &format!("rare{round}")])
    });
    show("recall, frequent words", &stores, |store, _| {
        run(store, &["recall", "word5 word50 word500"])
    });
    show("remember", &stores, |store, round| {
        run(store, &["remember", &format!("a new text rare{round}")])
    });
    show("envelope", &stores, |store, _| run(store, &["envelope"]));
    show("envelope of a query", &stores, |store, round| {
        run(store, &["envelope", &format!("rare{round}")])
    });
    show_in_process(&stores);
}
