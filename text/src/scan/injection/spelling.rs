//! Corrects the words of orders: swapped, missing, doubled and wrong letters, signs in place of letters, and words that
//! are written together.
//!
//! `spelling.in` lists the words. A word of the text is corrected if it is one change away from a listed word, if only
//! its inner letters are in another order, or if signs replace its letters. Long words are separated where they consist of listed
//! words. Other words stay as they are, and only the surroundings of corrected words are scanned again.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-7: the time is linear in the text, because a word has a maximal length.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use crate::scan::literals::Literals;
use crate::scan::parts::parts;
use crate::scan::unicode;

/// The lengths in letters of the words that are corrected.
const CORRECTED: std::ops::RangeInclusive<usize> = 6..=16;
/// The minimal length in bytes of a word with signs in place of letters.
const DISGUISED_MIN: usize = 3;
/// The lengths in letters of the words that are separated.
const JOINED: std::ops::RangeInclusive<usize> = 13..=160;
/// The minimal length in bytes of a listed word that makes a long word suspicious, and the number of such words.
const IN_JOINED: (usize, usize) = (6, 2);
/// The number of 64-bit words in the filter of hashes.
const FILTER: usize = 1 << 10;
/// The number of bytes around a corrected word that are scanned again.
const AROUND: usize = 160;

/// The listed words, and their forms with one letter removed.
struct Words {
    /// The words that are corrected to, and short words. The keys have the same letter for letters that look alike.
    disguised: HashMap<String, &'static str, FixedState>,
    /// For the hash of each word and of each of its forms with one letter less: the word.
    near: HashMap<u64, &'static str, FixedState>,
    /// For the hash of the first letter, the last letter and the inner letters of each word in any order: the word.
    mixed: HashMap<u64, &'static str, FixedState>,
    /// A bit for each hash of `near` and `mixed`, at its lowest bits, because few words of a text have such a hash.
    filter: Vec<u64>,
    /// Words that stay as they are.
    known: HashSet<&'static str, FixedState>,
    /// Finds words inside of a joined word.
    joined: Literals,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let (mut listed, mut known, mut small) = (Vec::new(), HashSet::default(), Vec::new());
    for line in include_str!("spelling.in")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        match line.split_once(' ') {
            Some(("known", words)) => known.extend(words.split(' ')),
            Some(("small", words)) => small.extend(words.split(' ')),
            _ => listed.extend(line.split(' ')),
        }
    }
    known.extend(&listed);
    let (mut near, mut mixed) = (HashMap::default(), HashMap::default());
    for word in listed.iter().copied() {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() >= *CORRECTED.start() {
            near.extend(forms(&letters).map(|form| (form, word)));
            mixed.insert(mixture(&letters), word);
        }
    }
    let mut filter = vec![0; FILTER];
    for hash in near.keys().chain(mixed.keys()) {
        filter[*hash as usize / 64 % FILTER] |= 1 << (hash % 64);
    }
    let all = || listed.iter().chain(&small).copied();
    let mut joined = Literals::with_capacity(listed.len() + small.len());
    for word in all() {
        joined.add(word.as_bytes());
    }
    Words {
        disguised: all().map(|word| (undisguised(word), word)).collect(),
        near,
        mixed,
        filter,
        known,
        joined,
    }
});

/// Returns the parts of `text` with corrected words, each with its corrected text.
pub(super) fn corrected(text: &str) -> Vec<(Range<usize>, String)> {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let mut change = |word: Range<usize>| {
        if let Some(correct) = correct(&text[word.clone()]) {
            changes.push((word, correct));
        }
    };
    if text.is_ascii() {
        let is_part = |byte: &u8| is_part(char::from(*byte));
        let mut at = 0;
        while let Some(start) = text.as_bytes()[at..].iter().position(is_part) {
            let word = &text.as_bytes()[at + start..];
            let length = word.iter().position(|byte| !is_part(byte)).unwrap_or(word.len());
            change(at + start..at + start + length);
            at += start + length;
        }
    } else {
        let is_end = |char: char| !is_part(char);
        for part in parts(text, is_end) {
            let word = text[part.clone()].trim_end_matches(is_end);
            change(part.start..part.start + word.len());
        }
    }
    let near = changes.chunk_by(|one, next| next.0.start <= one.0.end + 2 * AROUND);
    near.map(|near| {
        let start = text.floor_char_boundary(near[0].0.start.saturating_sub(AROUND));
        let end = text.ceil_char_boundary((near[near.len() - 1].0.end + AROUND).min(text.len()));
        let (mut plain, mut at) = (String::new(), start);
        for (word, correct) in near {
            plain.push_str(&text[at..word.start]);
            plain.push_str(correct);
            at = word.end;
        }
        plain.push_str(&text[at..end]);
        (start..end, plain)
    })
    .collect()
}

/// Returns whether `char` is a letter, or a sign that people write for a letter.
fn is_part(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '@' | '$' | '|' | '!' | '\u{20ac}' | '+' | '_')
}

/// Returns the correct spelling of a word, if it is a wrong spelling of listed words.
fn correct(word: &str) -> Option<String> {
    // Most words are short words in ASCII letters, which need no look.
    if word.len() < *CORRECTED.start() && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return correct_plain(word);
    }
    let word = word.trim_end_matches('!');
    let is_letters = word.chars().all(char::is_alphabetic);
    if word.len()
        < if is_letters {
            *CORRECTED.start()
        } else {
            DISGUISED_MIN
        }
    {
        return None;
    }
    let is_mixed = !word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_alphanumeric());
    if !is_letters || is_mixed {
        let plain = latin(word);
        let listed = plain.contains(char::is_alphabetic).then(|| undisguised(&plain));
        match listed.and_then(|plain| WORDS.disguised.get(&plain)) {
            Some(listed) if **listed != plain => return Some((*listed).to_owned()),
            _ if is_letters => return nearest(&plain.chars().collect::<Vec<char>>()).map(str::to_owned),
            _ => return None,
        }
    }
    let letters: Vec<char> = word
        .chars()
        .take(JOINED.end() + 1)
        .flat_map(char::to_lowercase)
        .collect();
    if JOINED.contains(&letters.len())
        && let Some(separate) = separated(&word.to_lowercase())
    {
        return Some(separate);
    }
    nearest(&letters).map(str::to_owned)
}

/// Does the same for a word in ASCII letters, as most words are.
fn correct_plain(word: &str) -> Option<String> {
    if JOINED.contains(&word.len())
        && let Some(separate) = separated(&word.to_ascii_lowercase())
    {
        return Some(separate);
    }
    let mut letters = ['a'; *CORRECTED.end()];
    let letters = letters.get_mut(..word.len())?;
    for (letter, byte) in letters.iter_mut().zip(word.bytes()) {
        *letter = char::from(byte.to_ascii_lowercase());
    }
    nearest(letters).map(str::to_owned)
}

/// Returns the listed word of which `letters` are a wrong spelling.
fn nearest(letters: &[char]) -> Option<&'static str> {
    if !CORRECTED.contains(&letters.len()) {
        return None;
    }
    let words = &*WORDS;
    let may_be = |hash: &u64| words.filter[*hash as usize / 64 % FILTER] >> (hash % 64) & 1 == 1;
    let near = forms(letters)
        .filter(may_be)
        .find_map(|form| words.near.get(&form));
    let mixed = || {
        Some(mixture(letters))
            .filter(may_be)
            .and_then(|mixture| words.mixed.get(&mixture))
    };
    let word = near.or_else(mixed)?;
    let lower: String = letters.iter().collect();
    (!words.known.contains(lower.as_str())).then_some(*word)
}

/// Returns the words of a joined word with spaces between them, if it has enough listed words.
fn separated(word: &str) -> Option<String> {
    let (mut separate, mut at, mut count) = (String::new(), 0, 0);
    let mut start = 0;
    while start < word.len() {
        // The longest listed word here.
        let mut longest = 0;
        WORDS
            .joined
            .each_at(word.as_bytes(), start, |_, length| longest = longest.max(length));
        let end = start + longest;
        if longest > 0 {
            count += usize::from(longest >= IN_JOINED.0);
            let parts = [&word[at..start], &word[start..end]];
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                separate.push_str(part);
                separate.push(' ');
            }
            at = end;
        }
        start = end.max(start + 1);
    }
    separate.push_str(&word[at..]);
    (count >= IN_JOINED.1).then_some(separate)
}

/// Returns the word in lower case, with Latin letters for letters of other scripts that look like them.
fn latin(word: &str) -> String {
    let mut plain = String::new();
    for char in word.chars() {
        unicode::fold(char, plain.chars().next_back(), "", true, |folded| {
            plain.push(folded);
        });
    }
    plain
}

/// Returns the word with one sign for all signs that people write for the same letter.
fn undisguised(word: &str) -> String {
    let letter = |char| match char {
        '0' => 'o',
        '1' | '!' | '|' | 'l' => 'i',
        '3' | '\u{20ac}' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '6' | '9' => 'g',
        '7' | '+' => 't',
        '8' => 'b',
        other => other,
    };
    word.chars().map(letter).collect()
}

/// A number for a letter, with its bits spread, so that sums and products of numbers stand for few words.
fn number(letter: char) -> u64 {
    u64::from(letter).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the hashes of a word, and of its forms with one letter less. Two words have a common hash if they are one
/// missing, added, wrong or swapped letter apart.
fn forms(letters: &[char]) -> impl Iterator<Item = u64> {
    const FACTOR: u64 = 0x0100_0000_01b3;
    const INVERSE: u64 = inverse(FACTOR);
    let whole = letters.iter().fold(0_u64, |hash, letter| {
        hash.wrapping_mul(FACTOR).wrapping_add(number(*letter))
    });
    // Going from the last letter to the first: the hash of the letters after it, and the factor of their number.
    let (mut before, mut after, mut power) = (whole, 0_u64, 1_u64);
    let less = letters.iter().rev().map(move |letter| {
        // The factor is odd, so that the hash of the letters before is the only solution.
        before = before.wrapping_sub(number(*letter)).wrapping_mul(INVERSE);
        let form = before.wrapping_mul(power).wrapping_add(after);
        after = number(*letter).wrapping_mul(power).wrapping_add(after);
        power = power.wrapping_mul(FACTOR);
        form
    });
    std::iter::once(whole).chain(less)
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's method.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// Returns a hash of the first letter, the last letter, and the others in any order.
fn mixture(letters: &[char]) -> u64 {
    let spread = |letter: &char| number(*letter) ^ number(*letter).rotate_left(29);
    let sum = letters
        .iter()
        .fold(0_u64, |sum, letter| sum.wrapping_add(spread(letter)));
    let ends = letters.first().into_iter().chain(letters.last());
    ends.fold(sum, |hash, letter| hash.rotate_left(17) ^ number(*letter))
}
