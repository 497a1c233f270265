//! Reads the fields of an item from JSON, or from an object that a verb changes and reviews again.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - FRO-1: an object that is converted to an item and back is unchanged, except for its parent and position.

use serde::Deserialize;
use serde_json::Value as Json;

use super::{Citation, KNOWN, NewItem, Sensitivity};
use crate::agent::vocabulary::attribute;
use crate::error::{Error, Result};
use crate::ingest::json::value_to_json;
use crate::object::{Attributes, Id, NewObject, Object};

/// Converts an object to an item. An attribute of the vocabulary whose value does not fit its field stays in
/// `others`. [`NewItem::into_object`] then returns an error that names the attribute.
pub(in crate::agent) fn item_of(object: NewObject) -> NewItem {
    let mut item = NewItem::new(object.content.unwrap_or_default());
    item.id = Some(object.id);
    item.kind = object.kind;
    item.scope = object.scope;
    item.time = object.event_time;
    item.expires = object.expires;
    item.derived_from = object.derived_from;
    for (name, value) in object.attributes.into_map() {
        let is_field = KNOWN.contains(&name.as_str());
        if !is_field || set_field(&mut item, &name, &value_to_json(&value)).is_err() {
            drop(item.others.insert(name, value));
        }
    }
    item
}

/// Sets the field `name` of an item, which is an attribute of the vocabulary. Returns false if there is no such field.
///
/// # Errors
/// `InvalidInput` if the value has the wrong type for the field.
pub(in crate::agent) fn set_field(item: &mut NewItem, name: &str, value: &Json) -> Result<bool> {
    match name {
        attribute::TAGS => item.tags = read(value, "a list of texts")?,
        attribute::SPEAKER => item.speaker = Some(name_of(value)?),
        attribute::SUBJECT => item.subject = Some(name_of(value)?),
        attribute::SESSION => item.session = Some(name_of(value)?),
        attribute::SOURCE => item.source = Some(name_of(value)?),
        attribute::ORDER => item.order = Some(read(value, "an integer")?),
        attribute::CONFIDENCE => item.confidence = Some(read(value, "a number")?),
        attribute::PINNED => item.is_pinned = read(value, "true or false")?,
        attribute::SENSITIVITY => item.sensitivity = Some(Sensitivity::from_text(read(value, "text")?)?),
        attribute::CITATIONS => {
            let citations: Vec<Json> = read(value, "a list")?;
            item.citations = citations.iter().map(citation).collect::<Result<_>>()?;
        }
        attribute::SUPERSEDES => {
            let ids: Vec<&str> = read(value, "a list of ids")?;
            item.supersedes = ids.into_iter().map(Id::new).collect::<Result<_>>()?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Reads a name from a text or a number.
fn name_of(json: &Json) -> Result<String> {
    match json {
        Json::Number(number) => Ok(number.to_string()),
        json => read(json, "text"),
    }
}

/// Reads a citation: a map `{file, line?, note?}`, or a text `FILE:LINE:NOTE`.
fn citation(json: &Json) -> Result<Citation> {
    match json {
        Json::String(text) => Citation::from_text(text),
        json => read(
            json,
            "a citation: {\"file\", \"line\"?, \"note\"?} or FILE:LINE:NOTE",
        ),
    }
}

/// Reads a value. The error does not repeat the value, because the value may be a secret.
pub(in crate::agent) fn read<'a, T: Deserialize<'a>>(json: &'a Json, what: &str) -> Result<T> {
    T::deserialize(json).map_err(|_| Error::invalid(format!("the value is not {what}")))
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
    use crate::object::Time;

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
