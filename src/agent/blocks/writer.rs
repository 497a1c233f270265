//! Writer of block files.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::HashSet;
use std::fmt;

use serde_json::json;

use super::block::{Block, KEPT, KEYS, WHITESPACE, bare, unquoted};
use crate::agent::item::Citation;
use crate::calendar::Moment;

/// The reason why a file cannot hold a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unwritable {
    /// A time is outside the years 0000 to 9999.
    Time {
        /// The key.
        key: &'static str,
    },
    /// A key or value does not fit on one line.
    Pair {
        /// The key.
        key: String,
    },
    /// A citation has no file, or its line is 0.
    Citation {
        /// Its place, from 0.
        place: usize,
    },
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { key } => write!(f, "the time in `{key}` is outside the years 0000 to 9999"),
            Self::Pair { key } => write!(f, "`{key}` and its value do not fit on a line of front matter"),
            Self::Citation { place } => write!(f, "citation {place} has no file, or the line 0"),
        }
    }
}

/// Returns the file of a block.
///
/// # Errors
/// An [`Unwritable`] if a file cannot hold the block.
pub(super) fn write_block(block: &Block) -> Result<String, Unwritable> {
    let mut out = format!("---\nid: {}\n", block.id);
    let mut pair = |key: &str, value: &str| {
        for part in [key, ": ", value, "\n"] {
            out.push_str(part);
        }
    };
    if let Some(scope) = &block.scope {
        check_value("scope", scope, unquoted(scope) == scope)?;
        pair("scope", scope);
    }
    let time = |key, micros: Option<i64>| {
        let text = micros.map(|micros| time_text(micros).ok_or(Unwritable::Time { key }));
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
        return Err(Unwritable::Citation { place });
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
    let line_of = |end: &str| time_text(micros).map(|time| format!("updated: {time}{end}"));
    let (mut out, mut has_line, mut is_front) = (String::with_capacity(text.len() + 48), false, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let is_fence = bare(line) == "---";
        if number == 0 {
            is_front = is_fence;
        } else if is_front && is_fence {
            if !has_line {
                out.push_str(&line_of(end)?);
            }
            is_front = false;
        } else if is_front
            && line
                .split_once(':')
                .is_some_and(|(key, _)| bare(key) == "updated")
        {
            // The last of several lines counts, so all of them get the same time.
            has_line = true;
            out.push_str(&line_of(end)?);
            continue;
        }
        out.push_str(line);
        if number == 0 && !is_front {
            return None;
        }
    }
    (!is_front && !out.is_empty()).then(|| out.into_bytes())
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
fn check_value(key: &str, value: &str, is_fit: bool) -> Result<(), Unwritable> {
    if is_fit && !value.is_empty() && !value.contains('\n') && bare(value) == value {
        return Ok(());
    }
    Err(Unwritable::Pair { key: key.to_owned() })
}
