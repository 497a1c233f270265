//! Decodes texts in ciphers that models read without a tool: ROT13, words or letters in reverse, Morse code, and bytes as
//! binary, hexadecimal or decimal numbers.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use crate::scan::literals::Literals;

/// The number of words of orders in a cipher that is a sign that a text is in this cipher.
const WORDS_MIN: usize = 2;
/// The minimal number of digits, full stops and hyphens in a text with numbers or Morse code.
const SIGNS_MIN: usize = 12;
/// Words of orders.
const WORDS: [&str; 14] = [
    "ignore",
    "disregard",
    "previous",
    "instruction",
    "system",
    "prompt",
    "reveal",
    "password",
    "forget",
    "override",
    "execute",
    "restrict",
    "secret",
    "guideline",
];

/// The ciphers that replace or move single letters.
const CIPHERS: [fn(&str) -> String; 2] = [rot13, reversed];

/// The names with which a text asks its reader to decode it, each with the index of its cipher.
const NAMES: [(&str, usize); 4] = [("rot13", 0), ("rot-13", 0), ("backwards", 1), ("reversed", 1)];

/// Returns the words in each of the ciphers, and after these the names of the ciphers.
fn words() -> impl Iterator<Item = String> {
    let names = NAMES.iter().map(|(name, _)| (*name).to_owned());
    CIPHERS.iter().flat_map(|cipher| WORDS.map(cipher)).chain(names)
}

/// Finds the words in each of the ciphers, and after these the names of the ciphers.
static IN_CIPHERS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let builder = &mut AhoCorasick::builder();
    let built = builder.ascii_case_insensitive(true).build(words());
    built.expect("a few words fit an automaton")
});

/// The same words. Few texts have one.
static ANY: LazyLock<Literals> = LazyLock::new(|| {
    let mut any = Literals::with_capacity(2 * CIPHERS.len() * WORDS.len());
    for word in words() {
        any.add(word.as_bytes());
    }
    any
});

/// Matches numbers of bytes with a space or comma between them, and letters in Morse code.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"(?x)
        (?:(?-u:\b)[01]{8}[\x20,]{0,2}){8,}
        | (?:(?-u:\b)(?:0x|\\x)?[2-7][0-9a-fA-F][\x20,:]{1,2}){10,}(?:0x|\\x)?[2-7][0-9a-fA-F](?-u:\b)
        | (?:(?-u:\b)(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6])[\x20,]{1,2}){10,}(?:3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-6])(?-u:\b)
        | (?:[.\-\u{2022}\u{b7}\u{2013}]{1,6}[\x20/|]{1,4}){10,}[.\-\u{2022}\u{b7}\u{2013}]{0,6}";
    Regex::new(form).expect("the pattern is a valid regex")
});

/// Returns the parts of `text` that are in a cipher, each with its decoded text.
pub(super) fn decoded(text: &str) -> Vec<(Range<usize>, String)> {
    let mut counts = [0; CIPHERS.len()];
    let has_any = ANY.is_in(text.to_ascii_lowercase().as_bytes());
    for word in has_any.then(|| IN_CIPHERS.find_iter(text)).into_iter().flatten() {
        let index = word.pattern().as_usize();
        match index.checked_sub(CIPHERS.len() * WORDS.len()) {
            Some(name) => counts[NAMES[name].1] += WORDS_MIN,
            None => counts[index / WORDS.len()] += 1,
        }
    }
    let ciphers = CIPHERS
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count >= WORDS_MIN);
    let mut found: Vec<_> = ciphers.map(|(cipher, _)| (0..text.len(), cipher(text))).collect();
    if has_numbers(text) {
        let runs = NUMBERS.find_iter(text);
        found.extend(runs.filter_map(|run| Some((run.range(), letters(run.as_str())?))));
    }
    found
}

fn rot13(text: &str) -> String {
    let turned = |char: char, first: u8| char::from((char as u8 - first + 13) % 26 + first);
    let letter = |char| match char {
        'a'..='z' => turned(char, b'a'),
        'A'..='Z' => turned(char, b'A'),
        _ => char,
    };
    text.chars().map(letter).collect()
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// Returns whether `text` has many short words in a row, as numbers and Morse code have.
fn has_numbers(text: &str) -> bool {
    let is_sign = |byte: &&u8| byte.is_ascii_digit() || matches!(**byte, b'.' | b'-') || !byte.is_ascii();
    if text.as_bytes().iter().filter(is_sign).count() < SIGNS_MIN {
        return false;
    }
    let mut short = 0;
    text.split([' ', ',', '/']).any(|word| {
        let is_code = !word.is_empty()
            && word.bytes().all(|byte| {
                byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'\\' | b'.' | b'-') || !byte.is_ascii()
            });
        short = if word.len() <= 24 && is_code {
            short + 1
        } else if word.is_empty() {
            short
        } else {
            0
        };
        short >= 8
    })
}

/// Decodes a run of numbers or of Morse code.
fn letters(run: &str) -> Option<String> {
    let words: Vec<&str> = run
        .split([' ', ',', ':'])
        .filter(|word| !word.is_empty())
        .collect();
    let is_binary = words
        .iter()
        .all(|word| word.len() >= 8 && word.bytes().all(|byte| matches!(byte, b'0' | b'1')));
    let number = |word: &&str| {
        let word = word.trim_start_matches("0x").trim_start_matches("\\x");
        let radix = if is_binary { 2 } else { radix_of(run) };
        u8::from_str_radix(word, radix).ok().map(char::from)
    };
    if run.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '\\') {
        return words.iter().map(number).collect();
    }
    Some(
        words
            .iter()
            .flat_map(|word| word.split_inclusive(['/', '|']))
            .map(morse)
            .collect(),
    )
}

/// Returns the radix of numbers: a byte has two hexadecimal digits, or two or three decimal digits from 32 to 126.
fn radix_of(run: &str) -> u32 {
    let is_decimal = |word: &str| word.parse::<u8>().is_ok_and(|number| (32..127).contains(&number));
    let words = || run.split([' ', ',', ':']).filter(|word| !word.is_empty());
    let is_wide = words().any(|word| word.len() == 3);
    if is_wide && words().all(is_decimal) {
        10
    } else {
        16
    }
}

/// Decodes one letter in Morse code, or a separator of words.
fn morse(word: &str) -> String {
    const CODES: [&str; 36] = [
        ".-", "-...", "-.-.", "-..", ".", "..-.", "--.", "....", "..", ".---", "-.-", ".-..", "--", "-.",
        "---", ".--.", "--.-", ".-.", "...", "-", "..-", "...-", ".--", "-..-", "-.--", "--..", "-----",
        ".----", "..---", "...--", "....-", ".....", "-....", "--...", "---..", "----.",
    ];
    let code = word
        .trim_end_matches(['/', '|'])
        .replace(['\u{2022}', '\u{b7}'], ".")
        .replace('\u{2013}', "-");
    let letter = CODES.iter().position(|known| *known == code);
    let letter = letter.and_then(|at| b"abcdefghijklmnopqrstuvwxyz0123456789".get(at));
    let mut out: String = letter.map(|byte| char::from(*byte)).into_iter().collect();
    if word.ends_with(['/', '|']) {
        out.push(' ');
    }
    out
}
