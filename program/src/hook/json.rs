//! The JSON of a client, also with the faults that clients write.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use serde_json::value::RawValue;

use treering::inspect::ingest::json::whole_characters;

/// The deepest nesting in which faults are looked for.
const DEPTH_MAX: usize = 16;

/// Parses an event or a line of a transcript. Half an emoji, and bytes that are not UTF-8, become U+FFFD. A value that
/// nests too deep, or a number that is too large, becomes its text: what a tool read must not be lost with it.
///
/// # Errors
/// Any other fault of the JSON.
pub(crate) fn json_of(bytes: &[u8]) -> serde_json::Result<Json> {
    let text = String::from_utf8_lossy(bytes);
    let whole = whole_characters(text.as_bytes());
    serde_json::from_slice(&whole).or_else(|error| {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&whole).map_err(|_| error)?;
        Ok(object_of(&fields, 0))
    })
}

fn object_of(fields: &BTreeMap<String, Box<RawValue>>, depth: usize) -> Json {
    let fields = fields
        .iter()
        .map(|(name, raw)| (name.clone(), value_of(raw, depth)));
    Json::Object(fields.collect())
}

/// Returns a value. Of one with a fault, the innermost values with the fault become their texts.
fn value_of(raw: &RawValue, depth: usize) -> Json {
    let text = raw.get();
    if let Ok(json) = serde_json::from_str(text) {
        return json;
    }
    if depth < DEPTH_MAX {
        if let Ok(fields) = serde_json::from_str(text) {
            return object_of(&fields, depth + 1);
        }
        if let Ok(list) = serde_json::from_str::<Vec<Box<RawValue>>>(text) {
            return list.iter().map(|raw| value_of(raw, depth + 1)).collect();
        }
    }
    Json::from(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_with_a_fault_loses_no_other_field() {
        for (written, read) in [
            (r#""half \ud83d""#.to_owned(), Json::from("half \u{fffd}")),
            (
                format!("{{\"a\":[1,1e999],\"b\":2}}"),
                json!({ "a": [1, "1e999"], "b": 2 }),
            ),
            ("1e999".to_owned(), Json::from("1e999")),
            ("[1]".to_owned(), Json::from(vec![1])),
        ] {
            let event = format!("{{\"session_id\":\"s\",\"tool_response\":{written}}}");
            let json = json_of(event.as_bytes()).unwrap();
            assert_eq!(
                (&json["session_id"], &json["tool_response"]),
                (&Json::from("s"), &read)
            );
        }
        // The text of what nests too deep begins below the deepest nesting.
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        let mut inner = json_of(format!("{{\"a\":{deep}}}").as_bytes()).unwrap()["a"].take();
        while inner.is_array() {
            inner = inner[0].take();
        }
        assert_eq!(inner, deep[DEPTH_MAX..deep.len() - DEPTH_MAX]);
        assert_eq!(json_of(b"\"a\xff\"").unwrap(), Json::from("a\u{fffd}"));
        for bad in ["", "{", "{\"a\":}", "[1"] {
            assert!(json_of(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
