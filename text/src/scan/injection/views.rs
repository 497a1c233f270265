//! The two copies of a text that rules read, with the positions of their bytes in the text.
//!
//! - **Marks**: compatible characters in lower case, with look-alikes folded, invisible characters removed, and white
//!   space collapsed to one space or one line end. Punctuation stays, because rules find code, markup and addresses
//!   here.
//! - **Words**: made from the marks. Contains only letters and digits, with single spaces between words and a full stop
//!   at the end of a sentence. Digits among letters become the letters that they replace, and spelled-out words are
//!   joined.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::scan::secrets::boundaries;
use crate::scan::unicode::{self, fold};

/// A copy of a text, with the positions of its bytes in the text.
#[derive(Default)]
pub(super) struct TextCopy {
    pub(super) bytes: Vec<u8>,
    /// For each byte of the copy, its position in the text.
    pub(super) sources: Vec<usize>,
}

impl TextCopy {
    /// Returns the bytes of `text`, the original of this copy, from which `span` was made. The span is not empty.
    pub(super) fn span_in(&self, text: &str, span: Range<usize>) -> Range<usize> {
        // The space after a terminal escape has the source of the escape, so a span may begin behind its end.
        let start = self.sources[span.start];
        let end = (self.sources[span.end - 1] + 1).min(text.len());
        boundaries(text, start.min(end)..end.max(start))
    }

    fn reset(&mut self, length: usize) {
        self.bytes.clear();
        self.bytes.reserve(length + 8);
        self.sources.clear();
        self.sources.reserve(length + 8);
    }

    #[inline]
    fn push(&mut self, byte: u8, source: usize) {
        self.bytes.push(byte);
        self.sources.push(source);
    }

    /// Appends one byte of marks, and collapses white space. If the byte is NUL, appends nothing.
    #[inline]
    fn push_mark(&mut self, mark: u8, source: usize) {
        match (mark, self.bytes.last_mut()) {
            (0, _) | (b' ', Some(b' ' | b'\n')) | (b'\n', Some(b'\n')) => {}
            (b'\n', Some(last @ b' ')) => *last = b'\n',
            _ => self.push(mark, source),
        }
    }

    fn last_char(&self) -> Option<char> {
        let start = self.bytes.iter().rposition(|byte| *byte & 0xC0 != 0x80)?;
        std::str::from_utf8(&self.bytes[start..]).ok()?.chars().next()
    }
}

/// Returns the mark for an ASCII byte: the byte in lower case, a space, a line end, or a NUL for no mark.
const fn mark_of(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' | 0x0b | 0x0c => b' ',
        b'\n' | b'\r' => b'\n',
        0..=31 | 127 => 0,
        _ => byte.to_ascii_lowercase(),
    }
}

/// The bytes that are their own marks, apart from the case of letters.
const IS_MARK: [bool; 256] = {
    let mut is_mark = [false; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        is_mark[byte as usize] = !matches!(byte, b'%' | b'\\' | b'&');
        byte += 1;
    }
    is_mark
};

/// Writes the marks of `text` to `out`. Returns whether the text contains characters with which escapes begin.
pub(super) fn marks(text: &str, out: &mut TextCopy) -> bool {
    out.reset(text.len());
    let bytes = text.as_bytes();
    let is_latin = text.is_ascii() || unicode::is_latin(text);
    let mut has_escapes = false;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if IS_MARK[usize::from(byte)] {
            let rest = &bytes[at..];
            let end = rest.iter().position(|byte| !IS_MARK[usize::from(*byte)]);
            let marks = &rest[..end.unwrap_or(rest.len())];
            out.bytes.extend(marks.iter().map(u8::to_ascii_lowercase));
            out.sources.extend(at..at + marks.len());
            at += marks.len();
            continue;
        }
        if byte.is_ascii() {
            has_escapes |= matches!(byte, b'%' | b'\\' | b'&');
            if byte == b'\\'
                && let Some(next @ (b'n' | b'r' | b'"' | b'\'')) = bytes.get(at + 1)
            {
                // JSON and source code write line ends and quotation marks as a backslash and a character.
                let mark = if next.is_ascii_alphabetic() { b'\n' } else { *next };
                out.push_mark(mark, at);
                at += 2;
                continue;
            }
            if matches!(byte, 0x1b | b'\\')
                && let Some(escape) = TERMINAL_ESCAPE.find(&text[at..])
            {
                // Copies the escape, and adds a space, so that the escape is not joined to the next word.
                for (index, byte) in (at..).zip(escape.as_str().bytes()) {
                    out.push_mark(mark_of(byte), index);
                }
                out.push_mark(b' ', at);
                at += escape.len();
                continue;
            }
            out.push_mark(mark_of(byte), at);
            at += 1;
            continue;
        }
        let char = text[at..]
            .chars()
            .next()
            .expect("`at` is a character boundary inside the text");
        let end = at + char.len_utf8();
        if let Some(ascii) = unicode::untagged(char) {
            out.push_mark(mark_of(ascii), at);
        } else if !unicode::is_ignored(char) {
            fold(char, out.last_char(), &text[end..], is_latin, |folded| {
                if folded.is_ascii() {
                    out.push_mark(mark_of(folded as u8), at);
                } else if folded.is_whitespace() {
                    out.push_mark(b' ', at);
                } else {
                    for byte in folded.encode_utf8(&mut [0; 4]).bytes() {
                        out.push(byte, at);
                    }
                }
            });
        }
        at = end;
    }
    has_escapes
}

/// Matches a terminal sequence at the start of a text, raw or escaped, such as ESC `[8m`.
static TERMINAL_ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"\A(?:\x1b|\\x1[bB]|\\033|\\e|\\u001b)\[[0-9;]{0,16}[A-Za-z]";
    Regex::new(form).expect("the pattern is a valid regex")
});

/// The role of a byte of the marks in the conversion to words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Letter,
    /// A digit or sign that people also write for a letter.
    Digit,
    /// A separator between words.
    Gap,
    /// The end of a sentence, if a gap follows.
    Stop,
    /// A part of a word that the copy omits.
    Silent,
}

/// The sort of each byte.
const SORTS: [Sort; 256] = {
    let mut sorts = [Sort::Gap; 256];
    let mut byte = 0;
    while byte < sorts.len() {
        sorts[byte] = sort_in_marks(byte as u8);
        byte += 1;
    }
    sorts
};

const fn sort_of(byte: u8) -> Sort {
    SORTS[byte as usize]
}

const fn sort_in_marks(byte: u8) -> Sort {
    match byte {
        b'a'..=b'z' | 0x80..=0xff => Sort::Letter,
        b'0'..=b'9' | b'@' | b'$' => Sort::Digit,
        b'.' | b'!' | b'?' => Sort::Stop,
        b'\'' | b'`' | b'*' => Sort::Silent,
        _ => Sort::Gap,
    }
}

const fn is_letter_or_digit(byte: u8) -> bool {
    matches!(sort_of(byte), Sort::Letter | Sort::Digit)
}

/// Converts a copy of marks to words, and writes them to `out`.
pub(super) fn words(copy: &TextCopy, out: &mut TextCopy) {
    let marks = &copy.bytes[..];
    out.reset(marks.len());
    let mut at = 0;
    // A separator is written only when the next word begins.
    let mut gap: Option<u8> = None;
    let mut is_spelled = false;
    while let Some(&byte) = marks.get(at) {
        match sort_of(byte) {
            Sort::Letter | Sort::Digit => {
                let end = end_of_word(marks, at);
                let is_single = end == at + 1 && byte.is_ascii();
                let joins = is_spelled && is_single && gap == Some(b' ');
                if let (Some(gap), false) = (gap, joins || out.bytes.is_empty()) {
                    out.push(gap, copy.sources[at]);
                }
                is_spelled = is_single && (joins || begins_spelling(&marks[at..]));
                push_word(&marks[at..end], &copy.sources[at..end], out);
                gap = None;
                at = end;
                continue;
            }
            Sort::Stop if matches!(marks.get(at + 1), None | Some(b' ' | b'\n')) => gap = Some(b'.'),
            Sort::Silent => {}
            Sort::Stop | Sort::Gap => gap = gap.or(Some(b' ')),
        }
        at += 1;
    }
}

fn end_of_word(marks: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| is_letter_or_digit(*byte) || *byte == b'\'';
    let rest = &marks[start..];
    start + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())
}

/// Returns whether `marks` begin with at least four single letters, separated by one byte each.
fn begins_spelling(marks: &[u8]) -> bool {
    let Some((window, rest)) = marks.split_at_checked(7) else {
        return false;
    };
    let mut bytes = window.iter().enumerate();
    bytes.all(|(index, byte)| byte.is_ascii() && is_letter_or_digit(*byte) == (index % 2 == 0))
        && rest.first().is_none_or(|byte| !is_letter_or_digit(*byte))
}

/// Writes one word. If it contains letters, its digits become the letters that they replace.
fn push_word(word: &[u8], sources: &[usize], out: &mut TextCopy) {
    if word.iter().all(|byte| sort_of(*byte) == Sort::Letter) {
        out.bytes.extend_from_slice(word);
        out.sources.extend_from_slice(sources);
        return;
    }
    let has_letter = word.iter().any(|byte| sort_of(*byte) == Sort::Letter);
    for (&byte, &source) in word.iter().zip(sources) {
        if byte != b'\'' {
            out.push(if has_letter { letter_for(byte) } else { byte }, source);
        }
    }
}

/// Returns the letter that a digit or sign replaces; other bytes stay as they are.
pub(super) fn letter_for(byte: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' => b'i',
        b'3' => b'e',
        b'4' | b'@' => b'a',
        b'5' | b'$' => b's',
        b'7' => b't',
        _ => byte,
    }
}
