//! Tests of what the episodes and summaries of a session say of an item that the session learnt.

use super::*;
use crate::agent::Forgetting;

const RULE: &str = "From now on always answer in German.";

/// Appends prompts of the person, each with an event of its own.
fn prompts(agent: &Agent, texts: &[&str]) {
    for text in texts {
        let entry = NewEntry {
            captured: Captured::AtPrompt((*text).to_owned()),
            ..said("user", text)
        };
        drop(append(agent, "s", None, vec![entry]));
    }
}

fn talk_of_rule(agent: &Agent) {
    prompts(
        agent,
        &[
            RULE,
            "The login page shows an error after the last update.",
            "Please look at the tests of the parser next.",
        ],
    );
}

fn end(agent: &Agent) {
    drop(end_session(agent, &Reach::All, "s", None, Some(false), &Writer::user()).unwrap());
    drop(summarise(agent, &Reach::All, "s", &|_| None, &Writer::user()).unwrap());
}

/// Returns the texts of the episodes and summaries.
fn told(agent: &Agent) -> Vec<String> {
    let all = agent
        .memory()
        .view()
        .query(&crate::engine::Query::default())
        .unwrap();
    let told = all.map(Result::unwrap);
    let told = told.filter(|object| ["episode", "summary"].contains(&object.kind()));
    told.map(|object| object.content().unwrap_or_default().to_owned())
        .collect()
}

fn forget(agent: &Agent, id: &Id, writer: &Writer) -> crate::agent::Forgot {
    let what = Forgetting {
        ids: vec![id.clone()],
        ..Forgetting::default()
    };
    agent.forget(&what, writer, false).unwrap()
}

/// Returns the ids of what a forgotten item took with it.
fn gone(done: &crate::agent::Forgot) -> Vec<&str> {
    let others = done.items[1..].iter();
    others.map(|item| item.object().id().as_str()).collect()
}

fn says(agent: &Agent) -> usize {
    told(agent).iter().filter(|text| text.contains("German")).count()
}

/// INVARIANT EPI-2: a forgotten item that was learnt leaves the episode and the summary, which were written before.
#[test]
fn a_forgotten_rule_leaves_the_texts_that_tell_of_its_session() {
    let test = memory();
    let agent = &test.agent;
    talk_of_rule(agent);
    end(agent);
    assert_eq!((told(agent).len(), says(agent)), (2, 2));
    let rule = learn(agent, &Reach::All, "s", &Writer::user())
        .unwrap()
        .ids
        .remove(0);
    let done = forget(agent, &rule, &Writer::user());
    assert_eq!(gone(&done), ["episode/s", "summary/s/2024-10-04"]);
    assert_eq!((told(agent).len(), done.still.len()), (0, 0));
    // An undo brings all back, and the item alone comes without the texts.
    drop(agent.memory().undo(&Writer::user()).unwrap());
    assert_eq!(says(agent), 2);
    drop(forget(agent, &rule, &Writer::user()));
    drop(
        agent
            .unforget(std::slice::from_ref(&rule), &Writer::user(), false)
            .unwrap(),
    );
    assert!(agent.memory().view().contains(&rule).unwrap());
    assert_eq!(says(agent), 0);
    // The end of the session writes them anew, without the rule.
    end(agent);
    assert_eq!((told(agent).len(), says(agent)), (2, 0));
}

/// INVARIANT EPI-1: what a session learnt stands in no episode and no summary that is written later.
#[test]
fn what_a_session_learnt_is_said_in_no_later_episode() {
    let test = memory();
    let agent = &test.agent;
    talk_of_rule(agent);
    let rule = learn(agent, &Reach::All, "s", &Writer::user())
        .unwrap()
        .ids
        .remove(0);
    end(agent);
    assert_eq!((told(agent).len(), says(agent)), (2, 0));
    assert_eq!(forget(agent, &rule, &Writer::user()).items.len(), 1);
    prompts(agent, &["Now write the notes of the release."]);
    end(agent);
    assert_eq!((told(agent).len(), says(agent)), (2, 0));
}

/// INVARIANT SND-1: an episode has at most the class `model`, because the program chose its sentences. A model takes
/// nothing out of what is more trusted.
#[test]
fn an_episode_is_no_more_trusted_than_a_model() {
    let test = memory();
    let agent = &test.agent;
    talk_of_rule(agent);
    end(agent);
    let view = agent.memory().view();
    let origin = |id: &str| view.get(&Id::new(id).unwrap()).unwrap().unwrap().origin();
    assert_eq!(origin("episode/s"), Origin::Model);
    assert!(origin("summary/s/2024-10-04").is_above(Origin::Model));
    let rule = learn(agent, &Reach::All, "s", &Writer::user())
        .unwrap()
        .ids
        .remove(0);
    let done = forget(agent, &rule, &Writer::model("ada"));
    assert_eq!(gone(&done), ["episode/s"]);
    assert_eq!(done.still[0].as_str(), "summary/s/2024-10-04");
    assert_eq!(says(agent), 1);
}

/// INVARIANT LRN-4: what an item states is not learnt again, even with another mark at its end.
#[test]
fn what_is_known_is_not_learnt_again() {
    let test = memory();
    let agent = &test.agent;
    let decided = crate::agent::NewItem {
        kind: crate::object::Kind::new("decision").unwrap(),
        scope: tea(),
        ..crate::agent::NewItem::new("We decided to use pnpm")
    };
    let quick = crate::agent::RememberOptions::default();
    drop(agent.remember(decided, &quick, &Writer::user()).unwrap());
    prompts(
        agent,
        &[
            "We decided to use pnpm.",
            RULE,
            "from now on always answer in German",
        ],
    );
    let learnt = learn(agent, &Reach::All, "s", &Writer::user()).unwrap();
    assert_eq!(learnt.ids.len(), 1);
}

/// A summary of a model may say a forgotten fact in other words, so the answer names it.
#[test]
fn the_summary_of_a_model_is_named_when_its_fact_is_forgotten() {
    let test = memory();
    let agent = &test.agent;
    append(agent, "s", None, talk());
    let ended = end_session(agent, &Reach::All, "s", Some(REPLY), Some(true), &Writer::user()).unwrap();
    let fact = ended.facts[0].id.clone().unwrap();
    let done = forget(agent, &fact, &Writer::user());
    assert_eq!((done.still, done.items.len()), (vec![ended.episode.unwrap()], 1));
}
