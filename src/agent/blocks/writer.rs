//! Writes block files.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use super::block::{Block, DEPTH_MAX, KEPT, KEYS, Unfit, WHITESPACE, bare, unquoted};
use super::reader::split;
use crate::agent::fault::Fault;
use crate::agent::vocabulary::attribute;
use crate::ingest::json::{parse_within, value_to_json};
use crate::object::{Time, Value};

/// Returns the text of the file of a block.
///
/// # Errors
/// Returns an [`Unfit`] if the block cannot be written to a file.
pub(super) fn write_block(block: &Block) -> Result<String, Fault<Unfit>> {
    let mut out = format!("---\nid: {}\n", block.id);
    let mut pair = |key: &str, value: &str, is_fit: bool| {
        if !is_fit || value.is_empty() || value.contains('\n') || bare(value) != value {
            return Err(Fault::of(Unfit::Pair, key));
        }
        out.extend([key, ": ", value, "\n"]);
        Ok(())
    };
    let tags = block.attributes.get(attribute::TAGS);
    if tags.is_some_and(|tags| !matches!(tags, Value::List(_))) {
        return Err(Fault::of(Unfit::Pair, attribute::TAGS));
    }
    let time = |time: &Option<Time>| time.map(time_text);
    let shown_of = |name: &str| block.attributes.get(name).map(shown);
    for (key, value) in [
        ("scope", block.scope.clone()),
        ("created", time(&block.created)),
        ("updated", time(&block.updated)),
        (attribute::TAGS, shown_of(attribute::TAGS)),
        ("expires", time(&block.expires)),
        (attribute::CITATIONS, shown_of(attribute::CITATIONS)),
    ] {
        if let Some(value) = value {
            pair(key, &value, unquoted(&value) == value)?;
        }
    }
    for (key, value) in &block.attributes {
        if key == attribute::TAGS || key == attribute::CITATIONS {
            continue;
        }
        let is_key =
            !key.is_empty() && !key.contains([':', '\n']) && bare(key) == key && !key.starts_with('#');
        pair(key, &shown(value), is_key && !KEYS.contains(&key.as_str()))?;
    }
    if bare(&block.content) != block.content {
        pair(WHITESPACE, KEPT, true)?;
    }
    out.push_str("---\n\n");
    out.push_str(&block.content);
    out.push('\n');
    Ok(out)
}

/// Returns the file with `time` in the line `updated`. Returns `None` if the file has no front matter.
pub(super) fn with_updated(bytes: &[u8], time: Time) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (front, _) = split(text.strip_prefix('\u{FEFF}').unwrap_or(text)).ok()?;
    let (fence, rest) = text.split_at(text.find('\n')? + 1);
    let (lines, rest) = rest.split_at(front.len());
    let end = if fence.ends_with("\r\n") { "\r\n" } else { "\n" };
    let updated = format!("updated: {}{end}", time_text(time));
    let is_updated = |line: &str| {
        line.split_once(':')
            .is_some_and(|(key, _)| bare(key) == "updated")
    };
    let lines = lines.split_inclusive('\n');
    let missing = (!lines.clone().any(is_updated)).then_some(&updated[..]);
    // The reader uses the last of several lines `updated`, so set the time in all of them.
    let lines = lines.map(|line| if is_updated(line) { &updated } else { line });
    let parts = [fence].into_iter().chain(lines).chain(missing).chain([rest]);
    Some(parts.collect::<String>().into_bytes())
}

/// Formats a time with milliseconds, or with microseconds if these are not zero.
fn time_text(time: Time) -> String {
    let text = time.to_string();
    text.strip_suffix("000Z")
        .map_or(text.clone(), |short| format!("{short}Z"))
}

/// Formats a value: as plain text if the reader parses it to the same value, otherwise as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) if is_plain(text) => text.clone(),
        other => value_to_json(other).to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.contains('\n')
        && bare(text) == text
        && unquoted(text) == text
        && parse_within(text, DEPTH_MAX).is_err()
}
