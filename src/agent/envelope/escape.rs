//! The five characters that XML gives a meaning, both ways.
//!
//! # Layer
//! Pure: imports nothing.

/// Each of the characters, all of them ASCII, with what is written for it.
const ESCAPES: [(u8, &str); 5] = [
    (b'&', "&amp;"),
    (b'<', "&lt;"),
    (b'>', "&gt;"),
    (b'"', "&quot;"),
    (b'\'', "&apos;"),
];

/// The byte of the first of the five characters in `text`, with what is written for it.
fn first(text: &str) -> Option<(usize, &'static str)> {
    text.bytes().enumerate().find_map(|(at, byte)| {
        let (_, escape) = ESCAPES.into_iter().find(|(special, _)| *special == byte)?;
        Some((at, escape))
    })
}

/// Adds `text` to `out` with the five characters escaped.
pub(super) fn escape_into(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some((at, escape)) = first(rest) {
        out.push_str(&rest[..at]);
        out.push_str(escape);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Returns the text that `escaped` was written for.
///
/// # Errors
/// The byte at which one of the five characters stands bare, or `&` without one of the five names.
pub(super) fn unescape(escaped: &str) -> Result<String, usize> {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((at, _)) = first(rest) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = ESCAPES.into_iter().find(|(_, escape)| rest.starts_with(escape));
        let Some((char, escape)) = known else {
            return Err(escaped.len() - rest.len());
        };
        text.push(char::from(char));
        rest = &rest[escape.len()..];
    }
    text.push_str(rest);
    Ok(text)
}
