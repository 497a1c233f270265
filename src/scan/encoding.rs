//! Decoders for what a payload may be wrapped in: base64, hexadecimal, escapes of URLs, HTML and source code.
//!
//! They take what they are given and never fail loudly: what does not decode is no payload.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

/// Returns what base64 text decodes to, in either alphabet, with or without padding; nothing if it is not base64.
pub(in crate::scan) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    let end = text
        .iter()
        .rposition(|byte| *byte != b'=')
        .map_or(0, |last| last + 1);
    if text.len() - end > 2 || end % 4 == 1 {
        return None;
    }
    for byte in &text[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
        }
    }
    Some(decoded)
}

/// Returns what pairs of hexadecimal digits decode to; nothing if there is anything else.
pub(in crate::scan) fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks_exact(2)
        .map(|pair| Some((nibble(pair[0])? << 4) | nibble(pair[1])?))
        .collect()
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Text whose escapes were replaced, with where each byte came from.
pub(in crate::scan) struct Unescaped {
    pub(in crate::scan) text: String,
    /// (start in `text`, start in the source) of each replaced escape and of what follows it, ascending.
    steps: Vec<(usize, usize)>,
}

impl Unescaped {
    /// Returns where in the source the byte at `at` came from, or what stands before it.
    pub(in crate::scan) fn source(&self, at: usize) -> usize {
        let step = self.steps.partition_point(|(start, _)| *start <= at);
        match step.checked_sub(1).map(|step| self.steps[step]) {
            Some((start, source)) => source + (at - start),
            None => at,
        }
    }
}

impl Unescaped {
    /// Returns the parts of `text` around `least` and more escapes that stand near each other.
    pub(in crate::scan) fn dense(&self, least: usize) -> Vec<Range<usize>> {
        const NEAR: usize = 64;
        const AROUND: usize = 256;
        let mut parts: Vec<Range<usize>> = Vec::new();
        // Every other step is the start of an escape.
        let mut starts = self.steps.iter().step_by(2).map(|(start, _)| *start).peekable();
        while let Some(first) = starts.next() {
            let (mut last, mut count) = (first, 1);
            while let Some(next) = starts.next_if(|next| *next <= last + NEAR) {
                last = next;
                count += 1;
            }
            if count < least {
                continue;
            }
            let start = self.text.floor_char_boundary(first.saturating_sub(AROUND));
            let end = self.text.ceil_char_boundary((last + AROUND).min(self.text.len()));
            match parts.last_mut() {
                Some(part) if start <= part.end => part.end = end,
                _ => parts.push(start..end),
            }
        }
        parts
    }
}

/// Replaces `%41`, `&#65;`, `&#x41;`, `&lt;` and its kin, `\x41` and `\u0041` in `text`; nothing if fewer than `least`.
pub(in crate::scan) fn unescape(text: &str, least: usize) -> Option<Unescaped> {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut steps = Vec::new();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        let found = match bytes[at] {
            b'%' => percent(&bytes[at..]),
            b'&' => entity(&bytes[at..]),
            b'\\' => escape(&bytes[at..]),
            _ => None,
        };
        if let Some((code, length)) = found {
            steps.push((out.len(), at));
            match code {
                Code::Byte(byte) => out.push(byte),
                Code::Char(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            at += length;
            steps.push((out.len(), at));
            count += 1;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    if count < least {
        return None;
    }
    let text = String::from_utf8(out).unwrap_or_else(|error| {
        // A byte for a byte, so that the steps stay true.
        let bytes = error.into_bytes();
        bytes
            .iter()
            .map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' })
            .collect()
    });
    Some(Unescaped { text, steps })
}

/// What an escape stands for.
enum Code {
    Byte(u8),
    Char(char),
}

fn percent(bytes: &[u8]) -> Option<(Code, usize)> {
    let byte = (nibble(*bytes.get(1)?)? << 4) | nibble(*bytes.get(2)?)?;
    Some((Code::Byte(byte), 3))
}

fn entity(bytes: &[u8]) -> Option<(Code, usize)> {
    const NAMES: [(&[u8], char); 5] = [
        (b"lt", '<'),
        (b"gt", '>'),
        (b"amp", '&'),
        (b"quot", '"'),
        (b"apos", '\''),
    ];
    let end = bytes.iter().take(10).position(|byte| *byte == b';')?;
    let name = &bytes[1..end];
    let char = match name {
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16)?,
        [b'#', digits @ ..] => number(digits, 10)?,
        _ => NAMES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((Code::Char(char), end + 1))
}

fn escape(bytes: &[u8]) -> Option<(Code, usize)> {
    match bytes.get(1)? {
        b'x' => Some((Code::Char(number(bytes.get(2..4)?, 16)?), 4)),
        b'u' if bytes.get(2) == Some(&b'{') => {
            let end = bytes.iter().take(12).position(|byte| *byte == b'}')?;
            Some((Code::Char(number(&bytes[3..end], 16)?), end + 1))
        }
        b'u' => {
            let unit = unit(bytes)?;
            let other = bytes.get(6..).and_then(unit_of_escape);
            let pair = other.and_then(|other| char::decode_utf16([unit, other]).next()?.ok());
            match pair {
                Some(char) if char.len_utf16() == 2 => Some((Code::Char(char), 12)),
                _ => Some((Code::Char(char::from_u32(u32::from(unit))?), 6)),
            }
        }
        // An escape that was escaped, as in a string within a string.
        b'\\' if matches!(bytes.get(2), Some(b'x' | b'u')) => {
            let (code, length) = escape(&bytes[1..])?;
            Some((code, length + 1))
        }
        _ => None,
    }
}

/// Returns the UTF-16 unit of `\u0041`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(2..6)?;
    digits
        .iter()
        .try_fold(0_u16, |unit, digit| Some(unit << 4 | u16::from(nibble(*digit)?)))
}

fn unit_of_escape(bytes: &[u8]) -> Option<u16> {
    bytes.starts_with(b"\\u").then(|| unit(bytes))?
}

fn number(digits: &[u8], radix: u32) -> Option<char> {
    if digits.is_empty() || digits.len() > 7 {
        return None;
    }
    let value = digits.iter().try_fold(0_u32, |value, digit| {
        Some(value * radix + char::from(*digit).to_digit(radix)?)
    })?;
    char::from_u32(value).filter(|char| *char != '\0')
}

/// Shortest run of letters and digits that is tried as base64 or hexadecimal.
const RUN_MIN: usize = 20;

/// Returns the runs of base64 letters that are long enough to hold a payload, with their padding.
///
/// Only every `RUN_MIN`th byte is looked at where there is none.
pub(in crate::scan) fn runs(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    let mut at = 0;
    std::iter::from_fn(move || {
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
                end += text[end..]
                    .iter()
                    .take(2)
                    .take_while(|byte| **byte == b'=')
                    .count();
                return Some(start..end);
            }
        }
        None
    })
}

/// Returns the text that a run decodes to, if it decodes to text that a person could read.
pub(in crate::scan) fn printable(run: &[u8]) -> Option<String> {
    let decode = |bytes: Option<Vec<u8>>| {
        let text = String::from_utf8(bytes?).ok()?;
        let is_odd = |char: &char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
        (text.chars().filter(is_odd).count() == 0).then_some(text)
    };
    decode(hexadecimal(run)).or_else(|| decode(base64(run)))
}
