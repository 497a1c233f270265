//! An object as a line of JSON, in the form that `put --jsonl` reads and `export` writes.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use serde_json::{Value as Json, json};

use super::attributes_to_json;
use super::fields::Fields;
use crate::digest::to_hex;
use crate::error::{Error, Result};
use crate::ingest::text::shown;
use crate::object::{Id, NewObject, Object, Origin, Position, Time};

/// An object that a line of JSON states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLine {
    /// The object itself.
    pub object: NewObject,
    /// The origin that the line claims. This claim can only lower the origin that the writer gives.
    pub origin: Option<Origin>,
    /// Whether the line names a scope. Otherwise the object gets the writer's scope.
    pub has_scope: bool,
    /// Whether this is an earlier version. Only history stores this version, because other objects are derived from it.
    pub past: bool,
}

/// Reads `{"id", "kind", "scope"?, "parent"?, "position"?, "attributes"?, "content"?}`, also with `origin`,
/// `derived_from`, `event_time`, `expires`, `reserved` and `past`. A field with the value null counts as absent.
///
/// # Errors
/// `InvalidInput`, with the name of the field, if a field is missing, unknown or of the wrong type.
pub fn object_from_json(json: Json) -> Result<ObjectLine> {
    let Json::Object(map) = json else {
        return Err(Error::invalid("the value is not a JSON object"));
    };
    let missing = |name: &str| {
        Error::invalid(format!("the field `{name}` is missing"))
            .with_hint("write an object as {\"id\": ..., \"kind\": ...} with its other fields")
    };
    let is_quoted = map.get("quoted").is_some_and(|value| !value.is_null());
    let fields = Fields::read(map)?;
    if is_quoted {
        return Err(Error::invalid("the field `quoted` is not allowed in a JSON line"));
    }
    let (id, kind) = (fields.id.clone(), fields.kind.clone());
    let mut object = NewObject::new(
        id.ok_or_else(|| missing("id"))?,
        kind.ok_or_else(|| missing("kind"))?,
    );
    fields.apply(&mut object);
    object.attributes = fields.attributes.into_iter().collect();
    object.content = fields.content.value();
    object.parent = fields.parent;
    object.position = fields.position.value();
    let has_scope = fields.scope.is_some();
    object.scope = fields.scope.unwrap_or_default();
    Ok(ObjectLine {
        object,
        origin: fields.origin,
        has_scope,
        past: fields.past,
    })
}

/// Reads a time in any form that `time_from_json` or `loose_time` accepts.
///
/// # Errors
/// `InvalidInput` if the value is not a time.
pub fn loose_time_from_json(json: &Json) -> Result<Time> {
    let loose = json.as_str().and_then(loose_time);
    loose.map_or_else(|| time_from_json(json), Ok)
}

/// Reads a time in the form of RFC 3339. Also accepts a text without a zone (as UTC), without seconds, or with only a
/// date.
pub(crate) fn loose_time(text: &str) -> Option<Time> {
    let mut forms = ["", "Z", ":00Z", "T00:00:00Z"].into_iter();
    forms.find_map(|rest| format!("{text}{rest}").parse().ok())
}

/// Reads a time: a text as in RFC 3339, or a number of seconds since 1970. A number that is too large for seconds is
/// read as milliseconds or microseconds.
///
/// # Errors
/// `InvalidInput` if the input has neither form.
pub(crate) fn time_from_json(json: &Json) -> Result<Time> {
    // Numbers below this are seconds, up to the year 5138. Larger numbers are milliseconds, up to the same year.
    const SECONDS_MAX: f64 = 1e11;
    const MILLISECONDS_MAX: f64 = 1e14;
    let wrong = || {
        let shown = shown(&json.to_string());
        Error::invalid(format!("{shown} is not a time"))
            .with_hint("write a time such as 2026-01-31T08:15:00Z, or seconds since 1970")
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

/// Writes an object as one line of JSON, which [`object_from_json`] reads as the same object.
pub(crate) fn object_to_json(object: &NewObject, origin: Origin) -> Json {
    let sources = object.derived_from.iter().map(|digest| digest.to_hex());
    let reserved = object.reserved.iter();
    let reserved = reserved.map(|(tag, bytes)| (format!("{tag:#06x}"), Json::from(to_hex(bytes))));
    let mut line = json!({
        "id": object.id.as_str(),
        "kind": object.kind.as_str(),
        "scope": object.scope.as_str(),
        "parent": object.parent.as_ref().map(Id::as_str),
        "position": object.position.as_ref().map(Position::as_str),
        "attributes": attributes_to_json(&object.attributes),
        "content": object.content,
        "origin": origin.name(),
        "derived_from": sources.collect::<Vec<_>>(),
        "event_time": object.event_time.map(|time| time.to_string()),
        "expires": object.expires.map(|time| time.to_string()),
        "reserved": reserved.collect::<Json>(),
    });
    let is_absent = |value: &Json| match value {
        Json::Array(items) => items.is_empty(),
        Json::Object(entries) => entries.is_empty(),
        value => value.is_null(),
    };
    if let Json::Object(fields) = &mut line {
        fields.retain(|_, value| !is_absent(value));
    }
    line
}

/// Writes a stored version as one line of JSON. An earlier version gets the field `past`.
///
/// # Errors
/// An error if the content was not loaded.
pub fn stored_object_to_json(object: &Object, past: bool) -> Result<Json> {
    let mut json = object_to_json(&object.to_new()?, object.origin());
    if past {
        json["past"] = Json::Bool(true);
    }
    Ok(json)
}
