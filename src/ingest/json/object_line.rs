//! An object as a line of JSON: the form that `put --jsonl` reads and `export` writes.
//!
//! # Layer
//! L6, inside `ingest`. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{attributes_from_json, attributes_to_json};
use crate::digest::{ObjectDigest, from_hex, to_hex};
use crate::error::{Error, Result};
use crate::object::{Id, Kind, NewObject, Object, Origin, Position, Scope, Time};

/// An object that a line of JSON states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLine {
    /// The object.
    pub object: NewObject,
    /// The origin that it claims. It may only lower the one that the writer has.
    pub origin: Option<Origin>,
    /// Whether the line names a scope; without one the object has the writer's.
    pub has_scope: bool,
    /// Whether it is an earlier version, for history only: what others are derived from.
    pub past: bool,
}

/// Reads `{"id", "kind", "scope"?, "parent"?, "position"?, "attributes"?, "content"?}`, also with `origin`,
/// `derived_from`, `event_time`, `expires`, `reserved` and `past`. A field that is null is absent.
///
/// # Errors
/// `InvalidInput`, naming the field that is missing, unknown or not of its type.
pub fn object_from_json(json: &Json) -> Result<ObjectLine> {
    let map = json
        .as_object()
        .ok_or_else(|| Error::invalid("not a JSON object"))?;
    let mut object = NewObject::new(
        Id::new(required(map, "id")?).map_err(|error| error.context("field `id`"))?,
        Kind::new(required(map, "kind")?).map_err(|error| error.context("field `kind`"))?,
    );
    let mut origin = None;
    let mut has_scope = false;
    let mut past = false;
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let field = |error: Error| error.context(format!("field `{name}`"));
        match name.as_str() {
            "id" | "kind" => {}
            "scope" => {
                has_scope = true;
                object.scope = Scope::new(text(name, value)?).map_err(field)?;
            }
            "parent" => object.parent = Some(Id::new(text(name, value)?).map_err(field)?),
            "position" => object.position = Some(Position::new(text(name, value)?).map_err(field)?),
            "attributes" => object.attributes = attributes_from_json(value)?,
            "content" => object.content = Some(text(name, value)?.to_owned()),
            "origin" => {
                let stated = text(name, value)?;
                origin = Some(Origin::from_name(stated).ok_or_else(|| unknown_origin(stated))?);
            }
            "derived_from" => object.derived_from = digests(value).map_err(field)?,
            "event_time" => object.event_time = Some(time_from_json(value).map_err(field)?),
            "expires" => object.expires = Some(time_from_json(value).map_err(field)?),
            "reserved" => object.reserved = reserved(value).map_err(field)?,
            "past" => {
                past = value
                    .as_bool()
                    .ok_or_else(|| Error::invalid("the field `past` is neither true nor false"))?;
            }
            _ => return Err(unknown_field(name)),
        }
    }
    Ok(ObjectLine {
        object,
        origin,
        has_scope,
        past,
    })
}

fn required<'a>(map: &'a Map<String, Json>, name: &str) -> Result<&'a str> {
    match map.get(name) {
        None | Some(Json::Null) => Err(Error::invalid(format!("the field `{name}` is missing"))
            .with_hint("an object is {\"id\": ..., \"kind\": ...} and what else it holds")),
        Some(value) => text(name, value),
    }
}

fn text<'a>(name: &str, value: &'a Json) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| Error::invalid(format!("the field `{name}` is not text")))
}

fn unknown_field(name: &str) -> Error {
    Error::invalid(format!(
        "the field `{}` is not known",
        super::super::document::shown(name)
    ))
    .with_hint("put values of your own into `attributes`")
}

fn unknown_origin(stated: &str) -> Error {
    let names: Vec<&str> = Origin::ALL.iter().map(|origin| origin.name()).collect();
    Error::invalid(format!(
        "`{}` is not an origin",
        super::super::document::shown(stated)
    ))
    .with_hint(format!("one of {}", names.join(", ")))
}

fn digests(value: &Json) -> Result<Vec<ObjectDigest>> {
    let digest = |item: &Json| item.as_str().and_then(|hex| hex.parse::<ObjectDigest>().ok());
    let items = value
        .as_array()
        .ok_or_else(|| Error::invalid("not a list of digests"))?;
    items
        .iter()
        .map(|item| {
            digest(item).ok_or_else(|| Error::invalid("a digest is not 64 lower-case hexadecimal digits"))
        })
        .collect()
}

fn reserved(value: &Json) -> Result<BTreeMap<u16, Vec<u8>>> {
    let wrong = || {
        Error::invalid("not a map of tags to bytes in hexadecimal digits")
            .with_hint("as in {\"0x8002\": \"746578742f706c61696e\"}")
    };
    let map = value.as_object().ok_or_else(wrong)?;
    map.iter()
        .map(|(tag, bytes)| {
            let tag = tag
                .strip_prefix("0x")
                .and_then(|digits| u16::from_str_radix(digits, 16).ok());
            let bytes = bytes.as_str().and_then(from_hex);
            tag.zip(bytes).ok_or_else(wrong)
        })
        .collect()
}

/// Reads a time as people and other programs write it: as [`time_from_json`] does, and a text without a zone is in UTC, and
/// may do without seconds or be a date alone.
///
/// # Errors
/// `InvalidInput`: it is no time.
pub fn loose_time_from_json(json: &Json) -> Result<Time> {
    let whole = |text: &str| {
        let mut forms = ["Z", ":00Z", "T00:00:00Z"].into_iter();
        forms.find_map(|rest| format!("{text}{rest}").parse().ok())
    };
    json.as_str()
        .and_then(whole)
        .map_or_else(|| time_from_json(json), Ok)
}

/// Reads a time: RFC 3339 text, or a number of seconds since 1970; a number so large that it cannot be
/// seconds counts milliseconds, or microseconds.
///
/// # Errors
/// `InvalidInput`: neither.
pub fn time_from_json(json: &Json) -> Result<Time> {
    // Seconds up to the year 5138, then milliseconds up to the same year.
    const SECONDS_MAX: f64 = 1e11;
    const MILLISECONDS_MAX: f64 = 1e14;
    let wrong = || {
        let shown = super::super::document::shown(&json.to_string());
        Error::invalid(format!("{shown} is not a time"))
            .with_hint("write it as in 2026-01-31T08:15:00Z, or as seconds since 1970")
    };
    if let Some(text) = json.as_str() {
        return text.parse().map_err(|_| wrong());
    }
    let number = json.as_f64().ok_or_else(wrong)?;
    let factor = if number.abs() < SECONDS_MAX {
        1_000_000
    } else if number.abs() < MILLISECONDS_MAX {
        1_000
    } else {
        1
    };
    let micros = match json.as_i64() {
        Some(integer) => integer.checked_mul(factor),
        None if number.abs() < MILLISECONDS_MAX => Some((number * factor as f64).round() as i64),
        None => None,
    };
    micros.map(Time::from_micros).ok_or_else(wrong)
}

/// Writes a time as RFC 3339 text.
pub fn time_to_json(time: Time) -> Json {
    Json::from(time.to_string())
}

/// Writes an object as one line of JSON holds it: what [`object_from_json`] reads back as the same.
pub fn object_to_json(object: &NewObject, origin: Origin) -> Json {
    let mut map = Map::new();
    let mut put = |name: &str, value: Json| {
        map.insert(name.to_owned(), value);
    };
    put("id", Json::from(object.id.as_str()));
    put("kind", Json::from(object.kind.as_str()));
    put("scope", Json::from(object.scope.as_str()));
    if let Some(parent) = &object.parent {
        put("parent", Json::from(parent.as_str()));
    }
    if let Some(position) = &object.position {
        put("position", Json::from(position.as_str()));
    }
    if !object.attributes.is_empty() {
        put("attributes", attributes_to_json(&object.attributes));
    }
    if let Some(content) = &object.content {
        put("content", Json::from(content.as_str()));
    }
    put("origin", Json::from(origin.name()));
    if !object.derived_from.is_empty() {
        put(
            "derived_from",
            object
                .derived_from
                .iter()
                .map(|digest| Json::from(digest.to_hex()))
                .collect(),
        );
    }
    if let Some(time) = object.event_time {
        put("event_time", time_to_json(time));
    }
    if let Some(time) = object.expires {
        put("expires", time_to_json(time));
    }
    if !object.reserved.is_empty() {
        let reserved = object
            .reserved
            .iter()
            .map(|(tag, bytes)| (format!("{tag:#06x}"), Json::from(to_hex(bytes))));
        put("reserved", Json::Object(reserved.collect()));
    }
    Json::Object(map)
}

/// Writes a stored version as one line of JSON holds it; a `past` one says so.
///
/// # Errors
/// If its content was not loaded.
pub fn stored_object_to_json(object: &Object, past: bool) -> Result<Json> {
    let mut json = object_to_json(&object.to_new()?, object.origin());
    if past {
        json["past"] = Json::Bool(true);
    }
    Ok(json)
}
