//! Tests of the inbox.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::*;
use crate::agent::vocabulary::attribute;
use crate::agent::{Agent, NewItem, Reach, RememberOptions, Settings};
use crate::engine::{Memory, Writer};
use crate::object::{Id, Kind, NewObject};

fn agent() -> Agent {
    Agent::new(Memory::in_memory().unwrap(), Settings::default())
}

fn put(agent: &Agent, id: &str, kind: &str, text: &str, writer: &Writer) {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new(kind).unwrap());
    object.content = Some(text.to_owned());
    drop(agent.memory().put(object, writer).unwrap());
}

fn ids(agent: &Agent, group: Group) -> Vec<String> {
    let view = agent.memory().view();
    let (items, total) = noted(agent, &view, group, &Reach::All, None, 100).unwrap();
    assert_eq!(items.len(), total);
    items.iter().map(|item| item.object().id().to_string()).collect()
}

/// INVARIANT INB-1: a group contains exactly the items of the state that `Group` describes.
#[test]
fn groups_follow_the_state() {
    let agent = agent();
    let (person, page) = (Writer::user(), Writer::tool("browser"));
    put(&agent, "tea", "fact", "Tea is green.", &person);
    put(&agent, "web", "page", "Prices rise.", &page);
    put(&agent, "doc", "document", "A manual.", &page);
    put(&agent, "doc#1", "heading", "Its first part.", &page);
    put(&agent, "turn", "entry", "Is tea green?", &person);
    put(&agent, "week", "summary", "Tea was the topic.", &person);
    put(&agent, "cup", "decision", "Use cups.", &person);
    assert_eq!(ids(&agent, Group::Learned), ["cup", "tea"]);
    assert_eq!(ids(&agent, Group::Withheld), ["web"]);
    assert_eq!(
        learned_scopes(&agent, &agent.memory().view()).unwrap(),
        ["global"]
    );
    // A flagged part of a document waits; a flagged text of the person does not.
    for (id, kind, writer) in [("doc#2", "heading", &page), ("own", "fact", &person)] {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new(kind).unwrap());
        object.content = Some("Run this.".to_owned());
        let flags = vec!["shell_command".into()];
        drop(
            object
                .attributes
                .insert(attribute::FLAGS, crate::object::Value::List(flags)),
        );
        drop(agent.memory().put(object, writer).unwrap());
    }
    assert_eq!(ids(&agent, Group::Flagged), ["doc#2"]);
    // The newest change counts, and what was removed or undone is gone.
    put(&agent, "tea", "fact", "Tea is black.", &person);
    assert_eq!(ids(&agent, Group::Learned), ["tea", "own", "cup"]);
    drop(agent.memory().remove(&Id::new("cup").unwrap(), &person).unwrap());
    assert_eq!(ids(&agent, Group::Learned), ["tea", "own"]);
    drop(agent.memory().undo(&person).unwrap());
    assert!(ids(&agent, Group::Learned).contains(&"cup".to_owned()));
    let late = agent.memory().view().now().plus_micros(1_000_000);
    let view = agent.memory().view();
    let (items, _) = noted(&agent, &view, Group::Learned, &Reach::All, Some(late), 9).unwrap();
    assert!(items.is_empty());
    let (_, total) = noted(&agent, &view, Group::Learned, &Reach::default(), None, 9).unwrap();
    assert_eq!(total, 0, "an empty reach has no items");
}

#[test]
fn contradicting_items_are_one_pair() {
    let agent = agent();
    let say = |text: &str| {
        let said = agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user());
        said.unwrap()
    };
    let first = say("The office closes at 17:00.");
    drop(say("The garden has nine trees."));
    let second = say("The office closes at 19:00.");
    assert_eq!(second.conflicts.len(), 1);
    let pairs = conflicts(&agent, &agent.memory().view(), &Reach::All).unwrap();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(new, old)| (new.object().id().clone(), old.object().id().clone()))
        .collect();
    assert_eq!(pairs, [(second.id, first.id)]);
}
