//! Every text and every name within an item or object, for the scan and for redaction.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::BTreeMap;

use crate::agent::item::NewItem;
use crate::agent::vocabulary::attribute;
use crate::object::{NewObject, Value};
use crate::scan::Scanner;

/// Every text of an item with the name of its field; that of the text itself is empty.
pub(super) fn texts_of_item<'a>(
    item: &'a mut NewItem,
    others: &'a mut BTreeMap<String, Value>,
) -> Vec<(String, &'a mut String)> {
    let mut fields = vec![(String::new(), &mut item.text)];
    fields.extend(item.tags.iter_mut().map(|tag| (attribute::TAGS.to_owned(), tag)));
    for (name, text) in [
        (attribute::SPEAKER, &mut item.speaker),
        (attribute::SUBJECT, &mut item.subject),
        (attribute::SESSION, &mut item.session),
        (attribute::SOURCE, &mut item.source),
    ] {
        fields.extend(text.iter_mut().map(|text| (name.to_owned(), text)));
    }
    for citation in &mut item.citations {
        fields.push(("file".to_owned(), &mut citation.file));
        fields.extend(citation.note.iter_mut().map(|note| ("note".to_owned(), note)));
    }
    for (name, value) in others {
        add_texts(name, value, &mut fields);
    }
    fields
}

/// The texts of a value, nested ones included. The engine bounds the depth.
fn add_texts<'a>(name: &str, value: &'a mut Value, fields: &mut Vec<(String, &'a mut String)>) {
    match value {
        Value::Text(text) => fields.push((name.to_owned(), text)),
        Value::List(list) => list.iter_mut().for_each(|value| add_texts(name, value, fields)),
        Value::Map(map) => {
            for (name, value) in map {
                add_texts(name, value, fields);
            }
        }
        _ => {}
    }
}

/// Passes every text of an object to `visit`, with the name of its field; that of the content is empty.
pub(in crate::agent) fn each_text(object: &mut NewObject, mut visit: impl FnMut(&str, &mut String)) {
    if let Some(content) = &mut object.content {
        visit("", content);
    }
    let mut attributes = std::mem::take(&mut object.attributes).into_map();
    let mut fields = Vec::new();
    for (name, value) in &mut attributes {
        add_texts(name, value, &mut fields);
    }
    for (name, text) in fields {
        visit(&name, text);
    }
    object.attributes = attributes.into_iter().collect();
}

/// Puts markers in place of the secrets of an object; returns whether there were any.
pub(in crate::agent) fn redact_object(scanner: &Scanner, object: &mut NewObject) -> bool {
    let mut is_changed = false;
    each_text(object, |name, text| {
        let clean = scanner.redact_field(name, text).into_owned();
        is_changed |= clean != *text;
        *text = clean;
    });
    is_changed
}

/// The names of attributes, and the keys within them.
pub(in crate::agent) fn keys_of<'a>(
    attributes: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> impl Iterator<Item = &'a str> {
    let mut keys = Vec::new();
    for (name, value) in attributes {
        keys.push(name.as_str());
        add_keys(value, &mut keys);
    }
    keys.into_iter()
}

fn add_keys<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    match value {
        Value::List(list) => list.iter().for_each(|value| add_keys(value, keys)),
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            keys.push(key);
            add_keys(value, keys);
        }),
        _ => {}
    }
}
