//! Reads the fields of an item from an object that a verb changes and reviews again.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - FRO-1: an object that is converted to an item and back is unchanged, except for its parent and position.

use super::fields::ItemFields;
use super::{KNOWN, NewItem};
use crate::agent::vocabulary::attribute;
use crate::ingest::json::value_to_json;
use crate::object::{Attributes, NewObject, Object};

/// Converts an object to an item. An attribute of the vocabulary whose value does not fit its field stays in
/// `others`. [`NewItem::into_object`] then returns an error that names the attribute.
pub(in crate::agent) fn item_of(object: NewObject) -> NewItem {
    let mut fields = ItemFields {
        text: object.content.unwrap_or_default(),
        time: object.event_time,
        expires: object.expires,
        derived_from: object.derived_from,
        ..ItemFields::default()
    };
    for (name, value) in object.attributes.into_map() {
        let is_field = KNOWN.contains(&name.as_str());
        if !is_field || fields.set(&name, &value_to_json(&value)).is_err() {
            drop(fields.attributes.insert(name, value));
        }
    }
    let item = fields.resolve(|_| Ok(object.scope));
    NewItem {
        id: Some(object.id),
        kind: object.kind,
        ..item.expect("`set` checked each field")
    }
}

/// The attributes that only verbs set. Callers and imported files cannot set them.
pub(in crate::agent) const MADE_BY_VERBS: [&str; 8] = [
    attribute::LEVEL,
    attribute::ORIGINAL,
    attribute::WRITTEN,
    attribute::FLAGS,
    attribute::PROMOTED,
    attribute::WATERMARK,
    attribute::WITHHELD,
    attribute::CLASS,
];

/// Returns the attributes of an object, except the attributes that only verbs set.
pub(in crate::agent) fn stated_attributes(object: &Object) -> Attributes {
    let mut attributes = object.attributes();
    for name in MADE_BY_VERBS {
        attributes.remove(name);
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::item::{Citation, Sensitivity};
    use crate::object::{Id, Time};

    /// INVARIANT FRO-1: the item of an object becomes the same object again.
    #[test]
    fn an_item_comes_back_from_its_object() {
        let id = Id::new("a").unwrap();
        let mut item = NewItem::new("Ada drinks green tea");
        item.id = Some(id.clone());
        item.tags = vec!["tea".to_owned()];
        item.speaker = Some("Ada".to_owned());
        item.subject = Some("tea".to_owned());
        item.session = Some("s1".to_owned());
        item.source = Some("chat".to_owned());
        item.order = Some(7);
        item.time = Some(Time::from_micros(5));
        item.expires = Some(Time::from_micros(9));
        item.citations = vec![Citation {
            file: "a.rs".to_owned(),
            line: Some(3),
            note: Some("there".to_owned()),
        }];
        item.confidence = Some(0.5);
        item.sensitivity = Some(Sensitivity::Pii);
        item.is_pinned = true;
        item.supersedes = vec![Id::new("old").unwrap()];
        drop(item.others.insert("colour", "green"));
        let object = item.clone().into_object(id.clone()).unwrap();
        assert_eq!(item_of(object), item);
        // An attribute whose value has the wrong type does not set its field.
        let mut odd = NewItem::new("x").into_object(id.clone()).unwrap();
        drop(odd.attributes.insert(attribute::PINNED, "yes"));
        assert!(item_of(odd).into_object(id).is_err());
    }
}
