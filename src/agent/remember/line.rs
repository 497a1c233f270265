//! Reads an item from a line of JSON.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use serde_json::Value as Json;

use super::lines::LinesOptions;
use crate::agent::item::{ItemFields, NewItem};
use crate::error::{Error, Result};
use crate::ingest::json::{parse, value_from_json, whole_characters};
use crate::ingest::shown;
use crate::object::{Origin, quoted_class};

/// Reads an item from a line, with defaults from the options. Ignores fields that are null. Stores unknown fields as
/// attributes, and returns the item with the names of the unknown fields.
///
/// # Errors
/// `InvalidInput`, naming the field that is missing or of the wrong type.
pub(super) fn item_of(line: &[u8], options: &LinesOptions) -> Result<(NewItem, Vec<String>)> {
    let json = json_of(line)?;
    let map = json.as_object().ok_or_else(|| {
        Error::invalid("the line is not a JSON object").with_hint("write each line as {\"text\": ...}")
    })?;
    match map.get("text") {
        Some(Json::String(_)) => {}
        None | Some(Json::Null) => return Err(Error::invalid("the field `text` is missing")),
        Some(_) => return Err(Error::invalid("the field `text` is not a string")),
    }
    let mut fields = ItemFields {
        kind: Some(options.kind.to_string()),
        session: options.session.clone(),
        ..ItemFields::default()
    };
    let named = |name: &str, error: Error| error.context(format_args!("field `{}`", shown(name)));
    let mut unknown = Vec::new();
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        if !fields.set(name, value).map_err(|error| named(name, error))? {
            unknown.push((name, value));
        }
    }
    let mut item = fields.resolve(|word| match word {
        Some(word) => options.place.scope(word).map_err(|error| named("scope", error)),
        None => Ok(options.scope.clone()),
    })?;
    for &(name, value) in &unknown {
        if item
            .others
            .insert(name.as_str(), value_from_json(value.clone())?)
            .is_some()
        {
            return Err(Error::invalid(format!(
                "the field `{}` also occurs in `attributes`: remove one of the two",
                shown(name)
            )));
        }
    }
    Ok((item, unknown.into_iter().map(|(name, _)| name.clone()).collect()))
}

/// Returns the id in a line, even if other fields of the line are invalid.
pub(super) fn id_of(line: &[u8]) -> Option<String> {
    let json = json_of(line).ok()?;
    Some(json.get("id")?.as_str()?.to_owned())
}

/// Parses the JSON of a line. Half an emoji becomes U+FFFD, as in the requests of a server.
fn json_of(line: &[u8]) -> Result<Json> {
    let whole = whole_characters(line);
    let text = std::str::from_utf8(&whole).map_err(|_| Error::invalid("the line is not UTF-8"))?;
    parse(text)
}

/// Returns whether a line is a JSON object. Nobody knows the class of any other line.
pub(super) fn is_object(line: &[u8]) -> bool {
    json_of(line).is_ok_and(|json| json.is_object())
}

/// Returns the class and the session that a line states, even if other fields of the line are invalid.
pub(super) fn class_of(line: &[u8], options: &LinesOptions) -> (Origin, Option<String>) {
    let json = json_of(line).ok();
    let mut fields = ItemFields::default();
    for name in ["origin", "trust", "speaker", "session"] {
        let value = json.as_ref().and_then(|json| json.get(name));
        // A field that cannot be read states nothing.
        drop(value.map(|value| fields.set(name, value)));
    }
    let stated = fields
        .origin
        .as_deref()
        .and_then(|origin| Origin::from_text(origin).ok());
    let class = quoted_class(fields.speaker.as_deref(), stated);
    (class, fields.session.or_else(|| options.session.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::item::Sensitivity;
    use crate::object::{Time, Value};

    fn read(line: &str) -> Result<NewItem> {
        item_of(line.as_bytes(), &LinesOptions::default()).map(|(item, _)| item)
    }

    #[test]
    fn every_field_of_a_line_is_read() {
        let line = r#"{"id":"a","text":"Ada drinks tea","kind":"note","scope":"project:tea","speaker":"Ada","subject":"tea",
            "session":"s1","order":3,"time":"2026-01-31T08:15:00Z","expires":1800000000,"tags":["tea"],
            "citations":[{"file":"a.rs","line":7,"note":"here"},"b.rs:9"],"confidence":0.5,"sensitivity":"pii",
            "source":"chat","pinned":true,"supersedes":["old"],"attributes":{"colour":"green"},"order":3}"#;
        // A repeated key is refused before any field is read.
        assert!(read(line).unwrap_err().message().contains("repeated"));
        let item = read(&line.replace(r#","order":3}"#, "}")).unwrap();
        assert_eq!(item.id.as_ref().unwrap().as_str(), "a");
        assert_eq!(item.kind.as_str(), "note");
        assert_eq!(item.scope.as_str(), "project:tea");
        assert_eq!(
            (item.order, item.confidence, item.is_pinned),
            (Some(3), Some(0.5), true)
        );
        assert_eq!(item.expires, Some(Time::from_micros(1_800_000_000_000_000)));
        assert_eq!(item.citations[0].note.as_deref(), Some("here"));
        assert_eq!(
            (item.citations[1].file.as_str(), item.citations[1].line),
            ("b.rs", Some(9))
        );
        assert_eq!(item.sensitivity, Some(Sensitivity::Pii));
        assert_eq!(item.supersedes[0].as_str(), "old");
        assert!(item.others.get("colour").is_some());
    }

    #[test]
    fn what_is_wrong_with_a_line_names_the_field() {
        for (line, told) in [
            ("", "not valid JSON"),
            ("7", "not a JSON object"),
            (r#"{"id":"a"}"#, "`text` is missing"),
            (r#"{"text":7}"#, "`text` is not a string"),
            (
                r#"{"text":"a","tag":"b","attributes":{"tag":"c"}}"#,
                "`tag` also occurs in `attributes`",
            ),
            (r#"{"text":"a","time":"2026-13-01"}"#, "field `time`"),
            (
                r#"{"text":"a","tags":"b"}"#,
                "field `tags`: the value is not a list",
            ),
            (r#"{"text":"a","order":1.5}"#, "field `order`"),
            (r#"{"text":"a","citations":[{"line":1}]}"#, "not a citation"),
            (r#"{"text":"a","time":"soon"}"#, "field `time`"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.message().contains(told), "{line}: {error}");
        }
        assert!(item_of(b"\xff", &LinesOptions::default()).is_err());
        assert_eq!(read(r#"{"text":"a","id":null}"#).unwrap().id, None);
    }

    #[test]
    fn what_others_write_differently_is_understood() {
        let line = r#"{"text":"a","session":3,"time":"2026-01-31T08:15","conv":"c-1","speaker":"Ada"}"#;
        let (item, unknown) = item_of(line.as_bytes(), &LinesOptions::default()).unwrap();
        assert_eq!(item.session.as_deref(), Some("3"));
        assert_eq!(unknown, ["conv"]);
        assert_eq!(item.others.get("conv"), Some(&Value::from("c-1")));
        let time = |text: &str| read(&format!(r#"{{"text":"a","time":"{text}"}}"#)).unwrap().time;
        assert_eq!(item.time, time("2026-01-31T08:15:00Z"));
        assert_eq!(time("2026-01-31"), time("2026-01-31T00:00:00"));
    }
}
