//! Finds contradictions by value: two statements that give one attribute different values.
//!
//! Both texts become words and typed values. Words that both have are matched whatever their order. The pair is a
//! contradiction only if one place differs, if that place can have one value only, and if nothing explains the
//! difference: a condition, a report, another time, an addition, the membership of several groups.
//!
//! # Layer
//! Above `recall::text`.
//!
//! # Invariants
//! - DIF-1: equal values are no contradiction, however they are written.

mod attribute;
mod class;
mod clause;
mod compare;
mod counts;
mod guards;
mod language;
mod naming;
mod pair;
mod polarity;
mod slot;
mod spaceless;
mod taste;
mod times;
mod tokens;
mod typed;
mod value;
mod verdict;

use clause::nearest_sentences;
use language::Language;
use pair::Pair;
use tokens::Token;

use super::contradiction::Contradiction;

#[cfg(test)]
mod tests;

/// A text that is prepared for the comparison.
pub(super) struct Statement(Vec<Token>);

impl Statement {
    pub(super) fn new(text: &str) -> Self {
        Self(tokens::tokens(text))
    }

    /// Returns how this text contradicts another one.
    pub(super) fn contradicts(&self, other: &Self) -> Option<Contradiction> {
        self.verdict(other).ok()
    }

    fn verdict(&self, other: &Self) -> verdict::Verdict {
        let language = Language::of(&self.0, &other.0);
        let (one, two) = (typed::typed(language, &self.0), typed::typed(language, &other.0));
        let sentences = nearest_sentences(&one, &two);
        let whole = compare::verdict(&mut Pair::new(language, one, two));
        match (whole, sentences) {
            (Err(_), Some((one, two))) => compare::verdict(&mut Pair::new(language, one, two)),
            (whole, _) => whole,
        }
    }
}
