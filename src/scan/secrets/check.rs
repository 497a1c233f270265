//! Tells secrets from what only looks like one: entropy, checksums, placeholders, names in code.
//!
//! A checksum that does not hold makes a finding less grave, not void: formats change, and a token with a typing error
//! is still worth hiding.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use super::kinds::Check;
use crate::scan::encoding;
use crate::scan::finding::Severity;

/// Returns how grave the candidate `secret` is, or nothing if it is none; `before` is what stands before it.
pub(super) fn check(how: Check, secret: &[u8], before: &[u8]) -> Option<Severity> {
    match how {
        Check::Armour => Some(Severity::High),
        Check::Entropy(tenths) => is_random(secret, tenths).then_some(Severity::High),
        Check::Crc => is_random(secret, 30).then(|| by_checksum(has_crc(secret))),
        Check::Bech => is_random(secret, 30).then(|| by_checksum(has_bech32_checksum(secret))),
        Check::Jwt => is_web_token(secret).then_some(Severity::High),
        Check::Given => is_given(secret, before).then_some(Severity::Medium),
        Check::Password => is_password(secret, before).then_some(Severity::Medium),
        Check::Named => is_named_secret(secret).then_some(Severity::Medium),
    }
}

fn by_checksum(holds: bool) -> Severity {
    if holds { Severity::High } else { Severity::Medium }
}

/// Returns Shannon's entropy of the bytes, in bits a byte.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = bytes.len() as f64;
    let parts = counts.iter().filter(|count| **count > 0).map(|&count| {
        let share = f64::from(count) / total;
        -share * share.log2()
    });
    parts.sum()
}

fn is_random(secret: &[u8], tenths: u32) -> bool {
    entropy(secret) * 10.0 >= f64::from(tenths) && !has_filler(secret)
}

/// Whether a person wrote the bytes to stand for a secret: one character four times over, or a word that says so.
fn has_filler(secret: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b"placeholder",
        b"changeme",
        b"change_me",
        b"change-me",
        b"redacted",
        b"insert",
        b"replace",
        b"****",
    ];
    // Long tokens hold short words by chance: these count where a part of the token begins or ends with them, in one case.
    const SHORT_WORDS: [&[u8]; 10] = [
        b"your", b"YOUR", b"Your", b"fake", b"FAKE", b"Fake", b"dummy", b"DUMMY", b"xxxx", b"XXXX",
    ];
    let lower = secret.to_ascii_lowercase();
    let repeats = secret
        .windows(6)
        .any(|six| six.iter().all(|byte| *byte == six[0]));
    // Twitter's tokens begin with many letters A.
    (repeats && !secret.starts_with(b"AAAA"))
        || WORDS.iter().any(|word| contains(&lower, word))
        || secret.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| {
            SHORT_WORDS
                .iter()
                .any(|word| part.starts_with(word) || part.ends_with(word))
        })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Whether the last six characters are the CRC-32, in base 62, of what stands between them and the prefix.
fn has_crc(token: &[u8]) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let Some(start) = token.iter().position(|byte| *byte == b'_') else {
        return false;
    };
    let Some((body, sum)) = token[start + 1..].split_last_chunk::<6>() else {
        return false;
    };
    let mut rest = crc32(body);
    sum.iter().rev().all(|digit| {
        let wanted = DIGITS[(rest % 62) as usize];
        rest /= 62;
        *digit == wanted
    })
}

/// CRC-32 as in zip and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 }
        })
    });
    !sum
}

/// Whether `text` ends in the checksum of Bech32 (BIP 173).
fn has_bech32_checksum(text: &[u8]) -> bool {
    const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const STEPS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let lower = text.to_ascii_lowercase();
    let Some(split) = lower.iter().rposition(|byte| *byte == b'1') else {
        return false;
    };
    let (prefix, data) = (&lower[..split], &lower[split + 1..]);
    let mut values: Vec<u32> = prefix.iter().map(|byte| u32::from(byte >> 5)).collect();
    values.push(0);
    values.extend(prefix.iter().map(|byte| u32::from(byte & 31)));
    for byte in data {
        match LETTERS.iter().position(|letter| letter == byte) {
            Some(value) => values.push(value as u32),
            None => return false,
        }
    }
    let sum = values.into_iter().fold(1_u32, |sum, value| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ value;
        (0..STEPS.len())
            .filter(|bit| top >> bit & 1 == 1)
            .fold(next, |next, bit| next ^ STEPS[bit])
    });
    sum == 1
}

/// Whether the first part of a token of three parts is a header that names an algorithm.
fn is_web_token(token: &[u8]) -> bool {
    let header = token.split(|byte| *byte == b'.').next().unwrap_or_default();
    encoding::base64(header).is_some_and(|header| header.starts_with(b"{") && contains(&header, b"\"alg\""))
}

/// What kinds of characters a value has.
#[expect(clippy::struct_excessive_bools, reason = "four kinds, each there or not")]
struct Shape {
    lower: bool,
    upper: bool,
    digit: bool,
    symbol: bool,
}

impl Shape {
    fn of(value: &[u8]) -> Self {
        Self {
            lower: value.iter().any(u8::is_ascii_lowercase),
            upper: value.iter().any(u8::is_ascii_uppercase),
            digit: value.iter().any(u8::is_ascii_digit),
            symbol: value.iter().any(|byte| !byte.is_ascii_alphanumeric()),
        }
    }

    fn letter(&self) -> bool {
        self.lower || self.upper
    }
}

/// Whether the value stands for another: a variable, a template, an expression, a path.
fn is_reference(value: &[u8]) -> bool {
    let starts: [&[u8]; 9] = [b"$", b"{", b"<", b"%", b"[", b"/", b"./", b"~/", b"@"];
    let parts: [&[u8]; 12] = [
        b"${",
        b"{{",
        b"}}",
        b"...",
        b"***",
        b"::",
        b"->",
        b"()",
        b"://",
        b"(",
        b"[REDACTED",
        b"env.",
    ];
    let is_path_of_names = || {
        let mut names = value.split(|byte| *byte == b'.');
        value.contains(&b'.')
            && names.all(|name| {
                !name.is_empty()
                    && !name[0].is_ascii_digit()
                    && name
                        .iter()
                        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            })
            && !value.iter().any(u8::is_ascii_digit)
    };
    starts.iter().any(|start| value.starts_with(start))
        || parts.iter().any(|part| contains(value, part))
        || is_path_of_names()
}

/// Words that stand where a password would.
const WORDS: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "text",
    "bytes",
    "required",
    "optional",
    "empty",
    "unset",
    "default",
    "example",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "secret",
    "changeme",
    "hashed",
    "encrypted",
    "hidden",
    "incorrect",
    "invalid",
    "wrong",
    "missing",
    "value",
    "reset",
    "protected",
    "prompt",
    "stored",
    "needed",
    "provided",
    "expired",
    "authentication",
    "verified",
    "correct",
    "username",
    "plaintext",
    "user",
    "input",
    "field",
    "option",
    "support",
    "strength",
    "policy",
    "confirm",
    "confirmation",
    "updated",
    "changed",
    "through",
    "returned",
    "sensitive",
    "generated",
    "validated",
    "validation",
    "different",
    "disabled",
    "enabled",
    "function",
    "object",
    "number",
    "boolean",
    "unknown",
    "account",
    "something",
    "anything",
    "nothing",
    "being",
    "going",
    "about",
    "another",
];

/// Whether `value` stands for a password that is not said.
fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let bare: Vec<u8> = lower.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    let is_word = WORDS.iter().any(|word| word.as_bytes() == bare);
    is_reference(value) || is_word || has_filler(value) || bare.len() < 3
}

/// Whether `value`, where only a password can stand, is one: not a placeholder, and not the name of the user before it.
fn is_given(value: &[u8], before: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    !is_placeholder(value) && !before.ends_with(&[value, b":"].concat()) && !contains(&lower, b"passw")
}

/// Whether `value`, given to a name that is for passwords, is one.
fn is_password(value: &[u8], before: &[u8]) -> bool {
    let shape = Shape::of(value);
    let lower = value.to_ascii_lowercase();
    if is_placeholder(value) {
        return false;
    }
    let is_given_at_once = before.ends_with(b"=") || before.ends_with(b"=\"") || before.ends_with(b"='");
    let is_quoted = before.ends_with(b"\"") || before.ends_with(b"'") || before.ends_with(b"`");
    if shape.digit && shape.letter() {
        // A word with a number behind it, `pass1`, is a name as often as it is a password.
        return value.len() >= 6 && !contains(&lower, b"password");
    }
    if shape.letter() && shape.symbol {
        let is_name = value
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || b"_-./".contains(byte));
        let is_sentence = value.contains(&b' ') && !is_quoted;
        return value.len() >= 6
            && !is_name
            && !is_sentence
            && !value.ends_with(b":")
            && !value.contains(&b')')
            || (is_quoted && value.contains(&b' ') && is_passphrase(value));
    }
    if shape.digit {
        return value.len() >= 6 && !shape.symbol && (is_given_at_once || is_quoted);
    }
    let is_env = before.ends_with(b"=") && before.iter().rev().skip(1).take(4).all(u8::is_ascii_uppercase);
    let is_odd = changes_of_case(value) >= 4;
    value.len() >= 8 && (is_env || is_odd || (is_quoted && is_given_at_once)) && !contains(&lower, b"passw")
}

/// Whether a quoted value of several words is made of lower-case words alone, four at the least.
fn is_passphrase(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| byte.is_ascii_lowercase() || *byte == b' ')
        && (4..=8).contains(&value.split(|byte| *byte == b' ').count())
}

/// Whether `value`, given to a name that is for keys and tokens, is one.
fn is_named_secret(whole: &[u8]) -> bool {
    let value = whole;
    let shape = Shape::of(value);
    if is_reference(value) || has_filler(value) || !shape.letter() {
        return false;
    }
    let value = value.strip_prefix(b"sk-").unwrap_or(value);
    let is_prefixed = value.len() < whole.len();
    let bits = entropy(value);
    let words = value.split(|byte| b"-_./:".contains(byte));
    let longest = words.map(<[u8]>::len).max().unwrap_or(0);
    let is_mixed = shape.lower && shape.upper && changes_of_case(value) >= 6;
    if !shape.digit || (is_mixed && longest >= 20) {
        let is_one_run = is_prefixed && longest == value.len();
        return (is_mixed || is_one_run) && longest >= 20 && bits >= 3.5;
    }
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    if longest < 8 && !is_uuid(value) {
        // Words with hyphens and a version number.
        return false;
    }
    let is_dense = digits >= 2 && (value.len() >= 16 || (shape.lower && shape.upper) || digits >= 3);
    bits >= 2.9 && value.len() >= 10 && is_dense
}

fn changes_of_case(value: &[u8]) -> usize {
    let pairs = value.windows(2);
    pairs
        .filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase())
        .count()
}

fn is_uuid(value: &[u8]) -> bool {
    let lengths = value.split(|byte| *byte == b'-').map(<[u8]>::len);
    lengths.eq([8, 4, 4, 4, 12]) && value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}
