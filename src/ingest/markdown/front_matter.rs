//! Front matter: YAML between two `---` lines at the very start of a Markdown file.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::BTreeMap;

use super::super::text::at;
use super::yaml;
use crate::error::Result;
use crate::object::{Id, Value};

/// Splits `text` into the front matter, without the `---` lines, and the text after it.
///
/// A `---` before a blank line or without a closing mark is a thematic break.
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

/// Parses the lines between the marks.
pub(super) fn parse(path: &Id, matter: &str) -> Result<BTreeMap<String, Value>> {
    match yaml::parse(matter) {
        Ok(Value::Map(values)) => Ok(values),
        Ok(Value::Null) => Ok(BTreeMap::new()),
        Ok(_) => Err(
            at(path, 2, "the front matter is not a map of names to values").with_hint(
                "write `name: value` lines between the `---` lines, or put a blank line after the first `---`",
            ),
        ),
        // The front matter starts on the second line of the file.
        Err((line, message)) => Err(at(
            path,
            line + 1,
            format_args!("the front matter cannot be read: {message}"),
        )
        .with_hint("quote values that contain `: ` or start with a character that has a meaning in YAML")),
    }
}
