//! Reads the memories of mem0: the JSON that `get_all` of its library and of its platform returns.
//!
//! The JSON is an object with the list `results` or `memories`, or the list itself. An invalid memory does not affect
//! the others. A field that has no meaning in Treering, or that has an unexpected value, becomes an attribute.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The vectors and the earlier texts of mem0 are not in this JSON. Hashes and scores can be computed again, and relations of
//!   the graph have no place, so they are not imported.

use serde_json::{Map, Value as Json};

use super::mapping::{
    Foreign, Mapped, id_for, other_attributes, read_parts, text_of, texts_in, time_of, unreadable,
};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::{Parts, split};
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
    let mut mapped = Mapped::default();
    let memories = match read_parts(foreign.bytes)? {
        Parts::List(list) => Some(list),
        Parts::Map(map) => memories(map, &mut mapped),
    };
    let memories = memories
        .ok_or_else(|| unreadable("the file has no list of memories named `results` or `memories`"))?;
    for (memory, number) in memories.into_iter().zip(1..) {
        let at = format!("memory {number}");
        let Some(mut fields) = mapped.object(memory, &at, "memory") else {
            continue;
        };
        let (Some(id), Some(text)) = (text_of(&mut fields, "id"), text_of(&mut fields, "memory")) else {
            mapped.refuse(
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

/// Returns the memories of an answer of mem0. Adds a finding for each other part, such as the relations of the graph and
/// the address of the next page.
fn memories<'a>(map: Vec<(String, &'a str)>, mapped: &mut Mapped) -> Option<Vec<&'a str>> {
    let mut memories: Option<Vec<&str>> = None;
    for (key, part) in map {
        match (key.as_str(), split(part)) {
            ("results" | "memories", Ok(Parts::List(list))) => memories.get_or_insert_default().extend(list),
            ("count" | "previous", _) => {}
            _ => mapped.leave_out(&key, part),
        }
    }
    memories
}

/// Removes the times of a memory. Returns the time of its text, and the time at which it expires. A memory is valid until
/// the end of its expiration date, in UTC. The time of its first text stays a field, if it differs.
fn times(fields: &mut Map<String, Json>, at: &str, mapped: &mut Mapped) -> (Option<Time>, Option<Time>) {
    const DATE_BYTES: usize = "2026-01-31".len();
    let expiration = fields.get("expiration_date").and_then(Json::as_str);
    let is_date = expiration.is_some_and(|text| text.len() == DATE_BYTES);
    let mut time = |name: &str| time_of(fields, name, at, mapped);
    let (created, updated, expires) = (time("created_at"), time("updated_at"), time("expiration_date"));
    if let Some(created) = created.filter(|_| updated.is_some() && updated != created) {
        fields.insert("created_at".to_owned(), Json::String(created.to_string()));
    }
    let end = |day: Time| Time::from_micros(day.as_micros() + DAY);
    (
        updated.or(created),
        expires.map(|time| if is_date { end(time) } else { time }),
    )
}

/// Returns the attributes of a memory: those that have a meaning in Treering, and all others under their names.
fn attributes(mut fields: Map<String, Json>, at: &str, mapped: &mut Mapped) -> Attributes {
    let mut metadata = match fields.shift_remove("metadata") {
        Some(Json::Object(metadata)) => metadata,
        Some(other) => Map::from_iter([("metadata".to_owned(), other)]),
        None => Map::new(),
    };
    let mut tags = texts_in(&mut metadata, "tags");
    tags.extend(texts_in(&mut metadata.clone(), "category"));
    tags.extend(texts_in(&mut fields, "categories"));
    let [user, run, actor] = ["user_id", "run_id", "actor_id"].map(|name| text_of(&mut fields, name));
    fields.retain(|name, value| !DERIVED.contains(&name.as_str()) && !value.is_null());
    for (name, value) in metadata.into_iter().filter(|(_, value)| !value.is_null()) {
        let shadowed = fields.get(&name).is_some_and(|known| *known != value);
        let mut name = name;
        while shadowed && fields.contains_key(&name) {
            name.insert_str(0, "metadata.");
        }
        fields.insert(name, value);
    }
    let mut attributes = other_attributes(fields, at, mapped);
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
    fn a_file_that_is_no_json_names_the_place() {
        // Python writes NaN, which is not JSON.
        let error = map_of("[{\"id\":\"1\",\n \"score\": NaN}]").err().unwrap();
        assert_eq!(error.code(), "unreadable");
        assert!(error.message().ends_with(": line 2, column 11"), "{error}");
    }

    #[test]
    fn a_memory_expires_at_the_end_of_a_date_or_at_a_time() {
        for (given, expires) in [
            ("\"2026-03-01\"", "2026-03-02T00:00:00.000000Z"),
            ("\"9999-12-31\"", "+010000-01-01T00:00:00.000000Z"),
            ("\"2026-03-01T10:00:00+02:00\"", "2026-03-01T08:00:00.000000Z"),
            ("1767225600", "2026-01-01T00:00:00.000000Z"),
        ] {
            let mapped = map_of(&format!(
                r#"[{{"id":"1","memory":"Tea.","expiration_date":{given}}}]"#
            ))
            .unwrap();
            assert_eq!(
                mapped.incoming[0].1.expires.unwrap().to_string(),
                expires,
                "{given}"
            );
        }
    }

    #[test]
    fn an_invalid_memory_costs_only_itself() {
        let text =
            r#"[1, {"memory":"x"}, {"id":"2","memory":""}, {"id":"3","memory":"y","created_at":"noon"}]"#;
        let mapped = map_of(text).unwrap();
        assert_eq!(
            (mapped.incoming.len(), mapped.findings.len(), mapped.refused),
            (1, 4, 3)
        );
    }

    #[test]
    fn a_value_that_is_no_json_costs_only_its_memory() {
        let text = r#"{"count":1e999,"results":[{"id":"1","memory":"half \ud83d"},{"id":"2","memory":"x","n":1e999},
            {"id":"3","id":"4","memory":"x"},{"id":"5","memory":"Tea."}]}"#;
        let mapped = map_of(text).unwrap();
        let ids: Vec<_> = mapped
            .incoming
            .iter()
            .map(|(_, object)| object.id.as_str())
            .collect();
        assert_eq!((ids, mapped.refused), (vec!["tea/fact/mem0/5"], 3));
    }

    #[test]
    fn no_field_is_lost() {
        let text = r#"[{"id":"1","memory":"Tea.","created_at":1767225600,"updated_at":"noon","user_id":7,"run_id":"r",
            "categories":["a",{"b":1}],"role":"user","hash":"h","big":123456789012345678901,"large":[18446744073709551615],
            "metadata":{"role":"other","tags":[1],"category":"c","hash":"mine","user_id":"u","none":null}},
            {"id":"2","memory":"x","flags":["a"],"snap.flags":"b","metadata":"text"},
            {"id":"3","memory":"y","metadata":{"category":["a",""]}},{"id":"4","memory":"z","metadata":{"category":""}}]"#;
        let mapped = map_of(text).unwrap();
        let [(_, one), (_, two), (_, three), (_, four)] = mapped.incoming.as_slice() else {
            panic!()
        };
        assert_eq!(one.event_time.unwrap().to_string(), "2026-01-01T00:00:00.000000Z");
        let json = crate::ingest::json::attributes_to_json(&one.attributes);
        assert_eq!(
            json,
            serde_json::json!({
                "big": 1.234_567_890_123_456_8e20, "categories": ["a", {"b": 1}], "category": "c", "hash": "mine",
                "large": [1.844_674_407_370_955_2e19], "metadata.role": "other", "metadata.user_id": "u", "role": "user", "session": "r", "snap.tags": [1],
                "tags": ["c"], "updated_at": "noon", "user_id": 7,
            })
        );
        assert_eq!(two.attributes.get("metadata").unwrap().as_text(), Some("text"));
        assert!(
            two.attributes.get("snap.flags").is_some() && two.attributes.get("snap.snap.flags").is_some()
        );
        assert_eq!(three.attributes.get("tags"), texts(&["a".to_owned()]).as_ref());
        assert_eq!(four.attributes.get("tags"), None);
        let graph = r#"{"results":[],"memories":[{"id":"1","memory":"x"}],"relations":[{"source":"a"}],"next":null,"count":1}"#;
        let graph = map_of(graph).unwrap();
        assert_eq!(
            (graph.incoming.len(), graph.findings.len()),
            (1, 1),
            "{:?}",
            graph.findings
        );
        assert_eq!(
            (mapped.findings.len(), mapped.refused),
            (3, 0),
            "{:?}",
            mapped.findings
        );
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
