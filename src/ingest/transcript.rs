//! Reads one line of a transcript: the role, speaker, time and text of a turn.
//!
//! A line is `{"role", "content", "speaker"?, "name"?, "time"?, "timestamp"?, ...}`, or has these fields in a map
//! `message`, with more fields around it. All other fields become attributes with the same names.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::document::{Section, SectionKind};
use super::json;
use crate::error::{Error, Result};
use crate::object::{Attributes, Value};

/// The fields that may contain the time of an entry, in order of preference.
const TIMES: [&str; 4] = ["time", "timestamp", "created_at", "create_time"];
/// The fields that may contain the name of the speaker, in order of preference.
const SPEAKERS: [&str; 2] = ["speaker", "name"];

/// Reads the entry on line `line`.
pub(super) fn entry(line: u64, json: &Json) -> Result<Section> {
    let outer = json.as_object().ok_or_else(not_known)?;
    let mut section = Section::new(SectionKind::Entry, line);
    let attributes = &mut section.attributes;
    let (mut fields, mut around) = match outer.get("message") {
        Some(Json::Object(message)) if !outer.contains_key("role") => {
            let mut around = outer.clone();
            around.shift_remove("message");
            (message.clone(), around)
        }
        _ => (outer.clone(), Map::new()),
    };
    match fields.shift_remove("role") {
        Some(Json::String(role)) => attributes.insert("role", role),
        Some(_) => return Err(Error::invalid("the field `role` is not text")),
        None => return Err(not_known()),
    };
    match fields.shift_remove("content") {
        None | Some(Json::Null) => {}
        Some(Json::String(text)) => section.content = Some(text),
        Some(Json::Array(parts)) => {
            section.content = joined_text(&parts)?;
            if !is_plain(&parts) {
                attributes.insert(
                    "parts",
                    json::value_from_json(Json::Array(parts)).map_err(in_field("content"))?,
                );
            }
        }
        Some(_) => {
            return Err(Error::invalid(
                "the field `content` is neither text nor a list of parts",
            ));
        }
    }
    let speaker = take_first(&mut fields, &mut around, &SPEAKERS, Json::is_string);
    if let Some((_, Json::String(speaker))) = speaker {
        attributes.insert("speaker", speaker);
    }
    if let Some((name, time)) = take_first(&mut fields, &mut around, &TIMES, |value| !value.is_null()) {
        section.event_time = Some(json::time_from_json(&time).map_err(in_field(name))?);
    }
    keep_others(attributes, around, "around")?;
    keep_others(attributes, fields, "message")?;
    Ok(section)
}

fn not_known() -> Error {
    Error::invalid("the line is neither an object nor an entry of a transcript").with_hint(
        "an object has `id` and `kind`; an entry has `role` and `content`, directly or in `message`",
    )
}

fn in_field(name: &str) -> impl FnOnce(Error) -> Error {
    move |error| error.context(format!("field `{name}`"))
}

/// Removes one value from the two maps, and returns it with its name. Tries `names` in order, and takes the first value
/// that `fits` accepts.
fn take_first(
    fields: &mut Map<String, Json>,
    around: &mut Map<String, Json>,
    names: &[&'static str],
    fits: impl Fn(&Json) -> bool,
) -> Option<(&'static str, Json)> {
    for name in names {
        for map in [&mut *fields, &mut *around] {
            if map.get(*name).is_some_and(&fits) {
                return map.shift_remove(*name).map(|value| (*name, value));
            }
        }
    }
    None
}

/// Returns the joined text of the parts. Returns `None` if no part has text.
fn joined_text(parts: &[Json]) -> Result<Option<String>> {
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Json::String(text) => texts.push(text.as_str()),
            Json::Object(map) => texts.extend(map.get("text").and_then(Json::as_str)),
            _ => {
                return Err(Error::invalid(
                    "a part of the field `content` is neither text nor a map",
                ));
            }
        }
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// Returns whether the joined text contains everything in the parts.
fn is_plain(parts: &[Json]) -> bool {
    match parts {
        [Json::String(_)] => true,
        [Json::Object(part)] => {
            part.get("text").is_some_and(Json::is_string)
                && part
                    .iter()
                    .all(|(name, value)| name == "text" || (name == "type" && value == "text"))
        }
        _ => false,
    }
}

/// Adds fields as attributes. A field whose name is already used is added to the map `group`.
fn keep_others(attributes: &mut Attributes, fields: Map<String, Json>, group: &str) -> Result<()> {
    let mut others = BTreeMap::new();
    for (name, value) in fields {
        let value = json::value_from_json(value).map_err(in_field(&name))?;
        if attributes.get(&name).is_some() {
            others.insert(name, value);
        } else {
            attributes.insert(name, value);
        }
    }
    if !others.is_empty() {
        let mut group = group.to_owned();
        while attributes.get(&group).is_some() {
            group.push('_');
        }
        attributes.insert(group, Value::Map(others));
    }
    Ok(())
}
