//! The part of a note that shows why it was found.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::NoteSettings;
use crate::agent::words;

/// Returns at most `snippet_chars_max` characters of `text`, white space collapsed, from `snippet_chars_before`
/// characters before the first match on: of the whole query, else of the first of its words that is there. Without a
/// match it is the beginning.
pub fn snippet(text: &str, query: &str, settings: &NoteSettings) -> String {
    let shown: Vec<char> = words::collapsed(text).chars().collect();
    let found = place_of_match(&shown, query).unwrap_or(0);
    let from = found.saturating_sub(settings.snippet_chars_before);
    shown
        .iter()
        .skip(from)
        .take(settings.snippet_chars_max)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The number of the character at which the match begins.
fn place_of_match(shown: &[char], query: &str) -> Option<usize> {
    // Lower case may have more characters than what is shown, so each remembers which one it comes from.
    let mut lower = String::new();
    let mut places = Vec::new();
    for (place, letter) in shown.iter().enumerate() {
        for small in letter.to_lowercase() {
            lower.push(small);
            places.resize(lower.len(), place);
        }
    }
    let query = words::normalised(query);
    if query.is_empty() {
        return None;
    }
    let at = lower.find(&query).or_else(|| {
        let tokens = words::query_tokens(&query);
        tokens.iter().find_map(|token| lower.find(token.as_str()))
    })?;
    places.get(at).copied()
}
