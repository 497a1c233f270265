//! Measures verbs as processes, and the envelope in a process, at growing numbers of memories.
//!
//! `cargo bench --bench processes` stores 1,000, 10,000 and 100,000 memories, runs each verb at all sizes in turn, and
//! prints the smallest and the median time of each, with the ratio of the smallest times to the smallest store.
//! `TREERING_BENCH_MAX=1000000` adds a store of a million.
//!
//! `cargo bench --bench processes -- put` measures only `put --jsonl` of 300,000 objects, against the load of the same
//! objects by the library as in `benches/peers`: `Draft::put_all`, 1,000 objects a commit.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure ends the run, and the program prints its results"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use treering::agent::{Agent, EnvelopeRequest, Reach, Settings};
use treering::inspect::ingest::json::value_to_json;
use treering::{Id, Kind, Memory, NewObject, Value, Writer};

/// The numbers of memories. The environment limits them.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The number of rounds of each measurement.
const ROUNDS: usize = 15;
/// The number of envelopes in one process.
const ENVELOPES: usize = 200;
/// The number of objects of the bulk load.
const LOADED: u64 = 300_000;
/// The number of objects in a commit of the load by the library.
const A_COMMIT: u64 = 1_000;
/// The number of bulk loads of each kind.
const LOADS: usize = 3;

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

/// Returns an object as in `benches/peers`: 455 canonical bytes, with an id that has no order.
fn object(number: u64) -> NewObject {
    let mixed = |salt: u64| (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ salt << 40;
    let (high, low) = (mixed(1), mixed(2).wrapping_mul(0xBF58_476D_1CE4_E5B9));
    let parts = (high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48);
    let id = format!(
        "id-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        parts.0,
        parts.1,
        parts.2,
        parts.3,
        low & 0xffff_ffff_ffff
    );
    let mut object = NewObject::new(Id::new(&id).unwrap(), Kind::new("note").unwrap());
    let attributes = &mut object.attributes;
    attributes.insert("topic", Value::Text(format!("topic {:04}", number % 1_000)));
    attributes.insert("turn", Value::Integer(0));
    attributes.insert("source", Value::Text(format!("session {:06}", number / 50)));
    attributes.insert("weight", Value::Float((number % 64) as f64 / 64.0));
    let words = (0..40).map(|word| WORDS[(mixed(word) >> 7) as usize % WORDS.len()]);
    let mut text = format!("{:016x} {}", low, words.collect::<Vec<_>>().join(" "));
    text.truncate(275);
    object.content = Some(text);
    object
}

const WORDS: [&str; 8] = [
    "agent", "answer", "commit", "evening", "memory", "paper", "session", "village",
];

/// Loads objects by `put --jsonl` and by the library in turns, and prints the rates.
fn show_loads(folder: &Path) {
    let file = folder.join("objects.jsonl");
    let lines: String = (0..LOADED)
        .map(|number| format!("{}\n", line_of(&object(number))))
        .collect();
    std::fs::write(&file, lines).unwrap();
    let (mut verb, mut library) = (Vec::new(), Vec::new());
    for round in 0..LOADS {
        let store = |name: &str| folder.join(format!("{name}-{round}"));
        verb.push(run(&store("verb"), &["put", "--jsonl", file.to_str().unwrap()]));
        library.push(load(&store("library")));
    }
    let rate = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        LOADED as f64 / times[LOADS / 2].as_secs_f64()
    };
    let (verb, library) = (rate(&mut verb), rate(&mut library));
    let ratio = verb / library;
    println!("put --jsonl {verb:.0} objects/s, library {library:.0} objects/s, ratio {ratio:.2}");
}

/// Returns the line of JSON of an object.
fn line_of(object: &NewObject) -> serde_json::Value {
    let attributes = object.attributes.iter();
    let attributes: serde_json::Map<_, _> = attributes
        .map(|(name, value)| (name.clone(), value_to_json(value)))
        .collect();
    json!({"id": object.id.as_str(), "kind": "note", "attributes": attributes, "content": object.content})
}

/// Loads the objects by the library. Returns the time of the commits, without the time to make the objects.
fn load(store: &Path) -> Duration {
    let memory = Memory::create(store).unwrap();
    let mut time = Duration::ZERO;
    for first in (0..LOADED).step_by(A_COMMIT as usize) {
        let objects: Vec<NewObject> = (first..first + A_COMMIT).map(object).collect();
        let start = Instant::now();
        let mut draft = memory.draft(&Writer::user());
        drop(draft.put_all(objects).unwrap());
        drop(memory.commit(draft, "put").unwrap());
        time += start.elapsed();
    }
    memory.close().unwrap();
    time
}

fn main() {
    if std::env::args().any(|argument| argument == "put") {
        return show_loads(tempfile::tempdir().unwrap().path());
    }
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
