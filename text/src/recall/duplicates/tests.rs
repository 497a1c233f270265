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
