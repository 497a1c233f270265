//! Compares the cost of `remember` with that of `put`. Stores the same texts by the engine's bulk put, and by bulk
//! remember with the scan and the check for exact duplicates.
//!
//! `cargo bench --bench agent` measures the two alternately in one run, and prints the rates and their ratio. Then
//! measures single calls in a process at growing numbers of memories, in turn, with the ratio of the medians to the
//! smallest store; `cargo bench --bench agent -- calls` measures only these. `TREERING_BENCH_MAX` limits the number of
//! texts.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failure ends the run, and the program prints its results"
)]

use std::time::{Duration, Instant};

use treering::agent::{
    Agent, EnvelopeRequest, LinesOptions, NewItem, Reach, RecallQuery, RememberOptions, Settings,
};
use treering::{Id, Kind, Memory, NewObject, Writer};

/// The number of texts in a commit.
const BATCH: usize = 10_000;
/// The number of rounds of each measurement. The median is the result.
const ROUNDS: usize = 3;

/// The numbers of memories at which single calls are measured.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// The number of rounds of the measurement of single calls.
const CALLS: usize = 60;

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
        let item = NewItem::new(text(number));
        drop(agent.remember(item, &options, &Writer::user()).unwrap());
    };
    // The first item makes the agent build the indexes.
    remember(count);
    let more = 200;
    timed(|| (count + 1..=count + more).for_each(remember)) / more as u32
}

/// Returns the text of a memory in `benches/peers/servers.py`. Every word except the number is frequent.
fn fact(number: usize) -> String {
    let topics = ["the build", "the release", "tea", "the office", "the database"];
    let topic = topics[number % topics.len()];
    format!(
        "Fact {number} about {topic}: in week {} the team decided to keep it.",
        number % 52
    )
}

/// Returns an agent with `count` memories.
fn filled(folder: &std::path::Path, count: usize) -> Agent {
    let memory = Memory::create(folder.join(count.to_string())).unwrap();
    let agent = Agent::new(memory, Settings::default());
    let line = |number| format!(r#"{{"id":"fact/{number}","text":"{}"}}"#, fact(number)).into_bytes();
    let lines = (0..count).map(|number| Ok((number as u64, line(number))));
    agent
        .remember_lines(lines, &LinesOptions::default(), &Writer::user())
        .unwrap();
    agent
}

/// A call on an agent with a number of memories, in a round.
type Verb<'a> = &'a dyn Fn(&Agent, usize, usize);

fn calls(most: usize) {
    let folder = tempfile::tempdir().unwrap();
    let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= most).collect();
    let agents: Vec<Agent> = sizes.iter().map(|size| filled(folder.path(), *size)).collect();
    let remember = |agent: &Agent, count: usize, round: usize| {
        let number = count + round;
        let item = NewItem {
            id: Some(Id::new(&format!("fact/{number}")).unwrap()),
            ..NewItem::new(fact(number))
        };
        drop(
            agent
                .remember(item, &RememberOptions::default(), &Writer::user())
                .unwrap(),
        );
    };
    let recall = |agent: &Agent, text: String| {
        let query = RecallQuery::new(text, Reach::All);
        assert!(
            !agent
                .recall(&agent.memory().view(), &query)
                .unwrap()
                .hits
                .is_empty()
        );
    };
    let number = |count: usize, round: usize| round * 61 % count;
    let rare = |agent: &Agent, count: usize, round: usize| {
        recall(agent, format!("Fact {} about", number(count, round)));
    };
    let frequent = |agent: &Agent, _: usize, round: usize| {
        recall(agent, format!("what did the team decide in week {}", round % 52));
    };
    let envelope = |agent: &Agent, query: Option<String>| {
        let mut request = EnvelopeRequest::new(Reach::All);
        request.query = query;
        let answer = agent.envelope(&agent.memory().view(), &request).unwrap();
        assert!(!answer.text.is_empty());
    };
    let plain = |agent: &Agent, _: usize, _: usize| envelope(agent, None);
    let asked = |agent: &Agent, count: usize, round: usize| {
        envelope(agent, Some(format!("Fact {} about", number(count, round))));
    };
    let verbs: [(&str, Verb<'_>); 5] = [
        ("remember", &remember),
        ("recall, a rare word", &rare),
        ("recall, frequent words", &frequent),
        ("envelope", &plain),
        ("envelope of a query", &asked),
    ];
    let mut times = vec![[const { Vec::new() }; SIZES.len()]; verbs.len()];
    for round in 0..=CALLS {
        for (times, (_, verb)) in times.iter_mut().zip(&verbs) {
            for ((times, agent), count) in times.iter_mut().zip(&agents).zip(&sizes) {
                let time = timed(|| verb(agent, *count, round));
                // The first call of a verb builds the indexes.
                if round > 0 {
                    times.push(time);
                }
            }
        }
    }
    for (times, (name, _)) in times.into_iter().zip(verbs) {
        let mut first = None;
        for (mut times, count) in times.into_iter().zip(&sizes) {
            times.sort_unstable();
            let millis = |at: usize| times[at].as_secs_f64() * 1e3;
            let (middle, high) = (millis(CALLS / 2), millis(CALLS * 95 / 100));
            let ratio = middle / *first.get_or_insert(middle);
            println!("{name:<24} {count:>7}  p50 {middle:>7.2} ms  p95 {high:>7.2} ms  ratio {ratio:.2}");
        }
    }
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
    if !std::env::args().any(|argument| argument == "calls") {
        rates(count);
    }
    calls(count);
}

fn rates(count: usize) {
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
