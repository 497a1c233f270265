//! Tests that the time grows linearly with the number of memories, for any content, and never quadratically.
//!
//! Each case is run once with many documents, and many times with few. Linear work takes about the same time both ways.
//! Quadratic work takes eight times as long with many documents. The limit is between the two. The two ways alternate,
//! and the smallest time of each counts, so a busy machine does not change the result.

use std::time::{Duration, Instant};

use super::*;
use crate::recall::index::People;

/// The number of documents in the small case.
const SMALL: usize = 2_000;
/// The factor by which the large case has more documents than the small case.
const TIMES: usize = 8;
/// The largest permitted ratio between the times of the large and the small case.
const GROWTH_MAX: f64 = 3.5;
/// The maximal number of rounds. On a busy machine, more rounds are needed until each case has run once without
/// disturbance.
const ROUNDS_MAX: usize = 50;

/// Runs `work` on values of both sizes from `make`. Fails if the time grows quadratically.
fn check_growth<T>(make: impl Fn(usize) -> T, work: impl Fn(&T, usize)) {
    let (small, large) = (make(SMALL), make(SMALL * TIMES));
    let timed = |made: &T, size: usize, times: usize| {
        let start = Instant::now();
        (0..times).for_each(|_| work(made, size));
        start.elapsed()
    };
    let (mut of_small, mut of_large) = (Duration::MAX, Duration::MAX);
    let is_linear = (0..ROUNDS_MAX).any(|round| {
        of_small = of_small.min(timed(&small, SMALL, TIMES));
        of_large = of_large.min(timed(&large, SMALL * TIMES, 1));
        round >= 4 && of_large.as_secs_f64() < GROWTH_MAX * of_small.as_secs_f64()
    });
    assert!(
        is_linear,
        "{of_small:?} for the small cases, {of_large:?} for the large one"
    );
}

fn put_line(index: &mut Index, at: usize, session: &str, speaker: &str, text: &str, old: Option<usize>) {
    put(index, at, ("s", session, speaker, 1, text), old);
}

#[test]
fn a_session_of_one_speaker_is_asked_about() {
    let make = |size| {
        let mut index = Index::new();
        put_line(&mut index, size, "other", "Bob", "Coffee.", None);
        for at in 0..size {
            put_line(&mut index, at, "one", "Ada", "Tea is good.", None);
        }
        index
    };
    check_growth(make, |index, _| {
        let hits = ask(index, "What did Ada say of tea?");
        let speaker = hits[0].signals[Signal::Speaker as usize];
        assert!(speaker < 0.5, "the session has no other speaker");
    });
}

/// Returns texts in a session, each of another speaker with the name "Ada".
fn namesakes(size: usize, session: &str) -> Index {
    let mut index = Index::new();
    for at in 0..size {
        put_line(
            &mut index,
            at,
            session,
            &format!("Ada {at}"),
            "Tea is good.",
            None,
        );
    }
    index
}

#[test]
fn each_speaker_of_a_session_has_the_name_in_the_question() {
    check_growth(
        |size| namesakes(size, "one"),
        |index, _| {
            let hits = ask(index, "What did Ada say of tea?");
            let speaker = hits[0].signals[Signal::Speaker as usize];
            assert!(speaker < 0.5, "the session has no other speaker");
        },
    );
}

#[test]
fn a_question_repeats_a_name_of_many_speakers() {
    check_growth(
        |size| namesakes(size, ""),
        |index, size| {
            assert!(!ask(index, &"ada ".repeat(size)).is_empty());
        },
    );
}

/// Returns speakers in a few scopes, each of whom addresses "bob". If `name` is "Bob", this word is in every name,
/// otherwise in none.
fn people(size: usize, name: &str) -> People {
    let mut people = People::default();
    for at in 0..size {
        let scope = people.scope(&format!("scope{}", at % 7));
        let speaker = people.speaker(scope, &format!("{name} {at}"));
        people.add_document(speaker, 1);
        people.add_calls(at as u32, speaker, &["bob"]);
    }
    people
}

#[test]
fn everybody_calls_the_same_name() {
    check_growth(
        |size| size,
        |_, size| assert!(people(size, "Ada").meant("ada", |_| true).len() == size),
    );
}

#[test]
fn everybody_bears_the_name_that_is_called() {
    let make = |size| {
        let mut people = people(size, "Bob");
        // The speakers without memories get the lower numbers.
        (0..size as u32 / 2).for_each(|speaker| people.remove_document(speaker, 1));
        people
    };
    check_growth(make, |people, size| {
        assert_eq!(people.meant("bob", |_| true).len(), size - size / 2);
    });
}

#[test]
fn one_document_has_all_others_as_successors() {
    let make = |size| {
        let mut index = Index::new();
        put_line(&mut index, size, "one", "", "The office is in Oslo.", None);
        for at in 0..size {
            put_line(&mut index, at, "one", "", &format!("Word{at}."), Some(size));
        }
        index
    };
    check_growth(make, |index, size| {
        let hits = ask(index, "office in Oslo");
        let place = |at| hits.iter().position(|hit| hit.key == key(at));
        assert!(
            place(size).is_none() || place(size) > Some(50),
            "its successors rank above it"
        );
    });
}
