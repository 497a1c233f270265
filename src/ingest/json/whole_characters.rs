//! Half characters in JSON: an escape of one half of a surrogate pair, which programs write that cut a text in an emoji.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::borrow::Cow;

/// The escape of U+FFFD, which is as long as that of a half.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Returns the text of a JSON document with U+FFFD in place of each half of a surrogate pair. The length stays.
pub fn whole_characters(json: &[u8]) -> Cow<'_, [u8]> {
    let unit = |at: usize| {
        let digits = json.get(at..at + REPLACEMENT.len())?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut whole = Cow::Borrowed(json);
    let mut at = 0;
    while let Some(next) = json
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        at += next;
        at += match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                whole.to_mut()[at..at + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
                6
            }
            // A backslash, and the sign that it escapes.
            _ => 2,
        };
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_nothing_else() {
        for (text, whole) in [
            (r#""\ud83d\ude00""#, "\u{1F600}"),
            (r#""a \ud83d""#, "a \u{FFFD}"),
            (r#""\ude00 b""#, "\u{FFFD} b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"),
            (r#""\ud83d\n""#, "\u{FFFD}\n"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\uD83D \u00e9""#, "\u{FFFD} \u{E9}"),
        ] {
            let read: String = serde_json::from_slice(&whole_characters(text.as_bytes())).unwrap();
            assert_eq!(read, whole, "{text}");
        }
        for text in ["", "\\", "\\u", "\"\\ud83", "\\ud83d"] {
            assert_eq!(whole_characters(text.as_bytes()).len(), text.len());
        }
    }
}
