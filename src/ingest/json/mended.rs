//! Reads the JSON of other programs with the faults that they write: half a character, and large integers.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use serde_json::Value as Json;

use super::strict::repeated_key;
use super::whole_characters::whole_characters;

/// Parses a JSON text. The escape of half a character becomes the replacement character, and an integer beyond 64 bits
/// becomes a float. Returns `None` for any other fault.
pub(in crate::ingest) fn mended(text: &str) -> Option<Json> {
    let whole = whole_characters(text.as_bytes());
    let text = std::str::from_utf8(&whole).ok()?;
    let json = serde_json::from_str(text).ok()?;
    repeated_key(text).is_none().then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_a_whole_one_stays() {
        for (written, read) in [
            (r#""a \ud83d b""#, "a \u{fffd} b"),
            (r#""\ude00""#, "\u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\"\n\u00e9""#, "\"\né"),
        ] {
            assert_eq!(mended(written), Some(Json::from(read)), "{written}");
        }
        for bad in ["\"\\", "\"\\u", "{\"a\":", "\"\\ud83", "\\é", "{\"a\":1,\"a\":2}"] {
            assert_eq!(mended(bad), None, "{bad}");
        }
    }
}
