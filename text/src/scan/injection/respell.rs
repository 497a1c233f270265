//! Respells disguised text, which people and models can read but rules cannot.
//!
//! Disguised text has a space after each letter, digits in place of letters, tag characters, Latin letters in Cyrillic
//! words, or quoted lines as in a mail. Disguised text is rare, and one pass over the bytes detects it.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use super::views::letter_for;
use crate::scan::parts::parts;
use crate::scan::unicode::{is_latin, untagged};

/// The minimal number of consecutive single letters in a spelled-out text.
const SPELLED_MIN: usize = 12;
/// The minimal number of words with digits among their letters in a leet text.
const LEET_MIN: usize = 4;
/// In a leet text, at least one word in this many has digits among its letters.
const LEET_SHARE: usize = 4;

/// Returns the disguised parts of `text`, each respelled.
pub(super) fn plain(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found = spelled(text);
    let whole = leet(text).into_iter().chain(tags(text));
    found.extend(whole.map(|plain| (0..text.len(), plain)));
    found.extend(cyrillic(text));
    found.extend(quoted(text));
    found
}

/// Returns runs of single letters. One space separates the letters of a word, and more white space separates words.
fn spelled(text: &str) -> Vec<(Range<usize>, String)> {
    if text.is_ascii() && single_letters(text.as_bytes()) < SPELLED_MIN {
        return Vec::new();
    }
    let is_single = |part: &str| part.chars().nth(2).is_none() && part.trim_end().chars().nth(1).is_none();
    // Each run, with the number of its letters.
    let mut runs: Vec<(Range<usize>, usize)> = Vec::new();
    for part in parts(text, char::is_whitespace).filter(|part| is_single(&text[part.clone()])) {
        // A part without a letter is additional white space.
        let letters = usize::from(!text[part.clone()].trim_end().is_empty());
        match runs.last_mut() {
            Some((run, count)) if run.end == part.start => {
                run.end = part.end;
                *count += letters;
            }
            _ => runs.push((part, letters)),
        }
    }
    runs.retain(|(_, count)| *count >= SPELLED_MIN);
    let found = runs.into_iter().map(|(run, _)| (run.clone(), joined(&text[run])));
    found.collect()
}

/// Returns the number of bytes between white space.
fn single_letters(text: &[u8]) -> usize {
    let is_space = |byte: u8| matches!(byte, b'\t'..=b'\r' | b' ');
    // The two bytes before each byte: whether they are white space. The start of a text counts as white space.
    let (mut first, mut second, mut count) = (false, true, 0);
    for byte in text {
        let third = is_space(*byte);
        count += usize::from(first && !second && third);
        (first, second) = (second, third);
    }
    count + usize::from(first && !second)
}

/// Joins the letters of a run to words.
fn joined(run: &str) -> String {
    let mut plain = String::new();
    for part in run.split_inclusive(char::is_whitespace) {
        let letter = part.trim_end();
        plain.push_str(letter);
        match &part[letter.len()..] {
            "\n" => plain.push('\n'),
            " " if !letter.is_empty() => {}
            _ => plain.push(' '),
        }
    }
    plain
}

/// Returns the text with digits replaced by letters, if many of its words have digits among their letters.
fn leet(text: &str) -> Option<String> {
    let is_leet = |byte: u8| byte.is_ascii_digit() && letter_for(byte) != byte;
    if text.bytes().filter(|byte| is_leet(*byte)).count() < LEET_MIN {
        return None;
    }
    let (mut words, mut odd) = (0, 0);
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        words += usize::from(word.len() > 1);
        odd += usize::from(word.as_bytes().windows(2).any(|pair| {
            is_leet(pair[0]) && pair[1].is_ascii_alphabetic()
                || pair[0].is_ascii_alphabetic() && is_leet(pair[1])
        }));
    }
    let letter = |char: char| match u8::try_from(char) {
        Ok(byte) if is_leet(byte) => char::from(letter_for(byte)),
        _ => char,
    };
    (odd >= LEET_MIN && odd * LEET_SHARE >= words).then(|| text.chars().map(letter).collect())
}

/// Returns the text with its tag characters converted to ASCII, if the text has tag characters.
fn tags(text: &str) -> Option<String> {
    let is_tagged = !text.is_ascii() && text.contains(|char| untagged(char).is_some());
    let plain = |char| untagged(char).map_or(char, char::from);
    is_tagged.then(|| text.chars().map(plain).collect())
}

/// Returns the lines that have Latin letters in Cyrillic words, with these letters replaced by Cyrillic letters.
fn cyrillic(text: &str) -> Vec<(Range<usize>, String)> {
    if text.is_ascii() || is_latin(text) {
        return Vec::new();
    }
    let words = |line: &Range<usize>| text[line.clone()].split_inclusive(|char: char| !char.is_alphabetic());
    let is_mixed = |word: &str| {
        word.contains(|char| matches!(char, '\u{400}'..='\u{45F}'))
            && word.contains(|char: char| char.is_ascii_alphabetic())
    };
    let respell = |word: &str| -> String {
        let is_mixed = is_mixed(word);
        let letter = |char| if is_mixed { cyrillic_letter(char) } else { char };
        word.chars().map(letter).collect()
    };
    parts(text, |char| char == '\n')
        .filter(|line| words(line).any(is_mixed))
        .map(|line| (line.clone(), words(&line).map(respell).collect()))
        .collect()
}

fn cyrillic_letter(char: char) -> char {
    const LATIN: &str = "aceiopxyABCEHIKMOPTXYS";
    const CYRILLIC: &str = "\u{430}\u{441}\u{435}\u{456}\u{43e}\u{440}\u{445}\u{443}\u{410}\u{412}\u{421}\u{415}\u{41d}\u{406}\u{41a}\u{41c}\u{41e}\u{420}\u{422}\u{425}\u{423}\u{405}";
    let alike = LATIN.find(char).and_then(|at| CYRILLIC.chars().nth(at));
    alike.unwrap_or(char)
}

/// Returns runs of lines that are quoted as in a mail, without the quote signs and the line ends.
fn quoted(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    if !text.contains("\n>") {
        return found;
    }
    for line in parts(text, |char| char == '\n').filter(|line| text[line.clone()].starts_with('>')) {
        let plain = text[line.clone()].trim_matches(['>', ' ', '\n', '\r']);
        match found.last_mut() {
            Some((run, whole)) if run.end == line.start => {
                run.end = line.end;
                whole.push(' ');
                whole.push_str(plain);
            }
            _ => found.push((line, plain.to_owned())),
        }
    }
    found
}
