//! Long test runs: `cargo soak crash|fault|damage|remote|schedule|contract|machines|kills|puts|vectors|readers|report`. See
//! docs/testing.md.
//!
//! Each piece of work adds a line to a ledger (JSON Lines). So a run can be stopped at any time, resumed, split into
//! shards, and summed over days.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is test code, in which a panic is a test failure"
)]

mod ledger;
mod machines;
mod rounds;

use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ledger::{Entry, Ledger};
use machines::Round;
use treering::testing::campaign::{self, Kind, Settings};
use treering::testing::{damages, fleet};

/// The number of schedules of a number of `remote`.
const SCHEDULES: u64 = 1_000;

const USAGE: &str = "cargo soak WHAT [--from N] [--to N] [--shard I/N] [--seconds N] [--ledger FILE]

WHAT
  crash     crashes at every call of a workload a seed, and in recovery
  fault     faults at every call of a workload a seed
  damage    20 random damages of a random store a seed; --seed N --count N: N damages, from this seed on
  remote    1,000 schedules a number of machines with one remote, in a service with faults
  schedule  one such schedule a seed
  contract  what the bucket at --url URL must do; `memory` is one in memory
  machines  rounds of processes that share the remote at --url URL: --machines N, --commits N, --kills N; the odd
            rounds write conflicts
  kills     rounds of clients killed at random times
  puts      rounds of 16 processes with 250 puts each
  create    rounds of 16 processes that race to create a store
  claim     rounds of 16 processes that claim the lock
  vectors   rounds of processes that write vectors and are killed, with damaged files
  readers   rounds of 8 readers, 60 s each, under writers that are killed
  report    what the ledger comes to

--from and --to say which seeds or rounds; what the ledger has of the same sources is not done again. --failures N ends
a run after so many failures.";

struct Asked {
    what: String,
    numbers: Range<u64>,
    shard: (u64, u64),
    until: Option<Instant>,
    /// The most failures of a run.
    failures_max: u64,
    ledger: Ledger,
    round: Round,
}

fn parse() -> Result<Asked, String> {
    let mut words = std::env::args().skip(1);
    let what = words.next().ok_or("what is to be done?")?;
    let (mut from, mut to, mut shard, mut seconds, mut count) = (0, u64::MAX, (0, 1), None, None);
    let mut failures_max = u64::MAX;
    let mut round = Round::default();
    let mut file = format!("{}/target/soak.jsonl", env!("CARGO_MANIFEST_DIR"));
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|error| format!("{word} {value}: {error}"))
        };
        match word.as_str() {
            "--from" => from = number()?,
            "--to" => to = number()?,
            "--seconds" => seconds = Some(number()?),
            "--seed" => from = number()?,
            "--failures" => failures_max = number()?.max(1),
            "--count" => count = Some(number()?),
            "--ledger" => file = value,
            "--machines" => round.machines = number()? as usize,
            "--commits" => round.commits = number()? as usize,
            "--kills" => round.kills = number()? as usize,
            "--url" => round.url = value,
            "--shard" => {
                let (index, count) = value.split_once('/').ok_or("a shard is I/N")?;
                let part = |text: &str| text.parse::<u64>().map_err(|error| format!("{value}: {error}"));
                shard = (part(index)?, part(count)?.max(1));
            }
            other => return Err(format!("{other} is not known")),
        }
    }
    if let Some(count) = count {
        to = from + count.div_ceil(damages::DAMAGES_A_STORE);
    }
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    Ok(Asked {
        what,
        numbers: from..to,
        shard,
        until,
        failures_max,
        ledger: Ledger::open(file),
        round,
    })
}

/// Runs one seed or one round.
fn work(what: &str, number: u64, place: &Round) -> Result<Entry, String> {
    let started = Instant::now();
    let mut entry = Entry::of(what, number);
    let campaign = |kind| campaign::run_seed(kind, number, Settings::SOAK);
    match what {
        "crash" | "fault" => {
            let tally = campaign(if what == "crash" { Kind::Crash } else { Kind::Fault })?;
            entry.add("images", tally.images);
            entry.add("distinct", tally.distinct);
            entry.add("doubles", tally.doubles);
            entry.add("recoveries", tally.recoveries);
            entry.add("faults", tally.faults);
        }
        "damage" => {
            for (name, count) in damages::run_store(number, damages::DAMAGES_A_STORE)?.counts() {
                entry.add(name, count);
            }
        }
        "remote" | "schedule" => {
            let count = if what == "remote" { SCHEDULES } else { 1 };
            for seed in number * count..(number + 1) * count {
                let counts = fleet::run(seed, fleet::Schedules::Wide).map_err(|wrong| {
                    let next = seed + 1;
                    format!("seed {seed}: {wrong}\nalone: cargo soak schedule --from {seed} --to {next} --ledger /dev/null")
                })?;
                entry.add("schedules", 1);
                for (name, count) in counts.named() {
                    entry.add(name, count);
                }
            }
        }
        _ => {
            let round = std::panic::catch_unwind(|| match what {
                // 25 rounds use the same store, so they are one piece of work.
                "contract" => {
                    machines::check_contract(&place.url);
                    vec![("rounds", 1)]
                }
                "machines" => {
                    let conflicts = number % 2 == 1;
                    let done = machines::run(&Round {
                        conflicts,
                        ..place.clone()
                    });
                    vec![
                        ("rounds", 1),
                        ("commits", done.commits),
                        ("kills", done.kills),
                        ("clones", done.clones),
                        ("conflicts", done.conflicts),
                    ]
                }
                "kills" => {
                    let killed = rounds::kill_rounds(&[], number * 25..(number + 1) * 25);
                    vec![
                        ("rounds", killed.rounds),
                        ("kills", killed.kills),
                        ("acked", killed.acked),
                    ]
                }
                "puts" => vec![("rounds", 1), ("puts", rounds::put_round(&[]))],
                "create" => {
                    rounds::create_round(&[]);
                    vec![("rounds", 1)]
                }
                "claim" => {
                    rounds::claim_round(&[]);
                    vec![("rounds", 1)]
                }
                "vectors" => {
                    let done = rounds::vectors::vector_rounds(&[], number * 25..(number + 1) * 25);
                    vec![
                        ("rounds", done.rounds),
                        ("kills", done.kills),
                        ("damages", done.damages),
                        ("checked", done.checked),
                    ]
                }
                _ => vec![
                    ("rounds", 1),
                    ("proofs", rounds::read_round(&[], 8, Duration::from_mins(1))),
                ],
            });
            for (name, count) in round.map_err(|_| "see above".to_owned())? {
                entry.add(name, count);
            }
        }
    }
    entry.seconds = started.elapsed().as_secs_f64();
    Ok(entry)
}

fn main() -> ExitCode {
    if let Some(code) = machines::play().or_else(rounds::play) {
        return code;
    }
    let mut asked = match parse() {
        Ok(asked) => asked,
        Err(what) => {
            eprintln!("{what}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match asked.what.as_str() {
        "report" => {
            print!("{}", asked.ledger.report());
            return ExitCode::SUCCESS;
        }
        "contract" | "machines" if asked.round.url.is_empty() => {
            eprintln!("{} needs --url URL", asked.what);
            return ExitCode::from(2);
        }
        "crash" | "fault" | "damage" | "remote" | "schedule" | "contract" | "machines" | "kills" | "puts"
        | "create" | "claim" | "vectors" | "readers" => {}
        other => {
            eprintln!("the command {other} is unknown\n\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    let mut failures = 0;
    for number in asked.numbers.clone() {
        if asked.until.is_some_and(|until| Instant::now() >= until) || failures >= asked.failures_max {
            break;
        }
        let mine = number % asked.shard.1 == asked.shard.0;
        if !mine || asked.ledger.has(&asked.what, number) {
            continue;
        }
        let entry = work(&asked.what, number, &asked.round).unwrap_or_else(|what| {
            failures += 1;
            let next = number + 1;
            eprintln!(
                "{} {number} failed: {what}\nto reproduce it: cargo soak {} --from {number} --to {next} --ledger /dev/null",
                asked.what, asked.what
            );
            Entry::failed(&asked.what, number, &what)
        });
        println!("{}", entry.line());
        asked.ledger.add(&entry);
    }
    ExitCode::from(u8::from(failures > 0))
}
