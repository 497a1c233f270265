//! Parses JSON text and refuses what a lenient parser would silently change.
//!
//! # Layer
//! L6, inside `ingest`. Pure.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, Result};

/// Parses one JSON document.
///
/// # Errors
/// `InvalidInput`: not JSON (with the column), nested more than 127 deep, a key that stands twice in a map,
/// an integer beyond 64 bits with a sign.
pub fn parse(text: &str) -> Result<Json> {
    check_integers(text)?;
    parse_once(text).map_err(|refused| {
        let whole = refused.error.to_string();
        // The parser counts lines of its own input, which would mislead beside the line of a file.
        let message = match (&refused.key_twice, whole.split(" at line ").next()) {
            (Some(key), _) => format!("the key `{}` stands twice", super::super::document::shown(key)),
            (None, Some("expected ident" | "expected value")) => {
                "expected a value, such as \"text\", 5, true or null".to_owned()
            }
            (None, message) => message.unwrap_or(&whole).to_owned(),
        };
        Error::invalid(format!(
            "not valid JSON at column {}: {message}",
            refused.error.column()
        ))
    })
}

/// Why a text is not one JSON value in which no key stands twice.
pub(crate) struct Refused {
    /// What the parser says.
    error: serde_json::Error,
    /// The key that stands twice, if that is why.
    pub(crate) key_twice: Option<String>,
}

/// Parses one JSON value in which no key stands twice in a map; an integer beyond 64 bits becomes the nearest float.
pub(crate) fn parse_once(text: &str) -> std::result::Result<Json, Refused> {
    let mut key_twice = None;
    let mut parser = serde_json::Deserializer::from_str(text);
    let read = Once(&mut key_twice).deserialize(&mut parser);
    read.and_then(|json| parser.end().map(|()| json))
        .map_err(|error| Refused { error, key_twice })
}

/// The refusal of the integer `digits`.
pub(super) fn too_large(digits: &str) -> Error {
    let digits = super::super::document::shown(digits);
    Error::invalid(format!(
        "the integer {digits} does not fit into 64 bits with a sign"
    ))
    .with_hint("write it as text, or as a float such as 1.0e20 if the last digits do not matter")
}

/// Refuses integers that the parser would turn into the nearest float.
fn check_integers(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = &text[at..at + length];
                let whole = !number.contains(['.', 'e', 'E']);
                if whole && number.len() >= MANY_DIGITS && number.parse::<i64>().is_err() {
                    return Err(too_large(number));
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// Fewer digits than this always fit.
const MANY_DIGITS: usize = 19;

/// The place behind the string that starts at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Reads a JSON value whose maps have each key once, and keeps the first key that stands twice.
struct Once<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Json, E> {
        Number::from_f64(value)
            .map(Json::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Once(self.0))? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Once(self.0))?;
            if map.contains_key(&key) {
                *self.0 = Some(key);
                return Err(A::Error::custom("a key stands twice"));
            }
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}
