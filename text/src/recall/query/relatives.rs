//! Finds the indexed terms that are spelled like a term of the question.
//!
//! # Layer
//! Uses the terms of the index.

use strsim::osa_distance;

use crate::recall::index::Postings;
use crate::recall::text::variants::is_common;

/// The weight of a term that differs in one letter or only in its ending.
const NEARLY: f32 = 0.8;
/// The minimal length of a term for which similar terms are searched. Too many terms differ from a shorter term in only
/// one letter.
const NEARLY_LETTERS_MIN: usize = 4;
/// The number of first letters that must be equal.
const NEARLY_PREFIX: usize = 3;
/// Two terms with this many equal first letters are similar, whatever their other letters are.
const NEARLY_FRONT: usize = 5;

/// Returns the indexed terms that are similar to `term`, which is not in the index.
pub(crate) fn nearly(postings: &Postings, term: &str) -> Vec<(u32, f32)> {
    if term.chars().count() < NEARLY_LETTERS_MIN || is_common(term) {
        return Vec::new();
    }
    let prefix = front(term, NEARLY_PREFIX);
    let near = |number: &u32| {
        let other = std::str::from_utf8(postings.term(*number));
        other.is_ok_and(|other| other.chars().count() >= NEARLY_LETTERS_MIN && is_near(term, other))
    };
    let numbers = postings.beginning_with(prefix).filter(near);
    numbers.map(|number| (number, NEARLY)).collect()
}

/// Returns whether two terms differ by one edit (insert, delete, replace, swap neighbours), or begin alike.
fn is_near(one: &str, two: &str) -> bool {
    let longer = |text: &str| text.chars().nth(NEARLY_FRONT - 1).is_some();
    let begin_alike = longer(one) && longer(two) && front(one, NEARLY_FRONT) == front(two, NEARLY_FRONT);
    let lengths = [one, two].map(|text| text.chars().count());
    // Each edit changes the length by at most one, and counting is many times faster than comparing.
    begin_alike || lengths[0].abs_diff(lengths[1]) <= 1 && osa_distance(one, two) <= 1
}

/// Returns the bytes of the first `letters` letters.
fn front(text: &str, letters: usize) -> &[u8] {
    let end = text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at);
    &text.as_bytes()[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_terms_differ_by_one_letter_or_in_their_endings() {
        for (one, two) in [
            ("dogs", "dogss"),
            ("dogs", "digs"),
            ("dogs", "dgos"),
            ("dogged", "doggerel"),
        ] {
            assert!(is_near(one, two) && is_near(two, one), "{one} {two}");
        }
        for (one, two) in [("dogs", "gods"), ("dogs", "digss"), ("abcd", "badc")] {
            assert!(!is_near(one, two) && !is_near(two, one), "{one} {two}");
        }
    }
}
