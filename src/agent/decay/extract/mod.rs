//! Extracts of a text for decay: a summary of the highest-ranked sentences, and the keywords.
//!
//! An extract adds no words. A summary consists of whole pieces of the text in their order, and keywords are words of
//! the text in lower case. The extraction is deterministic, and does not use a model. `pieces` defines a piece: code,
//! tables and list items are never split.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - EXT-1: an extract is never longer than its text, in characters and in bytes. An extract is empty only if the text
//!   is empty.
//! - EXT-2: a summary consists of whole pieces of the text, in their order.

mod keywords;
mod pieces;
mod sentences;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use self::keywords::keyword_text;
#[cfg(test)]
use self::keywords::{KEYWORDS_MAX, keywords};
use self::pieces::pieces;
use crate::agent::words;

/// The maximum length of a summary, in per cent of the characters of its text.
pub(crate) const SUMMARY_SHARE_PERCENT: usize = 20;
/// The minimum number of characters of a text to summarise. The summary of a shorter text is the text itself.
pub(crate) const SUMMARY_CHARS_MIN: usize = 20;

/// Words that mark an important sentence, in lower case. `WEIGHTY_SIGNS` contains such words of scripts without spaces.
const WEIGHTY_WORDS: &str = "important key must should wichtig muss soll importante debe deve doit \
    \u{432}\u{430}\u{436}\u{43d}\u{43e} \u{434}\u{43e}\u{43b}\u{436}\u{435}\u{43d} \u{43d}\u{443}\u{436}\u{43d}\u{43e}";
const WEIGHTY_SIGNS: &str = "\u{91cd}\u{8981} \u{5fc5}\u{987b} \u{5fc5}\u{9808} \u{c911}\u{c694}";

/// Returns the sentences of a paragraph in their order.
pub(crate) fn sentences_of(paragraph: &str) -> Vec<&str> {
    let ranges = sentences::sentences(paragraph, 0..paragraph.len()).into_iter();
    ranges.map(|range| &paragraph[range]).collect()
}

/// Returns about a fifth of `text`: the pieces with the highest scores, at least one, in the order of the text.
///
/// Returns `text` itself if it has fewer than [`SUMMARY_CHARS_MIN`] characters or only one piece. A piece that does not
/// fit is skipped, and shorter pieces with lower scores are tried.
pub(crate) fn summary(text: &str) -> Cow<'_, str> {
    if text.chars().count() < SUMMARY_CHARS_MIN {
        return Cow::Borrowed(text);
    }
    let pieces = pieces(text);
    if pieces.len() < 2 {
        return Cow::Borrowed(text);
    }
    let texts: Vec<&str> = pieces.iter().map(|piece| &text[piece.clone()]).collect();
    let lengths: Vec<usize> = texts.iter().map(|piece| piece.chars().count()).collect();
    let mut left = lengths.iter().sum::<usize>() * SUMMARY_SHARE_PERCENT / 100;
    let mut order: Vec<usize> = (0..texts.len()).collect();
    // Highest score first. The sort is stable, so pieces with equal scores stay in the order of the text.
    order.sort_by_cached_key(|&at| std::cmp::Reverse(score(texts[at], at, texts.len())));
    let mut kept = Vec::new();
    for at in order {
        if kept.is_empty() || lengths[at] <= left {
            left = left.saturating_sub(lengths[at]);
            kept.push(at);
        }
    }
    kept.sort_unstable();
    Cow::Owned(joined(text, &pieces, &kept))
}

/// Returns the score of a piece, in half points: 4 for the first piece, 2 for the last piece, 2 for 5 to 25 words, 3
/// for a word that marks importance, 1 for a digit.
fn score(piece: &str, at: usize, count: usize) -> u32 {
    let points = [
        (4, at == 0),
        (2, at + 1 == count),
        (2, (5..=25).contains(&words::count(piece))),
        (3, is_weighty(piece)),
        (1, piece.chars().any(char::is_numeric)),
    ];
    let met = points.iter().filter(|(_, is_met)| *is_met);
    met.map(|(points, _)| points).sum()
}

fn is_weighty(piece: &str) -> bool {
    let lower = piece.to_lowercase();
    words::runs(&lower).any(|word| WEIGHTY_WORDS.split(' ').any(|weighty| weighty == word))
        || WEIGHTY_SIGNS.split(' ').any(|signs| lower.contains(signs))
}

/// Joins the selected pieces into one text. The text between adjacent pieces is retained. One character replaces each
/// omitted part, so the result is never longer than the text (EXT-1).
fn joined(text: &str, pieces: &[Range<usize>], kept: &[usize]) -> String {
    let mut out = text[pieces[kept[0]].clone()].to_owned();
    for pair in kept.windows(2) {
        let (before, next) = (&pieces[pair[0]], &pieces[pair[1]]);
        let gap = &text[before.end..next.start];
        if pair[0] + 1 == pair[1] {
            out.push_str(gap);
        } else if gap.contains('\n') {
            out.push('\n');
        } else if !sentences::ends_without_space(&out) {
            out.push(' ');
        }
        out.push_str(&text[next.clone()]);
    }
    out
}

#[cfg(test)]
mod tests;
