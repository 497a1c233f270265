//! The one writer of JSON for programs.
//!
//! # Layer
//! Layer 8, part of answers.
//!
//! # Invariants
//! - JSN-1: a document contains no invisible character, and a parser reads the same texts. Invisible characters are
//!   written as `\uXXXX`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use treering_text::visible::is_invisible;

/// Returns a document on one line.
///
/// # Errors
/// Fails if a map of the document has a key that is not a text.
pub(crate) fn to_json(document: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::with_capacity(256);
    document.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping))?;
    // INVARIANT: the formatter writes whole characters.
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Writes invisible characters as escapes (JSN-1). The writer of `serde_json` escapes the controls of ASCII.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut start = 0;
        for (at, char) in fragment.char_indices().filter(|(_, char)| is_invisible(*char)) {
            writer.write_all(&fragment.as_bytes()[start..at])?;
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            start = at + char.len_utf8();
        }
        CompactFormatter.write_string_fragment(writer, &fragment[start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT JSN-1: a document contains no invisible character, and a parser reads the same texts.
    #[test]
    fn what_nobody_sees_is_an_escape_that_a_parser_reads() {
        let mut hostile: String = ('\u{7f}'..='\u{9f}').collect();
        hostile.push_str(
            "a\u{ad}\u{61c}\u{200b}\u{200d}\u{202e}\u{2028}\u{2029}\u{2066}\u{feff}\u{e000}\u{fe0f}b",
        );
        hostile.push_str("\u{E0041}\u{E0101}\u{10FFFD}\u{1b}\n\"\\ Grüße 你好");
        let document = serde_json::json!({ hostile.clone(): [hostile, 1.5, null, true] });
        let written = to_json(&document).unwrap();
        assert!(!written.chars().any(is_invisible), "{written}");
        assert!(
            written.contains(r"\u202e\u2028") && written.contains(r"\udb40\udc41"),
            "{written}"
        );
        assert!(written.contains("Grüße 你好"), "{written}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&written).unwrap(),
            document
        );
    }
}
