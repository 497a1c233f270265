//! Decoders for the encodings that can hide a payload: base64, hexadecimal, and the escapes of URLs, HTML and source
//! code.
//!
//! No decoder returns an error: text that does not decode is not a payload.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

use super::source_map::SourceMap;

const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Decodes base64 text, in either alphabet, with or without padding. Returns `None` if the text is not base64.
pub(in crate::scan) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let letters = text[..text.len() - padding].iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    });
    BASE64.decode(letters.collect::<Vec<u8>>()).ok()
}

/// Decodes pairs of hexadecimal digits. Returns `None` for any other text.
pub(in crate::scan) fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks_exact(2)
        .map(|pair| number(pair, 16).map(|byte| byte as u8))
        .collect()
}

/// Returns the number with these digits; `None` if there are more than seven.
fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if digits.is_empty() || digits.len() > 7 {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| {
        Some(value * radix + char::from(*digit).to_digit(radix)?)
    })
}

/// Returns the character whose code has these digits; `None` for NUL.
fn character(digits: &[u8], radix: u32) -> Option<char> {
    number(digits, radix)
        .and_then(char::from_u32)
        .filter(|char| *char != '\0')
}

/// A text whose escapes were replaced.
pub(in crate::scan) struct Unescaped {
    pub(in crate::scan) text: String,
    pub(in crate::scan) sources: SourceMap,
    /// The positions in `text` at which an escape was replaced, in rising order.
    escapes: Vec<usize>,
}

impl Unescaped {
    /// Returns the parts of `text` with at least `least` escapes close to each other.
    pub(in crate::scan) fn dense(&self, least: usize) -> Vec<Range<usize>> {
        const NEAR: usize = 64;
        const AROUND: usize = 256;
        let mut parts: Vec<Range<usize>> = Vec::new();
        for near in self.escapes.chunk_by(|one, next| *next <= one + NEAR) {
            if near.len() < least {
                continue;
            }
            let start = self.text.floor_char_boundary(near[0].saturating_sub(AROUND));
            let last = near[near.len() - 1];
            let end = self.text.ceil_char_boundary((last + AROUND).min(self.text.len()));
            match parts.last_mut() {
                Some(part) if start <= part.end => part.end = end,
                _ => parts.push(start..end),
            }
        }
        parts
    }
}

/// Replaces `%41`, `&#65;`, `&#x41;`, `&lt;` and other named entities, `\x41` and `\u0041` in `text`. Returns `None` if
/// there are fewer than `least`.
pub(in crate::scan) fn unescape(text: &str, least: usize) -> Option<Unescaped> {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut sources = SourceMap::default();
    let mut escapes = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let found = match bytes[at] {
            b'%' => percent(&bytes[at..]),
            b'&' => entity(&bytes[at..]),
            b'\\' => escape(&bytes[at..]),
            _ => None,
        };
        if let Some((code, length)) = found {
            escapes.push(out.len());
            out.extend(code);
            at += length;
            sources.add(out.len(), at);
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    if escapes.len() < least {
        return None;
    }
    let text = String::from_utf8(out).unwrap_or_else(|error| {
        // Replaces each byte by one byte, so positions stay valid.
        let bytes = error.into_bytes().into_iter();
        bytes
            .map(|byte| if byte.is_ascii() { char::from(byte) } else { '?' })
            .collect()
    });
    Some(Unescaped {
        text,
        sources,
        escapes,
    })
}

/// The bytes for which an escape stands, and the length of the escape.
type Escape = (Vec<u8>, usize);

fn of_char(char: char, length: usize) -> Escape {
    (char.to_string().into_bytes(), length)
}

fn percent(bytes: &[u8]) -> Option<Escape> {
    Some((vec![number(bytes.get(1..3)?, 16)? as u8], 3))
}

fn entity(bytes: &[u8]) -> Option<Escape> {
    let end = bytes.iter().take(10).position(|byte| *byte == b';')?;
    let char = match &bytes[1..end] {
        [b'#', b'x' | b'X', digits @ ..] => character(digits, 16)?,
        [b'#', digits @ ..] => character(digits, 10)?,
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        _ => return None,
    };
    Some(of_char(char, end + 1))
}

fn escape(bytes: &[u8]) -> Option<Escape> {
    match bytes.get(1)? {
        b'x' => Some(of_char(character(bytes.get(2..4)?, 16)?, 4)),
        b'u' if bytes.get(2) == Some(&b'{') => {
            let end = bytes.iter().take(12).position(|byte| *byte == b'}')?;
            Some(of_char(character(&bytes[3..end], 16)?, end + 1))
        }
        b'u' => {
            let unit = utf16_unit(bytes)?;
            let other = bytes.get(6..).and_then(utf16_unit);
            let pair = other.and_then(|other| char::decode_utf16([unit, other]).next()?.ok());
            match pair {
                Some(char) if char.len_utf16() == 2 => Some(of_char(char, 12)),
                _ => Some(of_char(char::from_u32(u32::from(unit))?, 6)),
            }
        }
        // An escape that is itself escaped, as in a string within a string.
        b'\\' if matches!(bytes.get(2), Some(b'x' | b'u')) => {
            let (code, length) = escape(&bytes[1..])?;
            Some((code, length + 1))
        }
        _ => None,
    }
}

/// Returns the UTF-16 unit of an escape such as `\u0041`.
fn utf16_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    number(digits, 16).map(|unit| unit as u16)
}

/// The minimal length of a run of letters and digits that is decoded.
const RUN_MIN: usize = 20;

/// Returns the runs of base64 letters, with their padding, that are long enough for a payload.
pub(in crate::scan) fn runs(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    let mut at = 0;
    std::iter::from_fn(move || {
        // Every run of the minimal length covers a multiple of `RUN_MIN`, so only these positions are tested.
        while at + RUN_MIN <= text.len() {
            let (floor, probe) = (at, at + RUN_MIN - 1);
            let back = text[floor..=probe].iter().rev().position(|byte| !is_part(*byte));
            let start = match back {
                Some(0) => {
                    at = probe + 1;
                    continue;
                }
                Some(back) => probe + 1 - back,
                None => floor,
            };
            let rest = &text[probe..];
            let mut end = probe + rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
            let length = end - start;
            at = end.max(start + 1);
            if length >= RUN_MIN {
                let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=');
                end += padding.count();
                return Some(start..end);
            }
        }
        None
    })
}

/// Returns the decoded text of a run, if it is printable.
pub(in crate::scan) fn printable(run: &[u8]) -> Option<String> {
    let is_odd = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
    let read = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains(is_odd))
    };
    hexadecimal(run)
        .and_then(read)
        .or_else(|| base64(run).and_then(read))
}
