//! Extracts the keywords of a text, without duplicates, in the order of the text.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use crate::agent::words;

/// The maximum number of keywords of a text.
pub(super) const KEYWORDS_MAX: usize = 20;
/// The minimum length of a keyword in a script with spaces, in characters.
const CHARS_MIN: usize = 4;
/// The maximum length of a keyword, in characters. A longer word, for example a URL, is split at its punctuation.
const CHARS_MAX: usize = 64;

/// Stop words in English and six other languages, in lower case. The list omits words of less than four letters,
/// because these are never keywords.
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("stop_words.txt").lines().collect());

/// Chinese particles, which end a keyword.
const HAN_PARTICLES: &str = "\u{7684}\u{4e86}\u{5728}\u{662f}\u{548c}\u{4e0e}\u{8207}\u{53ca}\u{6216}\u{628a}\u{88ab}\
                             \u{5c31}\u{90fd}\u{4e5f}\u{800c}\u{6211}\u{4f60}\u{4ed6}\u{5979}\u{8fd9}\u{9019}\u{90a3}";

/// Returns up to [`KEYWORDS_MAX`] keywords of `text` in lower case: words of at least four characters that are not stop
/// words. In scripts without spaces, keywords are the runs between particles and changes of script.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for field in text.split_whitespace() {
        let field = field.trim_matches(|letter| !words::is_word(letter));
        if field.chars().any(words::is_spaceless) || field.chars().count() > CHARS_MAX {
            for run in words::runs(field) {
                if run.chars().any(words::is_spaceless) {
                    stretches(run, &mut found);
                } else {
                    add(&mut found, run, CHARS_MIN);
                }
            }
        } else {
            add(&mut found, field, CHARS_MIN);
        }
        if found.len() == KEYWORDS_MAX {
            break;
        }
    }
    found
}

/// Returns the keywords of `text` on one line that is not longer than `text`. Returns `text` itself if it has no
/// keywords.
pub(crate) fn keyword_text(text: &str) -> Cow<'_, str> {
    let words = keywords(text);
    let mut line = words.join(", ");
    if !fits(&line, text) {
        line = words.join(" ");
    }
    // A word may be longer in lower case, so the line may be longer than the text. Drop words until the line fits.
    while !fits(&line, text) {
        line.truncate(line.rfind(' ').unwrap_or(0));
    }
    if line.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(line)
    }
}

/// EXT-1: checks whether a line of keywords is at most as long as its text.
fn fits(line: &str, text: &str) -> bool {
    line.len() <= text.len() && line.chars().count() <= text.chars().count()
}

/// Adds a word if it has at least `chars_min` characters, is not a stop word, and is not in the list.
fn add(found: &mut Vec<String>, word: &str, chars_min: usize) {
    let word = word.to_lowercase();
    let is_wanted =
        (chars_min..=CHARS_MAX).contains(&word.chars().count()) && !STOP_WORDS.contains(word.as_str());
    if is_wanted && found.len() < KEYWORDS_MAX && !found.contains(&word) {
        found.push(word);
    }
}

/// The script of a character, for splitting text without spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Han,
    Hiragana,
    Katakana,
    Hangul,
    Other,
}

fn writing_of(letter: char) -> Writing {
    match u32::from(letter) {
        0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => {
            Writing::Han
        }
        0x3041..=0x309F => Writing::Hiragana,
        0x30A0..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Writing::Katakana,
        0x1100..=0x11FF | 0x3131..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF => Writing::Hangul,
        _ => Writing::Other,
    }
}

/// Splits a run without spaces at particles and changes of script, and adds the parts that are long enough.
fn stretches(run: &str, found: &mut Vec<String>) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let writing = writing_of(first);
        let end = rest
            .find(|letter| writing_of(letter) != writing)
            .unwrap_or(rest.len());
        let stretch;
        (stretch, rest) = rest.split_at(end);
        match writing {
            Writing::Han => {
                let is_alone = stretch.chars().count() == 1;
                let parts = stretch.split(|letter| HAN_PARTICLES.contains(letter));
                parts.for_each(|part| add(found, part, if is_alone { 1 } else { 2 }));
            }
            Writing::Katakana | Writing::Hangul => add(found, stretch, 2),
            Writing::Hiragana | Writing::Other => add(found, stretch, CHARS_MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_has_long_words_only() {
        let words: Vec<&str> = include_str!("stop_words.txt").lines().collect();
        assert!(words.is_sorted());
        assert_eq!((words.len(), STOP_WORDS.len()), (244, 244));
        assert!(words.iter().all(|word| word.chars().count() >= 4));
        assert!(STOP_WORDS.contains("should") && STOP_WORDS.contains("für") == STOP_WORDS.contains("der"));
        assert!(!STOP_WORDS.contains("treering"));
    }
}
