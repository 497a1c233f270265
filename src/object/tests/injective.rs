//! Tests OBJ-2 and OBJ-3: different objects have different bytes and digests.

use std::collections::HashSet;

use super::*;
use crate::digest::{HashSuite, ObjectDigest};
use crate::testing::generators::Generator;

/// Sorts the lineage and removes its repeats, as `encode` does.
fn normal(mut new: NewObject) -> NewObject {
    new.derived_from.sort_unstable();
    new.derived_from.dedup();
    new
}

fn assert_all_differ(all: &[NewObject], suite: HashSuite) {
    let digests: HashSet<_> = all
        .iter()
        .map(|new| new.encode(Origin::Host, suite).unwrap().digest)
        .collect();
    assert_eq!(digests.len(), all.len());
}

#[test]
fn a_million_pairs_agree_in_bytes_exactly_if_they_are_equal() {
    let mut generator = Generator::tiny(11);
    let mut equal = 0;
    // Compares each object with the object before it, and with a copy in which one field is replaced.
    let mut last: Option<(NewObject, Vec<u8>)> = None;
    for _ in 0..500_000 {
        let new = normal(generator.new_object());
        let bytes = new.encode(Origin::Host, SUITE).unwrap().bytes;
        let mut near = new.clone();
        let other = generator.new_object();
        match generator.random.below(8) {
            0 => near.id = other.id,
            1 => near.kind = other.kind,
            2 => near.scope = other.scope,
            3 => near.parent = other.parent,
            4 => near.position = other.position,
            5 => near.attributes = other.attributes,
            6 => near.content = other.content,
            _ => std::mem::swap(&mut near.event_time, &mut near.expires),
        }
        if near.parent.as_ref() != Some(&near.id) {
            let near_bytes = near.encode(Origin::Host, SUITE).unwrap().bytes;
            assert_eq!(near_bytes == bytes, near == new, "{near:?} and {new:?}");
            equal += usize::from(near == new);
        }
        if let Some((last, last_bytes)) = last.replace((new.clone(), bytes.clone())) {
            assert_eq!(last_bytes == bytes, last == new, "{last:?} and {new:?}");
        }
    }
    assert!(
        equal > 10_000,
        "only {equal} pairs were equal: the test would not detect a field that the encoding omits"
    );
}

/// The number of texts in an object, in the order of their encoding.
const SLOTS: usize = 14;

/// Makes an object with the texts in `slots`; returns `None` if a key is empty or out of order.
fn object_of(slots: &[String; SLOTS]) -> Option<NewObject> {
    let [
        id,
        kind,
        scope,
        parent,
        position,
        name,
        text,
        next,
        inner_key,
        inner,
        inner_next,
        element,
        last,
        content,
    ] = slots;
    if name.is_empty() || inner_key.is_empty() || name >= next || inner_key >= inner_next || id == parent {
        return None;
    }
    let mut new = NewObject::new(Id::new(id).ok()?, Kind::new(kind).ok()?);
    new.scope = Scope::new(scope).ok()?;
    new.parent = Some(Id::new(parent).ok()?);
    new.position = Some(Position::new(position).ok()?);
    let list = Value::List(vec![element.as_str().into(), last.as_str().into()]);
    let map = [
        (inner_key.clone(), inner.as_str().into()),
        (inner_next.clone(), list),
    ];
    new.attributes.insert(name.clone(), text.as_str());
    new.attributes.insert(next.clone(), Value::Map(map.into()));
    new.content = Some(content.clone());
    Some(new)
}

/// Some systems hash fields without separators. There, moving text from one field to the next keeps the digest.
#[test]
fn ambiguous_preimages() {
    let mut generator = Generator::tiny(12);
    let mut shifts = 0;
    while shifts < 60_000 {
        let slots: [String; SLOTS] = std::array::from_fn(|_| {
            let text = generator.text(8);
            if generator.random.one_in(2) {
                format!("{text}~|:")
            } else {
                text
            }
        });
        let Some(new) = object_of(&slots) else { continue };
        let encoded = new.encode(Origin::Host, SUITE).unwrap();
        for from in 0..SLOTS - 1 {
            let mut shifted = slots.clone();
            let moved = shifted[from].pop().unwrap();
            shifted[from + 1].insert(0, moved);
            let Some(other) = object_of(&shifted) else {
                continue;
            };
            let other = other.encode(Origin::Host, SUITE).unwrap();
            assert_ne!(encoded.bytes, other.bytes, "{slots:?} and {shifted:?}");
            assert_ne!(encoded.digest, other.digest, "{slots:?} and {shifted:?}");
            shifts += 1;
        }
    }
}

#[test]
fn what_looks_alike_has_another_encoding() {
    let with = |value: Value| {
        let mut new = fact("a");
        new.attributes.insert("v", Value::List(vec![value]));
        new
    };
    let lists = |values: &[Value]| with(Value::List(values.to_vec()));
    let text = |text: &str| Value::from(text);
    let key = |key: &str, value: Value| Value::Map([(key.to_owned(), value)].into());
    let mut all = vec![
        fact("a"),
        with(Value::Null),
        with(false.into()),
        with(0_i64.into()),
        with(0.0.into()),
        with(1_i64.into()),
        with(1.0.into()),
        with(text("")),
        with(text("0")),
        with(text("1")),
        with(text("null")),
        with(f64::NAN.into()),
        with(text("NaN")),
        lists(&[]),
        lists(&[Value::Null]),
        lists(&[text("")]),
        lists(&[text("a"), text("b")]),
        lists(&[text("ab")]),
        lists(&[text("a"), Value::List(vec![text("b")])]),
        lists(&[Value::List(vec![text("a"), text("b")])]),
        with(Value::Map([].into())),
        with(key("a", text("b"))),
        with(key("ab", text(""))),
        with(key("a", key("b", Value::Null))),
    ];
    for content in ["", "a", "{}"] {
        let mut new = fact("a");
        new.content = Some(content.to_owned());
        all.push(new);
    }
    for suite in BOTH {
        assert_all_differ(&all, suite);
    }
}

/// An earlier published format left scope and parent out of its digest, so a fact could change its scope unnoticed.
#[test]
fn scope_and_parent_are_in_the_digest() {
    let base = fact("a");
    let mut all = vec![base.clone()];
    let mut add = |change: &dyn Fn(&mut NewObject)| {
        let mut new = base.clone();
        change(&mut new);
        all.push(new);
    };
    add(&|new| new.id = Id::new("b").unwrap());
    add(&|new| new.kind = Kind::new("note").unwrap());
    add(&|new| new.scope = Scope::new("session").unwrap());
    add(&|new| new.parent = Some(Id::new("b").unwrap()));
    add(&|new| new.parent = Some(Id::new("c").unwrap()));
    add(&|new| new.position = Some(Position::new("m").unwrap()));
    add(&|new| drop(new.attributes.insert("a", true)));
    add(&|new| new.content = Some(String::new()));
    add(&|new| new.content = Some("x".repeat(4096)));
    add(&|new| new.content = Some("x".repeat(4097)));
    add(&|new| new.content = Some("y".repeat(4097)));
    add(&|new| new.derived_from = vec![ObjectDigest::from_bytes([0; 32])]);
    add(&|new| new.event_time = Some(Time::from_micros(0)));
    add(&|new| new.expires = Some(Time::from_micros(0)));
    add(&|new| drop(new.reserved.insert(0x8001, Vec::new())));
    for suite in BOTH {
        assert_all_differ(&all, suite);
        let origins: HashSet<_> = Origin::ALL
            .map(|origin| base.encode(origin, suite).unwrap().digest)
            .into();
        assert_eq!(origins.len(), Origin::ALL.len());
    }
}
