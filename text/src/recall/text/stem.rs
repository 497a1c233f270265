//! The stemmers of the Snowball project.
//!
//! The version of the crate is pinned exactly. Another version of the algorithms could produce other terms than the
//! indexes on disk contain.
//!
//! # Layer
//! Uses languages and folding, but not the index.
//!
//! # Invariants
//! - STM-1: an English stem is at most one letter longer than its word, and is empty only for an empty word.
//! - STM-2: every word with a letter has a stem in every language.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::language::Language;
use super::runs::is_apostrophe;
use super::terms::{TERM_BYTES_MAX, fold};

/// Replaces a folded `word` by its English stem. A word with letters outside ASCII stays unchanged, because the rules
/// are for English.
pub(crate) fn stem(word: &mut String) {
    let is_english = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'\'');
    if word.len() < 3 || !is_english {
        return;
    }
    if let Some(stemmer) = Language::English.stemmer()
        && let Cow::Owned(stem) = stemmer.stem(word)
    {
        *word = stem;
    }
}

/// Writes the folded stem of `raw` in a language to `out`. The rules read accents, so the word is folded afterwards. In
/// a language without a stemmer, the accents stay.
///
/// Of a word with apostrophes, as in "l'eau" and "Ankara'da", the longest part is stemmed.
pub(crate) fn stem_in(language: Language, raw: &str, out: &mut String) {
    let parts = raw.split(is_apostrophe);
    // Of equal parts the first is taken.
    let part = parts.rev().max_by_key(|part| part.len()).unwrap_or(raw);
    let mut lower: String = part
        .nfkc()
        .map(|letter| match letter {
            'I' if language == Language::Turkish => '\u{131}',
            '\u{130}' => 'i',
            letter => letter,
        })
        .flat_map(char::to_lowercase)
        .collect();
    lower.truncate(lower.floor_char_boundary(TERM_BYTES_MAX));
    match language.stemmer() {
        Some(stemmer) => fold(&stemmer.stem(&lower), out),
        None => out.clone_from(&lower),
    }
    if out.is_empty() {
        out.clone_from(&lower);
    }
    out.truncate(out.floor_char_boundary(TERM_BYTES_MAX));
}

#[cfg(test)]
mod tests {
    use super::{Language, stem, stem_in};
    use crate::recall::text::language::unusual_languages;

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

    #[test]
    fn words_are_stemmed_by_the_rules_of_their_language() {
        let cases = [
            (Language::German, ["Häuser", "Häusern"], "haus"),
            (Language::French, ["l'activité", "activités"], "activ"),
            (Language::Spanish, ["canción", "canciones"], "cancion"),
            (Language::Russian, ["Книги", "книга"], "книг"),
            (Language::Greek, ["Βιβλίο", "βιβλίο"], "βιβλι"),
            (Language::Turkish, ["İstanbul'da", "istanbul"], "istanbul"),
            (Language::Turkish, ["IŞIKLAR", "ışık"], "ısık"),
            (Language::Arabic, ["الكتاب", "كتاب"], "كتاب"),
        ];
        for (language, words, wanted) in cases {
            for word in words {
                let mut stemmed = String::new();
                stem_in(language, word, &mut stemmed);
                assert_eq!(stemmed, wanted, "of {word}");
            }
        }
    }

    #[test]
    fn no_word_of_any_script_breaks_a_stemmer() {
        let letters: Vec<char> = "aeiouışğßåæñ'’яиьыєёюшщαςίόωينةالوكتपानीք՞ூது0".chars().collect();
        let mut out = String::new();
        for language in unusual_languages().chain([Language::Russian, Language::Arabic, Language::Greek]) {
            for number in 0..4_000usize {
                let spread = number.wrapping_mul(2_654_435_761);
                let word: String = (0..=number % 7)
                    .map(|at| letters[(spread >> (at * 5)) % letters.len()])
                    .collect();
                stem_in(language, &word, &mut out);
                let has_letter = word.chars().any(char::is_alphanumeric);
                assert!(!has_letter || !out.is_empty(), "STM-2: {language:?} of {word:?}");
            }
        }
    }
}
