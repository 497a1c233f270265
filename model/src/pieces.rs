//! Splits a text into word pieces, as the model learned it (`bert-base-uncased`).
//!
//! The text loses control characters and accents and gets lower case. Words end at spaces, and at punctuation and Chinese
//! characters, which are words of their own. Then each word becomes the longest pieces of the vocabulary, from its start on; a
//! piece inside a word begins with `##`. The rules are those of the code published with the paper "BERT" (Devlin et al.,
//! 2018).
//!
//! # Layer
//! Layer 0, inside `model`.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The piece before each text, behind it, and for a word that has no pieces.
const START: &str = "[CLS]";
const END: &str = "[SEP]";
const UNKNOWN: &str = "[UNK]";
/// The longest word that is taken apart, in characters.
const WORD_CHARS_MAX: usize = 100;

/// The vocabulary.
pub(crate) struct Pieces {
    lines: Vec<&'static str>,
    numbers: HashTable<u32>,
    hasher: FixedState,
    start: u32,
    end: u32,
    unknown: u32,
}

impl Pieces {
    /// Reads the vocabulary, one piece a line.
    pub(crate) fn new(vocabulary: &'static str) -> Self {
        let lines: Vec<&str> = vocabulary.lines().collect();
        let hasher = FixedState::default();
        let mut numbers = HashTable::with_capacity(lines.len());
        for (number, line) in (0..).zip(&lines) {
            numbers.insert_unique(hasher.hash_one(line), number, |&other: &u32| {
                hasher.hash_one(lines[other as usize])
            });
        }
        let mut pieces = Self {
            lines,
            numbers,
            hasher,
            start: 0,
            end: 0,
            unknown: 0,
        };
        let number = |piece| pieces.number(piece).unwrap_or(0);
        let (start, end, unknown) = (number(START), number(END), number(UNKNOWN));
        (pieces.start, pieces.end, pieces.unknown) = (start, end, unknown);
        pieces
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    fn number(&self, piece: &str) -> Option<u32> {
        let same = |&number: &u32| self.lines[number as usize] == piece;
        self.numbers.find(self.hasher.hash_one(piece), same).copied()
    }

    /// Returns the numbers of the pieces of `text`, at most `max` of them, with start and end.
    pub(crate) fn split(&self, text: &str, max: usize) -> Vec<u32> {
        let mut found = vec![self.start];
        for word in words(text) {
            self.split_word(&word, &mut found);
            if found.len() >= max {
                break;
            }
        }
        found.truncate(max - 1);
        found.push(self.end);
        found
    }

    fn split_word(&self, word: &str, found: &mut Vec<u32>) {
        let before = found.len();
        if word.chars().count() > WORD_CHARS_MAX {
            found.push(self.unknown);
            return;
        }
        let mut rest = word;
        let mut inner = String::new();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, char)| at + char.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                if before == found.len() {
                    return self.number(&rest[..end]).map(|number| (number, end));
                }
                inner.clear();
                inner.push_str("##");
                inner.push_str(&rest[..end]);
                self.number(&inner).map(|number| (number, end))
            });
            let Some((number, end)) = longest else {
                found.truncate(before);
                found.push(self.unknown);
                return;
            };
            found.push(number);
            rest = &rest[end..];
        }
    }
}

/// Returns the words of `text`, in lower case and without accents. Reads only as far as the caller asks.
fn words(text: &str) -> impl Iterator<Item = String> {
    let kept = text.chars().filter(|char| !is_control(*char));
    let plain = kept
        .nfd()
        .filter(|char| char.general_category() != GeneralCategory::NonspacingMark);
    let mut chars = plain.flat_map(char::to_lowercase).peekable();
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

    fn split(text: &str) -> Vec<&'static str> {
        let pieces = Pieces::new(treering_model_table::VOCABULARY);
        pieces
            .split(text, 256)
            .into_iter()
            .map(|number| pieces.lines[number as usize])
            .collect()
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
        let pieces = Pieces::new(treering_model_table::VOCABULARY);
        let found = pieces.split(&"tea ".repeat(1_000), 256);
        assert_eq!((found.len(), found[255]), (256, pieces.end));
    }
}
