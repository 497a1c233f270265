//! Reads JSON from outside, and refuses what a lenient reader would change without a word.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - SJS-1: what is nested deeper than allowed reaches no parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Begins the message of the error about a key that stands twice; the key follows.
const TWICE: &str = "key stands twice: ";

/// Why a text is not taken for JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JsonError {
    /// It is not one JSON value.
    NotJson,
    /// It is nested too deep.
    TooDeep {
        /// The most there may be.
        depth_max: usize,
    },
    /// A key stands twice in one object, so that two readers could see two different values.
    KeyTwice(String),
}

/// The length of the brackets that start `text`, up to the one that closes the first; brackets in strings do not
/// count, and all kinds count alike.
pub(crate) fn balanced_end(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads one JSON value.
///
/// # Errors
/// Why it cannot be kept as it is written.
pub(crate) fn parse(text: &str, depth_max: usize) -> Result<Json, JsonError> {
    // SJS-1.
    if depth(text.as_bytes()) > depth_max {
        return Err(JsonError::TooDeep { depth_max });
    }
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(json)) => Ok(json),
        Err(error) => {
            let message = error.to_string();
            let key = message.strip_prefix(TWICE).map(|rest| {
                let end = rest.rfind(" at line ").unwrap_or(rest.len());
                rest[..end].to_owned()
            });
            Err(key.map_or(JsonError::NotJson, JsonError::KeyTwice))
        }
    }
}

/// How deep the brackets outside of strings are nested.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A JSON value in which no key stands twice.
struct Strict(Json);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("{TWICE}{key}")));
            }
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sjs_1_depth_is_counted_outside_of_strings() {
        assert_eq!(parse("[[1]]", 1), Err(JsonError::TooDeep { depth_max: 1 }));
        assert!(parse("[\"[[[\\\"[[\"]", 1).is_ok());
        assert_eq!(parse("[\"[[", 1), Err(JsonError::NotJson));
        assert_eq!(
            parse("{\"a\":{\"b\":1,\"b\":2}}", 9),
            Err(JsonError::KeyTwice("b".into()))
        );
        assert_eq!(parse("1 2", 9), Err(JsonError::NotJson));
    }

    #[test]
    fn every_kind_of_value_is_read_as_it_is() {
        let text = "{\"b\":[null,true,-5,18446744073709551615,1.5,\"x\\u0041\"],\"a\":{}}";
        let read = parse(text, 9).unwrap();
        assert_eq!(read, serde_json::from_str::<Json>(text).unwrap());
        assert_eq!(
            read.to_string(),
            "{\"b\":[null,true,-5,18446744073709551615,1.5,\"xA\"],\"a\":{}}"
        );
    }

    #[test]
    fn brackets_are_matched() {
        let length = |text: &str| balanced_end(text.as_bytes());
        assert_eq!(
            (length("[a]b]"), length("{\"}\"}"), length("[{]"), length("x")),
            (Some(3), Some(5), None, None)
        );
    }
}
