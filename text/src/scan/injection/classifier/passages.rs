//! Cuts a text into passages: whole sentences of at most [`WORDS_MAX`] words together.
//!
//! Passages are short, so that a long text around an order does not hide it. Every full stop ends a sentence, also the one
//! in `example.com`.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

/// The maximal number of words in a passage.
pub(super) const WORDS_MAX: usize = 40;

/// Calls `take` with the words of each passage of `marks`, and the bytes of the passage.
///
/// A word is a run of letters and digits, or one other sign. In scripts without spaces between words, every character
/// is a word.
pub(super) fn each<'a>(marks: &'a str, mut take: impl FnMut(&[&'a str], Range<usize>)) {
    let mut words: Vec<&str> = Vec::with_capacity(WORDS_MAX);
    let mut start = 0;
    // The words and the end of the whole sentences so far.
    let mut whole = (0, 0);
    for word in (Words { text: marks, at: 0 }) {
        let end = word.end;
        if words.len() == WORDS_MAX && &marks[word.clone()] != "\n" {
            // A sentence that is too long is cut.
            let (count, cut) = if whole.0 == 0 {
                (words.len(), word.start)
            } else {
                whole
            };
            take(&words[..count], start..cut);
            words.drain(..count);
            (start, whole) = (cut, (0, 0));
        }
        let text = &marks[word];
        if ends_sentence(text) {
            if text != "\n" {
                words.push(text);
            }
            whole = (words.len(), end);
        } else {
            words.push(text);
        }
    }
    if !words.is_empty() {
        take(&words, start..marks.len());
    }
}

/// Returns the sentences in the words of a passage, each of at least `least` words as far as there are more.
pub(super) fn sentences<'a, 'w>(words: &'w [&'a str], least: usize) -> impl Iterator<Item = &'w [&'a str]> {
    let mut rest = words;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut ends = (least..=rest.len()).filter(|end| ends_sentence(rest[end - 1]));
        let (sentence, others) = rest.split_at(ends.next().unwrap_or(rest.len()));
        rest = others;
        Some(sentence)
    })
}

fn ends_sentence(word: &str) -> bool {
    matches!(
        word,
        "." | "!" | "?" | "\n" | "\u{3002}" | "\u{ff01}" | "\u{ff1f}" | "\u{61f}" | "\u{964}"
    )
}

/// The ranges of the words of a text.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut start = None;
        for (offset, char) in self.text[self.at..].char_indices() {
            let at = self.at + offset;
            let is_letter = char.is_alphanumeric();
            match start {
                Some(start) if !is_letter || is_unspaced(char) => {
                    self.at = at;
                    return Some(start..at);
                }
                None if is_letter && !is_unspaced(char) => start = Some(at),
                None if !char.is_whitespace() || char == '\n' => {
                    self.at = at + char.len_utf8();
                    return Some(at..self.at);
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        start.map(|start| start..self.at)
    }
}

/// Returns whether the script of a character has no spaces between words: Thai to Myanmar, Khmer, kana, Han, Hangul.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}
