//! Tests of each signal against values computed by hand.

mod growth;
mod pruned;
mod rules;
mod said;

use super::*;
use crate::recall::index::Document;

/// A memory in a test: scope, session, speaker, day, text.
type Said<'a> = (&'a str, &'a str, &'a str, i64, &'a str);

fn key(at: usize) -> Key {
    let mut key = Key::default();
    key.0[14..].copy_from_slice(&[(at >> 8) as u8, at as u8]);
    key
}

fn place(key: Key) -> usize {
    usize::from(key.0[14]) << 8 | usize::from(key.0[15])
}

fn index_of(said: &[Said<'_>]) -> Index {
    let mut index = Index::new();
    for (at, &(scope, session, speaker, day, text)) in said.iter().enumerate() {
        put(&mut index, at, (scope, session, speaker, day, text), None);
    }
    index
}

fn document(at: usize, (scope, session, speaker, day, text): Said<'_>) -> Document<'_> {
    Document {
        key: key(at),
        scope,
        session: Some(session),
        speaker,
        time: day * 86_400,
        order: at as u32,
        text,
        ..Document::default()
    }
}

fn put(index: &mut Index, at: usize, said: Said<'_>, supersedes: Option<usize>) {
    let old = supersedes.map(key);
    let document = Document {
        supersedes: old.as_slice(),
        ..document(at, said)
    };
    index.put(&document).unwrap();
}

fn ask(index: &Index, text: &str) -> Vec<Hit> {
    let query = Query {
        limit: 100,
        ..Query::new(text)
    };
    index.recall(&query, &mut Scratch::default()).hits
}

/// Returns the signal of the document at `at` for a question.
fn signal(index: &Index, text: &str, at: usize, signal: Signal) -> f32 {
    let hits = ask(index, text);
    hits.iter()
        .find(|hit| hit.key == key(at))
        .map_or(f32::NAN, |hit| hit.signals[signal as usize])
}

fn talk(lines: &[(&'static str, &'static str)]) -> Index {
    let said: Vec<Said<'_>> = lines
        .iter()
        .map(|&(speaker, text)| ("s", "one", speaker, 19_487, text))
        .collect();
    index_of(&said)
}

#[test]
fn the_base_score_is_bm25() {
    let index = talk(&[
        ("", "apple pear"),
        ("", "apple apple"),
        ("", "plum"),
        ("", "cherry"),
    ]);
    let hits = ask(&index, "apple");
    let rarity = (1.0f32 + (4.0 - 2.0 + 0.5) / 2.5).ln();
    // The mean length is 1.5, and 15 is added to each length.
    let part = |count: f32, length: f32| {
        rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * (length + 15.0) / 16.5))
    };
    let wanted = [1.0, part(1.0, 2.0) / part(2.0, 2.0)];
    for (at, wanted) in [1, 0].into_iter().zip(wanted) {
        assert!((signal(&index, "apple", at, Signal::Base) - wanted).abs() < 1e-5);
    }
    assert_eq!(place(hits[0].key), 1);
}

#[test]
fn each_signal_has_the_value_of_its_rule() {
    let index = talk(&[
        ("Anna", "Where is the violin?"),
        ("Ben", "Under the roof."),
        ("Anna", "I sold the violin yesterday for twenty pounds"),
        ("Ben", "You sold your violin twice"),
        ("Anna", "Rain"),
    ]);
    let about = "violin";
    let base = |at| signal(&index, about, at, Signal::Base);
    let cases: &[(usize, Signal, &str, f32)] = &[
        (2, Signal::Speaker, "What did Anna say about a violin", 1.0),
        (3, Signal::Speaker, "What did Anna say about a violin", 0.0),
        (
            3,
            Signal::Speaker,
            "What did Anna and Ben say about a violin",
            0.0,
        ),
        (1, Signal::Answer, about, base(0)),
        (3, Signal::Answer, about, 0.0),
        (3, Signal::Previous, about, base(2)),
        (1, Signal::Next, about, base(2)),
        (2, Signal::PreviousTwo, about, base(0)),
        (2, Signal::Session, about, 1.0),
        (2, Signal::Time, about, base(2)),
        (3, Signal::Time, about, 0.0),
        (
            2,
            Signal::When,
            "When was the violin sold",
            signal(&index, "violin sold", 2, Signal::Base),
        ),
        (2, Signal::When, about, 0.0),
        (3, Signal::Number, "How many violin", base(3)),
        (3, Signal::Number, about, 0.0),
        (2, Signal::FirstPerson, about, base(2)),
        (3, Signal::FirstPerson, about, 0.0),
        (3, Signal::SecondPerson, about, base(3)),
        (0, Signal::Question, about, 1.0),
        (1, Signal::Question, about, 0.0),
    ];
    for &(at, kind, question, wanted) in cases {
        let found = signal(&index, question, at, kind);
        assert!(
            (found - wanted).abs() < 1e-5,
            "{kind:?} of {at} for {question:?}: {found}, not {wanted}"
        );
    }
    // At the distances 2, 1 and 1, a term has the weights 0.7, 1 and 1. The message with three matches around it scores
    // highest.
    let context = |near: f32| near / (near + 1.0);
    let found = signal(&index, about, 2, Signal::Context) / signal(&index, about, 1, Signal::Context);
    assert!((found - context(1.7) / context(2.7)).abs() < 1e-5, "{found}");
}

#[test]
fn documents_without_a_session_have_no_neighbours() {
    let lines = [
        ("Anna", "Where is the parser?"),
        ("Ben", "In the cellar"),
        ("Anna", "The weather is fine"),
    ];
    let named = talk(&lines);
    assert_eq!(
        ask(&named, "parser").len(),
        3,
        "the neighbours of a match in a session"
    );
    let mut index = Index::new();
    for (at, (speaker, text)) in lines.into_iter().enumerate() {
        let document = Document {
            session: None,
            ..document(at, ("s", "", speaker, 19_487, text))
        };
        index.put(&document).unwrap();
    }
    let hits = ask(&index, "parser");
    assert_eq!((hits.len(), hits[0].conversation), (1, false));
    assert!((signal(&index, "What did Anna say of a parser", 0, Signal::Speaker) - 1.0).abs() < 1e-6);
}

#[test]
fn few_of_many_equal_documents_are_read() {
    let mut index = Index::new();
    for at in 0..3_000 {
        let document = Document {
            session: None,
            ..document(at, ("s", "", "", 1, "tea"))
        };
        index.put(&document).unwrap();
    }
    let read = std::cell::Cell::new(0);
    let filter = |_: &Key| {
        read.set(read.get() + 1);
        true
    };
    let query = Query {
        filter: Some(&filter),
        ..Query::new("tea")
    };
    let hits = index.recall(&query, &mut Scratch::default()).hits;
    assert!(
        hits.iter().map(|hit| place(hit.key)).eq(0..10),
        "the oldest first"
    );
    assert!(read.get() < 1_000, "{}", read.get());
}

#[test]
fn words_of_the_title_count_twice_and_words_above_once() {
    let mut index = Index::new();
    for (at, (title, above)) in [("apple", "pear"), ("pear", "apple"), ("", "")]
        .into_iter()
        .enumerate()
    {
        let document = Document {
            title,
            above,
            ..document(at, ("s", "one", "", 1, "plum"))
        };
        index.put(&document).unwrap();
    }
    // Both lengths are 4.
    let part = |count: f32, length: f32| count / (count + 1.2 * (0.25 + 0.75 * (length + 15.0) / 18.0));
    let wanted = part(1.0, 4.0) / part(2.0, 4.0);
    assert!((signal(&index, "apple", 0, Signal::Base) - 1.0).abs() < 1e-5);
    assert!((signal(&index, "apple", 1, Signal::Base) - wanted).abs() < 1e-5);
    assert_eq!(ask(&index, "plum").len(), 3);
}

#[test]
fn one_speaker_is_no_conversation() {
    let index = talk(&[("", "the parser"), ("", "The weather is fine")]);
    assert!(ask(&index, "parser").iter().all(|hit| !hit.conversation));
    assert!(signal(&index, "parser", 0, Signal::Session).abs() < 1e-6);
}

#[test]
fn dates_of_the_question_find_days_and_what_is_said_of_them() {
    let index = index_of(&[
        ("s", "one", "Anna", 19_484, "I walk in the park"),
        ("s", "two", "Ben", 19_487, "Yesterday the park was full"),
        ("s", "three", "Ben", 19_700, "the park is closed"),
    ]);
    // Day 19,484 is 2023-05-07.
    let at = |place, kind| signal(&index, "What was in the park on 7 May 2023?", place, kind);
    assert!((at(0, Signal::Date) - 1.0).abs() < 1e-6);
    assert!((at(1, Signal::Date) - 0.5).abs() < 1e-6);
    assert!(at(2, Signal::Date).abs() < 1e-6);
    let event = signal(&index, "What was in the park on 9 May 2023?", 1, Signal::Event);
    assert!((event - 1.0).abs() < 1e-6);
    assert_eq!(
        place(ask(&index, "What happened on 7 May 2023?")[0].key),
        0,
        "without any of its words"
    );
    let query = Query {
        now: Some(19_491 * 86_400),
        ..Query::new("What was in the park last week?")
    };
    assert_eq!(
        place(index.recall(&query, &mut Scratch::default()).hits[0].key),
        0
    );
}

#[test]
fn names_mean_speakers_and_calls_make_names() {
    let mut said: Vec<Said<'_>> = vec![
        ("s", "one", "Magdalena", 0, "The harp is mine"),
        ("s", "one", "Ben", 0, "The harp is loud"),
    ];
    for _ in 0..3 {
        said.push(("s", "one", "Ben", 1, "Hi Lena!"));
    }
    let index = index_of(&said);
    for question in ["What is Magdalena's harp?", "Does Lena have a harp?", "lena harp"] {
        assert!(
            (signal(&index, question, 0, Signal::Speaker) - 1.0).abs() < 1e-6,
            "{question}"
        );
    }
    assert!(signal(&index, "Do they call lena of the Harp", 0, Signal::Speaker).abs() < 1e-6);
}

#[test]
fn words_spelled_nearly_the_same_are_found() {
    let index = talk(&[
        ("", "our puppy sleeps"),
        ("", "the accountant came"),
        ("", "rain"),
    ]);
    for (question, wanted) in [("accountent", 1), ("puppys", 0)] {
        assert_eq!(
            ask(&index, question).first().map(|hit| place(hit.key)),
            Some(wanted),
            "{question}"
        );
    }
    assert!(ask(&index, "car").is_empty());
}
