//! The two copies of a text that rules look at, and the way back from a copy to the text.
//!
//! - **Marks**: compatible characters, lower case, look-alikes folded, nothing invisible, white space collapsed to one
//!   space or one line end. Punctuation stays: code, markup and addresses are read here.
//! - **Words**: made from marks. Only letters and digits, single spaces between words, a full stop where a sentence
//!   ends; digits among letters are read as the letters they stand for, spelled-out words are joined.
//!
//! No table of positions is kept: where a match came from is found by making the copy again and counting, which costs
//! nothing for a text without matches.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use crate::scan::unicode::{self, fold};

/// What is told of each byte written: its position in the copy, and the position in the source it was made from.
trait Watch {
    fn wrote(&mut self, copy: usize, source: usize);
}

impl Watch for () {
    fn wrote(&mut self, _: usize, _: usize) {}
}

/// Looks positions of the copy up, in ascending order.
struct Lookup<'a> {
    wanted: &'a [usize],
    found: Vec<usize>,
}

impl Watch for Lookup<'_> {
    fn wrote(&mut self, copy: usize, source: usize) {
        while self
            .wanted
            .get(self.found.len())
            .is_some_and(|wanted| *wanted <= copy)
        {
            self.found.push(source);
        }
    }
}

/// Returns where in the source the bytes at `wanted` (ascending) of the copy that `make` writes came from.
fn sources(wanted: &[usize], end: usize, make: impl FnOnce(&mut Lookup)) -> Vec<usize> {
    let mut lookup = Lookup {
        wanted,
        found: Vec::with_capacity(wanted.len()),
    };
    make(&mut lookup);
    lookup.found.resize(wanted.len(), end);
    lookup.found
}

/// Writes the marks of `text` to `out`; returns whether there are characters that escapes are made of.
pub(super) fn marks(text: &str, out: &mut Vec<u8>) -> bool {
    write_marks(text, out, &mut ())
}

/// Returns where in `text` the bytes at `wanted` (ascending) of its marks came from.
pub(super) fn marks_sources(text: &str, wanted: &[usize]) -> Vec<usize> {
    sources(wanted, text.len(), |lookup| {
        write_marks(text, &mut Vec::new(), lookup);
    })
}

/// Writes the words of `marks` to `out`.
pub(super) fn words(marks: &[u8], out: &mut Vec<u8>) {
    write_words(marks, out, &mut ());
}

/// Returns where in `marks` the bytes at `wanted` (ascending) of its words came from.
pub(super) fn words_sources(marks: &[u8], wanted: &[usize]) -> Vec<usize> {
    sources(wanted, marks.len(), |lookup| {
        write_words(marks, &mut Vec::new(), lookup);
    })
}

/// What an ASCII byte becomes in the marks: itself in lower case, a space, a line end, or nothing.
const fn mark_of(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' | 0x0b | 0x0c => b' ',
        b'\n' | b'\r' => b'\n',
        0..=31 | 127 => 0,
        _ => byte.to_ascii_lowercase(),
    }
}

static MARK_OF: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = mark_of(byte as u8);
        byte += 1;
    }
    table
};

fn write_marks(text: &str, out: &mut Vec<u8>, watch: &mut impl Watch) -> bool {
    out.clear();
    out.reserve(text.len() + 8);
    let bytes = text.as_bytes();
    let is_latin = text.is_ascii() || unicode::is_latin(text);
    let mut has_escapes = false;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            has_escapes |= matches!(byte, b'%' | b'\\' | b'&');
            if byte == b'\\'
                && let Some(b'n' | b'r' | b'"' | b'\'') = bytes.get(at + 1)
            {
                // What JSON and source code write for a line end or a quotation mark.
                let mark = if bytes[at + 1].is_ascii_alphabetic() {
                    b'\n'
                } else {
                    bytes[at + 1]
                };
                push_mark(mark, at, out, watch);
                at += 2;
                continue;
            }
            let escape = if matches!(byte, 0x1b | b'\\') {
                terminal_escape(&bytes[at..])
            } else {
                0
            };
            if escape > 0 {
                // A written one stays to be seen, but is no part of the word behind it.
                for index in at..at + escape {
                    push_mark(MARK_OF[usize::from(bytes[index])], index, out, watch);
                }
                push_mark(b' ', at, out, watch);
                at += escape;
                continue;
            }
            push_mark(MARK_OF[usize::from(byte)], at, out, watch);
            at += 1;
            continue;
        }
        let char = text[at..]
            .chars()
            .next()
            .expect("`at` is inside the text, on a boundary");
        let end = at + char.len_utf8();
        if let '\u{E0020}'..='\u{E007E}' = char {
            // A tag is the ghost of an ASCII character, and models read it.
            push_mark(MARK_OF[char as usize & 0x7f], at, out, watch);
        } else if !unicode::is_ignored(char) {
            let last = last_char(out);
            fold(char, last, &text[end..], is_latin, |folded| {
                if folded.is_ascii() {
                    push_mark(MARK_OF[folded as usize], at, out, watch);
                } else if folded.is_whitespace() {
                    push_mark(b' ', at, out, watch);
                } else {
                    for byte in folded.encode_utf8(&mut [0; 4]).bytes() {
                        watch.wrote(out.len(), at);
                        out.push(byte);
                    }
                }
            });
        }
        at = end;
    }
    has_escapes
}

/// Returns the length of the sequence for a terminal, real or written, that `bytes` begin with, such as ESC `[8m`.
fn terminal_escape(bytes: &[u8]) -> usize {
    const STARTS: [&[u8]; 6] = [b"\x1b[", b"\\x1b[", b"\\x1B[", b"\\033[", b"\\e[", b"\\u001b["];
    let Some(start) = STARTS.iter().find(|start| bytes.starts_with(start)) else {
        return 0;
    };
    let rest = bytes[start.len()..].iter().take(16);
    let numbers = rest
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    let end = start.len() + numbers;
    if bytes.get(end).is_some_and(u8::is_ascii_alphabetic) {
        end + 1
    } else {
        0
    }
}

/// Appends one byte of marks, with white space collapsed.
fn push_mark(mark: u8, at: usize, out: &mut Vec<u8>, watch: &mut impl Watch) {
    match (mark, out.last_mut()) {
        (0, _) | (b' ', Some(b' ' | b'\n')) | (b'\n', Some(b'\n')) => {}
        (b'\n', Some(last @ b' ')) => *last = b'\n',
        _ => {
            watch.wrote(out.len(), at);
            out.push(mark);
        }
    }
}

fn last_char(out: &[u8]) -> Option<char> {
    let start = out.iter().rposition(|byte| *byte & 0xC0 != 0x80)?;
    std::str::from_utf8(&out[start..]).ok()?.chars().next()
}

/// What a byte of marks is to the words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Letter,
    /// A digit or sign that is also written for a letter.
    Digit,
    /// Between words.
    Gap,
    /// Ends a sentence if a gap follows.
    Stop,
    /// Part of a word, not written.
    Silent,
}

static SORT_OF: [Sort; 256] = {
    let mut table = [Sort::Gap; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | 0x80..=0xff => Sort::Letter,
            b'0'..=b'9' | b'@' | b'$' => Sort::Digit,
            b'.' | b'!' | b'?' => Sort::Stop,
            b'\'' | b'`' | b'*' => Sort::Silent,
            _ => Sort::Gap,
        };
        byte += 1;
    }
    table
};

fn write_words(marks: &[u8], out: &mut Vec<u8>, watch: &mut impl Watch) {
    out.clear();
    out.reserve(marks.len() + 8);
    let sort_at = |at: usize| {
        marks
            .get(at)
            .map_or(Sort::Gap, |byte| SORT_OF[usize::from(*byte)])
    };
    let mut at = 0;
    // A gap is written when the next word begins.
    let mut gap: Option<u8> = None;
    let mut is_spelled = false;
    while at < marks.len() {
        match sort_at(at) {
            Sort::Letter | Sort::Digit => {
                let end = end_of_word(marks, at);
                let joins = is_spelled && is_single(marks, at, end) && gap == Some(b' ');
                if let (Some(gap), false) = (gap, joins || out.is_empty()) {
                    watch.wrote(out.len(), at);
                    out.push(gap);
                }
                is_spelled = is_single(marks, at, end) && (joins || begins_spelling(marks, at));
                write_word(&marks[at..end], at, out, watch);
                gap = None;
                at = end;
            }
            Sort::Stop if matches!(marks.get(at + 1), None | Some(b' ' | b'\n')) => {
                gap = Some(b'.');
                at += 1;
            }
            Sort::Silent => at += 1,
            Sort::Stop | Sort::Gap => {
                gap = gap.or(Some(b' '));
                at += 1;
            }
        }
    }
}

fn end_of_word(marks: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| {
        let sort = SORT_OF[usize::from(*byte)];
        sort == Sort::Letter || sort == Sort::Digit || *byte == b'\''
    };
    let rest = &marks[start..];
    start + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())
}

/// Whether the word is one ASCII letter or digit.
fn is_single(marks: &[u8], start: usize, end: usize) -> bool {
    end == start + 1 && marks[start].is_ascii()
}

/// Whether single letters with one byte between them begin here, four at the least.
fn begins_spelling(marks: &[u8], at: usize) -> bool {
    let is_part = |byte: u8| matches!(SORT_OF[usize::from(byte)], Sort::Letter | Sort::Digit);
    let Some(window) = marks.get(at..at + 7) else {
        return false;
    };
    window
        .iter()
        .enumerate()
        .all(|(index, byte)| byte.is_ascii() && is_part(*byte) == (index % 2 == 0))
        && marks.get(at + 7).is_none_or(|byte| !is_part(*byte))
}

/// Writes one word; if it has letters, its digits become the letters they are written for.
fn write_word(word: &[u8], at: usize, out: &mut Vec<u8>, watch: &mut impl Watch) {
    let has_letter = word
        .iter()
        .any(|byte| SORT_OF[usize::from(*byte)] == Sort::Letter);
    for (index, &byte) in word.iter().enumerate() {
        if byte == b'\'' {
            continue;
        }
        watch.wrote(out.len(), at + index);
        out.push(if has_letter { letter_for(byte) } else { byte });
    }
}

fn letter_for(byte: u8) -> u8 {
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
