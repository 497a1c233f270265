//! The kinds of contradictions, and the opposites that all comparisons know.
//!
//! # Layer
//! Knows the word lists.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::recall::text::lists::{self, OPPOSITES};
use crate::recall::text::terms::term_of;

static ANTONYMS: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
    let pairs = lists::words(OPPOSITES).filter_map(|pair| pair.split_once('/'));
    let terms = pairs.map(|(one, two)| (term_of(one), term_of(two)));
    terms
        .flat_map(|(one, two)| [(one.clone(), two.clone()), (two, one)])
        .collect()
});

named! {
    /// The reason why two texts contradict each other.
    pub enum Contradiction {
        /// One text has a negation.
        Negation => "one of them has a negation",
        /// They name opposite directions.
        Direction => "they name opposite directions",
        /// One text has a word and the other its opposite.
        Opposite => "they use opposite words",
        /// They give one attribute two values.
        Value => "they give different values",
        /// The judge of the host says so. No comparison of this module returns it.
        Judge => "the judge of the host says so",
    }
}

/// Whether the list has two terms as opposites.
pub(super) fn are_opposites(one: &str, two: &str) -> bool {
    ANTONYMS.contains(&(one.to_owned(), two.to_owned()))
}
