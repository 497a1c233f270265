//! Compares recall with SQLite's FTS5, for the same memories and questions, alternately in one run.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml --bin recall PUBLIC_DIR [MEMORIES...]`
//!
//! PUBLIC_DIR is the same folder as for tests/recall/run.py. The program repeats the memories of its sets up to each
//! number (default: 17,373 and 104,238), and puts each copy in separate scopes. The FTS5 table is contentless and stems
//! words (porter). Its queries omit the same stop words, join the other words by OR, and return the best 20 hits by
//! bm25. Each time of a query or build is the best of three. The table at the end shows the promised figures. A query
//! takes at most a third of FTS5's time at the 95th percentile. The index needs at most 120 bytes for each memory.
//! Indexing is at least half as fast as indexing by FTS5. Finding the nearest duplicate is at least five times as fast
//! as an FTS5 query with the same text.

use std::borrow::Cow;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::Value;
use treering::agent::{Agent, NewItem, Reach, RecallQuery, Settings};
use treering::testing::recall::{Index, Key, Scratch};
use treering::{Id, Memory, Scope, Time, Writer};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SETS: [&str; 3] = ["locomo", "realtalk", "beam"];
const BEST: usize = 20;
/// The number of copies of an index in memory. Their total size divided by this number is the size of one.
const COPIES: usize = 8;
/// The number of texts whose nearest memories are searched.
const NEAR: usize = 500;

/// Returns the resident memory of this process, in bytes.
fn resident() -> Outcome<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let resident = pages
        .split(' ')
        .nth(1)
        .ok_or("/proc/self/statm has no second number")?;
    Ok(resident.parse::<usize>()? * 4096)
}

#[derive(Clone)]
struct Line {
    scope: String,
    session: String,
    speaker: String,
    time: i64,
    text: String,
}

struct Question {
    scope: String,
    text: String,
}

fn lines(path: &str) -> Outcome<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn field(line: &Value, name: &str) -> String {
    match &line[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn seconds(date: &str) -> i64 {
    let time = format!("{date}:00Z").parse::<Time>();
    time.map_or(0, |time| time.as_micros() / 1_000_000)
}

fn read(public: &str) -> Outcome<(Vec<Line>, Vec<Question>)> {
    let (mut memories, mut questions) = (Vec::new(), Vec::new());
    for set in SETS {
        for line in lines(&format!("{public}/{set}/memories.jsonl"))? {
            memories.push(Line {
                scope: field(&line, "conv"),
                session: field(&line, "session"),
                speaker: field(&line, "speaker"),
                time: seconds(&field(&line, "date")),
                text: field(&line, "text"),
            });
        }
        for line in lines(&format!("{public}/{set}/queries.jsonl"))? {
            let (scope, text) = (field(&line, "conv"), field(&line, "question"));
            questions.push(Question { scope, text });
        }
    }
    Ok((memories, questions))
}

/// Returns the memories, repeated up to `count`, with each copy in separate scopes.
fn repeated(memories: &[Line], count: usize) -> Vec<Line> {
    let numbered = memories.iter().cycle().take(count).enumerate();
    let copy = |(number, line): (usize, &Line)| Line {
        scope: format!("{}-{}", line.scope, number / memories.len()),
        ..line.clone()
    };
    numbered.map(copy).collect()
}

fn key_of(number: usize) -> Key {
    let mut key = Key::default();
    key.0[8..].copy_from_slice(&(number as u64).to_be_bytes());
    key
}

fn index_of(memories: &[Line]) -> Outcome<Index> {
    let mut index = Index::new();
    for (number, line) in memories.iter().enumerate() {
        index
            .put(&treering::testing::recall::Document {
                key: key_of(number),
                scope: &line.scope,
                session: Some(&line.session),
                speaker: &line.speaker,
                time: line.time,
                order: number as u32,
                text: &line.text,
                ..Default::default()
            })
            .map_err(|full| format!("the index cannot contain more documents: {full:?}"))?;
    }
    Ok(index)
}

/// Returns the stop words, which neither Treering nor FTS5 indexes.
fn stop_words() -> Vec<&'static str> {
    let list = include_str!("../../../../text/src/recall/text/words/stop.txt").lines();
    list.filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect()
}

fn fts_query(text: &str, stop: &[&str]) -> String {
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !stop.contains(word));
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    if quoted.is_empty() {
        "\"the\"".to_owned()
    } else {
        quoted.join(" OR ")
    }
}

fn fts_of(memories: &[Line]) -> Outcome<Connection> {
    let database = Connection::open_in_memory()?;
    database.execute_batch(
        "create virtual table f using fts5(t, content='', tokenize='porter unicode61'); begin",
    )?;
    let mut insert = database.prepare("insert into f(rowid, t) values (?, ?)")?;
    for (number, line) in memories.iter().enumerate() {
        insert.execute((number as i64, &line.text))?;
    }
    drop(insert);
    database.execute_batch("commit")?;
    Ok(database)
}

/// Returns the shortest of three times, in milliseconds.
fn least(mut work: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut least = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(least)
}

fn told(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!(
        "p50 {:>7.3} ms  p95 {:>7.3} ms  p99 {:>7.3} ms",
        at(50),
        at(95),
        at(99)
    )
}

/// Returns an agent whose store contains these memories, with its recall index.
fn agent_of(memories: &[Line]) -> Outcome<Agent> {
    let memory = Memory::in_memory()?;
    for (number, chunk) in memories.chunks(10_000).enumerate() {
        let mut draft = memory.draft(&Writer::user());
        for (at, line) in chunk.iter().enumerate() {
            let item = NewItem {
                scope: Scope::new(&line.scope)?,
                session: Some(line.session.clone()),
                speaker: Some(line.speaker.clone()),
                time: Some(Time::from_micros(line.time * 1_000_000)),
                ..NewItem::new(line.text.clone())
            };
            draft.put(item.into_object(Id::new(&format!("m{}", number * 10_000 + at))?)?)?;
        }
        memory.commit(draft, "put")?;
    }
    Ok(Agent::new(memory, Settings::default()))
}

/// A measured figure and its promised value.
struct Figure {
    memories: usize,
    what: &'static str,
    ours: f64,
    theirs: Option<f64>,
    /// The figure of Treering divided by that of FTS5, or by one if FTS5 has no such figure.
    ratio: f64,
    promised: String,
    is_kept: bool,
}

impl Figure {
    fn at_least(memories: usize, what: &'static str, ours: f64, theirs: f64, ratio: f64, least: f64) -> Self {
        let promised = format!("at least {least:.2}");
        Self {
            memories,
            what,
            ours,
            theirs: Some(theirs),
            ratio,
            promised,
            is_kept: ratio >= least,
        }
    }

    fn at_most(memories: usize, what: &'static str, ours: f64, theirs: Option<f64>, most: f64) -> Self {
        let ratio = ours / theirs.unwrap_or(1.0);
        let promised = format!("at most {most:.2}");
        Self {
            memories,
            what,
            ours,
            theirs,
            ratio,
            promised,
            is_kept: ratio <= most,
        }
    }
}

fn print_table(figures: &[Figure]) {
    println!(
        "\n| memories | figure | treering | FTS5 | ratio | promised | kept |\n|---|---|---|---|---|---|---|"
    );
    for one in figures {
        let theirs = one
            .theirs
            .map_or_else(|| "-".to_owned(), |theirs| format!("{theirs:.3}"));
        let kept = if one.is_kept { "yes" } else { "NO" };
        println!(
            "| {} | {} | {:.3} | {theirs} | {:.2} | {} | {kept} |",
            one.memories, one.what, one.ours, one.ratio, one.promised
        );
    }
}

fn measure(memories: &[Line], questions: &[Question], figures: &mut Vec<Figure>) -> Outcome<()> {
    let count = memories.len();
    println!("{count} memories, {} questions", questions.len());
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        ours = ours.min(least_once(|| index_of(memories).map(drop))?);
        theirs = theirs.min(least_once(|| fts_of(memories).map(drop))?);
    }
    let rate = |ms: f64| count as f64 / ms * 1e3;
    let ratio = rate(ours) / rate(theirs);
    println!(
        "  build     treering {:>9.0} /s   FTS5 {:>9.0} /s",
        rate(ours),
        rate(theirs)
    );
    figures.push(Figure::at_least(
        count,
        "indexing, memories a second",
        rate(ours),
        rate(theirs),
        ratio,
        0.5,
    ));
    let (index, database) = (index_of(memories)?, fts_of(memories)?);
    let each = |bytes: usize| bytes as f64 / count as f64;
    let before = resident()?;
    let copies = vec![index.clone(); COPIES];
    let heap = resident()?.saturating_sub(before) / copies.len();
    drop(copies);
    let kept = index.to_bytes().len();
    println!(
        "  bytes     {:.1} a memory in RAM, {:.1} on disk",
        each(heap),
        each(kept)
    );
    figures.push(Figure::at_most(
        count,
        "index, bytes a memory in RAM",
        each(heap),
        None,
        120.0,
    ));
    let agent = agent_of(memories)?;
    let view = agent.memory().view();
    let start = Instant::now();
    let first = RecallQuery::new("the first question", Reach::All)
        .limit(1)
        .without_touch();
    drop(agent.recall(&view, &first)?);
    println!(
        "  follow    {:>9.0} memories a second from the store into the index",
        rate(start.elapsed().as_secs_f64() * 1e3)
    );
    let stop = stop_words();
    let mut find = database.prepare(&format!(
        "select rowid from f where f match ? order by bm25(f) limit {BEST}"
    ))?;
    let (mut all, mut one, mut fts) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions {
        let ask = |reach: Reach| -> Outcome<f64> {
            let query = RecallQuery::new(&question.text, reach)
                .limit(BEST)
                .without_touch();
            least(|| Ok(drop(black_box(agent.recall(&view, &query)?))))
        };
        all.push(ask(Reach::All)?);
        one.push(ask(Reach::Scopes(vec![Scope::new(&format!(
            "{}-0",
            question.scope
        ))?]))?);
        let text = fts_query(&question.text, &stop);
        fts.push(least(|| {
            let rows = find.query_map([&text], |row| row.get::<_, i64>(0))?;
            black_box(rows.count());
            Ok(())
        })?);
    }
    println!("  recall    all      {}", told(&mut all));
    println!("            a scope  {}", told(&mut one));
    println!("            FTS5     {}", told(&mut fts));
    let at = |times: &[f64]| times[(times.len() - 1) * 95 / 100];
    figures.push(Figure::at_most(
        count,
        "query p95 over all scopes, ms",
        at(&all),
        Some(at(&fts)),
        1.0 / 3.0,
    ));
    near(memories, &index, &mut find, &stop, figures)
}

fn least_once(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn near(
    memories: &[Line],
    index: &Index,
    find: &mut rusqlite::Statement<'_>,
    stop: &[&str],
    figures: &mut Vec<Figure>,
) -> Outcome<()> {
    let mut scratch = Scratch::default();
    let (mut ours, mut theirs) = (0.0, 0.0);
    let chosen: Vec<&Line> = memories.iter().step_by(memories.len() / NEAR + 1).collect();
    for line in &chosen {
        let text_of = |key: &Key| {
            let (_, number) = key.0.split_last_chunk::<8>()?;
            Some(Cow::Borrowed(
                memories[u64::from_be_bytes(*number) as usize].text.as_str(),
            ))
        };
        ours += least_once(|| {
            Ok(drop(black_box(index.near(
                &line.text,
                None,
                None,
                &mut scratch,
                text_of,
            ))))
        })?;
        let text = fts_query(&line.text, stop);
        theirs += least_once(|| {
            let rows = find.query_map([&text], |row| row.get::<_, i64>(0))?;
            black_box(rows.count());
            Ok(())
        })?;
    }
    let mean = |ms: f64| ms / chosen.len() as f64;
    println!(
        "  nearest   treering {:.3} ms   FTS5 {:.3} ms a text",
        mean(ours),
        mean(theirs)
    );
    let ratio = theirs / ours;
    figures.push(Figure::at_least(
        memories.len(),
        "nearest duplicate, ms a text",
        mean(ours),
        mean(theirs),
        ratio,
        5.0,
    ));
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [public, counts @ ..] = arguments.as_slice() else {
        return Err("the first argument must be the folder of the public sets".into());
    };
    let (memories, questions) = read(public)?;
    let counts = if counts.is_empty() {
        &["17373".to_owned(), "104238".to_owned()]
    } else {
        counts
    };
    let mut figures = Vec::new();
    for count in counts {
        measure(&repeated(&memories, count.parse()?), &questions, &mut figures)?;
    }
    print_table(&figures);
    Ok(())
}
