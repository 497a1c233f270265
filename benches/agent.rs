//! Compares the cost of `remember` with that of `put`. Stores the same texts by the engine's bulk put, and by bulk
//! remember with the scan and the check for exact duplicates.
//!
//! `cargo bench --bench agent` measures the two alternately in one run, and prints the rates and their ratio.
//! `TREERING_BENCH_MAX` limits the number of texts.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure ends the run, and the program prints its results"
)]

use std::time::{Duration, Instant};

use treering::agent::{Agent, LinesOptions, RememberOptions, Settings};
use treering::{Id, Kind, Memory, NewObject, Writer};

/// The number of texts in a commit.
const BATCH: usize = 10_000;
/// The number of rounds of each measurement. The median is the result.
const ROUNDS: usize = 3;

fn text(number: usize) -> String {
    let topics = ["the build", "the release", "tea", "the office", "the database"];
    format!(
        "Fact {number} about {}: in week {} the team decided to keep it as it was, because {} others depend on it.",
        topics[number % topics.len()],
        number % 52,
        number % 17,
    )
}

fn line(number: usize, with_id: bool) -> Vec<u8> {
    let id = if with_id {
        format!(r#""id":"fact/{number}","#)
    } else {
        String::new()
    };
    format!(r#"{{{id}"text":"{}"}}"#, text(number)).into_bytes()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn put(count: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("store")).unwrap();
    timed(|| {
        for first in (0..count).step_by(BATCH) {
            let mut draft = memory.draft(&Writer::user());
            for number in first..(first + BATCH).min(count) {
                let id = Id::new(&format!("fact/{number}")).unwrap();
                let mut object = NewObject::new(id, Kind::new("fact").unwrap());
                object.content = Some(text(number));
                draft.put(object).unwrap();
            }
            memory.commit(draft, "put").unwrap();
        }
    })
}

fn remember(count: usize, with_ids: bool) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("store")).unwrap();
    let agent = Agent::new(memory, Settings::default());
    let lines: Vec<Vec<u8>> = (0..count).map(|number| line(number, with_ids)).collect();
    let lines = (1..).zip(lines).map(Ok);
    timed(|| {
        let answer = agent.remember_lines(lines, &LinesOptions::default(), &Writer::user());
        assert_eq!(answer.unwrap().stored, count as u64);
    })
}

/// Returns the time to add one item to `count` items, with or without the search for similar items.
fn one_by_one(count: usize, is_quick: bool) -> Duration {
    let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
    let lines = (0..count).map(|number| Ok((number as u64, line(number, false))));
    agent
        .remember_lines(lines, &LinesOptions::default(), &Writer::user())
        .unwrap();
    let options = RememberOptions {
        is_quick,
        ..RememberOptions::default()
    };
    let remember = |number: usize| {
        let item = treering::agent::NewItem::new(text(number));
        drop(agent.remember(item, &options, &Writer::user()).unwrap());
    };
    // The first item makes the agent build the indexes.
    remember(count);
    let more = 200;
    timed(|| (count + 1..=count + more).for_each(remember)) / more as u32
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let most = std::env::var("TREERING_BENCH_MAX")
        .ok()
        .and_then(|text| text.parse().ok());
    let count: usize = most.unwrap_or(100_000);
    // The first text makes the scan build its tables.
    remember(1, true);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(put(count));
        times[1].push(remember(count, true));
        times[2].push(remember(count, false));
    }
    let [put, named, unnamed] = times.map(median);
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    println!(
        "{count} texts of {} bytes, {BATCH} a commit, durable",
        text(0).len()
    );
    println!(
        "put                                   {:>10.0} a second",
        rate(put)
    );
    for (what, time) in [("with ids", named), ("without ids, each looked up", unnamed)] {
        println!(
            "remember, {what:<27} {:>10.0} a second, {:.2} of put (aim: at least 0.5)",
            rate(time),
            put.as_secs_f64() / time.as_secs_f64()
        );
    }
    let among = count.min(20_000);
    for (what, is_quick) in [("with near duplicates", false), ("quick", true)] {
        println!(
            "one remember among {among}, {what:<20} {:.1?}",
            one_by_one(among, is_quick)
        );
    }
}
