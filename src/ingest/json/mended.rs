//! Reads the JSON of other programs with the faults that they write: half a character, and large integers.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use serde_json::Value as Json;

use super::strict::repeated_key;

/// What replaces half a character.
const REPLACEMENT: &str = "\\ufffd";

/// Parses a JSON text. The escape of half a character becomes the replacement character, and an integer beyond 64 bits
/// becomes a float. Returns `None` for any other fault.
pub(in crate::ingest) fn mended(text: &str) -> Option<Json> {
    let text = with_whole_characters(text);
    let json = serde_json::from_str(&text).ok()?;
    repeated_key(&text).is_none().then_some(json)
}

/// Replaces each escape of half a character.
fn with_whole_characters(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let half = unit_of(escape);
        let pair = half.is_some_and(|half| (0xd800..0xdc00).contains(&half))
            && escape
                .get(6..)
                .and_then(unit_of)
                .is_some_and(|next| (0xdc00..0xe000).contains(&next));
        let (written, length) = match half {
            Some(_) if pair => (&escape[..12], 12),
            Some(half) if (0xd800..=0xdfff).contains(&half) => (REPLACEMENT, 6),
            // The character after a backslash may have any length.
            _ => {
                let next = escape[1..].chars().next().map_or(0, char::len_utf8);
                (&escape[..=next], 1 + next)
            }
        };
        whole.push_str(written);
        rest = &escape[length..];
    }
    whole + rest
}

/// Returns the number of an escape `\uXXXX` at the start of a text.
fn unit_of(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(())?;
    u16::from_str_radix(digits, 16).ok()
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
