//! The parts of long texts that are compared: the clause that both have, or the sentences nearest to each other.
//!
//! # Layer
//! Knows the tokens and their classes.

use std::collections::{HashMap, HashSet};

use super::class::Class;
use super::pair::{is, is_function};
use super::tokens::{Kind, Token};

/// The words of a common clause.
const CLAUSE_MIN: usize = 3;
/// The largest number of sentences of a text that are compared on their own.
const SENTENCES_MAX: usize = 16;

/// Returns the stem of a word, or the text of a mark.
fn name(token: &Token) -> &str {
    if token.term.is_empty() {
        &token.text
    } else {
        &token.term
    }
}

/// Returns where the clause begins that two long texts have in common; `None` if they have none.
pub(super) fn common_clause(one: &[Token], two: &[Token]) -> Option<(usize, usize)> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for token in one.iter().chain(two) {
        let next = numbers.len() as u32;
        numbers.entry(name(token)).or_insert(next);
    }
    let ids = |tokens: &[Token]| -> Vec<u32> { tokens.iter().map(|token| numbers[name(token)]).collect() };
    let (ids_one, ids_two) = (ids(one), ids(two));
    // The lengths of the common runs that begin at each place of `two`, for one place of `one` after the other.
    let (mut best, mut start) = (0, (0, 0));
    let mut lengths = vec![0; ids_two.len() + 1];
    for at in (0..ids_one.len()).rev() {
        for other in 0..ids_two.len() {
            lengths[other] = if ids_two[other] == ids_one[at] {
                lengths[other + 1] + 1
            } else {
                0
            };
            if lengths[other] > best && opens(one, at) && opens(two, other) {
                best = lengths[other];
                start = (at, other);
            }
        }
    }
    (best >= CLAUSE_MIN).then_some(start)
}

/// Whether two beginnings have most of their words in common, but not all.
pub(super) fn are_parallel(one: &[Token], two: &[Token]) -> bool {
    let terms = |tokens: &[Token]| -> HashSet<String> {
        let words = tokens.iter().filter(|token| !is_function(token));
        words.map(|token| token.term.clone()).collect()
    };
    let (one, two) = (terms(one), terms(two));
    let common = one.intersection(&two).count();
    common >= 3 && common * 2 >= one.len().min(two.len()) && common < one.len().max(two.len())
}

/// Whether a clause may begin at a place.
fn opens(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    before.is_none_or(|before| before.kind != Kind::Word || is(before, Class::Opens))
        || is(&tokens[at], Class::Opens) && tokens[at].text != "is"
}

/// Splits tokens into sentences.
fn sentences(tokens: &[Token]) -> Vec<&[Token]> {
    let ends = |token: &Token| token.kind == Kind::Mark && matches!(token.text.as_str(), "." | "!" | ";");
    let sentences = tokens.split(ends).filter(|sentence| !sentence.is_empty());
    sentences.take(SENTENCES_MAX).collect()
}

/// Returns the two sentences with the most words in common, if they have several.
pub(super) fn nearest_sentences(one: &[Token], two: &[Token]) -> Option<(Vec<Token>, Vec<Token>)> {
    let (of_one, of_two) = (sentences(one), sentences(two));
    if of_one.len().max(of_two.len()) < 2 {
        return None;
    }
    let terms = |sentence: &[Token]| -> HashSet<String> {
        let words = sentence.iter().filter(|token| !is_function(token));
        words.map(|token| token.term.clone()).collect()
    };
    let terms_two: Vec<HashSet<String>> = of_two.iter().map(|sentence| terms(sentence)).collect();
    let mut best = (1, None);
    for sentence in of_one {
        let terms = terms(sentence);
        for (other, other_terms) in of_two.iter().zip(&terms_two) {
            let common = terms.intersection(other_terms).count();
            // A greeting or a name in common is no common topic.
            let is_near = common * 2 >= terms.len().max(other_terms.len());
            if is_near && common > best.0 {
                best = (common, Some((sentence.to_vec(), other.to_vec())));
            }
        }
    }
    best.1
}
