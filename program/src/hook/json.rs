//! The JSON of a client, also with the faults that clients write.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use serde_json::value::RawValue;

use treering::inspect::ingest::json::whole_characters;

/// Parses an event or a line of a transcript. Half an emoji, and bytes that are not UTF-8, become U+FFFD. A field that
/// nests too deep, or has a number that is too large, becomes its text: what a tool read must not be lost with it.
///
/// # Errors
/// Any other fault of the JSON.
pub(crate) fn json_of(bytes: &[u8]) -> serde_json::Result<Json> {
    let text = String::from_utf8_lossy(bytes);
    let whole = whole_characters(text.as_bytes());
    serde_json::from_slice(&whole).or_else(|error| {
        let Ok(fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&whole) else {
            return Err(error);
        };
        let value = |raw: &RawValue| {
            let text = raw.get();
            serde_json::from_str(text).unwrap_or_else(|_| Json::from(text))
        };
        let fields = fields.iter().map(|(name, raw)| (name.clone(), value(raw)));
        Ok(Json::Object(fields.collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_fault_loses_no_other_field() {
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        for (written, read) in [
            (r#""half \ud83d""#.to_owned(), Json::from("half \u{fffd}")),
            (deep.clone(), Json::from(deep)),
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
        assert_eq!(json_of(b"\"a\xff\"").unwrap(), Json::from("a\u{fffd}"));
        for bad in ["", "{", "{\"a\":}", "[1"] {
            assert!(json_of(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
