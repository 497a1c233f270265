//! Decoders for the encodings that can hide a payload: base64, hexadecimal, and the escapes of URLs, HTML, mail, Markdown
//! and source code.
//!
//! No decoder returns an error: text that does not decode is not a payload.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use regex::{Captures, Regex};

const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Matches a run of base64 letters, with its padding, that is long enough for a payload.
static RUN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[A-Za-z0-9+/_-]{20,}={0,2}").expect("the pattern is a valid regex"));

/// An escape of URLs, HTML or source code. A backslash may itself be escaped, as in a string within a string. The groups
/// contain the digits.
const ESCAPE: &str = r"(?x)
        %([[:xdigit:]]{2})
        | &(?:lt|gt|amp|quot|apos);
        | &\#([0-9]{1,7});
        | &\#[xX]([[:xdigit:]]{1,6});
        | \\{1,2}x([[:xdigit:]]{2})
        | \\{1,2}u\{([[:xdigit:]]{1,7})\}
        | \\{1,2}u([dD][89abAB][[:xdigit:]]{2})\\u([dD][c-fC-F][[:xdigit:]]{2})
        | \\{1,2}u([[:xdigit:]]{4})";

/// An escaped character of Markdown or of a string, an escaped sign of mail, or a soft line end of mail.
const SIGN: &str = r"(?x)
        | &(?:nbsp|lowbar|equals|colon|num|commat|sol|plus|period|dash|hyphen|excl|ast|lpar|rpar);
        | =(2[0-9A-F]|3[A-F]|40|5[B-F]|60|7[B-E])
        | =\r?\n
        | \\([0-3][0-7]{2})
        | \\[nrt]
        | \\[!-/:-@\[-`{-~]";

static ESCAPES: LazyLock<Regex> = LazyLock::new(|| Regex::new(ESCAPE).expect("the pattern is a valid regex"));

static ESCAPES_AND_SIGNS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("{ESCAPE}{SIGN}")).expect("the pattern is a valid regex"));

/// Decodes base64 text, in either alphabet, with or without padding. Returns `None` if the text is not base64.
pub(in crate::scan) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let bare = text.iter().take_while(|byte| **byte != b'=');
    let letters = bare.map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    });
    BASE64.decode(letters.collect::<Vec<u8>>()).ok()
}

/// Decodes pairs of hexadecimal digits. Returns `None` for any other text.
fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// A text whose escapes were replaced.
#[derive(Default)]
pub(in crate::scan) struct Unescaped {
    pub(in crate::scan) text: String,
    /// For each byte of `text`, and for the end of `text`, the position in the original text.
    pub(in crate::scan) sources: Vec<usize>,
    /// The positions in `text` at which an escape was replaced, in ascending order.
    pub(in crate::scan) escapes: Vec<usize>,
}

impl Unescaped {
    /// Returns the parts of `text` with at least `least` escapes close to each other, with `around` bytes on each side.
    pub(in crate::scan) fn dense(&self, least: usize, around: usize) -> Vec<Range<usize>> {
        const NEAR: usize = 64;
        let mut parts: Vec<Range<usize>> = Vec::new();
        for near in self.escapes.chunk_by(|one, next| *next <= one + NEAR) {
            if near.len() < least {
                continue;
            }
            let start = self.text.floor_char_boundary(near[0].saturating_sub(around));
            let last = near[near.len() - 1];
            let end = self.text.ceil_char_boundary((last + around).min(self.text.len()));
            match parts.last_mut() {
                Some(part) if start <= part.end => part.end = end,
                _ => parts.push(start..end),
            }
        }
        parts
    }
}

/// Replaces `%41`, `&#65;`, `&#x41;`, `&lt;` and other named entities, `\x41` and `\u0041` in `text`.
pub(in crate::scan) fn unescape(text: &str) -> Unescaped {
    replaced(text, &ESCAPES)
}

/// Replaces the same escapes as [`unescape`], and the escapes of Markdown, mail and strings, such as `\_`, `=5F` and
/// `\137`.
pub(in crate::scan) fn unescape_signs(text: &str) -> Unescaped {
    replaced(text, &ESCAPES_AND_SIGNS)
}

/// Returns whether [`unescape_signs`] may find an escape. An equals sign alone is none.
pub(in crate::scan) fn may_have_escapes(text: &str) -> bool {
    const MAIL: [&str; 6] = ["=\n", "=\r\n", "=2", "=3", "=5", "=7"];
    text.contains(['%', '&', '\\']) || (text.contains('=') && MAIL.iter().any(|sign| text.contains(sign)))
}

fn replaced(text: &str, escapes_in: &Regex) -> Unescaped {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut sources = Vec::with_capacity(text.len());
    let mut escapes = Vec::new();
    let mut at = 0;
    for escape in escapes_in.captures_iter(text) {
        let Some(code) = decoded(&escape) else { continue };
        let span = escape.get_match().range();
        out.extend_from_slice(&text.as_bytes()[at..span.start]);
        escapes.push(out.len());
        sources.extend(at..span.start + code.len());
        out.extend(code);
        at = span.end;
    }
    out.extend_from_slice(&text.as_bytes()[at..]);
    sources.extend(at..=text.len());
    let text = String::from_utf8(out).unwrap_or_else(|error| {
        // The bytes are not UTF-8. Replaces each byte outside ASCII by one byte, so that positions stay valid.
        let bytes = error.into_bytes().into_iter();
        bytes
            .map(|byte| if byte.is_ascii() { char::from(byte) } else { '?' })
            .collect()
    });
    Unescaped {
        text,
        sources,
        escapes,
    }
}

/// Decodes one escape to bytes. Returns `None` if the escape encodes no character.
fn decoded(escape: &Captures<'_>) -> Option<Vec<u8>> {
    let form = &escape[0];
    let is_decimal = form.starts_with("&#") && !form[2..].starts_with(['x', 'X']);
    let is_octal = form.len() == 4 && form.starts_with('\\') && form.as_bytes()[1].is_ascii_digit();
    let radix = if is_decimal {
        10
    } else if is_octal {
        8
    } else {
        16
    };
    let groups = escape.iter().skip(1).flatten();
    let numbers = groups.map(|digits| u32::from_str_radix(digits.as_str(), radix).ok());
    let char = match (form, &numbers.collect::<Option<Vec<_>>>()?[..]) {
        ("&lt;", _) => '<',
        ("&gt;", _) => '>',
        ("&amp;", _) => '&',
        ("&quot;", _) => '"',
        ("&apos;", _) => '\'',
        ("\\n" | "\\r", _) => '\n',
        ("\\t" | "&nbsp;", _) => ' ',
        ("=\n" | "=\r\n", _) => return Some(Vec::new()),
        (name, _) if name.starts_with('&') && !name.starts_with("&#") => sign(name)?,
        (_, []) => return Some(form.as_bytes()[1..].to_vec()),
        (_, &[byte]) if form.starts_with(['%', '=']) => return Some(vec![byte as u8]),
        (_, &[high, low]) => char::decode_utf16([high as u16, low as u16]).next()?.ok()?,
        // `\u0000` encodes NUL. Any other escape of a single zero is malformed.
        (_, &[0]) if !form.ends_with("u0000") => return None,
        (_, &[code]) => char::from_u32(code)?,
        _ => return None,
    };
    Some(char.to_string().into_bytes())
}

/// Returns the sign that an entity names.
fn sign(name: &str) -> Option<char> {
    Some(match name.trim_matches(['&', ';']) {
        "lowbar" => '_',
        "equals" => '=',
        "colon" => ':',
        "num" => '#',
        "commat" => '@',
        "sol" => '/',
        "plus" => '+',
        "period" => '.',
        "dash" | "hyphen" => '-',
        "excl" => '!',
        "ast" => '*',
        "lpar" => '(',
        "rpar" => ')',
        _ => return None,
    })
}

/// Returns the runs of base64 letters or hexadecimal digits that decode to printable text, each with that text.
pub(in crate::scan) fn payloads(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    // Skips a text without a long word, because a run contains no space and few texts contain a word of this length.
    let has_room = text.split(' ').any(|word| word.len() >= 20);
    let runs = has_room.then(|| RUN.find_iter(text)).into_iter().flatten();
    runs.filter_map(|run| Some((run.range(), printable(run.as_str().as_bytes())?)))
}

/// The minimal number of digits of a text in base32.
const BASE32_MIN: usize = 24;

fn printable(run: &[u8]) -> Option<String> {
    let is_odd = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
    let read = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains(is_odd))
    };
    hexadecimal(run)
        .and_then(read)
        .or_else(|| base64(run).and_then(read))
        .or_else(|| base32(run).and_then(read))
}

/// Decodes base32. Returns `None` if `run` has other characters, or is too short for a text.
fn base32(run: &[u8]) -> Option<Vec<u8>> {
    let run = run.trim_ascii_end();
    let digits = run.iter().position(|byte| *byte == b'=').unwrap_or(run.len());
    if digits < BASE32_MIN {
        return None;
    }
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(digits * 5 / 8), 0_u32, 0);
    for byte in &run[..digits] {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 & 0xFFFF | u32::from(digit);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}
