//! Reads and writes JSON without loss: text, attribute values and whole objects.
//!
//! An attribute value has its JSON type. A float that JSON cannot express is written as a map with one key that begins
//! with `$`: `{"$float": "nan"}`, also `"inf"` and `"-inf"`. A map that already has this form is written as `{"$map":
//! {...}}`. Integers have 64 bits with a sign. A number with a point or exponent is a float.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.
//!
//! # Invariants
//! - ING-5: every value that is written is read back as the same value.
//! - ING-6: JSON that would change when it is stored is refused: a repeated key, or an integer that is too large.

mod fields;
mod mended;
mod object_line;
mod strict;
mod whole_characters;

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json, json};

pub(super) use self::fields::{Fields, Stated};
pub(super) use self::mended::mended;
pub use self::object_line::{ObjectLine, loose_time_from_json, object_from_json, stored_object_to_json};
pub(crate) use self::object_line::{loose_time, object_to_json, time_from_json};
#[cfg(feature = "agent")]
pub(crate) use self::strict::{JsonError, Parts, balanced_end, parse_within, split};
pub use self::strict::{parse, repeated_key};
pub use self::whole_characters::whole_characters;
use super::text::shown;
use crate::error::{Error, Result};
use crate::object::{Attributes, VALUE_DEPTH_MAX, Value};

const FLOAT: &str = "$float";
const MAP: &str = "$map";

/// Reads a value from JSON.
///
/// # Errors
/// `InvalidInput` if the value is nested too deep, or has an integer beyond signed 64 bits or an unknown `$float` name.
pub fn value_from_json(json: Json) -> Result<Value> {
    value_at(json, 1)
}

fn value_at(json: Json, depth: usize) -> Result<Value> {
    if depth > VALUE_DEPTH_MAX {
        return Err(
            Error::invalid(format!("a value is nested more than {VALUE_DEPTH_MAX} deep"))
                .with_hint("use fewer levels, or store the value as text in the content"),
        );
    }
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => value_of_number(&number)?,
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(
            items
                .into_iter()
                .map(|item| value_at(item, depth + 1))
                .collect::<Result<_>>()?,
        ),
        Json::Object(mut map) => match marked(&map) {
            Some((FLOAT, float)) => Value::Float(float_of_name(float)?),
            Some((MAP, Json::Object(_))) => match map.remove(MAP) {
                Some(Json::Object(inner)) => Value::Map(entries_at(inner, depth + 1)?),
                _ => Value::Null,
            },
            Some((MAP, _)) => {
                return Err(Error::invalid("the value of `$map` is not a map")
                    .with_hint("use `$map` only for a map whose only key begins with `$`"));
            }
            _ => Value::Map(entries_at(map, depth + 1)?),
        },
    })
}

fn entries_at(map: Map<String, Json>, depth: usize) -> Result<BTreeMap<String, Value>> {
    map.into_iter()
        .map(|(key, value)| Ok((key, value_at(value, depth)?)))
        .collect()
}

/// Returns the only entry of a map, if its key begins with `$`.
fn marked(map: &Map<String, Json>) -> Option<(&str, &Json)> {
    let (key, value) = map.iter().next()?;
    (map.len() == 1 && key.starts_with('$')).then_some((key, value))
}

fn value_of_number(number: &Number) -> Result<Value> {
    if let Some(integer) = number.as_i64() {
        Ok(Value::Integer(integer))
    } else if number.is_u64() {
        Err(strict::too_large(number))
    } else {
        let float = number
            .as_f64()
            .ok_or_else(|| Error::invalid(format!("{number} is not a supported number")))?;
        Ok(Value::Float(float))
    }
}

fn float_of_name(name: &Json) -> Result<f64> {
    match name.as_str() {
        Some("nan") => Ok(f64::NAN),
        Some("inf") => Ok(f64::INFINITY),
        Some("-inf") => Ok(f64::NEG_INFINITY),
        _ => Err(
            Error::invalid("the value of `$float` is not one of \"nan\", \"inf\" and \"-inf\"")
                .with_hint("write other floats as numbers"),
        ),
    }
}

/// Writes a value as JSON.
pub fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Integer(integer) => Json::from(*integer),
        Value::Float(float) => match Number::from_f64(*float) {
            Some(number) => Json::Number(number),
            // The names are `nan`, `inf` and `-inf`.
            None => json!({ FLOAT: float.to_string().to_lowercase() }),
        },
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(values) => Json::Array(values.iter().map(value_to_json).collect()),
        Value::Map(entries) => {
            let map: Map<String, Json> = entries
                .iter()
                .map(|(key, value)| (key.clone(), value_to_json(value)))
                .collect();
            if marked(&map).is_some() {
                json!({ MAP: map })
            } else {
                Json::Object(map)
            }
        }
    }
}

/// Reads attributes from a JSON object; null means absent.
///
/// # Errors
/// `InvalidInput`, with the name of the attribute, if a value is not valid; `InvalidInput` if `json` is not an object.
pub(crate) fn attributes_from_json(json: Json) -> Result<Attributes> {
    Ok(attribute_list(json)?.into_iter().collect())
}

/// Reads attributes in the order of a JSON object, including attributes with the value null.
fn attribute_list(json: Json) -> Result<Vec<(String, Value)>> {
    let Json::Object(map) = json else {
        return Err(Error::invalid("attributes are not a JSON object"));
    };
    let entry = |(name, value): (String, Json)| {
        let value = value_at(value, 1);
        let value = value.map_err(|error| error.context(format!("attribute `{}`", shown(&name))))?;
        Ok((name, value))
    };
    map.into_iter().map(entry).collect()
}

/// Writes attributes as a JSON object.
pub(crate) fn attributes_to_json(attributes: &Attributes) -> Json {
    let attributes = attributes.iter();
    attributes
        .map(|(name, value)| (name.clone(), value_to_json(value)))
        .collect()
}

#[cfg(test)]
mod tests;
