//! Rounds in which processes that write vectors at the same time are killed, and the files of vectors are damaged. After
//! each round, every checked question finds its text, which shares no word with it. So no text has a wrong vector.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use treering::agent::{Agent, Embedder, NewItem, Reach, RecallQuery, RememberOptions, Settings};
use treering::{Memory, Writer};

use super::{acks, options, spread, start};

/// The number of different texts. It is prime.
const TEXTS: u64 = 9_973;
/// The number of processes that write vectors at the same time.
const WRITERS: usize = 2;
/// The number of texts that are checked after a round.
const CHECKED: usize = 12;
/// The number of texts that the processes of a round store before they are killed.
const NEW: usize = 6;
/// The number of dimensions of a vector.
const DIMENSIONS: usize = 64;

/// Writes a number as a word. Numbers with different seeds have different words.
fn word(number: u64, seed: u64) -> String {
    let mut left = (number * 7_919 + seed) % TEXTS;
    let mut word = String::from(if seed == 0 { "k" } else { "zv" });
    for _ in 0..4 {
        word.push(char::from(b'a' + (left % 26) as u8));
        left /= 26;
    }
    word
}

fn text_of(number: u64) -> String {
    format!("{} {}", word(number, 0), word(number, 0).to_uppercase())
}

fn question_of(number: u64) -> String {
    word(number, 4_999)
}

/// An embedder that knows the numbers of texts and questions, and gives each number a random direction.
struct Numbers;

impl Numbers {
    fn vector(text: &str, seed: u64) -> Vec<f32> {
        let first = text.split(' ').next().unwrap_or_default();
        let number = (0..TEXTS).find(|&number| word(number, seed) == first);
        let mut random = number.unwrap_or(TEXTS) + 1;
        (0..DIMENSIONS)
            .map(|_| spread(&mut random, 2_000) as f32 - 1_000.0)
            .collect()
    }
}

impl Embedder for Numbers {
    fn embed(&self, text: &str) -> Vec<f32> {
        Self::vector(text, 0)
    }

    /// A text that is asked as a question has no vector, so its words find it.
    fn embed_question(&self, question: &str) -> Vec<f32> {
        if question.starts_with('k') {
            return Vec::new();
        }
        Self::vector(question, 4_999)
    }
}

fn agent(store: &Path, model: &str) -> Agent {
    let (memory, _): (Memory, _) = options().open_or_create(store).unwrap();
    let agent = Agent::new(memory, Settings::default());
    agent.with_embedder(model, Arc::new(Numbers)).unwrap()
}

/// The model of a round. Two models have files side by side.
fn model(number: u64) -> &'static str {
    ["one", "two"][usize::from(number.is_multiple_of(3))]
}

/// Stores texts and their vectors until the process is killed. The number names the process and the round.
pub(super) fn write_vectors(store: &Path, number: usize) {
    let round = (number / WRITERS) as u64;
    let agent = agent(store, model(round));
    let log = acks(store).join(format!("vectors{}", number % WRITERS));
    let mut log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let mut random = number as u64 + 1;
    loop {
        for _ in 0..=spread(&mut random, 6) {
            let number = spread(&mut random, TEXTS);
            let (item, by) = (NewItem::new(text_of(number)), Writer::user());
            drop(agent.remember(item, &RememberOptions::default(), &by).unwrap());
            // One write, so that a kill leaves no half line to which the next process adds its number.
            log.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        agent.embed(None).unwrap();
        drop(agent.keep_indexes());
    }
}

/// Changes a byte of a file of vectors, or cuts the file. The file is a new one, as a process may have mapped the old one.
fn damage(store: &Path, random: &mut u64) -> bool {
    let derived = fs::read_dir(store.join("derived")).into_iter().flatten();
    let mut files: Vec<PathBuf> = derived.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("vectors-") || name.starts_with("questions-")
    });
    if files.is_empty() {
        return false;
    }
    let file = files.swap_remove(spread(random, files.len() as u64) as usize);
    let mut bytes = fs::read(&file).unwrap();
    if bytes.is_empty() {
        return false;
    }
    let at = spread(random, bytes.len() as u64) as usize;
    match spread(random, 3) {
        0 => bytes.truncate(at),
        _ => bytes[at] ^= 1 << spread(random, 8),
    }
    let new = file.with_extension("damaged");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, file).unwrap();
    true
}

/// Returns the numbers of the texts that were stored.
fn numbers_of(store: &Path) -> Vec<u64> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(acks(store)).unwrap() {
        let log = fs::read_to_string(entry.unwrap().path()).unwrap();
        // A killed process may have written half a line.
        let lines = log
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        numbers.extend(lines.filter_map(|line| line.parse::<u64>().ok()));
    }
    numbers
}

/// Checks some texts: each is found by its own words, and by a question with the same vector.
fn check(agent: &Agent, numbers: &[u64], random: &mut u64) -> u64 {
    let view = agent.memory().view();
    let found = |question: &str| -> Vec<String> {
        let query = RecallQuery::new(question, Reach::All);
        loop {
            let found = agent.recall(&view, &query).unwrap();
            // A recall that finds damage computes the vectors anew, for a limited time. It says how many are missing.
            if found.vectors.is_none_or(|vectors| vectors.pending == 0) {
                return found.hits.iter().map(|hit| hit.snippet.clone()).collect();
            }
            agent.embed(None).unwrap();
        }
    };
    let count = CHECKED.min(numbers.len());
    for _ in 0..count {
        let number = numbers[spread(random, numbers.len() as u64) as usize];
        let text = text_of(number);
        assert_eq!(found(&text).first(), Some(&text), "by words: {number}");
        assert_eq!(
            found(&question_of(number)).first(),
            Some(&text),
            "by meaning: {number}"
        );
    }
    count as u64
}

/// What rounds came to.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) kills: u64,
    pub(crate) damages: u64,
    pub(crate) checked: u64,
}

/// Kills writers of vectors, damages every second time a file, and checks texts. All rounds use one store.
pub(crate) fn vector_rounds(arguments: &[&str], rounds: Range<u64>) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fs::create_dir(acks(&store)).unwrap();
    // These agents stay open while other processes write, and while files are damaged.
    let watching = ["one", "two"].map(|model| agent(&store, model));
    let mut tally = Tally::default();
    for round in rounds {
        let mut random = round + 1;
        let children: Vec<_> = (0..WRITERS)
            .map(|at| start(arguments, "vectors", &store, round as usize * WRITERS + at))
            .collect();
        let known = numbers_of(&store).len();
        let begun = Instant::now();
        while numbers_of(&store).len() < known + NEW && begun.elapsed() < Duration::from_mins(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(spread(&mut random, 150)));
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
            tally.kills += 1;
        }
        if spread(&mut random, 2) == 0 {
            tally.damages += u64::from(damage(&store, &mut random));
        }
        let numbers = numbers_of(&store);
        let fresh = agent(&store, model(round));
        for agent in watching.iter().chain([&fresh]) {
            agent.memory().refresh().unwrap();
            agent.embed(None).unwrap();
            tally.checked += check(agent, &numbers, &mut random);
            drop(agent.keep_indexes());
        }
        tally.rounds += 1;
    }
    tally
}
