//! The rank of a note for a query, by relevance, freshness and last reading.
//!
//! `score = relevance * freshness * read boost`, clamped to 0..1. Relevance is lexical. By default freshness halves in
//! a month, and the boost of a read in a week. Texts are compared in lower case and composed, which works for queries
//! in any script.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure: times come from the caller.
//!
//! # Invariants
//! - NRK-1: relevance and score are in 0..=1, whatever the texts and times.
//! - NRK-2: the order of hits is total and does not depend on the order of the input.
//! - NRK-3: a snippet is a slice of the composed text with collapsed white space, and has at most the requested number
//!   of characters.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::agent::item::Item;
use crate::agent::settings::{factor, micros};
use crate::agent::words;
use crate::calendar::DAY_MICROS;
use crate::object::{Id, Time};

/// The parameters for ranking notes.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoteSettings {
    /// The half-life of freshness, in microseconds since the last change.
    #[serde(rename = "fresh_half_life", deserialize_with = "micros")]
    pub fresh_half_life_micros: i64,
    /// The boost of a reading at this moment, added to a factor of 1.
    #[serde(deserialize_with = "factor")]
    pub read_boost: f64,
    /// The largest factor of a read.
    #[serde(deserialize_with = "factor")]
    pub read_factor_max: f64,
    /// The half-life of the boost of a read, in microseconds.
    #[serde(rename = "read_half_life", deserialize_with = "micros")]
    pub read_half_life_micros: i64,
    /// Scores that differ by less count as equal.
    #[serde(deserialize_with = "factor")]
    pub score_step: f64,
    /// The maximum number of characters of a snippet.
    pub snippet_chars_max: usize,
    /// The maximum number of characters of a snippet before the match.
    pub snippet_chars_before: usize,
}

impl Default for NoteSettings {
    /// Half-lives of a month and a week; a boost of 0.3 up to a factor of 1.3; a step of a billionth; snippets of 160
    /// characters, 40 of them before the match.
    fn default() -> Self {
        Self {
            fresh_half_life_micros: 30 * DAY_MICROS,
            read_boost: 0.3,
            read_factor_max: 1.3,
            read_half_life_micros: 7 * DAY_MICROS,
            score_step: 1e-9,
            snippet_chars_max: 160,
            snippet_chars_before: 40,
        }
    }
}

/// A note as it is read.
#[derive(Clone, Debug)]
pub struct NoteRead {
    /// The note.
    pub item: Item,
    /// The session that it belongs to.
    pub owner: Option<String>,
    /// The time of the first write.
    pub created: Option<Time>,
    /// The time of the last write.
    pub updated: Option<Time>,
    /// The time of the last read before this one, if it is known.
    pub read: Option<Time>,
}

impl NoteRead {
    /// Its id.
    pub(super) fn id(&self) -> &Id {
        self.item.object().id()
    }
}

/// A note that matches a query.
#[derive(Clone, Debug)]
pub struct NoteFound {
    /// The note.
    pub note: NoteRead,
    /// Whether it belongs to the requesting session.
    pub is_own: bool,
    /// The score of the match, above 0 and at most 1.
    pub score: f64,
    /// The part of the text that matches.
    pub snippet: String,
}

/// Returns the notes with a score above 0, best first: by score, notes of the session `own` before others, newest first,
/// then by id.
pub(crate) fn rank_notes(
    query: &str,
    notes: impl IntoIterator<Item = NoteRead>,
    own: &str,
    now: Time,
    settings: &NoteSettings,
) -> Vec<NoteFound> {
    let hit = |note: NoteRead| {
        let score = relevance(query, note.item.text())
            * fresh_factor(note.updated, now, settings)
            * read_factor(note.read, now, settings);
        let score = score.clamp(0.0, 1.0);
        (score > 0.0).then(|| NoteFound {
            is_own: note.owner.as_deref() == Some(own),
            score,
            snippet: snippet(note.item.text(), query, settings),
            note,
        })
    };
    let mut hits: Vec<NoteFound> = notes.into_iter().filter_map(hit).collect();
    hits.sort_by(|left, right| order(left, right, settings));
    hits
}

/// Returns the freshness of a note: 1 now or in the future, half after every half-life, 0 if the time of writing is unknown.
pub(crate) fn fresh_factor(updated: Option<Time>, now: Time, settings: &NoteSettings) -> f64 {
    updated.map_or(0.0, |updated| {
        halved(updated, now, settings.fresh_half_life_micros)
    })
}

/// Returns the factor of the last read: 1 without a read, and at most `read_factor_max`.
pub(crate) fn read_factor(read: Option<Time>, now: Time, settings: &NoteSettings) -> f64 {
    read.map_or(1.0, |read| {
        let boost = settings.read_boost * halved(read, now, settings.read_half_life_micros);
        (1.0 + boost).min(settings.read_factor_max)
    })
}

/// Returns 0.5 to the power of the age in half-lives. A time in the future has age 0. With a half-life of 0 the result
/// is 0, except at age 0.
fn halved(then: Time, now: Time, half_life_micros: i64) -> f64 {
    match now.as_micros().saturating_sub(then.as_micros()) {
        ..=0 => 1.0,
        age => (-(age as f64) / half_life_micros as f64).exp2(),
    }
}

/// The order of hits. Scores are compared in whole steps, because "equal within a step" is not transitive.
fn order(left: &NoteFound, right: &NoteFound, settings: &NoteSettings) -> Ordering {
    let steps = |hit: &NoteFound| {
        if settings.score_step > 0.0 {
            (hit.score / settings.score_step).round()
        } else {
            hit.score
        }
    };
    steps(right)
        .total_cmp(&steps(left))
        .then_with(|| right.is_own.cmp(&left.is_own))
        .then_with(|| right.note.updated.cmp(&left.note.updated))
        .then_with(|| left.note.id().cmp(right.note.id()))
}

/// The highest relevance of a text that differs from the query.
const INEXACT_MAX: f64 = 0.99;

/// Returns the relevance of `text` for `query`, in 0..=1 with six decimals.
///
/// The relevance is 1 if they are equal in lower case. Otherwise `c` is the share of the query's words in the text,
/// also inside longer words. Without any of these words the relevance is 0, else `0.15 + 0.55 c`. It rises by 0.2 if
/// the text holds the whole query, and by up to 0.1 the shorter the text is. A query without words, like one sign or an
/// emoji, is searched verbatim.
pub(crate) fn relevance(query: &str, text: &str) -> f64 {
    let query = words::normalised(query);
    let text = words::normalised(text);
    if query.is_empty() {
        return 0.0;
    }
    if query == text {
        return 1.0;
    }
    let share_of_text = query.chars().count() as f64 / text.chars().count().max(1) as f64;
    let is_contiguous = text.contains(&query);
    let relevance = match words::covered(&query, &text) {
        None if is_contiguous => 0.8 + share_of_text / 5.0,
        Some(covered) if covered > 0.0 => {
            let contiguous = if is_contiguous { 0.2 } else { 0.0 };
            0.15 + 0.55 * covered + contiguous + 0.1 * share_of_text.min(1.0)
        }
        _ => return 0.0,
    };
    rounded(relevance.min(INEXACT_MAX))
}

/// Rounds to six decimals and clamps to 0..=1.
pub(crate) fn rounded(value: f64) -> f64 {
    ((value * 1e6).round() / 1e6).clamp(0.0, 1.0)
}

/// Returns at most `snippet_chars_max` characters of `text`, with white space collapsed. The snippet begins
/// `snippet_chars_before` characters before the match of the whole query, else of its first word in the text. Without a
/// match it is the beginning of the text.
pub(crate) fn snippet(text: &str, query: &str, settings: &NoteSettings) -> String {
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

/// Returns the index of the character at which the match begins.
fn place_of_match(shown: &[char], query: &str) -> Option<usize> {
    // Lower-casing may add characters, so `places` has the original index of each.
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

#[cfg(test)]
mod tests;
