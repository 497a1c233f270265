//! Replaces secrets by markers until the scan finds none.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-3: the scan finds no secret in a redacted text. The text contains none of the secrets of six bytes or more
//!   that the scan found in the original.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::find;
use super::marker::{self, MarkerKey, marker};
use crate::scan::finding::Finding;

/// The maximal number of rounds. If a text still contains secrets after these rounds, the whole text is replaced as one
/// secret.
const ROUNDS: usize = 8;
/// The maximal total length in bytes of the different secrets in a text. Up to this limit, all other occurrences of the
/// secrets are replaced too. Above this limit, the whole text is replaced as one secret.
const DISTINCT_BYTES_MAX: usize = 256 << 10;
/// The minimal length of a secret whose other occurrences are replaced. A shorter secret may occur in other words by
/// chance.
const REPEATED_LENGTH_MIN: usize = 6;

/// Returns `text` with its secrets replaced. Returns `None` if `text` has no secret.
pub(in crate::scan) fn redact(text: &str, key: &MarkerKey) -> Option<String> {
    let mut found = find(text);
    if found.is_empty() {
        return None;
    }
    let mut redacted = text.to_owned();
    for _ in 0..ROUNDS {
        let Some(places) = places(&redacted, &found) else {
            break;
        };
        redacted = replaced(&redacted, &places, key);
        found = find(&redacted);
        // INVARIANT SCA-3: this function returns a text only after a scan that found no secret in the text.
        if found.is_empty() {
            return Some(redacted);
        }
    }
    Some(marker(marker::WHOLE, text.as_bytes(), key))
}

/// A span to replace, and the secret for its marker.
struct Place {
    span: Range<usize>,
    kind: &'static str,
    secret: Range<usize>,
}

/// Returns the spans to replace in `text`: the secrets and their other occurrences. Returns `None` if the total length
/// of the secrets is too large.
fn places(text: &str, found: &[Finding]) -> Option<Vec<Place>> {
    let mut word = 0..0;
    let mut places: Vec<Place> = found
        .iter()
        .map(|secret| Place {
            span: words_around(text, secret.span.clone(), &mut word),
            kind: secret.rule,
            secret: secret.span.clone(),
        })
        .collect();
    places.append(&mut repeats(text, found)?);
    places.sort_by_key(|place| (place.span.start, Reverse(place.span.end)));
    let mut merged: Vec<Place> = Vec::with_capacity(places.len());
    for place in places {
        match merged.last_mut() {
            Some(last) if place.span.start < last.span.end => {
                if place.span.end > last.span.end {
                    last.span.end = place.span.end;
                    last.secret.end = last.secret.end.max(place.secret.end);
                }
            }
            _ => merged.push(place),
        }
    }
    Some(merged)
}

/// Returns the spans where a secret occurs. Returns `None` if the total length of the secrets is too large.
fn repeats(text: &str, found: &[Finding]) -> Option<Vec<Place>> {
    let distinct: BTreeSet<(&str, &'static str)> = found
        .iter()
        .map(|secret| (&text[secret.span.clone()], secret.rule))
        .filter(|(secret, _)| secret.len() >= REPEATED_LENGTH_MIN)
        .collect();
    if distinct.iter().map(|(secret, _)| secret.len()).sum::<usize>() > DISTINCT_BYTES_MAX {
        return None;
    }
    let distinct: Vec<_> = distinct.into_iter().collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        // INVARIANT SCA-1: making a table of all states takes the square of the length of a secret.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(distinct.iter().map(|(secret, _)| secret))
        .expect("secrets of limited size fit into an automaton");
    let mut places = Vec::new();
    for part in marker::between(text) {
        places.extend(automaton.find_iter(&text[part.clone()]).map(|hit| {
            let span = part.start + hit.start()..part.start + hit.end();
            let kind = distinct[hit.pattern().as_usize()].1;
            let secret = span.clone();
            Place { span, kind, secret }
        }));
    }
    Some(places)
}

/// Extends `span` to whole words, so a marker never touches part of a word. `known` is the newest word, because one word
/// may contain very many secrets (SCA-1).
fn words_around(text: &str, span: Range<usize>, known: &mut Range<usize>) -> Range<usize> {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut word_at = |at: usize| {
        if !known.contains(&at) {
            let start = text[..at].trim_end_matches(is_word).len();
            let end = text.len() - text[at..].trim_start_matches(is_word).len();
            *known = start..end;
        }
        known.clone()
    };
    let (mut start, mut end) = (span.start, span.end);
    if text[span.clone()].starts_with(is_word) {
        start = word_at(span.start).start;
    }
    if text[span.clone()].ends_with(is_word) {
        end = word_at(span.end - 1).end;
    }
    start..end
}

fn replaced(text: &str, places: &[Place], key: &MarkerKey) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for place in places {
        out.push_str(&text[at..place.span.start]);
        out.push_str(&marker(place.kind, &text.as_bytes()[place.secret.clone()], key));
        at = place.span.end;
    }
    out.push_str(&text[at..]);
    out
}
