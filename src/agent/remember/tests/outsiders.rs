//! Tests that earlier items of an untrusted writer do not block a trusted writer.

use super::room::small;
use super::*;

fn origin(agent: &Agent, name: &str) -> Origin {
    let object = agent.memory().view().get(&id(name)).unwrap().unwrap();
    object.origin()
}

#[test]
fn who_says_what_a_tool_said_under_an_id_is_believed() {
    let agent = agent();
    let plain = RememberOptions::default();
    let same = || named("sq", "the same text");
    drop(agent.remember(same(), &plain, &tool()).unwrap());
    let said = agent.remember(same(), &plain, &user()).unwrap();
    assert_eq!(
        (said.status, origin(&agent, "sq")),
        (Status::Updated, Origin::DirectUser)
    );
    // A repetition with equal trust changes nothing, and a tool cannot lower the trust again.
    let again = agent.remember(same(), &plain, &user()).unwrap();
    assert_eq!(again.status, Status::Unchanged);
    assert!(agent.remember(same(), &plain, &tool()).is_err());
    assert_eq!(origin(&agent, "sq"), Origin::DirectUser);
    // An item derived from an untrusted item stays untrusted, even if a person writes it again.
    let mut made = named("made", "from a page");
    drop(agent.remember(named("page", "a page"), &plain, &tool()).unwrap());
    let page = agent.memory().view().get(&id("page")).unwrap().unwrap();
    made.derived_from = vec![page.digest()];
    drop(agent.remember(made.clone(), &plain, &tool()).unwrap());
    drop(agent.remember(made, &plain, &user()).unwrap());
    assert_eq!(origin(&agent, "made"), Origin::ToolExternal);
    // A line of a batch that repeats a tool's text also gets the origin of the person.
    drop(agent.remember(named("b", "in a batch"), &plain, &tool()).unwrap());
    let stored = lines(&agent, r#"{"id":"b","text":"in a batch"}"#);
    assert_eq!((stored.stored, stored.unchanged), (1, 0));
    assert_eq!(origin(&agent, "b"), Origin::DirectUser);
}

#[test]
fn a_key_that_a_tool_used_is_free_for_who_is_trusted() {
    let agent = agent();
    let keyed = RememberOptions {
        key: Some("kk".to_owned()),
        ..RememberOptions::default()
    };
    for text in ["the same text", "another text"] {
        let by_tool = agent.remember(NewItem::new("the same text"), &keyed, &tool());
        let said = agent.remember(NewItem::new(text), &keyed, &user()).unwrap();
        assert_eq!(said.status, Status::Updated, "{by_tool:?}");
        assert_eq!(origin(&agent, said.id.as_str()), Origin::DirectUser);
        agent.memory().remove(&said.id, &user()).unwrap();
    }
}

/// INVARIANT ROO-3: trusted and untrusted items have separate quotas.
#[test]
fn what_is_not_trusted_takes_no_room_from_what_is() {
    let agent = small(2);
    let quick = RememberOptions::default();
    let mut old = named("old", "gone");
    old.expires = Some(Time::from_micros(1));
    drop(agent.remember(old, &quick, &user()).unwrap());
    for name in ["t1", "t2"] {
        drop(agent.remember(named(name, name), &quick, &tool()).unwrap());
    }
    let full = agent.remember(named("t3", "t3"), &quick, &tool()).unwrap_err();
    assert_eq!(full.code(), "over_limit");
    assert!(full.message().contains("untrusted"), "{full}");
    assert!(
        agent.memory().view().contains(&id("old")).unwrap(),
        "the person's items stay"
    );
    for name in ["a", "b"] {
        drop(agent.remember(named(name, name), &quick, &user()).unwrap());
    }
    assert!(!agent.memory().view().contains(&id("old")).unwrap());
    let full = agent.remember(named("c", "c"), &quick, &user()).unwrap_err();
    assert_eq!(full.code(), "over_limit");
    // An item that becomes trusted needs quota among the trusted items.
    let raised = agent.remember(named("t1", "t1"), &quick, &user()).unwrap_err();
    assert_eq!(raised.code(), "over_limit");
    // An item that supersedes a tool's item frees quota only among the untrusted items.
    let mut over = named("d", "d");
    over.supersedes = vec![id("t1")];
    assert_eq!(
        agent.remember(over, &quick, &user()).unwrap_err().code(),
        "over_limit"
    );
}

/// INVARIANT SUP-1: the stored class of an item decides what the item supersedes, not the class of the writer.
#[test]
fn what_a_person_derives_from_a_page_supersedes_nothing_that_the_person_said() {
    let agent = agent();
    let plain = RememberOptions::default();
    drop(
        agent
            .remember(named("mine", "the office is in Oslo"), &plain, &user())
            .unwrap(),
    );
    drop(agent.remember(named("page", "a page"), &plain, &tool()).unwrap());
    let page = agent.memory().view().get(&id("page")).unwrap().unwrap();
    let mut made = named("made", "the office is in Rome");
    made.derived_from = vec![page.digest()];
    made.supersedes = vec![id("mine")];
    let root = agent.memory().view().root();
    let refused = agent.remember(made.clone(), &plain, &user()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.ids()),
        (ErrorCode::LessTrusted, &["mine".to_owned()][..])
    );
    assert_eq!(agent.memory().view().root(), root);
    made.supersedes = vec![id("page")];
    assert_eq!(
        agent.remember(made, &plain, &user()).unwrap().status,
        Status::Superseded
    );
}
