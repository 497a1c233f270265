//! Converts an object back to the item from which it was made, to change and review it again.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - FRO-1: the item of an object becomes the same object again, apart from its place in the tree.

use super::{Citation, NewItem, Sensitivity, texts_of};
use crate::agent::vocabulary::attribute;
use crate::error::Result;
use crate::object::{Attributes, Id, NewObject, Object, Value};

/// Returns the item of an object. An attribute of the vocabulary with a wrong type stays among the others.
/// [`NewItem::into_object`] then refuses it by name.
pub(in crate::agent) fn item_of(object: NewObject) -> Result<NewItem> {
    let mut item = NewItem::new(object.content.unwrap_or_default());
    item.id = Some(object.id);
    item.kind = object.kind;
    item.scope = object.scope;
    item.time = object.event_time;
    item.expires = object.expires;
    item.derived_from = object.derived_from;
    for (name, value) in object.attributes.into_map() {
        if let Some(value) = take(&mut item, &name, value)? {
            drop(item.others.insert(name, value));
        }
    }
    Ok(item)
}

/// Sets the field of an attribute. Returns the value if it has the wrong type for the field.
fn take(item: &mut NewItem, name: &str, value: Value) -> Result<Option<Value>> {
    match (name, &value) {
        (attribute::SPEAKER, Value::Text(text)) => item.speaker = Some(text.clone()),
        (attribute::SUBJECT, Value::Text(text)) => item.subject = Some(text.clone()),
        (attribute::SESSION, Value::Text(text)) => item.session = Some(text.clone()),
        (attribute::SOURCE, Value::Text(text)) => item.source = Some(text.clone()),
        (attribute::ORDER, Value::Integer(order)) => item.order = Some(*order),
        (attribute::CONFIDENCE, Value::Float(sure)) => item.confidence = Some(*sure),
        (attribute::PINNED, Value::Bool(is_pinned)) => item.is_pinned = *is_pinned,
        (attribute::SENSITIVITY, Value::Text(text)) if Sensitivity::from_name(text).is_some() => {
            item.sensitivity = Sensitivity::from_name(text);
        }
        (attribute::TAGS, Value::List(list)) if are_texts(list) => item.tags = texts_of(&value),
        (attribute::SUPERSEDES, Value::List(list)) if are_texts(list) => {
            item.supersedes = texts_of(&value)
                .iter()
                .map(|id| Id::new(id))
                .collect::<Result<_>>()?;
        }
        (attribute::CITATIONS, Value::List(list)) => {
            let citations = Citation::all_of(&value);
            if citations.len() != list.len() {
                return Ok(Some(value));
            }
            item.citations = citations;
        }
        _ => return Ok(Some(value)),
    }
    Ok(None)
}

fn are_texts(list: &[Value]) -> bool {
    list.iter().all(|value| value.as_text().is_some())
}

/// The attributes that only verbs set, and files never do.
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

/// Returns the attributes of an object without those that only verbs set.
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
    use crate::agent::Citation;
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
        assert_eq!(item_of(object).unwrap(), item);
        // An attribute with the wrong type for its field does not set the field.
        let mut odd = NewItem::new("x").into_object(id.clone()).unwrap();
        drop(odd.attributes.insert(attribute::PINNED, "yes"));
        assert!(item_of(odd).unwrap().into_object(id).is_err());
    }
}
