//! Splits a text into word pieces, as BERT learned it.
//!
//! The text loses control characters, and, if the model wants it, accents and upper case. Words end at spaces, and at
//! punctuation and Chinese characters, which are words of their own. Then each word becomes the longest pieces of the
//! vocabulary, from its start on; a piece inside a word begins with `##`. The rules are those of the code published with
//! the paper "BERT" (Devlin et al., 2018).
//!
//! # Layer
//! Layer 0, inside `model`.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::Ends;
use super::vocabulary::{Prefix, Vocabulary};

/// The beginning of a piece inside a word.
const INNER: &[u8] = b"##";
/// The longest word that is taken apart, in characters.
const WORD_CHARS_MAX: usize = 100;

/// The vocabulary and the rules.
pub(crate) struct WordPieces {
    pieces: Vocabulary,
    ends: Ends,
    lower_case: bool,
    strip_accents: bool,
    /// The pieces inside words, if there are any.
    inner: Option<Prefix>,
}

impl WordPieces {
    pub(crate) fn new(pieces: Vocabulary, ends: Ends, lower_case: bool, strip_accents: bool) -> Self {
        let inner = INNER
            .iter()
            .try_fold(pieces.all(), |prefix, byte| pieces.after(prefix, *byte));
        Self {
            pieces,
            ends,
            lower_case,
            strip_accents,
            inner,
        }
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the numbers of the pieces of `text`, at most `max` of them, with start and end.
    pub(crate) fn split(&self, text: &str, max: usize) -> Vec<u32> {
        let mut found = vec![self.ends.start];
        for word in words(text, self.lower_case, self.strip_accents) {
            self.split_word(&word, &mut found);
            if found.len() >= max {
                break;
            }
        }
        found.truncate(max - 1);
        found.push(self.ends.end);
        found
    }

    fn split_word(&self, word: &str, found: &mut Vec<u32>) {
        let before = found.len();
        if word.chars().count() > WORD_CHARS_MAX {
            found.push(self.ends.unknown);
            return;
        }
        let mut rest = word.as_bytes();
        let mut prefix = Some(self.pieces.all());
        while !rest.is_empty() {
            let longest = prefix.and_then(|prefix| self.pieces.beginnings(prefix, rest).last());
            let Some((number, length)) = longest else {
                found.truncate(before);
                found.push(self.ends.unknown);
                return;
            };
            found.push(number);
            rest = &rest[length..];
            prefix = self.inner;
        }
    }
}

/// Returns the words of `text`. Reads only as far as the caller asks.
fn words(text: &str, lower_case: bool, strip_accents: bool) -> impl Iterator<Item = String> {
    let kept = text.chars().filter(|char| !is_control(*char));
    let plain = Either::new(strip_accents, kept);
    let cased = plain.flat_map(move |char| Cased::new(lower_case, char));
    let mut chars = cased.peekable();
    std::iter::from_fn(move || {
        while chars.next_if(|char| char.is_whitespace()).is_some() {}
        let first = chars.next()?;
        let mut word = String::from(first);
        if !stands_alone(first) {
            while let Some(next) = chars.next_if(|char| !char.is_whitespace() && !stands_alone(*char)) {
                word.push(next);
            }
        }
        Some(word)
    })
}

/// The characters of a text without accents, or as they are.
enum Either<I: Iterator<Item = char>> {
    Stripped(unicode_normalization::Decompositions<I>),
    Kept(I),
}

impl<I: Iterator<Item = char>> Either<I> {
    fn new(strip_accents: bool, chars: I) -> Self {
        if strip_accents {
            Self::Stripped(chars.nfd())
        } else {
            Self::Kept(chars)
        }
    }
}

impl<I: Iterator<Item = char>> Iterator for Either<I> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Self::Stripped(chars) => {
                chars.find(|char| char.general_category() != GeneralCategory::NonspacingMark)
            }
            Self::Kept(chars) => chars.next(),
        }
    }
}

/// A character in lower case, or as it is.
enum Cased {
    Lower(std::char::ToLowercase),
    Kept(Option<char>),
}

impl Cased {
    fn new(lower_case: bool, char: char) -> Self {
        if lower_case {
            Self::Lower(char.to_lowercase())
        } else {
            Self::Kept(Some(char))
        }
    }
}

impl Iterator for Cased {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Self::Lower(chars) => chars.next(),
            Self::Kept(char) => char.take(),
        }
    }
}

fn is_control(char: char) -> bool {
    let is_space = matches!(char, '\t' | '\n' | '\r');
    char == '\u{fffd}' || !is_space && char.general_category_group() == GeneralCategoryGroup::Other
}

/// Whether a character is a word of its own.
fn stands_alone(char: char) -> bool {
    char.is_ascii_punctuation()
        || !char.is_ascii()
            && (is_chinese(char) || char.general_category_group() == GeneralCategoryGroup::Punctuation)
}

fn is_chinese(char: char) -> bool {
    matches!(char, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bundled_pieces;

    fn split(text: &str) -> Vec<String> {
        let pieces = bundled_pieces();
        let name = |number| String::from_utf8(pieces.pieces.piece(number).to_owned()).unwrap();
        pieces.split(text, 256).into_iter().map(name).collect()
    }

    #[test]
    fn words_become_the_longest_pieces() {
        assert_eq!(
            split("Unaffable naïve,  Zürich!"),
            [
                "[CLS]", "una", "##ffa", "##ble", "naive", ",", "zurich", "!", "[SEP]"
            ]
        );
        assert_eq!(
            split("日本 don't\u{0}"),
            ["[CLS]", "日", "本", "don", "'", "t", "[SEP]"]
        );
        assert_eq!(split(""), ["[CLS]", "[SEP]"]);
        assert_eq!(split(&"x".repeat(101)), ["[CLS]", "[UNK]", "[SEP]"]);
        assert_eq!(split("🦀"), ["[CLS]", "[UNK]", "[SEP]"]);
    }

    #[test]
    fn a_long_text_is_cut_and_still_ends() {
        let pieces = bundled_pieces();
        let found = pieces.split(&"tea ".repeat(1_000), 256);
        assert_eq!((found.len(), found[255]), (256, pieces.ends.end));
    }

    #[test]
    fn a_cased_model_keeps_case_and_accents() {
        let found: Vec<String> = words("Élan Vital", false, false).collect();
        assert_eq!(found, ["Élan", "Vital"]);
        let found: Vec<String> = words("Élan Vital", true, false).collect();
        assert_eq!(found, ["élan", "vital"]);
    }
}
