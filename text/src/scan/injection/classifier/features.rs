//! The features of a passage: its words, pairs of neighbours, pairs with one word between them, and four letters of a word
//! in a row.
//!
//! A feature is a hash. Two features with the same hash share a weight.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use crate::scan::injection::views::letter_for;

/// The number of features.
pub(super) const FEATURES: usize = 1 << 18;
/// The number of letters in a row that are a feature.
const LETTERS: usize = 4;
/// The minimal length of a word that counts as a hexadecimal number.
const HEX_MIN: usize = 4;
/// The maximal number of letters of a word that are read.
const LETTERS_MAX: usize = 30;

/// The kind of a feature. It is part of the hash, so that a word and a pair differ.
#[derive(Clone, Copy)]
enum Kind {
    Word = 1,
    Pair = 2,
    PairWithGap = 3,
    Letters = 4,
}

/// The distinct features of a passage.
pub(super) struct Features {
    list: Vec<u32>,
    /// One bit for each feature in the list.
    known: Vec<u64>,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            known: vec![0; FEATURES / 64],
        }
    }
}

impl Features {
    /// Returns the distinct features of `words`.
    pub(super) fn of(&mut self, words: &[&str]) -> &[u32] {
        for feature in self.list.drain(..) {
            self.known[feature as usize / 64] = 0;
        }
        // The hashes of the last two words.
        let (mut first, mut second) = (None, None);
        for word in words {
            let hash = self.add_word(word);
            if let Some(second) = second {
                self.add(Kind::Pair, mix(second, hash));
            }
            if let Some(first) = first {
                self.add(Kind::PairWithGap, mix(first, hash));
            }
            (first, second) = (second, Some(hash));
        }
        &self.list
    }

    /// Adds the features of one word. Returns the hash of the word.
    fn add_word(&mut self, word: &str) -> u64 {
        if is_number(word) {
            self.add(Kind::Word, 0);
            return 0;
        }
        let has_letters = word.chars().next().is_some_and(char::is_alphanumeric);
        let (mut hash, mut row, mut count) = (0, [0_u32; LETTERS], 0);
        let letters = word.chars().take(LETTERS_MAX).map(letter);
        for letter in std::iter::once(u32::from('^'))
            .chain(letters)
            .chain([u32::from('$')])
        {
            hash = mix(hash, u64::from(letter));
            row.rotate_left(1);
            row[LETTERS - 1] = letter;
            count += 1;
            if has_letters && count >= LETTERS {
                let row = row.iter().fold(0, |row, letter| mix(row, u64::from(*letter)));
                self.add(Kind::Letters, row);
            }
        }
        self.add(Kind::Word, hash);
        hash
    }

    fn add(&mut self, kind: Kind, hash: u64) {
        let feature = (mix(kind as u64, hash) >> (64 - FEATURES.trailing_zeros())) as u32;
        let (word, bit) = (&mut self.known[feature as usize / 64], 1 << (feature % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.list.push(feature);
        }
    }
}

/// Checks for a number, in decimal or hexadecimal digits. The digits of a digest or a UUID are random, so they must not
/// resemble words. A shorter word may be misspelt, so it stays a word.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits == word.len()
        || digits > 0 && word.len() >= HEX_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the letter that a digit or sign replaces; others stay as they are.
fn letter(char: char) -> u32 {
    match u8::try_from(char) {
        Ok(byte) if byte.is_ascii() => u32::from(letter_for(byte)),
        _ => u32::from(char),
    }
}

/// Mixes a number into a hash: a multiplication by an odd constant, the golden ratio of 64 bits.
fn mix(hash: u64, number: u64) -> u64 {
    let mixed = (hash.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}
