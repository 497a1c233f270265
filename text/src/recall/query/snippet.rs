//! Makes snippets, which show the matches in a text. Also estimates the number of tokens of a text.
//!
//! # Layer
//! Uses terms and text.

use std::ops::Range;

use crate::recall::text::language::Languages;
use crate::recall::text::runs::{RunKind, Runs};
use crate::recall::text::terms::{Side, facts_of, for_each_sign, term_in, word_of};
use crate::recall::text::variants::parts;

/// A part of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet<'a> {
    /// The text of the part.
    pub text: &'a str,
    /// Whether text was cut off before this part, and whether text was cut off after it.
    pub cut: (bool, bool),
    /// The matches, as byte ranges in `text`.
    pub matches: Vec<Range<usize>>,
}

/// The number of characters in a token.
pub const CHARS_A_TOKEN: usize = 4;

/// Returns the estimated number of tokens of a text: one for every four characters, rounded up.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARS_A_TOKEN)
}

/// Returns the part of `text` with the most different terms, of at most `characters_max` characters and cut between
/// words.
pub fn snippet<'a>(text: &'a str, terms: &[String], characters_max: usize) -> Snippet<'a> {
    let matches = matches(text, terms);
    let range = window(text, &matches, characters_max);
    Snippet {
        text: &text[range.clone()],
        cut: (range.start > 0, range.end < text.len()),
        matches: matches
            .iter()
            .filter(|(_, found)| found.start >= range.start && found.end <= range.end)
            .map(|(_, found)| found.start - range.start..found.end - range.start)
            .collect(),
    }
}

/// Returns the matches in the text: the index of the term, and the byte range.
pub(super) fn matches(text: &str, terms: &[String]) -> Vec<(usize, Range<usize>)> {
    let (mut found, languages) = (Vec::new(), Languages::of(text));
    let (mut word, mut term) = (String::new(), String::new());
    let position = |term: &str| terms.iter().position(|other| other == term);
    let mut of_word = |raw: &str| {
        if !begins_alike(raw, terms) {
            return None;
        }
        word_of(raw, &mut word);
        position(term_in(languages, raw, &word, facts_of(&word), &mut term)?)
    };
    for run in Runs::new(text) {
        let term = match run.kind {
            RunKind::Word => of_word(run.text).or_else(|| parts(run.text).into_iter().find_map(&mut of_word)),
            _ => {
                let mut first = None;
                for_each_sign(run, Side::Document, |sign| {
                    first = first.or_else(|| position(sign));
                });
                first
            }
        };
        if let Some(term) = term {
            found.push((term, run.start..run.start + run.text.len()));
        }
    }
    found
}

/// Returns whether a word may match one of the terms, by its first letter. This is many times faster than stemming the
/// word. A few irregular forms have another first letter, and are not highlighted.
fn begins_alike(word: &str, terms: &[String]) -> bool {
    let first = |text: &str| text.bytes().next().map(|byte| byte.to_ascii_lowercase());
    !word.is_ascii() || terms.iter().any(|term| first(term) == first(word))
}

/// Returns the first window of the text that has the most different terms.
fn window(text: &str, matches: &[(usize, Range<usize>)], characters_max: usize) -> Range<usize> {
    let places: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let characters = places.len() - 1;
    if characters <= characters_max {
        return 0..text.len();
    }
    let character_of = |byte: usize| places.partition_point(|&place| place < byte);
    let (mut best, mut best_count) = (0..0, 0);
    for (at, (_, first)) in matches.iter().enumerate() {
        let from = character_of(first.start);
        let inside = matches[at..]
            .iter()
            .take_while(|(_, found)| character_of(found.end) <= from + characters_max);
        let mut terms: Vec<usize> = inside.clone().map(|(term, _)| *term).collect();
        terms.sort_unstable();
        terms.dedup();
        if terms.len() > best_count {
            best_count = terms.len();
            best = from..inside.last().map_or(from, |(_, found)| character_of(found.end));
        }
    }
    // A third of the remaining length is for the text before the matches, and two thirds are for the text after them.
    let room = characters_max.saturating_sub(best.len());
    let start = best
        .start
        .saturating_sub(room / 3)
        .min(characters - characters_max);
    trim(text, places[start]..places[start + characters_max])
}

/// Moves each end of a window inwards to the next space, if a space is near.
fn trim(text: &str, window: Range<usize>) -> Range<usize> {
    const NEARBY: usize = 24;
    let part = &text[window.clone()];
    let start = if window.start == 0 {
        0
    } else {
        part.find(' ').filter(|&at| at <= NEARBY).map_or(0, |at| at + 1)
    };
    let end = if window.end == text.len() {
        part.len()
    } else {
        part.rfind(' ')
            .filter(|&at| at + NEARBY >= part.len() && at > start)
            .unwrap_or(part.len())
    };
    window.start + start..window.start + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_most_terms_and_cuts_between_words() {
        let text = "We talked of many things. In the end the dog ran off with two cats, and nobody knew why.";
        let terms = vec!["dog".to_owned(), "cat".to_owned(), "we".to_owned()];
        let found = snippet(text, &terms, 40);
        assert!(found.text.contains("dog ran off with two cats"), "{found:?}");
        assert!(found.text.chars().count() <= 40);
        assert_eq!(found.cut, (true, true));
        let shown: Vec<&str> = found
            .matches
            .iter()
            .map(|range| &found.text[range.clone()])
            .collect();
        assert_eq!(shown, ["dog", "cats"]);
        assert_eq!(snippet("short", &terms, 40).text, "short");
    }

    #[test]
    fn any_text_has_a_snippet() {
        let terms = vec!["漢字".to_owned(), "x".to_owned()];
        for text in [
            "",
            "漢字漢字漢字",
            "xxxxxxxxxx",
            "é é é x é é é",
            "👨\u{200D}👩 x",
        ] {
            for most in 0..8 {
                assert!(
                    snippet(text, &terms, most).text.chars().count() <= most.max(1),
                    "{text} {most}"
                );
            }
        }
    }

    #[test]
    fn four_characters_are_a_token() {
        assert_eq!(
            (tokens(""), tokens("abcd"), tokens("abcde"), tokens("漢字")),
            (0, 1, 2, 1)
        );
    }
}
