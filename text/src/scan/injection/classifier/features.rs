//! The features of a passage: its words, pairs of neighbours, pairs with one word between them, and four letters of a word
//! in a row.
//!
//! A feature is a hash. Two features with the same hash share a weight.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

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

/// The features of a passage, and the distinct ones of a part of it.
#[derive(Default)]
pub(super) struct Features {
    /// The features of each word, and after these its pair with the word before and with the one before that.
    all: Vec<u32>,
    /// For each word, where its features end, and its pairs.
    ends: Vec<(usize, usize)>,
    /// The distinct features of the part.
    list: Vec<u32>,
    /// A table of the distinct features, each plus one, with room for twice as many.
    table: Vec<u32>,
    /// The places in the table that are in use.
    used: Vec<usize>,
}

impl Features {
    /// Reads the words of a passage.
    pub(super) fn read(&mut self, words: &[&str]) {
        self.all.clear();
        self.ends.clear();
        self.ends.reserve(words.len());
        self.all.reserve(words.iter().map(|word| word.len() + 4).sum());
        // The hashes of the last two words.
        let (mut first, mut second) = (None, None);
        for word in words {
            let hash = self.add_word(word);
            let end = self.all.len();
            if let Some(second) = second {
                self.add(Kind::Pair, mix(second, hash));
            }
            if let Some(first) = first {
                self.add(Kind::PairWithGap, mix(first, hash));
            }
            self.ends.push((end, self.all.len()));
            (first, second) = (second, Some(hash));
        }
    }

    /// Returns the distinct features of some words of the passage that was read.
    pub(super) fn of(&mut self, words: Range<usize>) -> &[u32] {
        self.list.clear();
        for slot in self.used.drain(..) {
            self.table[slot] = 0;
        }
        let before = |word: usize| word.checked_sub(1).map_or(0, |last| self.ends[last].1);
        let (start, end) = (before(words.start), before(words.end));
        let size = (2 * (end - start)).next_power_of_two();
        self.list.reserve(end - start);
        self.used.reserve(end - start);
        if self.table.len() < size {
            self.table.resize(size, 0);
        }
        let mut from = start;
        for (index, (own, pairs)) in self.ends[words].iter().enumerate() {
            // The pairs of the first two words are with words outside of the part.
            let count = (pairs - own).min(index);
            for feature in &self.all[from..own + count] {
                let mut slot = *feature as usize & (self.table.len() - 1);
                while self.table[slot] != 0 && self.table[slot] != feature + 1 {
                    slot = (slot + 1) & (self.table.len() - 1);
                }
                if self.table[slot] == 0 {
                    self.table[slot] = feature + 1;
                    self.used.push(slot);
                    self.list.push(*feature);
                }
            }
            from = *pairs;
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
            row = [row[1], row[2], row[3], letter];
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
        let feature = mix(kind as u64, hash) >> (64 - FEATURES.trailing_zeros());
        self.all.push(feature as u32);
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
