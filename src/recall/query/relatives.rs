//! The indexed terms that may answer for a term of the question.
//!
//! # Layer
//! Knows the terms of the index and the lexicon.

use crate::recall::index::Postings;
use crate::recall::text::relations::lexicon;

/// How much a term counts that differs by one letter, or only in its ending.
const NEARLY: f32 = 0.8;
/// How much a term of the lexicon counts.
const LEXICON: f32 = 0.7;
/// Shorter terms have too many neighbours at one letter's distance.
const NEARLY_LETTERS_MIN: usize = 4;
/// These letters have to be the same.
const NEARLY_PREFIX: usize = 3;
/// The same letters at the front that make two terms near whatever follows.
const NEARLY_FRONT: usize = 5;

/// The related terms of the lexicon that are indexed, with their weights.
pub(crate) fn related<'a>(postings: &'a Postings, term: &str) -> impl Iterator<Item = (u32, f32)> + 'a {
    lexicon()
        .get(term)
        .into_iter()
        .flatten()
        .filter_map(|(other, weight)| Some((postings.find(other.as_bytes())?, LEXICON * weight)))
}

/// The terms that are nearly `term`, for one that is not indexed.
pub(crate) fn nearly(postings: &Postings, term: &str) -> Vec<(u32, f32)> {
    let letters: Vec<char> = term.chars().collect();
    if letters.len() < NEARLY_LETTERS_MIN {
        return Vec::new();
    }
    let prefix_end: usize = letters[..NEARLY_PREFIX]
        .iter()
        .map(|letter| letter.len_utf8())
        .sum();
    let prefix = &term.as_bytes()[..prefix_end];
    let mut found = Vec::new();
    for number in 0..postings.len() as u32 {
        let other = postings.term(number);
        if !other.starts_with(prefix) {
            continue;
        }
        let Ok(other) = std::str::from_utf8(other) else {
            continue;
        };
        let other: Vec<char> = other.chars().collect();
        if other.len() >= NEARLY_LETTERS_MIN && (one_step(&letters, &other) || same_front(&letters, &other)) {
            found.push((number, NEARLY));
        }
    }
    found
}

fn same_front(one: &[char], two: &[char]) -> bool {
    one.len() >= NEARLY_FRONT && two.len() >= NEARLY_FRONT && one[..NEARLY_FRONT] == two[..NEARLY_FRONT]
}

/// Whether one letter added, left out, exchanged or swapped with the next makes one of the other.
fn one_step(one: &[char], two: &[char]) -> bool {
    let (short, long) = if one.len() <= two.len() {
        (one, two)
    } else {
        (two, one)
    };
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 if same == short.len() => true,
        0 => {
            let swapped =
                short.len() >= same + 2 && short[same] == long[same + 1] && short[same + 1] == long[same];
            short[same + 1..] == long[same + 1..] || (swapped && short[same + 2..] == long[same + 2..])
        }
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_is_one_letter() {
        let step = |one: &str, two: &str| {
            let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
            assert_eq!(one_step(&one, &two), one_step(&two, &one));
            one_step(&one, &two)
        };
        for (one, two) in [
            ("dogs", "dogs"),
            ("dogs", "dog"),
            ("dogs", "digs"),
            ("dogs", "dgos"),
            ("", "a"),
        ] {
            assert!(step(one, two), "{one} {two}");
        }
        for (one, two) in [
            ("dogs", "do"),
            ("dogs", "gods"),
            ("dogs", "digss"),
            ("abcd", "badc"),
        ] {
            assert!(!step(one, two), "{one} {two}");
        }
    }
}
