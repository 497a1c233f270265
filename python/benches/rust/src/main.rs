//! The Rust side of `python/bench.py`: the same calls as in Python, on the same store.
//!
//! Reads commands from standard input, and prints the median time of a call in nanoseconds for each. A command is
//! `recall COUNT` or `put COUNT`. `python/bench.py` alternates them with its own calls, so that both sides meet the same
//! machine.

use std::io::{BufRead, Write};
use std::time::Instant;

use treering::agent::{Agent, Reach, RecallQuery, Settings};
use treering::{Id, Kind, Memory, NewObject, Origin, Result, Scope, Writer};

const WORDS: [&str; 8] = [
    "office", "garden", "kettle", "harbour", "engine", "window", "winter", "letter",
];

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Calls `work` with the numbers up to `count`. Returns the median time of a call.
fn timed(count: usize, mut work: impl FnMut(usize) -> Result<()>) -> Result<u128> {
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let start = Instant::now();
        work(number)?;
        times.push(start.elapsed().as_nanos());
    }
    Ok(median(times))
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let agent = Agent::new(Memory::open(folder)?, Settings::default());
    let writer = Writer::of(Origin::Model);
    let reach = Reach::Scopes(vec![Scope::default(), Scope::new("project:bench")?]);
    let (mut out, mut round) = (std::io::stdout(), 0_usize);
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap_or_default();
        let (command, count) = line.split_once(' ').unwrap_or_default();
        let count = count.parse().unwrap_or(0);
        round += 1;
        let took = match command {
            "recall" => timed(count, |number| {
                let question = format!("where is the {}", WORDS[number % WORDS.len()]);
                let query = RecallQuery::new(question, reach.clone()).without_touch();
                let recalled = agent.recall(&agent.memory().view(), &query)?;
                assert!(!recalled.hits.is_empty());
                Ok(())
            })?,
            _ => timed(count, |number| {
                let id = Id::new(&format!("rust/{round}/{number}"))?;
                let mut object = NewObject::new(id, Kind::new("fact")?);
                object.content = Some(format!("The text of object {number} of round {round}."));
                agent.memory().put(object, &writer).map(drop)
            })?,
        };
        drop(writeln!(out, "{took}"));
        drop(out.flush());
    }
    Ok(())
}
