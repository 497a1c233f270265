//! The English stemmer of the Snowball project (Porter2).
//!
//! The version of the crate is pinned exactly. Another version of the algorithm could produce other terms than the
//! indexes on disk contain.
//!
//! # Layer
//! Pure; imports nothing of the crate.
//!
//! # Invariants
//! - STM-1: a stem is at most one letter longer than its word, and is empty only for an empty word.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

/// Replaces `word` by its stem. A word with letters outside ASCII stays unchanged, because the rules are for English.
pub(crate) fn stem(word: &mut String) {
    let is_english = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'\'');
    if word.len() < 3 || !is_english {
        return;
    }
    if let Cow::Owned(stem) = Stemmer::new(Algorithm::English).stem(word) {
        *word = stem;
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// Words and their stems, as published by the Snowball project.
    const VECTORS: &[(&str, &str)] = &include!("stem_vectors.in");

    #[test]
    fn the_published_stems_come_out() {
        for (word, wanted) in VECTORS {
            let mut stemmed = (*word).to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, *wanted, "of {word}");
        }
    }

    #[test]
    fn no_short_word_of_letters_breaks_it_and_none_grows() {
        let letters = b"aeiouybdglnrst'";
        for length in 1..5 {
            for number in 0..letters.len().pow(length) {
                let word: String = (0..length)
                    .map(|at| letters[number / letters.len().pow(at) % letters.len()] as char)
                    .collect();
                let mut stemmed = word.clone();
                stem(&mut stemmed);
                assert!(stemmed.len() <= word.len() + 1, "STM-1: {word} -> {stemmed}");
            }
        }
    }

    #[test]
    fn words_of_other_scripts_stay() {
        for word in ["straße", "日本", "писать", "naïvely", ""] {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, word);
        }
    }
}
