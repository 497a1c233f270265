//! Replaces secrets by markers until none is left.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-3: in a redacted text no secret is found, and none of the secrets of six bytes and more that were found in
//!   the original is left in it.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::marker::{self, marker};
use super::{Secret, boundaries, find};

/// Rounds after which a text in which ever new secrets appear is taken as one secret.
const ROUNDS: usize = 8;
/// Bytes of different secrets up to which their other occurrences are looked for; above it a text is taken as one secret.
const DISTINCT_BYTES_MAX: usize = 256 << 10;
/// Shorter secrets are too likely to be part of other words to be replaced wherever they occur.
const REPEATED_LENGTH_MIN: usize = 6;

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct Redacted {
    pub(in crate::scan) text: String,
    /// How many places were replaced.
    pub(in crate::scan) count: usize,
}

/// Returns `text` with its secrets replaced; nothing if it has none.
pub(in crate::scan) fn redact(text: &str, key: &[u8; 32]) -> Option<Redacted> {
    let mut found = find(text);
    if found.is_empty() {
        return None;
    }
    let mut redacted = text.to_owned();
    let mut count = 0;
    for _ in 0..ROUNDS {
        let Some(places) = places(&redacted, &found) else {
            break;
        };
        count += places.len();
        redacted = replaced(&redacted, &places, key);
        found = find(&redacted);
        // INVARIANT SCA-3: a text leaves this function only after a scan that found nothing.
        if found.is_empty() {
            return Some(Redacted {
                text: redacted,
                count,
            });
        }
    }
    Some(Redacted {
        text: marker(marker::WHOLE, text.as_bytes(), key),
        count: count + 1,
    })
}

/// A stretch to be replaced, and what its marker is made from.
struct Place {
    span: Range<usize>,
    kind: &'static str,
    secret: Range<usize>,
}

/// Returns where `text` has to be replaced: the secrets, and the same bytes elsewhere. Nothing if that is too much.
fn places(text: &str, found: &[Secret]) -> Option<Vec<Place>> {
    let mut places: Vec<Place> = found
        .iter()
        .map(|secret| Place {
            span: word_around(text, secret.span.clone()),
            kind: secret.kind,
            secret: secret.span.clone(),
        })
        .collect();
    repeat(text, found, &mut places)?;
    places.sort_by_key(|place| (place.span.start, usize::MAX - place.span.end));
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

/// Adds the places where the bytes of a secret stand once more.
fn repeat(text: &str, found: &[Secret], places: &mut Vec<Place>) -> Option<()> {
    let distinct: BTreeSet<(&str, &'static str)> = found
        .iter()
        .map(|secret| (&text[secret.span.clone()], secret.kind))
        .filter(|(secret, _)| secret.len() >= REPEATED_LENGTH_MIN)
        .collect();
    if distinct.iter().map(|(secret, _)| secret.len()).sum::<usize>() > DISTINCT_BYTES_MAX {
        return None;
    }
    let distinct: Vec<_> = distinct.into_iter().collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(distinct.iter().map(|(secret, _)| secret))
        .expect("secrets of bounded size fit an automaton");
    for part in marker::between(text) {
        for hit in automaton.find_iter(&text[part.clone()]) {
            let span = part.start + hit.start()..part.start + hit.end();
            places.push(Place {
                span: span.clone(),
                kind: distinct[hit.pattern().as_usize()].1,
                secret: span,
            });
        }
    }
    Some(())
}

/// Returns `span` with the rest of the words at its ends, so that a marker never stands against part of a word.
fn word_around(text: &str, span: Range<usize>) -> Range<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let (mut start, mut end) = (span.start, span.end);
    if start < end && is_word(bytes[start]) {
        while start > 0 && is_word(bytes[start - 1]) {
            start -= 1;
        }
    }
    if start < end && is_word(bytes[end - 1]) {
        while end < bytes.len() && is_word(bytes[end]) {
            end += 1;
        }
    }
    boundaries(text, start..end)
}

fn replaced(text: &str, places: &[Place], key: &[u8; 32]) -> String {
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
