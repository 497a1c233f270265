//! Tests of the conversion between items and objects.

use super::*;
use crate::object::Origin;

fn full() -> NewItem {
    let mut others = Attributes::new();
    drop(others.insert("colour", "green"));
    NewItem {
        id: None,
        tags: vec!["tea".to_owned(), "drink".to_owned(), "tea".to_owned()],
        speaker: Some("Ada".to_owned()),
        subject: Some("tea".to_owned()),
        session: Some("s1".to_owned()),
        order: Some(7),
        time: Some(Time::from_micros(5)),
        expires: Some(Time::from_micros(9)),
        citations: vec![Citation {
            file: "a.rs".to_owned(),
            line: Some(3),
            note: None,
        }],
        confidence: Some(0.5),
        sensitivity: Some(Sensitivity::Pii),
        source: Some("chat".to_owned()),
        is_pinned: true,
        supersedes: vec![Id::new("old").unwrap()],
        others,
        ..NewItem::new("Ada drinks green tea")
    }
}

/// INVARIANT ITM-1: an item that is stored and read back has the same fields.
#[test]
fn every_field_is_read_back() {
    let memory = crate::Memory::in_memory().unwrap();
    let id = Id::new("a").unwrap();
    let object = full().into_object(id.clone()).unwrap();
    drop(memory.put(object, &crate::Writer::user()).unwrap());
    let item = Item::from(memory.view().get(&id).unwrap().unwrap());
    let expected = full();
    assert_eq!(item.text(), expected.text);
    assert_eq!(item.tags(), ["tea", "drink"]);
    assert_eq!(item.speaker(), expected.speaker);
    assert_eq!(item.subject(), expected.subject);
    assert_eq!(item.session(), expected.session);
    assert_eq!(item.order(), expected.order);
    assert_eq!(item.object().event_time(), expected.time);
    assert_eq!(item.object().expires(), expected.expires);
    assert_eq!(item.citations(), expected.citations);
    assert_eq!(item.confidence(), expected.confidence);
    assert_eq!(item.sensitivity(), Sensitivity::Pii);
    assert_eq!(item.source(), expected.source);
    assert!(item.is_pinned());
    assert_eq!(item.supersedes(), ["old"]);
    assert_eq!(item.object().attribute("colour"), Some(Value::from("green")));
    assert_eq!(item.object().origin(), Origin::DirectUser);
}

#[test]
fn what_the_verbs_say_is_not_for_callers_to_give() {
    for name in MADE_BY_VERBS.into_iter().chain(OF_SESSIONS) {
        let mut item = NewItem::new("x");
        drop(item.others.insert(name, "y"));
        assert!(
            item.check_given().unwrap_err().to_string().contains(name),
            "{name}"
        );
    }
    assert!(full().check_given().is_ok());
}

#[test]
fn what_cannot_be_is_refused() {
    let id = || Id::new("a").unwrap();
    let mut item = full();
    item.confidence = Some(1.5);
    assert!(item.into_object(id()).is_err());
    let mut item = full();
    item.citations[0].line = Some(0);
    assert!(item.into_object(id()).is_err());
    let mut item = full();
    drop(item.others.insert(attribute::TAGS, "tea"));
    assert!(item.into_object(id()).is_err());
}
