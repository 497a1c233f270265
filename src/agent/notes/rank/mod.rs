//! Ranks notes for a query by relevance, freshness and the time of the last read.
//!
//! `score = relevance * freshness * read boost`, clamped to 0..1. Relevance is lexical. By default, freshness
//! halves every month, and the boost of a read halves every week. Texts are compared in lower case and in composed
//! Unicode, so queries in any script match.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure: the caller passes all times.
//!
//! # Invariants
//! - NRK-1: relevance and score are in 0..=1, for all texts and times.
//! - NRK-2: the order of hits is total and does not depend on the order of the input.
//! - NRK-3: a snippet is a slice of the text in composed Unicode with collapsed white space. A snippet has at most the
//!   requested number of characters.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::agent::item::Item;
use crate::agent::settings::{factor, micros};
use crate::agent::words;
use crate::object::{Id, Time};
use treering_text::calendar::DAY_MICROS;

/// The parameters for ranking notes.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoteSettings {
    /// The half-life of freshness, in microseconds. Freshness falls with the time since the last change.
    #[serde(rename = "fresh_half_life", deserialize_with = "micros")]
    pub fresh_half_life_micros: i64,
    /// The boost of a note that was read just now. The score is multiplied by 1 plus the boost.
    #[serde(deserialize_with = "factor")]
    pub read_boost: f64,
    /// The maximum factor by which a read multiplies the score.
    #[serde(deserialize_with = "factor")]
    pub read_factor_max: f64,
    /// The half-life of the boost of a read, in microseconds.
    #[serde(rename = "read_half_life", deserialize_with = "micros")]
    pub read_half_life_micros: i64,
    /// The step to which scores are rounded for a comparison, so that nearly equal scores count as equal.
    #[serde(deserialize_with = "factor")]
    pub score_step: f64,
    /// The maximum number of characters of a snippet.
    pub snippet_chars_max: usize,
    /// The maximum number of characters of a snippet before the match.
    pub snippet_chars_before: usize,
}

impl Default for NoteSettings {
    /// Returns the default settings. Freshness halves in 30 days. A read boosts the score by 0.3, with a factor of at
    /// most 1.3, and this boost halves in 7 days. Scores are rounded to a billionth. A snippet has at most 160
    /// characters, of which at most 40 precede the match.
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

/// A note with its owner and its times.
#[derive(Clone, Debug)]
pub struct NoteRead {
    /// The note.
    pub item: Item,
    /// The root session that owns the note.
    pub owner: Option<String>,
    /// The time of the first write.
    pub created: Option<Time>,
    /// The time of the last write.
    pub updated: Option<Time>,
    /// The time of the last read before the present one; `None` if the time is not known.
    pub read: Option<Time>,
}

impl NoteRead {
    /// Returns the id of the note.
    pub(super) fn id(&self) -> &Id {
        self.item.object().id()
    }
}

/// A note that matches a query.
#[derive(Clone, Debug)]
pub struct NoteFound {
    /// The note.
    pub note: NoteRead,
    /// Whether the note belongs to the root of the requesting session.
    pub is_own: bool,
    /// The score of the match, above 0 and at most 1.
    pub score: f64,
    /// The part of the text around the match. [`Agent::search_notes`](crate::agent::Agent::search_notes) puts markers
    /// in place of its secrets.
    pub snippet: String,
}

/// Returns the notes with a score above 0, best first. Among equal scores, notes of the root session `own` precede all
/// other notes, then newer notes precede older notes, then the ids decide.
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

/// Returns the freshness of a note. Freshness is 1 at the time of writing and halves with every half-life. Freshness is
/// 0 if the time of writing is unknown.
pub(crate) fn fresh_factor(updated: Option<Time>, now: Time, settings: &NoteSettings) -> f64 {
    updated.map_or(0.0, |updated| {
        halved(updated, now, settings.fresh_half_life_micros)
    })
}

/// Returns the factor by which the last read multiplies the score. The factor is 1 without a read, and at most
/// `read_factor_max`.
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

/// Compares two hits. Scores are first rounded to whole steps, because a comparison with a tolerance is not transitive.
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

/// The maximum relevance of a text that differs from the query.
const INEXACT_MAX: f64 = 0.99;

/// Returns the relevance of `text` for `query`, in 0..=1 with six decimals.
///
/// The relevance is 1 if query and text are equal in lower case. Otherwise `c` is the fraction of the words of the
/// query that occur in the text, even inside longer words. If `c` is 0, the relevance is 0, else `0.15 + 0.55 c`. A
/// text that contains the whole query gains 0.2, and a short text gains up to 0.1. A query without words, such as an
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
/// `snippet_chars_before` characters before the match of the whole query. If the text does not contain the whole query,
/// the match is the first word of the query that the text contains. Without any match, the snippet is the beginning of
/// the text.
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
    // Lower case may have more characters, so `places` maps each byte of `lower` to the original character.
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
