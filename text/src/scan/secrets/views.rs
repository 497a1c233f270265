//! The decoded copies of a text in which the rules for secrets search: characters in their usual form, and tokens that
//! white space breaks.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use unicode_normalization::char::decompose_compatible;

use crate::scan::encoding::Unescaped;
use crate::scan::{rules, unicode};

/// The maximal number of pieces of a token.
const PIECES_MAX: usize = 8;
/// The minimal length of a token in pieces.
const TOKEN_LENGTH_MIN: usize = 20;
/// The minimal and the maximal length of a piece.
const PIECE_LENGTH: (usize, usize) = (3, 400);
/// The maximal length of the text between two pieces.
const BREAK_MAX: usize = 60;

/// Returns `text` without invisible characters, and with letters, digits and signs of other width or style in their usual
/// form. Returns `None` if the text has no such characters.
pub(super) fn visible(text: &str) -> Option<Unescaped> {
    let stripped = unicode::strip(text, false);
    if stripped.is_none() && (text.is_ascii() || text.chars().all(|char| usual(char) == char)) {
        return None;
    }
    let (stripped, sources) = match stripped {
        Some((stripped, mut sources)) => {
            sources.push(text.len());
            (stripped, Some(sources))
        }
        None => (text.to_owned(), None),
    };
    let mut copy = Unescaped::default();
    let mut last_source = 0;
    for (at, char) in stripped.char_indices() {
        let source = sources.as_ref().map_or(at, |sources| sources[at]);
        if source > last_source {
            copy.escapes.push(copy.text.len());
        }
        last_source = source + char.len_utf8();
        let plain = usual(char);
        if plain != char {
            copy.escapes.push(copy.text.len());
        }
        copy.text.push(plain);
        copy.sources
            .extend((0..plain.len_utf8()).map(|byte| source + byte));
    }
    copy.sources.push(text.len());
    (!copy.escapes.is_empty()).then_some(copy)
}

/// Returns the ASCII character for a letter, digit or sign of another width or style.
fn usual(char: char) -> char {
    if !matches!(char, '\u{2070}'..='\u{214F}' | '\u{2460}'..='\u{24FF}' | '\u{FE50}'..='\u{FF5E}' | '\u{1D400}'..='\u{1D7FF}')
    {
        return char;
    }
    let (mut first, mut count) = (char, 0);
    decompose_compatible(char, |part| {
        first = part;
        count += 1;
    });
    if count == 1 && first.is_ascii() {
        first
    } else {
        char
    }
}

/// Calls `found` with each run of words that may be the pieces of one token: white space separates them, and the first or
/// the last contains a keyword of a rule.
pub(super) fn each_broken_token(text: &str, mut found: impl FnMut(&[Range<usize>])) {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    // For each piece, whether it contains a keyword. Most pieces stand alone, so this is found out late.
    let mut keyed: Vec<Option<bool>> = Vec::new();
    let is_keyed = |keyed: &mut Option<bool>, piece: &Range<usize>| {
        *keyed.get_or_insert_with(|| rules::TEXT.has_keyword(text[piece.clone()].as_bytes()))
    };
    for word in words(text) {
        let is_next = pieces.last().is_some_and(|last| {
            let between = &text[last.end..word.start];
            between.len() <= BREAK_MAX && between.chars().all(is_break)
        });
        if !is_next {
            pieces.clear();
            keyed.clear();
        }
        keyed.push(None);
        pieces.push(word);
        let last = pieces.len() - 1;
        for first in pieces.len().saturating_sub(PIECES_MAX)..last {
            let length: usize = pieces[first..].iter().map(Range::len).sum();
            if length >= TOKEN_LENGTH_MIN
                && (is_keyed(&mut keyed[first], &pieces[first]) || is_keyed(&mut keyed[last], &pieces[last]))
            {
                found(&pieces[first..]);
            }
        }
    }
}

/// Returns the strings that continue the string at `span`, as the strings of a long literal do.
pub(super) fn later_strings(text: &str, span: &Range<usize>) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let is_gap = |char: char| char.is_ascii_whitespace() || "\\+.".contains(char);
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_-./~+=$:!%".contains(char);
    while text[..span.start].ends_with(['"', '\'']) && pieces.len() < PIECES_MAX {
        let end = pieces.last().map_or(span.end, |piece| piece.end);
        let Some(rest) = text[end..].strip_prefix(['"', '\'']) else {
            break;
        };
        let body = rest.trim_start_matches(is_gap);
        let gap = &rest[..rest.len() - body.len()];
        let piece = body.strip_prefix(['"', '\'']).unwrap_or_default();
        let length = piece.len() - piece.trim_start_matches(is_part).len();
        if length < PIECE_LENGTH.0 || gap.len() > BREAK_MAX || !gap.contains(['\n', '\\', '+']) {
            break;
        }
        let start = text.len() - piece.len();
        pieces.push(start..start + length);
    }
    pieces
}

/// Returns the text of `pieces`, joined.
pub(super) fn joined(text: &str, pieces: &[Range<usize>]) -> Unescaped {
    let mut copy = Unescaped::default();
    for piece in pieces {
        copy.text.push_str(&text[piece.clone()]);
        copy.sources.extend(piece.clone());
    }
    copy.sources.extend(pieces.last().map(|last| last.end));
    copy
}

/// Returns whether `char` may stand between the pieces of a token: white space, and what joins strings and quoted lines.
fn is_break(char: char) -> bool {
    char.is_ascii_whitespace() || matches!(char, '"' | '\'' | '`' | '+' | '\\' | '>' | '|' | '#' | '*')
}

/// The bytes of tokens.
const IS_TOKEN: [bool; 256] = {
    let mut is_token = [false; 256];
    let mut byte = 0;
    while byte < is_token.len() {
        is_token[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(
                byte as u8,
                b'_' | b'-' | b'.' | b'/' | b'~' | b'+' | b'$' | b':' | b'!'
            );
        byte += 1;
    }
    is_token
};

/// Returns the words of `text` that may be pieces of a token: letters, digits and the signs of tokens, mixed as in no
/// ordinary word.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_token = |byte: u8| IS_TOKEN[usize::from(byte)];
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at + bytes[at..].iter().position(|byte| is_token(*byte))?;
            let length = bytes[start..].iter().position(|byte| !is_token(*byte));
            at = length.map_or(bytes.len(), |length| start + length);
            let word = &bytes[start..at];
            if (PIECE_LENGTH.0..=PIECE_LENGTH.1).contains(&word.len()) && is_mixed(word) {
                return Some(start..at);
            }
        }
        None
    })
}

/// Returns whether a word mixes letters with digits or underscores, or has a capital after a small letter.
fn is_mixed(word: &[u8]) -> bool {
    // Most words are in small letters.
    if word.iter().all(u8::is_ascii_lowercase) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let has_letter = has(u8::is_ascii_alphabetic);
    has_letter && (has(|byte| byte.is_ascii_digit() || *byte == b'_'))
        || word
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}
