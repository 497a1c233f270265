//! Tests of duplicates and contradictions by meaning: when the model is asked, and what it decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use treering_text::recall::{Embedder, TextMeaning};

/// An embedder of two topics. Counts the texts that it embeds.
#[derive(Default)]
struct Topics(AtomicUsize);

impl Embedder for Topics {
    fn embed(&self, text: &str) -> Vec<f32> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let is_about = ["ship", "Deploys", "Release", "vegan", "cheese"]
            .iter()
            .any(|word| text.contains(word));
        if is_about { vec![1.0, 0.1] } else { vec![0.1, 1.0] }
    }
}

fn with_topics() -> (Agent, Arc<Topics>) {
    let topics = Arc::new(Topics::default());
    let agent = agent().with_embedder("topics", Arc::clone(&topics) as _).unwrap();
    (agent, topics)
}

/// Remembers a text, and returns the answer with the number of texts that were embedded meanwhile.
fn remember(agent: &Agent, topics: &Topics, text: &str, options: &RememberOptions) -> (Remembered, usize) {
    let before = topics.0.load(Ordering::Relaxed);
    let done = agent.remember(NewItem::new(text), options, &user()).unwrap();
    (done, topics.0.load(Ordering::Relaxed) - before)
}

#[test]
fn only_a_doubt_or_a_caller_who_acts_waits_for_the_model() {
    let (agent, topics) = with_topics();
    let warn = RememberOptions::default();
    let asked = |text: &str, options: &RememberOptions| remember(&agent, &topics, text, options).1;
    assert_eq!(asked("Deploys happen on Friday afternoon", &warn), 0);
    assert_eq!(asked("The kitchen has a green kettle", &warn), 0);
    // A number that differs is no doubt, and neither is the same text.
    assert_eq!(asked("The limit is 300 requests", &warn), 0);
    assert_eq!(asked("The limit is 500 requests", &warn), 0);
    assert_eq!(asked("The kitchen has a green kettle", &warn), 0);
    let quick = RememberOptions {
        is_quick: true,
        ..on(OnDuplicate::Skip)
    };
    assert_eq!(asked("We ship at the end of the week, on a Friday", &quick), 0);
    // A caller who acts waits. Of a stored text without a vector, the vector is computed and kept.
    let skip = on(OnDuplicate::Skip);
    assert!(asked("Lunch is at noon on Friday", &skip) >= 2);
    let named = NewItem {
        id: Some(id("named")),
        ..NewItem::new("Lunch is at one on Friday")
    };
    let before = topics.0.load(Ordering::Relaxed);
    drop(agent.remember(named, &skip, &user()).unwrap());
    assert_eq!(
        topics.0.load(Ordering::Relaxed),
        before,
        "an item with an id is stored"
    );
}

#[test]
fn the_meaning_decides_a_doubt_and_its_vector_is_used_again() {
    let (agent, topics) = with_topics();
    let warn = RememberOptions::default();
    let text = "On Friday afternoon we ship";
    let first = remember(&agent, &topics, "Deploys happen on Friday afternoon", &warn).0;
    let (done, asked) = remember(&agent, &topics, text, &warn);
    assert_eq!((done.duplicates.len(), asked), (1, 2), "{done:?}");
    assert_eq!(done.duplicates[0].id, first.id);
    // Both vectors are there.
    let before = topics.0.load(Ordering::Relaxed);
    assert_eq!(agent.embed(None).unwrap().unwrap().pending, 0);
    assert_eq!(topics.0.load(Ordering::Relaxed), before);
    // Without a model, words decide.
    let agent = super::agent();
    drop(say(&agent, "Deploys happen on Friday afternoon"));
    assert_eq!(say(&agent, text).duplicates.len(), 0);
}

/// The nearest items by meaning are candidates for contradictions, and values decide.
#[test]
fn a_contradiction_behind_items_with_more_common_words_is_found() {
    let conflicts = |agent: &Agent| {
        let old = say(agent, "Ines is a vegan").id;
        let quick = RememberOptions {
            is_quick: true,
            ..RememberOptions::default()
        };
        for room in [
            "hall", "yard", "shed", "loft", "attic", "porch", "barn", "cabin", "tower",
        ] {
            let text = format!("Ines eats in the {room}");
            drop(agent.remember(NewItem::new(text), &quick, &user()).unwrap());
        }
        drop(agent.embed(None).unwrap());
        let new = NewItem::new("Ines eats cheese");
        let new = agent.remember(new, &on(OnDuplicate::Skip), &user()).unwrap();
        new.conflicts.iter().any(|conflict| conflict.id == old)
    };
    assert!(!conflicts(&agent()), "eight items have more words in common");
    assert!(conflicts(&with_topics().0));
}

/// INVARIANT VCT-1: the vector of a text that was not stored is in no file.
#[test]
fn a_text_that_was_not_stored_leaves_no_vector() {
    let (agent, topics) = with_topics();
    let long = "Release notes are written by the whole team on the last Thursday of the month";
    drop(remember(&agent, &topics, long, &RememberOptions::default()));
    let again = format!("{long} really");
    let skip = on(OnDuplicate::Skip);
    let (done, asked) = remember(&agent, &topics, &again, &skip);
    assert_eq!((done.status, asked), (Status::Duplicate, 2));
    let counts = agent.embed(None).unwrap().unwrap();
    assert_eq!((counts.embedded, counts.pending), (1, 0));
    let view = agent.memory().view();
    assert_eq!(agent.comparing(&view).unwrap().table().len(), 1);
}
