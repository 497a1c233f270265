//! Front matter: YAML between two `---` lines at the very start of a Markdown file.
//!
//! # Layer
//! L6, inside `ingest`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Options;
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};

use super::super::text::at;
use crate::error::Result;
use crate::object::{Id, Value};

/// Splits the front matter, without its marks, off `text`.
///
/// A `---` that a blank line follows, or that no second mark closes, is a line across the page.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return (None, text);
    }
    let mut end = first.len();
    for (number, line) in lines.enumerate() {
        if number == 0 && line.trim().is_empty() {
            break;
        }
        if matches!(line.trim_end(), "---" | "...") {
            return (Some(&text[first.len()..end]), &text[end + line.len()..]);
        }
        end += line.len();
    }
    (None, text)
}

/// Reads the lines between the marks.
pub(super) fn parse(path: &Id, matter: &str) -> Result<BTreeMap<String, Value>> {
    if matter
        .lines()
        .all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
    {
        return Ok(BTreeMap::new());
    }
    let mut options = Options::default();
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    options.with_snippet = false;
    // `on`, `yes` and a tag `y` are words, as YAML 1.2 has it.
    options.strict_booleans = true;
    match serde_saphyr::from_str_with_options::<Matter>(matter, options) {
        Ok(Matter(Value::Map(values))) => Ok(values),
        Ok(_) => Err(
            at(path, 2, "the front matter is not a map of names to values").with_hint(
                "write `name: value` lines between the `---` lines, or put a blank line after the first",
            ),
        ),
        Err(error) => {
            // The first line of the matter is the second of the file.
            let line = error.location().map_or(1, |location| location.line());
            let message = error.to_string();
            let message = message.lines().next().unwrap_or("not valid YAML").to_owned();
            Err(at(
                path,
                line + 1,
                format_args!("the front matter is not valid YAML: {message}"),
            )
            .with_hint("quote values that hold `: ` or start with a sign that YAML gives a meaning"))
        }
    }
}

/// A value as YAML types it.
struct Matter(Value);

impl<'de> Deserialize<'de> for Matter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(MatterVisitor)
    }
}

struct MatterVisitor;

impl<'de> Visitor<'de> for MatterVisitor {
    type Value = Matter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::Null))
    }

    fn visit_none<E>(self) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Matter, D::Error> {
        Matter::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::Integer(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<Matter, E> {
        i64::try_from(value)
            .map(|value| Matter(Value::Integer(value)))
            .map_err(|_| {
                E::custom(format_args!(
                    "the integer {value} does not fit into 64 bits with a sign: quote it"
                ))
            })
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> std::result::Result<Matter, E> {
        Err(E::custom(format_args!(
            "the integer {value} does not fit into 64 bits with a sign: quote it"
        )))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> std::result::Result<Matter, E> {
        Err(E::custom(format_args!(
            "the integer {value} does not fit into 64 bits with a sign: quote it"
        )))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Matter, E> {
        Ok(Matter(Value::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Matter, A::Error> {
        let mut values = Vec::new();
        while let Some(Matter(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Matter(Value::List(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Matter, A::Error> {
        let mut values = BTreeMap::new();
        while let Some(Matter(key)) = entries.next_key()? {
            let key = key_text(key)
                .ok_or_else(|| A::Error::custom("a key is neither text, a number nor a truth value"))?;
            let Matter(value) = entries.next_value()?;
            if values.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!("the key `{key}` stands twice")));
            }
        }
        Ok(Matter(Value::Map(values)))
    }
}

/// A key as text: maps of objects have no other keys.
fn key_text(key: Value) -> Option<String> {
    match key {
        Value::Text(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Float(_) | Value::List(_) | Value::Map(_) => None,
    }
}
