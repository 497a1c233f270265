//! Tests of recall: conditions, order, budget, reasons, past states, summaries, vectors.

mod fields;

use std::sync::Arc;

use super::*;
use crate::agent::{NewItem, Reach, Settings};
use crate::engine::{Memory, Writer};
use crate::object::{Kind, Origin, Scope, Value};
use treering_text::recall::Embedder;

const HOUR: i64 = 3_600_000_000;

fn agent() -> Agent {
    Agent::new(Memory::in_memory().unwrap(), Settings::default())
}

fn id(name: &str) -> Id {
    Id::new(name).unwrap()
}

fn put(agent: &Agent, name: &str, item: NewItem) {
    put_from(agent, name, item, &Writer::user());
}

fn put_from(agent: &Agent, name: &str, item: NewItem, writer: &Writer) {
    let object = item.into_object(id(name)).unwrap();
    drop(agent.memory().put(object, writer).unwrap());
}

fn asked(text: &str) -> RecallQuery {
    RecallQuery {
        with_untrusted: true,
        ..RecallQuery::new(text, Reach::All)
    }
}

fn recall(agent: &Agent, query: &RecallQuery) -> Recalled {
    agent.recall(&agent.memory().view(), query).unwrap()
}

fn ids(recalled: &Recalled) -> Vec<&str> {
    recalled.hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn sorted_ids(agent: &Agent, query: &RecallQuery) -> Vec<String> {
    let mut ids: Vec<String> = recall(agent, query)
        .hits
        .into_iter()
        .map(|hit| hit.id.to_string())
        .collect();
    ids.sort_unstable();
    ids
}

/// Returns an agent with three items about tea that differ in every condition of a query.
fn tea() -> Agent {
    let agent = agent();
    let at = |hours: i64| Some(Time::from_micros(hours * HOUR));
    put(
        &agent,
        "a",
        NewItem {
            tags: vec!["drink".to_owned(), "green".to_owned()],
            speaker: Some("Ada".to_owned()),
            session: Some("s1".to_owned()),
            time: at(1),
            ..NewItem::new("I drink green tea every morning")
        },
    );
    put(
        &agent,
        "b",
        NewItem {
            kind: Kind::new("decision").unwrap(),
            scope: Scope::new("project:cafe").unwrap(),
            tags: vec!["drink".to_owned()],
            subject: Some("menu".to_owned()),
            time: at(100),
            ..NewItem::new("We sell tea in the morning only")
        },
    );
    let mut outside = Writer::user();
    outside.trust = Origin::Document;
    let mut item = NewItem {
        speaker: Some("Bo".to_owned()),
        time: at(200),
        expires: Some(Time::from_micros(i64::MAX / 2)),
        ..NewItem::new("tea is bad in the morning")
    };
    drop(item.others.insert("colour", "red"));
    put_from(&agent, "c", item, &outside);
    agent
}

type Narrow = fn(&mut RecallQuery);

/// INVARIANT ASK-1: a hit meets every condition of the query.
#[test]
fn every_condition_of_a_query_holds_for_its_hits() {
    let agent = tea();
    let all = ["a", "b", "c"];
    assert_eq!(sorted_ids(&agent, &asked("tea in the morning")), all);
    let cases: [(&str, Narrow); 12] = [
        ("b", |query| query.kinds = vec![Kind::new("decision").unwrap()]),
        ("b", |query| {
            query.reach = Reach::Scopes(vec![Scope::new("project:cafe").unwrap()]);
        }),
        ("ac", |query| query.reach = Reach::Scopes(vec![Scope::default()])),
        ("a", |query| {
            query.tags = vec!["drink".to_owned(), "green".to_owned()];
        }),
        ("ab", |query| {
            query.any_tags = vec!["drink".to_owned(), "blue".to_owned()];
        }),
        ("bc", |query| {
            query.since = Some(Time::from_micros(100 * HOUR));
        }),
        ("a", |query| query.until = Some(Time::from_micros(100 * HOUR))),
        ("ab", |query| query.with_untrusted = false),
        ("a", |query| query.speaker = Some("ADA".to_owned())),
        ("b", |query| query.speaker = Some("menu".to_owned())),
        ("c", |query| {
            query.attributes = vec![("colour".to_owned(), Value::from("red"))];
        }),
        ("", |query| query.tags = vec!["blue".to_owned()]),
    ];
    for (at, (expected, narrow)) in cases.into_iter().enumerate() {
        let mut query = asked("tea in the morning");
        narrow(&mut query);
        assert_eq!(sorted_ids(&agent, &query).concat(), expected, "case {at}");
    }
}

/// INVARIANT QST-3: recall looks for the name of a speaker in the texts, too.
#[test]
fn a_name_that_others_gave_hides_no_text_with_its_words() {
    let agent = agent();
    put(&agent, "facts/office", NewItem::new("The office is in Oslo"));
    put(&agent, "facts/tea", NewItem::new("Vera drinks tea"));
    let mut hello = NewItem::new("hello");
    hello.subject = Some("Oslo office".to_owned());
    put_from(&agent, "hello", hello, &Writer::model("agent"));
    for question in ["where is the office", "Oslo", "office party", "tea at the office"] {
        let found = recall(&agent, &asked(question));
        assert!(
            ids(&found).contains(&"facts/office"),
            "{question}: {:?}",
            ids(&found)
        );
    }
}

/// The words of a speaker are found by the speaker's name, also outside of a session, and whatever texts have the name.
#[test]
fn a_speaker_is_found_by_name() {
    let agent = agent();
    let mut tea = NewItem::new("drinks green tea");
    tea.speaker = Some("Ada".to_owned());
    put(&agent, "tea", tea);
    put(&agent, "office", NewItem::new("The office is in Oslo"));
    assert_eq!(ids(&recall(&agent, &asked("Ada"))), ["tea"]);
    put_from(&agent, "page", NewItem::new("Ada"), &Writer::tool("browser"));
    let trusted = RecallQuery::new("Ada", Reach::All);
    assert_eq!(ids(&recall(&agent, &trusted)), ["tea"]);
    put(&agent, "mondays", NewItem::new("Bo greets Ada on Mondays"));
    for question in ["Ada", "What did Ada say?"] {
        let query = RecallQuery::new(question, Reach::All);
        assert_eq!(sorted_ids(&agent, &query), ["mondays", "tea"], "{question}");
    }
}

/// The rank of what a speaker said does not depend on the speaker if the question names all speakers of the session. An
/// untrusted text can be the reason.
#[test]
fn a_speaker_whose_session_has_no_other_name_is_found_by_name() {
    let agent = agent();
    let said = |speaker: &str, text: &str| NewItem {
        speaker: Some(speaker.to_owned()),
        session: Some("s1".to_owned()),
        ..NewItem::new(text)
    };
    put(&agent, "office", NewItem::new("The office is in Oslo"));
    put(&agent, "tea", said("Ada", "drinks green tea"));
    let query = RecallQuery::new("What did Ada say?", Reach::All);
    assert_eq!(ids(&recall(&agent, &query)), ["tea"]);
    put_from(&agent, "page", said("Ada Bo", "hello"), &Writer::tool("browser"));
    assert_eq!(ids(&recall(&agent, &query)), ["tea"]);
}

/// INVARIANT ASK-4: an untrusted item that only a name or a day finds is counted.
#[test]
fn an_untrusted_item_without_a_word_of_the_question_is_counted() {
    let agent = agent();
    put(&agent, "office", NewItem::new("The office is in Oslo"));
    let mut cocoa = NewItem::new("drinks cocoa");
    cocoa.speaker = Some("Dora".to_owned());
    cocoa.time = Some(Time::from_micros(1_772_355_600_000_000));
    put_from(&agent, "cocoa", cocoa, &Writer::tool("browser"));
    for question in [
        "Dora",
        "What did Dora say?",
        "on 1 March 2026",
        "cocoa on 2 March 2026",
    ] {
        let found = recall(&agent, &RecallQuery::new(question, Reach::All));
        assert_eq!((ids(&found), found.left_out), (vec![], 1), "{question}");
    }
}

/// An untrusted text with a word of the question does not hide what was said on the day in the question.
#[test]
fn an_untrusted_text_hides_no_item_of_a_day() {
    let agent = agent();
    let mut door = NewItem::new("The warehouse gets a second door");
    door.time = Some(Time::from_micros(1_772_355_600_000_000));
    put(&agent, "door", door);
    put_from(&agent, "page", NewItem::new("cake"), &Writer::tool("browser"));
    let query = RecallQuery::new("cake on 1 March 2026", Reach::All);
    assert_eq!(ids(&recall(&agent, &query)), ["door"]);
}

/// INVARIANT ASK-4: untrusted items are hits only if the query asks for them. Otherwise they are counted.
#[test]
fn what_is_not_trusted_is_left_out_and_counted() {
    let agent = tea();
    let query = |text: &str| RecallQuery::new(text, Reach::All);
    let found = recall(&agent, &query("tea in the morning"));
    assert_eq!((ids(&found), found.left_out), (vec!["b", "a"], 1));
    let found = recall(&agent, &query("We sell"));
    assert_eq!(
        (ids(&found).contains(&"c"), found.left_out),
        (false, 0),
        "the untrusted item contains no word of the query"
    );
    let found = recall(&agent, &asked("tea in the morning"));
    assert_eq!((found.hits.len(), found.left_out), (3, 0));
    // The counted untrusted items meet the other conditions of the query.
    let mut narrow = query("tea in the morning");
    narrow.speaker = Some("ada".to_owned());
    assert_eq!(recall(&agent, &narrow).left_out, 0);
    narrow.speaker = Some("bo".to_owned());
    assert_eq!(recall(&agent, &narrow).left_out, 1);
    // A promoted item is a hit, so the item is no longer counted as omitted.
    let seen = agent.memory().view().get(&id("c")).unwrap().unwrap().digest();
    let says = crate::agent::trust::PersonSays::InHost;
    agent.promote(&id("c"), seen, &[], says, &Writer::user()).unwrap();
    let found = recall(&agent, &query("tea in the morning"));
    assert_eq!(
        (found.hits.len(), found.left_out),
        (3, 0),
        "a promoted item is a hit"
    );
    for at in 0..20 {
        let mut outside = Writer::user();
        outside.trust = Origin::Import;
        let mut item = NewItem::new(format!("a summary of day {at}"));
        item.kind = Kind::new("summary").unwrap();
        put_from(&agent, &format!("s{at}"), item, &outside);
    }
    let found = recall(&agent, &query(""));
    assert_eq!(
        (found.hits.len(), found.left_out),
        (0, 10),
        "omitted items are counted up to the limit of hits"
    );
    assert_eq!(recall(&agent, &query("day")).left_out, 10);
}

/// INVARIANT ASK-4: untrusted items are hits only if the query asks for them. Otherwise they are counted.
#[test]
fn nothing_is_counted_for_who_chooses_or_for_scopes_without_any() {
    let agent = tea();
    let query = RecallQuery::new("tea in the morning", Reach::All);
    let view = agent.memory().view();
    let all = search(&agent, &view, &query, Some(&|_| true)).unwrap();
    assert_eq!((all.hits.len(), all.left_out), (2, 0));
    let (indexed, _) = agent.recall_index().of(&view).unwrap();
    let scope = view.get(&id("c")).unwrap().unwrap().scope().to_owned();
    assert_eq!(indexed.value().untrusted.len(), 1);
    assert!(indexed.value().has_untrusted_in(&scope));
    assert!(!indexed.value().has_untrusted_in("project:cafe"));
    let here = Reach::Scopes(vec![Scope::new(&scope).unwrap()]);
    assert_eq!(
        recall(&agent, &RecallQuery::new("tea in the morning", here)).left_out,
        1
    );
}

#[test]
fn what_expired_is_hidden_from_that_moment_on() {
    let agent = tea();
    let moment = Time::from_micros(i64::MAX / 2);
    let view = |now| agent.memory().view().with_now(now);
    let mut query = asked("tea in the morning");
    let count = |view: &View, query: &RecallQuery| agent.recall(view, query).unwrap().hits.len();
    let before = view(Time::from_micros(i64::MAX / 2 - 1));
    assert_eq!(count(&before, &query), 3);
    assert_eq!(count(&view(moment), &query), 2);
    query.include_expired = true;
    assert_eq!(count(&view(moment), &query), 3);
}

/// INVARIANT ASK-2: a hit never ranks above a hit that supersedes it.
#[test]
fn what_takes_the_place_of_others_stands_above_them() {
    let agent = agent();
    put(
        &agent,
        "old1",
        NewItem::new("The login takes 300 ms with 20 users"),
    );
    put(
        &agent,
        "old2",
        NewItem::new("The login takes 250 ms with 20 users"),
    );
    let mut new = NewItem::new("The login is at 120 ms now");
    new.supersedes = vec![id("old1"), id("old2")];
    put(&agent, "new", new);
    let mut query = asked("How long does the login take with 20 users?");
    let recalled = recall(&agent, &query);
    assert_eq!(recalled.hits[0].id.as_str(), "new");
    assert_eq!(recalled.hits.len(), 3);
    assert!(recalled.hits[1..].iter().all(|hit| hit.superseded_by == ["new"]));
    query.include_superseded = false;
    assert_eq!(ids(&recall(&agent, &query)), ["new"]);
    query.reach = Reach::Scopes(vec![Scope::default()]);
    assert_eq!(ids(&recall(&agent, &query)), ["new"]);
}

#[test]
fn a_budget_skips_what_does_not_fit_and_goes_on() {
    let agent = agent();
    put(
        &agent,
        "long",
        NewItem::new(format!("tea tea tea {}", "very long ".repeat(40))),
    );
    put(&agent, "short", NewItem::new("tea"));
    let mut query = asked("tea tea");
    assert_eq!(recall(&agent, &query).hits.len(), 2);
    query.budget = Some(20);
    let recalled = recall(&agent, &query);
    assert_eq!(ids(&recalled), ["short"]);
    assert_eq!((recalled.tokens, recalled.skipped), (1, 1));
    // A good match that the budget leaves out is a good match.
    query.budget = Some(0);
    let recalled = recall(&agent, &query);
    assert!(recalled.hits.is_empty() && !recalled.no_good_match);
}

/// INVARIANT ASK-3: recall changes no state.
#[test]
fn a_past_state_answers_as_it_did_then_and_nothing_is_changed() {
    let agent = tea();
    let then = agent.memory().view();
    drop(agent.memory().remove(&id("a"), &Writer::user()).unwrap());
    let root = agent.memory().view().root();
    let recalled = agent
        .recall(&then.clone().with_now(Time::from_micros(0)), &asked("green tea"))
        .unwrap();
    assert_eq!(recalled.hits[0].id.as_str(), "a");
    assert_eq!(recalled.root, then.root());
    assert!(!ids(&recall(&agent, &asked("green tea"))).contains(&"a"));
    assert_eq!(agent.memory().view().root(), root);
}

#[test]
fn a_snippet_shows_the_match_and_the_reasons_add_up() {
    let agent = agent();
    let text = format!(
        "{} the parser belongs to Ada {}",
        "nothing here ".repeat(30),
        "or there ".repeat(30)
    );
    put(&agent, "a", NewItem::new(text.clone()));
    let mut query = asked("Who owns the parser?");
    query.explain = true;
    query.full = true;
    let recalled = recall(&agent, &query);
    let hit = &recalled.hits[0];
    assert!(hit.snippet.starts_with('\u{2026}') && hit.snippet.ends_with('\u{2026}'));
    assert_eq!(&hit.snippet[recalled.matches(hit)[0].clone()], "parser");
    assert_eq!(hit.text.as_deref(), Some(text.as_str()));
    let sum: f32 = hit
        .reasons
        .iter()
        .flatten()
        .map(|reason| reason.value * reason.weight)
        .sum();
    assert!((sum - hit.score).abs() < 1e-4, "{hit:?}");
    assert!(hit.why.contains(&"contains words of the question"), "{hit:?}");
    assert!(hit.reasons.iter().flatten().any(|reason| reason.name == "lately"));
}

#[test]
fn of_two_that_fit_alike_the_later_one_stands_first() {
    let agent = agent();
    let day = 24 * HOUR;
    for (name, days) in [("old", 0), ("new", 200)] {
        put(
            &agent,
            name,
            NewItem {
                time: Some(Time::from_micros(days * day)),
                session: Some(name.to_owned()),
                ..NewItem::new("The build takes long")
            },
        );
    }
    let view = agent.memory().view().with_now(Time::from_micros(201 * day));
    let mut query = asked("builds");
    let first = |query: &RecallQuery| agent.recall(&view, query).unwrap().hits[0].id.to_string();
    assert_eq!(first(&query), "new");
    query.recency = 0.0;
    assert_eq!(first(&query), "old");
}

#[test]
fn without_a_question_the_summaries_stand_in_order_of_time() {
    let agent = tea();
    let day = 24 * HOUR;
    for (name, days) in [("third", 30), ("first", 10), ("second", 20)] {
        put(
            &agent,
            name,
            NewItem {
                kind: Kind::new("summary").unwrap(),
                time: Some(Time::from_micros(days * day)),
                ..NewItem::new(format!("what happened {name}"))
            },
        );
    }
    let mut query = asked("  ");
    assert_eq!(ids(&recall(&agent, &query)), ["first", "second", "third"]);
    query.limit = 2;
    assert_eq!(ids(&recall(&agent, &query)), ["second", "third"]);
    query.limit = 10;
    query.when = Some(Time::from_micros(15 * day));
    assert_eq!(ids(&recall(&agent, &query)), ["first", "second"]);
    query.reach = Reach::Scopes(vec![Scope::new("other").unwrap()]);
    assert!(recall(&agent, &query).hits.is_empty());
}

#[test]
fn of_a_shortened_item_the_full_text_is_that_of_the_original() {
    let agent = agent();
    let full = "Ada drinks green tea. It calms her nerves.";
    put(&agent, "a", NewItem::new(full));
    let original = agent.memory().view().get(&id("a")).unwrap().unwrap().digest();
    let mut short = NewItem::new("Ada drinks green tea.");
    short.derived_from = vec![original];
    drop(short.others.insert("level", "summary"));
    drop(short.others.insert("original", original.to_hex()));
    put(&agent, "a", short);
    let mut query = asked("tea");
    query.full = true;
    assert_eq!(recall(&agent, &query).hits[0].text.as_deref(), Some(full));
}

#[test]
fn an_attribute_that_names_another_items_version_shows_nothing_of_it() {
    let agent = agent();
    let mut secret = NewItem::new("the vault word is heliotrope");
    secret.scope = Scope::new("project:secret").unwrap();
    put(&agent, "secret", secret);
    let version = agent
        .memory()
        .view()
        .get(&id("secret"))
        .unwrap()
        .unwrap()
        .digest();
    let mut forged = NewItem::new("short vault");
    forged.derived_from = vec![version];
    drop(forged.others.insert("level", "summary"));
    drop(forged.others.insert("original", version.to_hex()));
    put(&agent, "forged", forged);
    let mut query = RecallQuery::new("vault", Reach::Scopes(vec![Scope::default()]));
    query.full = true;
    let recalled = recall(&agent, &query);
    assert_eq!(ids(&recalled), ["forged"]);
    assert_eq!(recalled.hits[0].text.as_deref(), Some("short vault"));
}

struct Meanings;

impl Embedder for Meanings {
    fn embed(&self, text: &str) -> Vec<f32> {
        let drinks = ["tea", "beverage", "coffee"];
        let is_drink = drinks.iter().any(|drink| text.contains(drink));
        if is_drink { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
    }
}

#[test]
fn vectors_find_what_words_do_not() {
    let agent = tea();
    put(
        &agent,
        "d",
        NewItem {
            session: Some("far".to_owned()),
            time: Some(Time::from_micros(9_000 * HOUR)),
            ..NewItem::new("The roof is red")
        },
    );
    assert!(recall(&agent, &asked("beverage")).hits.is_empty());
    let agent = agent.with_embedder("meanings", Arc::new(Meanings)).unwrap();
    let recalled = recall(&agent, &asked("beverage"));
    let found: Vec<&str> = recalled
        .hits
        .iter()
        .filter(|hit| hit.why.iter().any(|why| why.contains("means something similar")))
        .map(|hit| hit.id.as_str())
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(!found.contains(&"d"));
}

#[test]
fn what_is_recalled_counts_as_used_and_what_is_only_looked_at_does_not() {
    let agent = tea();
    let view = agent.memory().view().with_now(Time::from_micros(300 * HOUR));
    let used = |name: &str| agent.memory().last_used(&id(name)).unwrap();
    let mut query = asked("green tea");
    query.limit = 1;
    query.touch = false;
    drop(agent.recall(&view, &query).unwrap());
    assert_eq!(used("a"), None);
    query.touch = true;
    drop(agent.recall(&view, &query).unwrap());
    assert_eq!(used("a"), Some(Time::from_micros(300 * HOUR)));
    assert_eq!(used("c"), None);
    // A recall on a past state does not record its hits as used.
    put(&agent, "later", NewItem::new("one more"));
    query.limit = 10;
    drop(agent.recall(&view, &query).unwrap());
    assert_eq!(used("c"), None);
}

/// INVARIANT ASK-5: freshness ranks no untrusted item above a trusted item with a higher score.
#[test]
fn a_newer_page_does_not_overtake_what_the_person_said() {
    let said = |text: &str, hours: i64| NewItem {
        time: Some(Time::from_micros(hours * HOUR)),
        ..NewItem::new(text)
    };
    let first_of = |class: Origin| {
        let agent = agent();
        put(&agent, "mine", said("The limit of the api is 100 calls", 0));
        let newer = said("The limit of the api is now 500 calls a day", 9);
        put_from(&agent, "newer", newer, &Writer::of(class));
        put(&agent, "rain", said("Rain is likely", 10));
        let found = recall(&agent, &asked("What is the limit of the api?"));
        ids(&found)[0].to_owned()
    };
    assert_eq!(first_of(Origin::DirectUser), "newer");
    assert_eq!(first_of(Origin::ToolExternal), "mine");
}

/// Stores a heading with a title below another object.
fn put_heading(agent: &Agent, name: &str, parent: Option<&str>, title: &str, text: &str) {
    let mut item = NewItem {
        kind: Kind::new("heading").unwrap(),
        ..NewItem::new(text)
    };
    drop(item.others.insert("title", title));
    let mut object = item.into_object(id(name)).unwrap();
    object.parent = parent.map(id);
    if text.is_empty() {
        object.content = None;
    }
    drop(agent.memory().put(object, &Writer::user()).unwrap());
}

#[test]
fn titles_and_the_titles_above_are_searched_and_shown() {
    let agent = agent();
    put_heading(&agent, "team", None, "Team", "");
    put_heading(&agent, "ismail", Some("team"), "Ismail", "");
    put_heading(&agent, "phone", Some("ismail"), "Phone", "Extension 4711");
    put_heading(&agent, "anna", Some("team"), "Anna", "");
    put_heading(&agent, "other", Some("anna"), "Phone", "Extension 4712");
    let found = recall(&agent, &asked("Ismail"));
    assert_eq!(
        ids(&found),
        ["ismail", "phone"],
        "a heading without text is found too"
    );
    assert_eq!((found.hits[0].snippet.as_str(), found.hits[0].tokens), ("", 0));
    let found = recall(&agent, &asked("phone of Ismail"));
    assert_eq!(ids(&found)[0], "phone");
    assert_eq!(found.hits[0].titles, ["Team", "Ismail", "Phone"]);
    assert_eq!(found.hits[0].snippet, "Extension 4711");
    // A new title is found at all objects below it, and the old one is not.
    put_heading(&agent, "ismail", Some("team"), "Bahar", "");
    assert!(ids(&recall(&agent, &asked("Ismail"))).is_empty());
    assert_eq!(ids(&recall(&agent, &asked("Bahar phone")))[0], "phone");
    // INVARIANT STX-1: a title shows no secret.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    put_heading(&agent, "leak", None, &format!("token {secret}"), "the leak");
    let hit = recall(&agent, &asked("leak")).hits.swap_remove(0);
    assert!(
        hit.titles.len() == 1 && !hit.titles[0].contains(&secret),
        "{hit:?}"
    );
    assert!(!hit.flags.is_empty());
}

#[test]
fn an_empty_answer_names_the_scopes_with_matches() {
    let agent = tea();
    let mut query = RecallQuery::new(
        "tea in the morning",
        Reach::Scopes(vec![Scope::new("nowhere").unwrap()]),
    );
    let elsewhere = |query: &RecallQuery| -> Vec<(String, usize)> {
        let found = recall(&agent, query);
        assert!(found.hits.is_empty());
        found
            .elsewhere
            .into_iter()
            .map(|of| (of.scope, of.matches))
            .collect()
    };
    let counts = |global: usize| vec![("global".to_owned(), global), ("project:cafe".to_owned(), 1)];
    assert_eq!(elsewhere(&query), counts(1), "trusted ones only");
    query.with_untrusted = true;
    assert_eq!(elsewhere(&query), counts(2));
    query.tags = vec!["drink".to_owned()];
    assert_eq!(elsewhere(&query), counts(1), "the conditions of the query count");
    "coffee".clone_into(&mut query.text);
    assert!(elsewhere(&query).is_empty());
    assert!(recall(&agent, &asked("tea")).elsewhere.is_empty());
}

/// With a model, most questions have weak hits in any scope.
#[test]
fn weak_hits_hide_no_match_in_another_scope() {
    let agent = agent();
    let in_scope = |scope: &str, text: &str| NewItem {
        scope: Scope::new(scope).unwrap(),
        ..NewItem::new(text)
    };
    put(
        &agent,
        "far",
        in_scope("project:b", "The staging password is in the vault."),
    );
    for (name, text) in [
        ("one", "Ada runs in the morning."),
        ("two", "The staging area has a table."),
    ] {
        put(&agent, name, in_scope("project:a", text));
    }
    let reach = Reach::Scopes(vec![Scope::new("project:a").unwrap()]);
    let found = recall(
        &agent,
        &RecallQuery::new("where is the staging password kept", reach),
    );
    assert!(!found.hits.is_empty() && found.no_good_match, "{found:?}");
    let scopes: Vec<_> = found.elsewhere.iter().map(|of| of.scope.as_str()).collect();
    assert_eq!(scopes, ["project:b"]);
}

#[test]
fn no_hit_scores_less_than_one_below_it() {
    let agent = agent();
    for (name, text) in [
        ("old", "The limit of the api is 100 calls"),
        (
            "new",
            "The limit of the api is now 500 calls a day, says the team",
        ),
        ("rain", "Rain is likely"),
    ] {
        put(&agent, name, NewItem::new(text));
    }
    let mut query = asked("What is the limit of the api?");
    query.explain = true;
    let found = recall(&agent, &query);
    assert_eq!(ids(&found)[..2], ["new", "old"]);
    assert!(
        found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score),
        "ORD-3"
    );
    let reasons = found.hits[0].reasons.as_ref().unwrap();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.name == "order" && reason.value > 0.0)
    );
    let sum: f32 = reasons.iter().map(|reason| reason.value * reason.weight).sum();
    assert!((sum - found.hits[0].score).abs() < 1e-4);
}

/// INVARIANT ASK-6: without event times, freshness compares only items of different commits, whatever their ids say.
#[test]
fn of_two_items_of_one_commit_none_is_fresher() {
    let texts = [
        ("limit-1", "The limit of the api is 100 calls"),
        ("limit-2", "The limit of the api is now 500 calls a day"),
        ("rain-3", "Rain is likely"),
    ];
    let objects = || {
        let object = |(name, text): (&str, &str)| NewItem::new(text).into_object(id(name)).unwrap();
        texts.map(object)
    };
    let first_of = |agent: &Agent| ids(&recall(agent, &asked("What is the limit of the api?")))[0].to_owned();
    let at_once = agent();
    let mut draft = at_once.memory().draft(&Writer::user());
    for object in objects() {
        draft.put(object).unwrap();
    }
    drop(at_once.memory().commit(draft, "put").unwrap());
    assert_eq!(first_of(&at_once), "limit-1");
    let one_by_one = agent();
    for object in objects() {
        drop(one_by_one.memory().put(object, &Writer::user()).unwrap());
    }
    assert_eq!(first_of(&one_by_one), "limit-2");
}

/// INVARIANT STX-1: a snippet shows no part of a secret, also in a text that is too long to be scanned whole.
#[test]
fn a_hit_shows_no_secret_that_was_stored_unreviewed() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let agent = agent();
    let filler = "words of no use ".repeat(6_000);
    let long = format!("{filler} the garden gate opens with {key} today {filler}");
    put(&agent, "long", NewItem::new(long));
    put(&agent, "short", NewItem::new(format!("garden gate {key}")));
    let full = RecallQuery {
        full: true,
        ..asked("garden gate")
    };
    for query in [asked("garden gate"), full] {
        let found = recall(&agent, &query);
        assert_eq!(found.hits.len(), 2);
        for hit in &found.hits {
            assert!(
                !hit.snippet.contains("a1B2c3D4") && hit.snippet.contains("garden"),
                "{hit:?}"
            );
            assert!(hit.flags.contains(&"github-token".to_owned()), "{:?}", hit.flags);
            let text = hit.text.as_deref().unwrap_or_default();
            assert!(!text.contains(&key), "{}", hit.id);
        }
    }
}
