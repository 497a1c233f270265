//! The rank of a note for a query, by relevance, freshness and last reading.
//!
//! `score = relevance * freshness * read boost`, clamped to 0..1. Relevance is lexical; freshness halves in a month and
//! the boost of a reading in a week, by the settings. Texts are compared in lower case and composed, so that a query
//! in any script finds by its words.
//!
//! # Layer
//! L7, inside `agent`. Pure: times come from the caller.
//!
//! # Invariants
//! - NRK-1: relevance and score are in 0..=1, whatever the texts and times.
//! - NRK-2: the order of hits is total and does not depend on the order in which the notes came.
//! - NRK-3: a snippet has at most the characters asked for, and is a slice of the composed text with its white
//!   space collapsed.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::agent::settings::{factor, micros};
use crate::agent::words;
use crate::calendar::DAY_MICROS;

/// How notes are ranked.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoteSettings {
    /// Microseconds after which an unchanged note counts half.
    #[serde(rename = "fresh_half_life", deserialize_with = "micros")]
    pub fresh_half_life_micros: i64,
    /// The boost of a reading at this moment, added to a factor of 1.
    #[serde(deserialize_with = "factor")]
    pub read_boost: f64,
    /// The largest factor of a reading.
    #[serde(deserialize_with = "factor")]
    pub read_factor_max: f64,
    /// Microseconds after which the boost of a reading counts half.
    #[serde(rename = "read_half_life", deserialize_with = "micros")]
    pub read_half_life_micros: i64,
    /// Scores that differ by less count as equal.
    #[serde(deserialize_with = "factor")]
    pub score_step: f64,
    /// Characters of a snippet, at most.
    pub snippet_chars_max: usize,
    /// Characters of a snippet before the match.
    pub snippet_chars_before: usize,
}

impl Default for NoteSettings {
    /// A month, 0.3 up to 1.3, a week, a billionth, 160 and 40 characters.
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

/// A note to be ranked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Note<'a> {
    /// The id, the last of the tie-breaks.
    pub id: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Whether it belongs to the session that asks; other notes of the project come after it at the same score.
    pub is_own: bool,
    /// When it was written last, in microseconds since 1970; `None` if that cannot be read, which counts as oldest.
    pub updated_micros: Option<i64>,
    /// When it was read last.
    pub read_micros: Option<i64>,
}

/// A note that fits a query.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NoteHit<'a> {
    /// The note.
    pub note: Note<'a>,
    /// Its score, above 0.
    pub score: f64,
    /// The relevance in the score.
    pub relevance: f64,
    /// The factor of freshness in the score.
    pub fresh_factor: f64,
    /// The factor of reading in the score.
    pub read_factor: f64,
    /// The part of the text that fits.
    pub snippet: String,
}

/// Returns the notes with a score above 0, best first: by score, own before others, newest first, then by id.
pub(crate) fn rank_notes<'a>(
    query: &str,
    notes: impl IntoIterator<Item = Note<'a>>,
    now_micros: i64,
    settings: &NoteSettings,
) -> Vec<NoteHit<'a>> {
    let mut hits: Vec<NoteHit<'a>> = notes
        .into_iter()
        .filter_map(|note| hit(query, note, now_micros, settings))
        .collect();
    hits.sort_by(|left, right| order(left, right, settings));
    hits
}

fn hit<'a>(query: &str, note: Note<'a>, now_micros: i64, settings: &NoteSettings) -> Option<NoteHit<'a>> {
    let relevance = relevance(query, note.text);
    let fresh_factor = fresh_factor(note.updated_micros, now_micros, settings);
    let read_factor = read_factor(note.read_micros, now_micros, settings);
    let score = (relevance * fresh_factor * read_factor).clamp(0.0, 1.0);
    (score > 0.0).then(|| NoteHit {
        note,
        score,
        relevance,
        fresh_factor,
        read_factor,
        snippet: snippet(note.text, query, settings),
    })
}

/// Returns the freshness of a note: 1 now or in the future, half after every half-life, 0 if the time of writing is unknown.
pub(crate) fn fresh_factor(updated_micros: Option<i64>, now_micros: i64, settings: &NoteSettings) -> f64 {
    updated_micros.map_or(0.0, |updated| {
        halved(updated, now_micros, settings.fresh_half_life_micros)
    })
}

/// Returns the factor of the last reading: 1 without one, and at most `read_factor_max`.
pub(crate) fn read_factor(read_micros: Option<i64>, now_micros: i64, settings: &NoteSettings) -> f64 {
    read_micros.map_or(1.0, |read| {
        let boost = settings.read_boost * halved(read, now_micros, settings.read_half_life_micros);
        (1.0 + boost).min(settings.read_factor_max)
    })
}

/// 0.5 to the power of the age in half-lives; a time in the future has no age, and a half-life of 0 leaves nothing.
fn halved(then_micros: i64, now_micros: i64, half_life_micros: i64) -> f64 {
    let age = now_micros.saturating_sub(then_micros).max(0);
    if age == 0 {
        return 1.0;
    }
    if half_life_micros <= 0 {
        return 0.0;
    }
    (-(age as f64) / half_life_micros as f64).exp2()
}

/// The order of hits. Scores are compared in whole steps, because "equal within a step" is not transitive.
fn order(left: &NoteHit<'_>, right: &NoteHit<'_>, settings: &NoteSettings) -> Ordering {
    let steps = |hit: &NoteHit<'_>| {
        if settings.score_step > 0.0 {
            (hit.score / settings.score_step).round()
        } else {
            hit.score
        }
    };
    steps(right)
        .total_cmp(&steps(left))
        .then_with(|| right.note.is_own.cmp(&left.note.is_own))
        .then_with(|| right.note.updated_micros.cmp(&left.note.updated_micros))
        .then_with(|| left.note.id.cmp(right.note.id))
}

/// The highest relevance of a text that differs from the query.
const INEXACT_MAX: f64 = 0.99;

/// Returns the relevance of `text` for `query`, in 0..=1 with six decimals.
///
/// 1 if they are equal in lower case. Else by the share `c` of the query's words that stand in the text, also inside
/// longer words: `0.15 + 0.55 c`, 0.2 more if the whole query stands there, and up to 0.1 for a text that is not longer
/// than the query; 0 if none does. A query without words, such as one sign or an emoji, is looked for as it stands.
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
    let tokens = words::query_tokens(&query);
    let relevance = if tokens.is_empty() {
        if !is_contiguous {
            return 0.0;
        }
        0.8 + share_of_text / 5.0
    } else {
        let found = tokens
            .iter()
            .filter(|token| text.contains(token.as_str()))
            .count();
        if found == 0 {
            return 0.0;
        }
        let covered = found as f64 / tokens.len() as f64;
        let contiguous = if is_contiguous { 0.2 } else { 0.0 };
        0.15 + 0.55 * covered + contiguous + 0.1 * share_of_text.min(1.0)
    };
    rounded(relevance.min(INEXACT_MAX))
}

/// Six decimals, within 0..=1.
pub(crate) fn rounded(value: f64) -> f64 {
    ((value * 1e6).round() / 1e6).clamp(0.0, 1.0)
}

/// Returns at most `snippet_chars_max` characters of `text`, white space collapsed, from `snippet_chars_before`
/// characters before the first match on: of the whole query, else of the first of its words that is there. Without a
/// match it is the beginning.
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

/// The number of the character at which the match begins.
fn place_of_match(shown: &[char], query: &str) -> Option<usize> {
    // Lower case may have more characters, so `places` has the original place of each.
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
