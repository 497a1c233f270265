//! Pairs of texts, and the expected decision for each.

use std::borrow::Cow;

use super::*;
use crate::recall::index::Document;

#[test]
fn pairs_get_their_verdicts() {
    let same = "The meeting with the landlord is on Friday at noon";
    let cases: &[(&str, &str, Relation)] = &[
        (same, same, Relation::Same),
        (
            same,
            "On Friday at noon is the meeting with the landlord.",
            Relation::Same,
        ),
        (
            "The build uses tabs",
            "The build does not use tabs",
            Relation::Conflict(Contradiction::Negation),
        ),
        (
            "The lift goes up",
            "The lift goes down",
            Relation::Conflict(Contradiction::Direction),
        ),
        (
            "The door of the shop is open",
            "The door of the shop is closed",
            Relation::Conflict(Contradiction::Opposite),
        ),
        (
            "She plays the violin",
            "Rust has no garbage collector",
            Relation::Different,
        ),
        ("", "", Relation::Different),
        ("漢字を書く", "漢字を書く", Relation::Same),
    ];
    for (one, two, wanted) in cases {
        for (one, two) in [(one, two), (two, one)] {
            let found = similarity(one, two);
            if one.is_empty() {
                continue;
            }
            assert_eq!(found.relation(), *wanted, "{one:?} {two:?} {found:?}");
        }
    }
}

#[test]
fn numbers_tell_apart_and_words_for_numbers_do_not() {
    let differ = similarity("The limit is 300 requests", "The limit is 500 requests");
    let agree = similarity("The limit is three requests", "The limit is 3 requests");
    assert!(agree.likeness > differ.likeness + 0.2, "{agree:?} {differ:?}");
    assert!(similarity("It costs 1,100", "It costs 1100").likeness > MERGE);
}

#[test]
fn a_gate_is_never_outweighed() {
    let long = "the plan of the team for the next release with all of its parts and dates";
    let found = similarity(long, &format!("never {long}"));
    assert!(found.likeness > MERGE && found.contradiction.is_some(), "DUP-1");
}

#[test]
fn hostile_pairs_are_compared_too() {
    let long = "word ".repeat(100_000);
    for text in [
        long.as_str(),
        "\u{0}",
        "''''",
        "👨\u{200D}👩",
        "1,,1..1",
        "9".repeat(10_000).as_str(),
    ] {
        let found = similarity(text, text);
        assert!((0.0..=1.0).contains(&found.likeness), "{found:?}");
    }
}

#[test]
fn near_documents_are_found_and_judged() {
    let texts = [
        "The office moved to Berlin in May",
        "Anna likes strong coffee",
        "The office did not move to Berlin in May",
    ];
    let mut index = Index::new();
    let key = |at: usize| Key([at as u8; Key::BYTES]);
    for (at, text) in texts.iter().enumerate() {
        let document = Document {
            key: key(at),
            scope: "s",
            session: Some("one"),
            time: i64::from(at as u8),
            text,
            ..Document::default()
        };
        index.put(&document).unwrap();
    }
    let mut scratch = Scratch::default();
    let text_of = |key: &Key| Some(Cow::Borrowed(texts[usize::from(key.0[0])]));
    let near = index.near(
        "In May the office moved to Berlin",
        None,
        None,
        &mut scratch,
        text_of,
    );
    let found: Vec<(Key, Relation)> = near.iter().map(|near| (near.key, near.relation)).collect();
    assert!(found.contains(&(key(0), Relation::Same)), "{near:?}");
    assert!(
        found.contains(&(key(2), Relation::Conflict(Contradiction::Negation))),
        "{near:?}"
    );
    assert_eq!(found.len(), 2);
    assert_eq!(
        index
            .near(texts[1], None, Some(&key(1)), &mut scratch, text_of)
            .len(),
        0
    );
}

/// INVARIANT DUP-1: no model outweighs a gate, nor a detail.
#[test]
fn a_model_outweighs_no_value() {
    for (one, two) in [
        ("The build uses tabs", "The build does not use tabs"),
        ("The lift goes up", "The lift goes down"),
        ("The door of the shop is open", "The door of the shop is closed"),
        ("The limit is 300 requests", "The limit is 500 requests"),
        ("The owner is Ines", "The owner is Paul"),
        ("The standup is on Monday", "The standup is on Tuesday"),
        (
            "Production runs on version 3.11",
            "Production runs on version 3.12",
        ),
    ] {
        for (one, two) in [(one, two), (two, one)] {
            let found = similarity_with(one, two, 1.0);
            assert_eq!(found.relation(), similarity(one, two).relation(), "{found:?}");
            assert!(
                matches!(found.relation(), Relation::Conflict(_)),
                "{one:?} {two:?} {found:?}"
            );
        }
    }
    for (one, two) in [
        ("Alice manages Bob", "Bob manages Alice"),
        ("He moved to Oslo last year", "He moved from Oslo last year"),
        ("Fail if (a == b)", "Fail if (a != b)"),
        ("wait while x <= 3", "wait while x < 3"),
        ("temperature is 5 C", "temperature is -5 C"),
        ("run the tool with --no-verify", "run the tool with --verify"),
        (
            "Alice manages the release of the large app",
            "Bob manages the release of the large app",
        ),
    ] {
        let found = similarity_with(one, two, 1.0);
        assert_ne!(found.relation(), Relation::Same, "{one:?} {two:?} {found:?}");
    }
}

#[test]
fn meaning_decides_where_words_do_not() {
    let (one, two) = (
        "Deploys happen on Friday afternoon",
        "We ship at the end of the week, on Friday",
    );
    let words = similarity(one, two).likeness;
    let with = |cosine| similarity_with(one, two, cosine);
    assert_eq!(with(0.9).relation(), Relation::Duplicate, "{:?}", with(0.9));
    assert_eq!(with(0.3).relation(), Relation::Different);
    assert!(with(0.9).likeness > words && words > with(0.3).likeness);
}

/// Vectors of two topics. Counts the new texts that it embeds.
struct Topics(std::cell::Cell<usize>, std::sync::Arc<crate::recall::VectorTable>);

fn topic(text: &str) -> Vec<f32> {
    let is_food = ["vegan", "cheese", "meal"].iter().any(|word| text.contains(word));
    vec![f32::from(u8::from(is_food)), f32::from(u8::from(!is_food)), 0.1]
}

impl TextMeaning for Topics {
    fn of_new(&self, text: &str, among_others: bool) -> Option<Vec<f32>> {
        assert!(!among_others);
        self.0.set(self.0.get() + 1);
        Some(topic(text))
    }

    fn with_stored(&self, vector: &[f32], text: &str) -> Option<f32> {
        Some(vector.iter().zip(topic(text)).map(|(a, b)| a * b).sum())
    }

    fn table(&self) -> std::sync::Arc<crate::recall::VectorTable> {
        self.1.clone()
    }
}

#[test]
fn the_nearest_in_meaning_are_compared_if_the_model_is_asked() {
    let texts = [
        "Ines is a vegan",
        "The harbour opens at nine in the morning",
        "The harbour master is called Olaf",
    ];
    let (mut index, mut table) = (Index::new(), crate::recall::VectorTable::new("topics"));
    for (at, text) in texts.iter().enumerate() {
        let text_key = [at as u8 + 1; 16];
        table.insert(text_key, &topic(text));
        let document = Document {
            key: Key([at as u8; Key::BYTES]),
            scope: "s",
            text,
            text_key,
            ..Document::default()
        };
        index.put(&document).unwrap();
    }
    let topics = Topics(0.into(), table.into());
    let mut scratch = Scratch::default();
    let mut compared = |text: &str, always: bool| {
        let mut keys = Vec::new();
        let mut relate = |key: &Key, compare: Compare<'_>| {
            keys.push(key.0[0]);
            let similarity = compare(texts[usize::from(key.0[0])]);
            Some((similarity, similarity.relation()))
        };
        let model = ByMeaning {
            model: &topics,
            always,
        };
        index.compared(text, None, &|_| true, Some(model), &mut scratch, &mut relate);
        (keys, topics.0.take())
    };
    // No word in common, so the words leave no doubt.
    assert_eq!(compared("She eats cheese", false), (vec![], 0));
    let (keys, asked) = compared("She eats cheese", true);
    assert_eq!((keys[0], keys.len(), asked), (0, 3, 1));
    // CMP-1: a doubt about one document asks for the meaning, and then of the nearest ones.
    let text = "In the morning the harbour opens late, with a meal";
    let doubt = similarity(text, texts[1]).likeness;
    assert!((0.2..0.8).contains(&doubt), "{doubt}");
    let (keys, asked) = compared(text, false);
    assert_eq!(asked, 1);
    assert_eq!((keys.len(), keys.contains(&0)), (3, true), "each once: {keys:?}");
}
