//! Converts the bytes of a file to text: checks UTF-8, makes all line ends equal, and removes a byte order mark.
//!
//! # Layer
//! Layer 6, inside `ingest`.
//!
//! # Invariants
//! - ING-1: line ends, a byte order mark and blank lines around a text never reach an object.

use std::borrow::Cow;

use crate::error::{Error, Result};

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the bytes of a file without a byte order mark.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes)
}

/// Returns an error for one line of a file.
pub(super) fn at(path: impl std::fmt::Display, line: u64, message: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{path}:{line}: {message}"))
}

/// Returns the text of a file, with `\n` as the only line end (ING-1).
pub(crate) fn decode<'a>(path: &str, bytes: &'a [u8]) -> Result<Cow<'a, str>> {
    let marked = bytes.strip_prefix(UTF8_MARK);
    let text = match std::str::from_utf8(marked.unwrap_or(bytes)) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to() + marked.map_or(0, |_| UTF8_MARK.len());
            let line = bytes[..offset].split(|byte| *byte == b'\n').count();
            return Err(not_utf8(bytes, offset).context(format_args!("{path}:{line}")));
        }
    };
    Ok(if text.contains('\r') {
        Cow::Owned(with_plain_line_ends(text))
    } else {
        Cow::Borrowed(text)
    })
}

/// Returns the error for bytes that are not UTF-8 from `offset` on.
pub fn not_utf8(bytes: &[u8], offset: usize) -> Error {
    let hint = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "the file looks like UTF-16: convert it to UTF-8 first"
    } else {
        "convert the file to UTF-8 first"
    };
    let byte = bytes[offset];
    let text = format!("the byte {byte:#04x} at byte offset {offset} is not UTF-8");
    Error::invalid(text).with_hint(hint)
}

/// Replaces line ends by `\n`. Removes all `\r` directly before a `\n`, so a second pass changes nothing. Other `\r`
/// stay.
fn with_plain_line_ends(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => {
                plain.push_str(line.trim_end_matches('\r'));
                plain.push('\n');
            }
            None => plain.push_str(line),
        }
    }
    plain
}

/// Returns the lines of `text` without the blank lines around them. Returns `None` if all lines are blank (ING-1).
///
/// Blank lines before the next heading are only spacing. If these blank lines were kept, a new heading would change the
/// text above the heading.
pub(super) fn body(text: &str) -> Option<String> {
    const BLANK: [char; 3] = [' ', '\t', '\n'];
    let first = text.find(|character| !BLANK.contains(&character))?;
    let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
    let last = text.trim_end_matches(BLANK).len();
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at);
    Some(text[start..end].to_owned())
}

/// Returns the start of a text in escaped form for a message, because the text may be long or contain control
/// characters.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut start = String::new();
    for character in text.chars().take(CHARACTERS) {
        match character {
            '"' | '\'' | '\\' => start.push(character),
            other => start.extend(other.escape_debug()),
        }
    }
    if text.chars().nth(CHARACTERS).is_some() {
        start.push_str("...");
    }
    start
}

/// Returns a Markdown fence that is longer than any run of backticks in `text`.
pub fn fence_around(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    "`".repeat(runs.max().map_or(3, |longest| longest.max(2) + 1))
}
