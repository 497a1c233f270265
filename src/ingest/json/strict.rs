//! The only reader of JSON text. It refuses input that a lenient parser would silently change.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.
//!
//! # Invariants
//! - SJS-1: a text that is nested deeper than allowed reaches no parser.
//! - SJS-2: the reader of one pass accepts only texts that the slower readers accept, and returns the same value.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::ingest::text::shown;

/// Parses one JSON document.
///
/// # Errors
/// `InvalidInput` if the text is not JSON (with the column), is nested more than 127 deep, repeats a key in a map, or
/// has an integer beyond signed 64 bits.
pub fn parse(text: &str) -> Result<Json> {
    // Trims the end, because after a line break the parser would report a column of the next line.
    let text = text.trim_end_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err(Error::invalid("not valid JSON: the text is empty"));
    }
    read_once(text).map_or_else(|| parse_again(text), Ok)
}

/// Parses one JSON document in several passes, which find the exact fault.
fn parse_again(text: &str) -> Result<Json> {
    check_integers(text)?;
    // Reports only the column. The parser counts lines from the start of its input, not from the start of the file.
    let refused =
        |column: usize, reason: &str| Error::invalid(format!("not valid JSON at column {column}: {reason}"));
    let json = serde_json::from_str(text).map_err(|error| {
        let reason = if error.is_eof() {
            "the text ends inside a value"
        } else {
            "expected JSON, such as \"text\", 5, true or null"
        };
        refused(error.column(), reason)
    })?;
    match repeated_key(text) {
        None => Ok(json),
        Some((key, end)) => Err(refused(end, &format!("the key `{}` is repeated", shown(&key)))),
    }
}

/// Parses one JSON document in one pass. Returns `None` for a text that is not JSON or repeats a key, and for a number
/// that may be too large an integer (SJS-2).
fn read_once(text: &str) -> Option<Json> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let json = OnePass.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(json)
}

/// Builds the value of [`read_once`].
struct OnePass;

impl<'de> DeserializeSeed<'de> for OnePass {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> std::result::Result<Json, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OnePass {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<Json, E> {
        i64::try_from(value).map(Json::from).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Json, E> {
        // The parser turns an integer beyond 64 bits into a float of at least this size.
        const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;
        if value.abs() < INTEGERS_END {
            Ok(Json::from(value))
        } else {
            Err(E::custom("the number may be an integer"))
        }
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(OnePass)? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.insert(key, entries.next_value_seed(OnePass)?).is_some() {
                return Err(A::Error::custom("a key is repeated"));
            }
        }
        Ok(Json::Object(map))
    }
}

/// The reason why a text is not accepted as JSON.
#[cfg(feature = "agent")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JsonError {
    /// The text is not exactly one JSON value.
    NotJson,
    /// The text has the structure of JSON, but a number is out of range or an escape names half a character.
    BadValue,
    /// The text is nested too deep.
    TooDeep,
    /// One object repeats this key, so two parsers could read different values.
    KeyTwice(String),
}

/// Parses one JSON value from an untrusted source, with a limited depth. An integer beyond 64 bits becomes the nearest
/// float.
///
/// # Errors
/// The reason why the text is refused.
#[cfg(feature = "agent")]
pub(crate) fn parse_within(text: &str, depth_max: usize) -> std::result::Result<Json, JsonError> {
    // SJS-1: deep nesting is refused before parsing.
    if brackets(text.as_bytes()).any(|(_, depth)| depth > depth_max) {
        return Err(JsonError::TooDeep);
    }
    if let Some(json) = read_once(text) {
        return Ok(json);
    }
    let json = serde_json::from_str(text).map_err(|_| {
        if is_structured(text) {
            JsonError::BadValue
        } else {
            JsonError::NotJson
        }
    })?;
    repeated_key(text).map_or(Ok(json), |(key, _)| Err(JsonError::KeyTwice(key)))
}

/// Checks whether a text is one JSON value, without looking into its numbers and escapes.
#[cfg(feature = "agent")]
fn is_structured(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A list or a map, with the text of each of its values.
#[cfg(feature = "agent")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parts<'a> {
    List(Vec<&'a str>),
    Map(Vec<(String, &'a str)>),
}

/// Splits a list or a map into the texts of its values. So an invalid number or escape, a repeated key or a deep value
/// affects only one part.
///
/// # Errors
/// `NotJson` if the text is neither a list nor a map, `BadValue` if a key of the map is invalid, `KeyTwice`.
#[cfg(feature = "agent")]
pub(crate) fn split(text: &str) -> std::result::Result<Parts<'_>, JsonError> {
    let text = text.trim();
    let is_list = text.starts_with('[');
    if !(is_list || text.starts_with('{')) || !is_structured(text) {
        return Err(JsonError::NotJson);
    }
    let (mut depth, mut start, mut key) = (0_usize, 1, String::new());
    let (mut list, mut map) = (Vec::new(), Vec::<(String, &str)>::new());
    for (at, byte) in outside_strings(text.as_bytes()) {
        match byte {
            b'[' | b'{' => depth += 1,
            b':' if depth == 1 => {
                key = serde_json::from_str(&text[start..at]).map_err(|_| JsonError::BadValue)?;
                start = at + 1;
            }
            b',' | b']' | b'}' if depth == 1 => {
                let part = text[start..at].trim();
                if is_list && !part.is_empty() {
                    list.push(part);
                } else if !part.is_empty() {
                    map.push((std::mem::take(&mut key), part));
                }
                start = at + 1;
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    if is_list {
        return Ok(Parts::List(list));
    }
    let mut keys = HashSet::new();
    match map.iter().find(|(key, _)| !keys.insert(key.as_str())) {
        Some((key, _)) => Err(JsonError::KeyTwice(key.clone())),
        None => Ok(Parts::Map(map)),
    }
}

/// Returns the offset after the bracket that closes the first bracket in `text`.
#[cfg(feature = "agent")]
pub(crate) fn balanced_end(text: &[u8]) -> Option<usize> {
    let mut closed = brackets(text).filter(|(_, depth)| *depth == 0);
    closed.next().map(|(end, _)| end)
}

/// Returns the brackets outside of strings: the offset after each bracket, and the number of brackets that are open
/// there. Square and curly brackets both count.
#[cfg(feature = "agent")]
fn brackets(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut depth = 0_usize;
    outside_strings(text).filter_map(move |(at, byte)| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        Some((at + 1, depth))
    })
}

/// Returns the bytes outside of strings, with their offsets.
fn outside_strings(text: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let (mut in_string, mut is_escaped) = (false, false);
    text.iter().copied().enumerate().filter(move |(_, byte)| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ => return !in_string,
        }
        false
    })
}

/// Returns the first key that a map of a valid JSON text repeats, and the offset after it.
pub fn repeated_key(text: &str) -> Option<(String, usize)> {
    let mut maps: Vec<HashSet<String>> = Vec::new();
    let mut start = 0;
    for (at, byte) in outside_strings(text.as_bytes()).filter(|(_, byte)| !byte.is_ascii_whitespace()) {
        match byte {
            b'{' => maps.push(HashSet::new()),
            b'}' => drop(maps.pop()),
            b':' => {
                let key: String = serde_json::from_str(&text[start..at]).ok()?;
                let keys = maps.last_mut()?;
                if keys.contains(&key) {
                    return Some((key, at));
                }
                keys.insert(key);
            }
            _ => {}
        }
        start = at + 1;
    }
    None
}

/// Returns the error for the integer `digits`, which is too large.
pub(super) fn too_large(digits: impl fmt::Display) -> Error {
    let digits = shown(&digits.to_string());
    Error::invalid(format!(
        "the integer {digits} does not fit into 64 bits with a sign"
    ))
    .with_hint("write the number as text, or as a float such as 1.0e20 if the last digits do not matter")
}

/// Refuses integers that the parser would turn into the nearest float.
fn check_integers(text: &str) -> Result<()> {
    /// The number of digits below which every integer fits in 64 bits.
    const DIGITS_MIN: usize = 19;
    let mut end = 0;
    for (at, byte) in outside_strings(text.as_bytes()) {
        if at < end || !(byte == b'-' || byte.is_ascii_digit()) {
            continue;
        }
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        end = at
            + text.as_bytes()[at..]
                .iter()
                .take_while(|byte| is_part(byte))
                .count();
        let number = &text[at..end];
        let is_whole = !number.contains(['.', 'e', 'E']);
        if is_whole && number.len() >= DIGITS_MIN && number.parse::<i64>().is_err() {
            return Err(too_large(number));
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(feature = "agent")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn sjs_1_depth_is_counted_outside_of_strings() {
        assert_eq!(parse_within("[[1]]", 1), Err(JsonError::TooDeep));
        assert!(parse_within("[\"[[[\\\"[[\"]", 1).is_ok());
        assert_eq!(parse_within("[\"[[", 1), Err(JsonError::NotJson));
        assert_eq!(
            parse_within("{\"a\":{\"b\":1,\"b\":2}}", 9),
            Err(JsonError::KeyTwice("b".into()))
        );
        assert_eq!(parse_within("1 2", 9), Err(JsonError::NotJson));
        for text in ["[1e999]", r#"["\ud800"]"#] {
            assert_eq!(parse_within(text, 9), Err(JsonError::BadValue), "{text}");
        }
    }

    #[test]
    fn an_invalid_value_affects_only_its_part() {
        let text = r#" [ 1e999, "\ud800,]" , {"a":[1,{}],"a":2}, [], "x"] "#;
        let parts = [r"1e999", r#""\ud800,]""#, r#"{"a":[1,{}],"a":2}"#, "[]", "\"x\""];
        assert_eq!(split(text), Ok(Parts::List(parts.to_vec())));
        let map = vec![("a".to_owned(), "[1, 2]"), ("b:".to_owned(), "{\"c\":1}")];
        assert_eq!(split(r#"{"a": [1, 2],"b:":{"c":1}}"#), Ok(Parts::Map(map)));
        assert_eq!(split("[]"), Ok(Parts::List(Vec::new())));
        assert_eq!(split("{ }"), Ok(Parts::Map(Vec::new())));
        for text in ["", "1", "[1", "[1] 2", "{\"a\"}", "[1,]"] {
            assert_eq!(split(text), Err(JsonError::NotJson), "{text}");
        }
        assert_eq!(
            split(r#"{"a":1,"\u0061":2}"#),
            Err(JsonError::KeyTwice("a".into()))
        );
        assert_eq!(split(r#"{"\ud800":1}"#), Err(JsonError::BadValue));
    }

    proptest! {
        /// SJS-2
        #[test]
        fn one_pass_reads_what_several_passes_read(
            text in r#"(\[|\{|\]|\}|,|:|"a"|"\\u0061"|"b\n"|-?[0-9]{1,20}|-?[0-9]\.5e[0-9]{1,3}|null|true| ){1,12}"#,
            in_list in any::<bool>(),
        ) {
            let text = if in_list { format!("[{{\"a\":{text}}}]") } else { text };
            if let Some(json) = read_once(text.trim_end()) {
                prop_assert_eq!(parse_again(text.trim_end()).ok(), Some(json));
            }
        }

        #[test]
        fn the_parts_are_the_values(values in prop::collection::vec((any::<String>(), any::<f64>()), 0..6)) {
            let list: Vec<Json> = values.iter().map(|(text, number)| json!({ text: [number, text] })).collect();
            let text = Json::from(list.clone()).to_string();
            let Ok(Parts::List(parts)) = split(&text) else { panic!("{text}") };
            let read: Vec<Json> = parts.iter().map(|part| parse_within(part, 9).unwrap()).collect();
            prop_assert_eq!(read, list);
        }
    }

    #[test]
    fn every_kind_of_value_is_read_as_it_is() {
        let text = "{\"b\":[null,true,-5,18446744073709551615,1.5,\"x\\u0041\"],\"a\":{}}";
        let read = parse_within(text, 9).unwrap();
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
