//! Reads the memories of mem0: the JSON that `get_all` of its library and of its platform returns.
//!
//! The JSON is an object with the list `results` or `memories`, or the list itself. An invalid memory does not affect
//! the others.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The vectors, the hashes and the earlier texts of mem0 are not in this JSON, so they are not imported.

use serde_json::{Map, Value as Json};

use super::mapping::{
    Foreign, Mapped, id_for, list_of_texts, other_attributes, read_json, text_of, unreadable,
};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::loose_time;
use crate::object::{Attributes, Time};

/// The folder of the ids.
const FOLDER: &str = "mem0";
/// The length of a day in microseconds.
const DAY: i64 = 86_400_000_000;
/// The fields that can be computed again, or that belong to one search.
const DERIVED: [&str; 4] = ["hash", "score", "event", "structured_attributes"];

/// Maps memories to facts.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let scope = foreign.usual_scope()?;
    let memories = match read_json(foreign.bytes)? {
        Json::Array(list) => Some(list),
        Json::Object(mut map) => {
            ["results", "memories"]
                .into_iter()
                .find_map(|name| match map.remove(name) {
                    Some(Json::Array(list)) => Some(list),
                    _ => None,
                })
        }
        _ => None,
    };
    let memories = memories
        .ok_or_else(|| unreadable("the file has no list of memories named `results` or `memories`"))?;
    let mut mapped = Mapped::default();
    for (memory, number) in memories.into_iter().zip(1..) {
        let at = format!("memory {number}");
        let Json::Object(mut fields) = memory else {
            mapped.say(at, "the memory is not an object and is ignored");
            continue;
        };
        let (Some(id), Some(text)) = (text_of(&mut fields, "id"), text_of(&mut fields, "memory")) else {
            mapped.say(
                at,
                "`id` or `memory` is missing or not text; the memory is ignored",
            );
            continue;
        };
        let times = times(&mut fields, &at, &mut mapped);
        let attributes = attributes(fields, &at, &mut mapped);
        let id = id_for(key, &scope, &format!("{}/{FOLDER}", kind::FACT), &id);
        if let Some(object) = mapped.push(at, id, kind::FACT, &scope, text, attributes) {
            (object.event_time, object.expires) = times;
        }
    }
    Ok(mapped)
}

/// Removes the times of a memory. Returns the time of its text, and the time at which it expires. A memory is valid until
/// the end of its expiration date, in UTC. The time of its first text stays a field, if it differs.
fn times(fields: &mut Map<String, Json>, at: &str, mapped: &mut Mapped) -> (Option<Time>, Option<Time>) {
    let mut time = |name: &str| {
        let text = text_of(fields, name)?;
        let time = loose_time(&text);
        if time.is_none() {
            mapped.say(at, format!("`{name}` is not a time and is ignored"));
        }
        time
    };
    let (created, updated, expires) = (time("created_at"), time("updated_at"), time("expiration_date"));
    if let Some(created) = created.filter(|_| updated.is_some() && updated != created) {
        fields.insert("created_at".to_owned(), Json::String(created.to_string()));
    }
    let after = |day: Time| day.as_micros().checked_add(DAY).map(Time::from_micros);
    (updated.or(created), expires.and_then(after))
}

/// Returns the attributes of a memory: those that have a meaning in Treering, and all others under their names.
fn attributes(mut fields: Map<String, Json>, at: &str, mapped: &mut Mapped) -> Attributes {
    let mut metadata = match fields.shift_remove("metadata") {
        Some(Json::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let mut tags = list_of_texts(metadata.shift_remove("tags"));
    tags.extend(list_of_texts(metadata.get("category").cloned()));
    tags.extend(list_of_texts(fields.shift_remove("categories")));
    let [user, run, actor] = ["user_id", "run_id", "actor_id"].map(|name| text_of(&mut fields, name));
    fields.retain(|name, value| !DERIVED.contains(&name.as_str()) && !value.is_null());
    for (name, value) in metadata {
        fields.entry(name).or_insert(value);
    }
    let mut attributes = other_attributes(&fields, at, mapped);
    for (name, value) in [
        (attribute::SUBJECT, user),
        (attribute::SESSION, run),
        (attribute::SPEAKER, actor),
    ] {
        if let Some(value) = value {
            drop(attributes.insert(name, value));
        }
    }
    if let Some(tags) = texts(&tags) {
        drop(attributes.insert(attribute::TAGS, tags));
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::super::mapping::{ForeignFormat, Mapped};
    use super::super::tests::foreign;
    use super::*;
    use proptest::prelude::*;

    fn map_of(text: &str) -> Result<Mapped> {
        map(&foreign(ForeignFormat::Mem0, text.as_bytes()), &[0; 32])
    }

    #[test]
    fn a_list_is_read_in_each_form() {
        let memory =
            r#"{"id":"1","memory":"Tea.","created_at":"2026-03-01","categories":["drinks"],"score":0.5}"#;
        for text in [
            format!("[{memory}]"),
            format!("{{\"results\":[{memory}]}}"),
            format!("{{\"count\":1,\"memories\":[{memory}]}}"),
        ] {
            let mapped = map_of(&text).unwrap();
            let [(_, object)] = mapped.incoming.as_slice() else {
                panic!("{text}")
            };
            assert_eq!(object.id.as_str(), "tea/fact/mem0/1");
            assert_eq!(
                object.event_time.unwrap().to_string(),
                "2026-03-01T00:00:00.000000Z"
            );
            assert!(object.attributes.get("score").is_none());
            assert_eq!(mapped.findings, []);
        }
        for text in ["", "{}", "3", "{\"results\":{}}", "[1", "\u{ff}"] {
            assert_eq!(map_of(text).err().unwrap().code(), "unreadable", "{text}");
        }
    }

    #[test]
    fn an_invalid_memory_costs_only_itself() {
        let text =
            r#"[1, {"memory":"x"}, {"id":"2","memory":""}, {"id":"3","memory":"y","created_at":"noon"}]"#;
        let mapped = map_of(text).unwrap();
        assert_eq!((mapped.incoming.len(), mapped.findings.len()), (1, 4));
    }

    proptest! {
        #[test]
        fn no_memory_is_lost(texts in prop::collection::vec(any::<String>(), 0..8)) {
            let list: Vec<Json> = texts.iter().enumerate()
                .map(|(id, text)| serde_json::json!({"id": id.to_string(), "memory": text}))
                .collect();
            let mapped = map_of(&Json::Array(list).to_string()).unwrap();
            let kept: Vec<&String> = texts.iter().filter(|text| !text.is_empty()).collect();
            prop_assert!(mapped.incoming.iter().map(|(_, object)| object.content.as_ref().unwrap()).eq(kept));
            prop_assert_eq!(mapped.incoming.len() + mapped.findings.len(), texts.len());
        }
    }
}
