//! Writer of block files.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::HashSet;

use serde_json::json;

use super::block::{Block, KEPT, KEYS, Unfit, WHITESPACE, bare, unquoted};
use crate::agent::item::Citation;
use crate::calendar::Moment;

/// Returns the file of a block.
///
/// # Errors
/// An [`Unfit`] if a file cannot hold the block.
pub(super) fn write_block(block: &Block) -> Result<String, Unfit> {
    let mut out = format!("---\nid: {}\n", block.id);
    let mut pair = |key: &str, value: &str| out.extend([key, ": ", value, "\n"]);
    if let Some(scope) = &block.scope {
        check_value("scope", scope, unquoted(scope) == scope)?;
        pair("scope", scope);
    }
    let time = |key, micros: Option<i64>| {
        let text = micros.map(|micros| time_text(micros).ok_or(Unfit::Time(key)));
        text.transpose()
    };
    for (key, micros) in [
        ("created", block.created_micros),
        ("updated", block.updated_micros),
    ] {
        if let Some(text) = time(key, micros)? {
            pair(key, &text);
        }
    }
    if !block.tags.is_empty() {
        pair("tags", &json!(block.tags).to_string());
    }
    if let Some(text) = time("expires", block.expires_micros)? {
        pair("expires", &text);
    }
    let is_bad = |citation: &Citation| citation.file.is_empty() || citation.line == Some(0);
    if let Some(place) = block.citations.iter().position(is_bad) {
        return Err(Unfit::Citation(place));
    }
    if !block.citations.is_empty() {
        pair("citations", &json!(block.citations).to_string());
    }
    let mut seen = HashSet::new();
    for (key, value) in &block.other {
        let is_new = seen.insert(key.as_str());
        let is_key =
            !key.is_empty() && !key.contains([':', '\n']) && bare(key) == key && !key.starts_with('#');
        check_value(key, value, is_new && is_key && !KEYS.contains(&key.as_str()))?;
        pair(key, value);
    }
    if bare(&block.content) != block.content {
        pair(WHITESPACE, KEPT);
    }
    out.push_str("---\n\n");
    out.push_str(&block.content);
    out.push('\n');
    Ok(out)
}

/// Returns the file with another time in `updated`; `None` if it has no front matter.
pub(super) fn with_updated(bytes: &[u8], micros: i64) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let time = time_text(micros)?;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| bare(line) == "---")?;
    let (mut out, mut has_line) = (first.to_owned(), false);
    while let Some(line) = lines.next() {
        let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let updated = format!("updated: {time}{end}");
        let key = line.split_once(':').map(|(key, _)| bare(key));
        if bare(line) == "---" {
            out.extend((!has_line).then_some(updated));
            out.push_str(line);
            out.extend(lines);
            return Some(out.into_bytes());
        }
        if key == Some("updated") {
            // The last of several lines counts, so all of them get the same time.
            has_line = true;
            out.push_str(&updated);
        } else {
            out.push_str(line);
        }
    }
    None
}

/// Writes a time with milliseconds, or with microseconds if needed; `None` for years without four digits.
fn time_text(micros: i64) -> Option<String> {
    let at = Moment::of(micros);
    let fraction = if at.micro % 1000 == 0 {
        format!("{:03}", at.micro / 1000)
    } else {
        format!("{:06}", at.micro)
    };
    at.has_plain_year().then(|| format!("{at}.{fraction}Z"))
}

/// Checks that a value is one trimmed line.
fn check_value(key: &str, value: &str, is_fit: bool) -> Result<(), Unfit> {
    if is_fit && !value.is_empty() && !value.contains('\n') && bare(value) == value {
        return Ok(());
    }
    Err(Unfit::Pair(key.to_owned()))
}
