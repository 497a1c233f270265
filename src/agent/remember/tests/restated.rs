//! Tests of the fields that a repeated text changes, and of the sensitivity that a new text inherits.

use super::*;
use crate::agent::Sensitivity;
use crate::agent::envelope::EnvelopeRequest;

fn object(agent: &Agent, id: &Id) -> Item {
    Item::from(agent.memory().view().get(id).unwrap().unwrap())
}

#[test]
fn what_is_to_last_longer_or_to_be_kept_closer_is_so_though_the_text_is_there() {
    let agent = agent();
    let plain = RememberOptions::default();
    let text = "The door code is at the desk";
    let with = |change: &dyn Fn(&mut NewItem)| {
        let mut item = NewItem::new(text);
        change(&mut item);
        item
    };
    let soon = Some(Time::from_micros(4_000_000_000_000_000));
    let later = Some(Time::from_micros(5_000_000_000_000_000));
    let first = agent
        .remember(with(&|item| item.expires = soon), &plain, &user())
        .unwrap();
    let again = |change: &dyn Fn(&mut NewItem), writer: &Writer| {
        let done = agent.remember(with(change), &plain, writer).unwrap();
        assert_eq!(done.id, first.id);
        done.status
    };
    // A tool that repeats a person's item changes nothing.
    assert_eq!(
        agent.remember(with(&|_| ()), &plain, &tool()).unwrap().status,
        Status::Duplicate
    );
    assert_eq!(again(&|item| item.expires = soon, &user()), Status::Duplicate);
    assert_eq!(again(&|item| item.expires = later, &user()), Status::Merged);
    assert_eq!(again(&|item| item.expires = soon, &user()), Status::Duplicate);
    assert_eq!(object(&agent, &first.id).object().expires(), later);
    assert_eq!(again(&|_| (), &user()), Status::Merged);
    assert_eq!(object(&agent, &first.id).object().expires(), None);
    let tagged = |item: &mut NewItem| item.tags = vec!["door".to_owned()];
    assert_eq!(again(&tagged, &user()), Status::Merged);
    assert_eq!(again(&|item| item.is_pinned = true, &user()), Status::Merged);
    let secret = |item: &mut NewItem| item.sensitivity = Some(Sensitivity::Credentials);
    assert_eq!(again(&secret, &user()), Status::Merged);
    assert_eq!(again(&|_| (), &user()), Status::Duplicate);
    let kept = object(&agent, &first.id);
    assert_eq!((kept.tags(), kept.is_pinned()), (vec!["door".to_owned()], true));
    assert_eq!(kept.object().origin(), Origin::DirectUser);
    let shown = agent
        .envelope(
            &agent.memory().view(),
            &EnvelopeRequest::new(crate::agent::Reach::All),
        )
        .unwrap();
    assert!(shown.shown.is_empty(), "{shown:?}");
    let stored = lines(
        &agent,
        r#"{"text":"The door code is at the desk","tags":["desk"]}"#,
    );
    assert_eq!((stored.stored, stored.unchanged), (1, 0));
    assert_eq!(object(&agent, &first.id).tags(), ["door", "desk"]);
}

#[test]
fn a_new_text_is_as_sensitive_as_the_one_that_it_replaces() {
    let agent = agent();
    let plain = RememberOptions::default();
    let mut first = named("alarm", "The alarm code is one two three");
    first.sensitivity = Some(Sensitivity::Credentials);
    drop(agent.remember(first, &plain, &user()).unwrap());
    let sensitivity = |name: &str| object(&agent, &id(name)).sensitivity();
    drop(
        agent
            .remember(named("alarm", "It is four five six"), &plain, &user())
            .unwrap(),
    );
    assert_eq!(sensitivity("alarm"), Sensitivity::Credentials);
    let mut other = named("alarm2", "It is seven eight nine");
    other.supersedes = vec![id("alarm")];
    drop(agent.remember(other, &plain, &user()).unwrap());
    assert_eq!(sensitivity("alarm2"), Sensitivity::Credentials);
    assert_eq!(lines(&agent, r#"{"id":"alarm2","text":"nine"}"#).stored, 1);
    assert_eq!(sensitivity("alarm2"), Sensitivity::Credentials);
    // An explicit sensitivity replaces the inherited sensitivity.
    let mut open = named("alarm2", "There is no alarm any more");
    open.sensitivity = Some(Sensitivity::None);
    drop(agent.remember(open, &plain, &user()).unwrap());
    assert_eq!(sensitivity("alarm2"), Sensitivity::None);
}

#[test]
fn who_supersedes_the_same_by_the_same_text_again_stores_nothing() {
    let agent = agent();
    let plain = RememberOptions::default();
    drop(
        agent
            .remember(named("of", "The office is in Oslo"), &plain, &user())
            .unwrap(),
    );
    drop(
        agent
            .remember(named("of2", "The office is in Rome"), &plain, &user())
            .unwrap(),
    );
    let over = |old: &str| {
        let mut item = NewItem::new("The office moved to Bergen");
        item.supersedes = vec![id(old)];
        agent.remember(item, &plain, &user()).unwrap()
    };
    let first = over("of");
    assert_eq!(first.status, Status::Superseded);
    let again = over("of");
    assert_eq!((again.status, again.id), (Status::Duplicate, first.id.clone()));
    let other = over("of2");
    assert_eq!(other.status, Status::Superseded);
    let line = r#"{"text":"The office moved to Bergen","supersedes":["of2"]}"#;
    let answer = lines(&agent, line);
    assert_eq!((answer.stored, answer.unchanged), (0, 1), "{answer:?}");
}

#[test]
fn a_line_without_a_text_and_a_line_with_a_secret_name_are_answered_and_not_repeated() {
    let agent = agent();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let all = [
        r#"{"text":"   "}"#.to_owned(),
        "{\"text\":\"\u{200b}\"}".to_owned(),
        format!(r#"{{"id":"{token}","text":"x"}}"#),
        format!(r#"{{"text":"x","time":"{token}"}}"#),
        format!(r#"{{"text":"y","{token}":1}}"#),
    ];
    let answer = lines(&agent, &all.join("\n"));
    assert_eq!((answer.stored, answer.refused.len()), (0, 5), "{answer:?}");
    assert!(!format!("{answer:?}").contains(&token), "{answer:?}");
    for blank in ["", " ", "\u{200b}"] {
        let done = agent.remember(NewItem::new(blank), &RememberOptions::default(), &user());
        assert_eq!(done.unwrap_err().code(), "no_text");
    }
}

/// An answer shows the start of a long text, and the scan reads no more of what is stored.
#[test]
fn of_a_long_text_that_is_there_the_start_is_shown() {
    let agent = agent();
    let key = "ghp_".to_owned() + &"a1B2c3D4e5".repeat(4)[..36];
    let text = format!(
        "{} {key} {}",
        "the log is long ".repeat(250),
        "and so on ".repeat(2_000)
    );
    let mut object = NewItem::new(text.clone())
        .into_object(Id::new("long").unwrap())
        .unwrap();
    object.content = Some(text.clone());
    // `put` stores a secret.
    drop(agent.memory().put(object, &user()).unwrap());
    let stored = agent
        .memory()
        .view()
        .get(&Id::new("long").unwrap())
        .unwrap()
        .unwrap();
    let start = StoredText::start_of(&agent, &stored, false).text.unwrap();
    assert!(start.starts_with("the log is long") && start.ends_with('\u{2026}'));
    assert!(
        (3_000..4_200).contains(&start.len()) && !start.contains("ghp_"),
        "{}",
        start.len()
    );
    let plain = RememberOptions::default();
    let long = || NewItem::new("the harbour opens at nine ".repeat(1_000));
    drop(agent.remember(long(), &plain, &user()).unwrap());
    let again = agent.remember(long(), &plain, &user()).unwrap();
    let shown = again.duplicates[0].shown.text.as_deref().unwrap();
    assert!(again.status == Status::Duplicate && shown.len() < 4_200);
}

/// A mark at the end and a capital at the start make no other text, but a question is another one.
#[test]
fn a_full_stop_makes_no_other_text() {
    let agent = agent();
    assert_eq!(say(&agent, "We decided to use pnpm").status, Status::Created);
    for text in [
        "We decided to use pnpm.",
        "we decided to use pnpm!",
        " We decided to use  pnpm. ",
    ] {
        assert_eq!(say(&agent, text).status, Status::Duplicate, "{text}");
    }
    assert_eq!(say(&agent, "We decided to use pnpm?").status, Status::Created);
    let lines = ["Tea is green.", "tea is green"].map(|text| format!(r#"{{"text":"{text}"}}"#).into_bytes());
    let lines = (0..).zip(lines).map(Ok);
    let done = agent
        .remember_lines(lines, &LinesOptions::default(), &user())
        .unwrap();
    assert_eq!((done.stored, done.duplicates), (1, 1));
}
