//! Tests of vectors: when they are computed, what the files contain, and what damage and erasure do to them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::agent::{Agent, NewItem, Reach, RecallQuery, Settings, VectorCounts};
use crate::engine::{self, Erasing, Layout, Writer};
use crate::object::Id;
use treering_text::recall::Embedder;

/// An embedder of three topics. Counts the texts that it embeds.
#[derive(Default)]
struct Topics(AtomicUsize);

impl Embedder for Topics {
    fn embed(&self, text: &str) -> Vec<f32> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let topics: [&[&str]; 3] = [&["tea", "beverage"], &["ship", "harbour"], &["note"]];
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let found = topics.map(|words| if has(words) { 1.0 } else { 0.1 });
        [&found[..], &[text.len() as f32 / 1_000.0]].concat()
    }
}

fn put_texts(memory: &Memory, texts: impl IntoIterator<Item = (String, String)>) {
    let mut draft = memory.draft(&Writer::user());
    for (name, text) in texts {
        let object = NewItem::new(text).into_object(Id::new(&name).unwrap()).unwrap();
        let rule = engine::OriginRule::AtMost(crate::object::Origin::Host);
        draft.stage(object, rule).unwrap();
    }
    drop(memory.commit(draft, "test").unwrap());
}

fn put_notes(memory: &Memory, numbers: std::ops::Range<usize>) {
    put_texts(memory, numbers.map(|at| (format!("n{at}"), format!("note {at}"))));
}

/// An agent as another process has one: what it knows comes from the files.
struct Process {
    agent: Agent,
    topics: Arc<Topics>,
}

impl Process {
    fn new(memory: &Memory, model: &str) -> Self {
        let topics = Arc::new(Topics::default());
        let agent = Agent::new(memory.clone(), Settings::default());
        let agent = agent.with_embedder(model, Arc::clone(&topics) as _).unwrap();
        Self { agent, topics }
    }

    /// Embeds what is missing, and returns the number of texts that were embedded.
    fn embed(&self) -> usize {
        let before = self.topics.0.load(Ordering::Relaxed);
        let counts = self.agent.embed(None).unwrap().unwrap();
        assert_eq!(counts.pending, 0);
        self.topics.0.load(Ordering::Relaxed) - before
    }

    fn ids(&self, question: &str) -> Vec<String> {
        let view = self.agent.memory().view();
        let found = self
            .agent
            .recall(&view, &RecallQuery::new(question, Reach::All))
            .unwrap();
        found.hits.iter().map(|hit| hit.id.as_str().to_owned()).collect()
    }
}

#[test]
fn the_next_process_embeds_only_what_is_new() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..600);
    let first = Process::new(&memory, "one");
    assert_eq!(first.embed(), 600);
    assert!(first.agent.keep_indexes().unwrap());
    assert!(!first.agent.keep_indexes().unwrap(), "it was just saved");
    put_notes(&memory, 600..603);
    let second = Process::new(&memory, "one");
    assert_eq!(second.embed(), 3);
    assert!(second.agent.keep_indexes().unwrap());
    assert_eq!(Process::new(&memory, "one").embed(), 0);
    assert_eq!(Process::new(&memory, "another").embed(), 603);
}

#[test]
fn a_question_finds_by_meaning_at_every_state() {
    let memory = Memory::in_memory().unwrap();
    put_texts(&memory, [("t".to_owned(), "Ada drinks tea".to_owned())]);
    let past = memory.view();
    let process = Process::new(&memory, "one");
    assert_eq!(process.ids("Which beverage?"), ["t"]);
    drop(memory.remove(&Id::new("t").unwrap(), &Writer::user()).unwrap());
    assert!(process.ids("Which beverage?").is_empty());
    let embedded = process.topics.0.load(Ordering::Relaxed);
    let found = process
        .agent
        .recall(&past, &RecallQuery::new("Which beverage?", Reach::All))
        .unwrap();
    assert_eq!(found.hits[0].id.as_str(), "t");
    assert_eq!(
        process.topics.0.load(Ordering::Relaxed),
        embedded,
        "neither the text nor the question is embedded again"
    );
}

#[test]
fn few_new_vectors_are_written_to_the_second_file() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..1_500);
    let process = Process::new(&memory, "one");
    process.embed();
    assert!(process.agent.keep_indexes().unwrap());
    let [first, second] = &Vectors::new("one", Arc::new(Topics::default())).unwrap().files;
    let lengths = || [first, second].map(|file| memory.derived(file).unwrap().map(|bytes| bytes.len()));
    let before = lengths();
    assert!(before[0].is_some() && before[1].is_none());
    put_notes(&memory, 1_500..1_510);
    process.embed();
    assert!(process.agent.keep_indexes().unwrap());
    assert_eq!(lengths()[0], before[0]);
    assert!(lengths()[1].unwrap() < 2_000);
    assert_eq!(Process::new(&memory, "one").embed(), 0);
}

/// What another process wrote meanwhile stays.
#[test]
fn two_processes_lose_no_vectors_of_each_other() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..20);
    let (one, two) = (Process::new(&memory, "one"), Process::new(&memory, "one"));
    one.embed();
    put_notes(&memory, 20..30);
    two.embed();
    // The first process does not embed the later notes.
    assert!(two.agent.keep_indexes().unwrap());
    put_notes(&memory, 30..31);
    one.embed();
    assert!(one.agent.keep_indexes().unwrap());
    assert_eq!(Process::new(&memory, "one").embed(), 0);
}

#[test]
fn time_is_limited_and_what_is_pending_is_told() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..50);
    let process = Process::new(&memory, "one");
    let counts = process.agent.embed(Some(Duration::ZERO)).unwrap();
    let expected = VectorCounts {
        model: "one".to_owned(),
        embedded: 0,
        pending: 50,
    };
    assert_eq!(counts, Some(expected));
    let without = Agent::new(memory, Settings::default());
    assert_eq!(without.embed(None).unwrap(), None);
}

/// INVARIANT VCT-1: after an erasure, only vectors of texts that the newest state contains are written.
#[test]
fn an_erased_text_leaves_no_vector() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..40);
    let process = Process::new(&memory, "one");
    process.embed();
    assert!(process.agent.keep_indexes().unwrap());
    let [_, file] = &Vectors::new("one", Arc::new(Topics::default())).unwrap().files;
    let erased = text_key_of(&memory, "note 7");
    let holds = || {
        let bytes = memory.derived(file).unwrap();
        bytes.is_some_and(|bytes| bytes.windows(16).any(|window| window == erased))
    };
    assert!(holds());
    let erasing = Erasing {
        targets: vec!["n7".to_owned()],
        ..Erasing::default()
    };
    drop(memory.erase(&erasing, &Writer::user()).unwrap());
    assert!(!holds());
    put_notes(&memory, 40..41);
    assert_eq!(process.embed(), 1, "the other vectors are still known");
    assert!(process.agent.keep_indexes().unwrap());
    assert!(memory.derived(file).unwrap().is_some() && !holds());
    assert_eq!(Process::new(&memory, "one").embed(), 0);
}

/// INVARIANT VCT-1: a process that had the vector before the erasure never writes it, however often it writes.
#[test]
fn a_vector_of_an_erased_text_is_not_written_later() {
    let memory = Memory::in_memory().unwrap();
    put_texts(&memory, [("secret".to_owned(), "tea at the harbour".to_owned())]);
    let process = Process::new(&memory, "one");
    assert_eq!(process.embed(), 1);
    let key = text_key_of(&memory, "tea at the harbour");
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    drop(memory.erase(&erasing, &Writer::user()).unwrap());
    for _ in 0..2 {
        let _kept = process.agent.keep_indexes().unwrap();
    }
    put_notes(&memory, 0..1);
    assert_eq!(process.embed(), 1);
    for _ in 0..2 {
        let _kept = process.agent.keep_indexes().unwrap();
    }
    let mut files = 0;
    for name in engine::derived_names(&memory).unwrap() {
        let bytes = memory.derived(&name).unwrap().unwrap();
        files += 1;
        assert!(!bytes.windows(key.len()).any(|part| part == key), "{name}");
    }
    assert!(files > 0, "the vector of the note is in a file");
}

/// INVARIANT QSV-2: a question of before an erasure by another process is not written, whatever is written first.
#[test]
fn a_question_from_before_an_erasure_is_not_written() {
    let memory = Memory::in_memory().unwrap();
    put_texts(&memory, [("secret".to_owned(), "tea at the harbour".to_owned())]);
    let process = Process::new(&memory, "one");
    process.embed();
    drop(process.ids("the beverage at the harbour"));
    assert!(process.agent.keep_indexes().unwrap());
    put_notes(&memory, 0..1);
    process.embed();
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    drop(memory.erase(&erasing, &Writer::user()).unwrap());
    // There is no new question, so the vectors are the first to be refused.
    let _kept = process.agent.keep_indexes().unwrap();
    drop(process.ids("another note"));
    assert!(process.agent.keep_indexes().unwrap());
    let suite = crate::digest::HashSuite::new(crate::digest::HashAlgorithm::Blake3);
    let key = crate::agent::search::vectors::text_key(suite, "the beverage at the harbour");
    let names = engine::derived_names(&memory).unwrap();
    let questions = names.iter().find(|name| name.starts_with("questions-")).unwrap();
    let bytes = memory.derived(questions).unwrap().unwrap();
    assert!(!bytes.windows(key.len()).any(|part| part == key));
}

/// A damaged file is not read again: the next processes have all vectors.
#[test]
fn a_damaged_file_is_replaced() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..600);
    let first = Process::new(&memory, "one");
    assert_eq!(first.embed(), 600);
    assert!(first.agent.keep_indexes().unwrap());
    let names = engine::derived_names(&memory).unwrap();
    let file = names.iter().find(|name| name.starts_with("vectors-")).unwrap();
    let mut bytes = memory.derived(file).unwrap().unwrap().to_vec();
    // Not every process reads every section.
    for eighth in 1..8 {
        let place = bytes.len() / 8 * eighth;
        bytes[place..place + 64].fill(7);
    }
    assert!(engine::keep_as(&memory, file, &bytes, Layout::Image, memory.view().state()).unwrap());
    let second = Process::new(&memory, "one");
    drop(second.ids("beverage"));
    assert_eq!(
        second.embed(),
        0,
        "the recall that found the damage embedded the texts"
    );
    assert!(
        second.topics.0.load(Ordering::Relaxed) > 1,
        "the damage was found"
    );
    let _kept = second.agent.keep_indexes().unwrap();
    assert_eq!(Process::new(&memory, "one").embed(), 0);
}

fn text_key_of(memory: &Memory, text: &str) -> [u8; 16] {
    crate::agent::search::vectors::text_key(memory.suite(), text)
}

/// A damaged file makes no answer wrong: its texts are found by words, and embedded again.
#[test]
fn a_damaged_file_gives_the_answers_of_a_whole_one() {
    let memory = Memory::in_memory().unwrap();
    put_notes(&memory, 0..60);
    put_texts(
        &memory,
        [
            ("t".to_owned(), "Ada drinks tea".to_owned()),
            ("s".to_owned(), "Moored at six".to_owned()),
        ],
    );
    let process = Process::new(&memory, "one");
    process.embed();
    assert!(process.agent.keep_indexes().unwrap());
    let expected = process.ids("Which beverage?");
    assert_eq!(expected[0], "t");
    let [_, file] = &Vectors::new("one", Arc::new(Topics::default())).unwrap().files;
    let whole = memory.derived(file).unwrap().unwrap().to_vec();
    let view = memory.view();
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(engine::keep_as(&memory, file, &bytes, Layout::Image, view.state()).unwrap());
        let other = Process::new(&memory, "one");
        drop(other.ids("Which beverage?"));
        other.embed();
        assert_eq!(other.ids("Which beverage?"), expected, "byte {at}");
    }
}
