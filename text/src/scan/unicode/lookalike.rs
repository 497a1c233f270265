//! Replaces characters that look like Latin letters by these letters, in words that also have Latin letters.
//!
//! A word that is completely in another script keeps its letters, unless each of them looks like a Latin letter. So the
//! rules for Russian and Greek can read texts in those languages. Accents and vowel points are omitted in every script,
//! because many people do not write them.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use crate::scan::parts::parts;

/// The Latin letter for each look-alike, and the usual form of some other letters and signs.
static LETTERS: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let lines = include_str!("lookalikes.in")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut letters = HashMap::new();
    for line in lines {
        let mut chars = line.chars().filter(|char| !char.is_whitespace());
        if let Some(latin) = chars.next() {
            letters.extend(chars.map(|char| (char, latin)));
        }
    }
    letters
});

/// The number of following letters that are read to decide whether a word is Latin.
const AHEAD: usize = 16;

/// Returns whether `char` belongs to a script in which whole words are written. The neighbours of such a character
/// decide whether it replaces a Latin letter.
fn has_own_words(char: char) -> bool {
    matches!(char, '\u{370}'..='\u{58F}' | '\u{13A0}'..='\u{13FF}' | '\u{AB70}'..='\u{ABBF}' | '\u{1F00}'..='\u{1FFF}')
}

/// Writes the folded form of `char`: compatible and in lower case, without accents on Latin letters, and with
/// look-alikes replaced.
///
/// `last` is the character written before `char`, and `rest` is the source text after `char`. `is_latin` is the result
/// of [`is_latin`] for the whole text.
pub(in crate::scan) fn fold(
    char: char,
    mut last: Option<char>,
    rest: &str,
    is_latin: bool,
    mut write: impl FnMut(char),
) {
    decompose_compatible(unframed(char), |part| {
        let is_on_latin = || is_combining_mark(part) && last.is_some_and(|last| last.is_ascii_alphabetic());
        if is_optional(part) || is_on_latin() {
            return;
        }
        for lower in part.to_lowercase().map(usual) {
            let folded = match LETTERS.get(&lower).or_else(|| LETTERS.get(&part)) {
                Some(latin) if is_latin || !has_own_words(part) || is_among_latin(last, rest) => *latin,
                _ => lower,
            };
            write(folded);
            last = Some(folded);
        }
    });
}

/// Returns the letter in a dark circle, a dark square, or half of a flag, which have no compatible form. Other characters
/// stay as they are.
fn unframed(char: char) -> char {
    let first = match char {
        '\u{1F150}'..='\u{1F169}' => 0x1F150,
        '\u{1F170}'..='\u{1F189}' => 0x1F170,
        '\u{1F1E6}'..='\u{1F1FF}' => 0x1F1E6,
        _ => return char,
    };
    char::from_u32(char as u32 - first + u32::from('a')).unwrap_or(char)
}

/// Returns whether many people do not write this mark: an accent, a vowel point of Arabic or Hebrew, the stretching of
/// an Arabic word, or the dot below a letter of Hindi or Bengali.
const fn is_optional(mark: char) -> bool {
    matches!(mark, '\u{300}'..='\u{36F}' | '\u{591}'..='\u{5BD}' | '\u{5BF}'..='\u{5C7}' | '\u{640}'
        | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{93C}' | '\u{9BC}')
}

/// Returns the usual form of a letter: a sigma at the end of a word is a sigma.
const fn usual(letter: char) -> char {
    if letter == '\u{3C2}' { '\u{3C3}' } else { letter }
}

/// Returns the pattern or keyword of a rule as the copies of a text spell it. Words of other scripts keep their letters.
pub(in crate::scan) fn spell(rule: &str) -> String {
    let letter = |part| match LETTERS.get(&part) {
        Some(other) if !has_own_words(part) => *other,
        _ => usual(part),
    };
    let parts = rule.nfkd().filter(|part| !is_optional(*part));
    parts.map(letter).collect()
}

/// Returns whether every letter of `text` that belongs to a script with its own words looks like a Latin letter.
pub(in crate::scan) fn is_latin(text: &str) -> bool {
    let mut others = text.chars().filter(|char| has_own_words(*char));
    others.all(passes_for_latin)
}

/// Returns whether `char` looks like a Latin letter in lower case. Capitals do not count, because nearly every Cyrillic
/// capital looks like a Latin capital.
fn passes_for_latin(char: char) -> bool {
    LETTERS.contains_key(&char.to_lowercase().next().unwrap_or(char))
}

/// Returns whether a look-alike after `last` and before `rest` replaces a Latin letter.
fn is_among_latin(last: Option<char>, rest: &str) -> bool {
    if last.is_some_and(|last| last.is_ascii_alphabetic()) {
        return true;
    }
    let is_start = last.is_none_or(|last| !last.is_alphabetic());
    let mut count = 0;
    for char in rest.chars().take(AHEAD) {
        if char.is_ascii_alphabetic() {
            return true;
        }
        if !char.is_alphabetic() {
            break;
        }
        count += 1;
        if !passes_for_latin(char) {
            return false;
        }
    }
    is_start && count >= 2
}

/// Returns the words that mix Latin letters with look-alikes from scripts that have their own words.
pub(in crate::scan) fn disguised(text: &str) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return Vec::new();
    }
    let words = parts(text, |char| !char.is_alphabetic()).map(|part| {
        let word = text[part.clone()].trim_end_matches(|char: char| !char.is_alphabetic());
        part.start..part.start + word.len()
    });
    words.filter(|word| is_disguised(&text[word.clone()])).collect()
}

/// Returns whether a word has at least two Latin letters and a look-alike, and no other letter from the script of the
/// look-alike.
fn is_disguised(word: &str) -> bool {
    let latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let mut others = word.chars().filter(|char| has_own_words(*char)).peekable();
    let is_alike = |char: char| {
        let lower = char.to_lowercase().next().unwrap_or(char);
        LETTERS.contains_key(&lower) || LETTERS.contains_key(&char)
    };
    latin >= 2 && others.peek().is_some() && others.all(is_alike)
}
