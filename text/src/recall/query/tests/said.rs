//! Tests of what was stated beside what was said.

use super::*;
use crate::recall::index::Voice;

const QUESTION: &str = "Where is the config file of the shop?";

/// Returns an index of turns of one session, by two speakers in turn, and of facts.
fn index_with(turns: &[&str], facts: &[&str]) -> Index {
    let mut index = Index::new();
    let mut put = |session: Option<&str>, speaker: &str, voice: Voice, text: &str| {
        let at = index.len();
        let document = Document {
            session,
            voice,
            ..document(at, ("s", "", speaker, 0, text))
        };
        index.put(&document).unwrap();
    };
    for (at, turn) in turns.iter().enumerate() {
        let speaker = ["user", "assistant"][at % 2];
        put(Some("talk"), speaker, Voice::Said, turn);
    }
    for fact in facts {
        put(None, "", Voice::Stated, fact);
    }
    index
}

fn hits(index: &Index, query: &Query<'_>) -> Vec<Hit> {
    index.recall(query, &mut Scratch::default()).hits
}

fn places(hits: &[Hit]) -> Vec<usize> {
    hits.iter().map(|hit| place(hit.key)).collect()
}

#[test]
fn what_was_stated_comes_before_what_was_said_about_it() {
    let turns = [
        "Where is the config file of our shop?",
        "The config file of the shop, yes, that is somewhere in the repository.",
        "The weather is fine.",
    ];
    let facts = [
        "The shop reads its config file from /etc.",
        "The shop keeps each config file for a year.",
        "A config file of the shop needs a review.",
        "Lunch is at noon.",
    ];
    let index = index_with(&turns, &facts);
    let found = hits(&index, &Query::new(QUESTION));
    let order = places(&found);
    assert_eq!(found[0].moved, Some(Moved::Stated), "{order:?}");
    let turn = order.iter().position(|&place| place == 1).unwrap();
    assert!(turn <= 2, "ORD-4: {order:?}");
    let of_facts: Vec<usize> = order.iter().copied().filter(|&place| place >= 3).collect();
    let alone = places(&hits(&index_with(&[], &facts), &Query::new(QUESTION)));
    let alone: Vec<usize> = alone.into_iter().map(|place| place + turns.len()).collect();
    assert_eq!(of_facts, alone, "ORD-4");
}

#[test]
fn a_turn_that_answers_stays_before_a_fact_that_shares_a_word() {
    let turns = [QUESTION, "The config file of the shop is main.toml.", "Thanks."];
    let index = index_with(&turns, &["The shop closes at six.", "Lunch is at noon."]);
    assert_eq!(places(&hits(&index, &Query::new(QUESTION)))[0], 1);
}

#[test]
fn the_question_is_a_hit_only_if_the_caller_wants_it() {
    let turns = [
        QUESTION,
        "It is main.toml.",
        "hey, where is the config file of the shop again",
    ];
    let index = index_with(&turns, &[]);
    let all = Query::new(QUESTION);
    let query = Query {
        omits_itself: true,
        ..all
    };
    assert!(places(&hits(&index, &all)).contains(&0));
    let found = places(&hits(&index, &query));
    assert!(!found.contains(&0) && found[0] == 1, "{found:?}");
    // A statement in the words of a turn is no question, so the turn confirms it.
    let statement = Query {
        text: turns[1],
        ..query
    };
    assert_eq!(places(&hits(&index, &statement))[0], 1);
}

#[test]
fn a_quote_of_the_question_is_read_and_does_not_stand_above_a_fact() {
    let turns = [
        "Hello.",
        "You asked: where is the config file of the shop? I will look.",
    ];
    let index = index_with(&turns, &["The config of the shop is in main.toml."]);
    let text_of = |key: &Key| turns.get(place(*key)).map(ToString::to_string);
    let query = Query {
        text_of: Some(&text_of),
        ..Query::new(QUESTION)
    };
    assert_eq!(places(&hits(&index, &query))[0], 2);
}
