//! Distinguishes secrets from other text, by entropy, checksums, placeholders and names in code.
//!
//! A wrong checksum lowers the severity of a finding, but does not remove it. Formats change, and a token with a typing
//! error is still worth hiding.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::sync::LazyLock;

use bech32::Bech32;
use bech32::primitives::decode::CheckedHrpstring;
use serde::Deserialize;

use crate::scan::encoding;
use crate::scan::finding::Severity;
use crate::scan::rules::{Check, Rule};

/// The lists in `placeholders.toml`; the file describes them.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Placeholders {
    filler: Vec<&'static str>,
    filler_at_edge: Vec<&'static str>,
    reference_start: Vec<&'static str>,
    reference: Vec<&'static str>,
    words: Vec<&'static str>,
}

static PLACEHOLDERS: LazyLock<Placeholders> = LazyLock::new(|| {
    toml::from_str(include_str!("../rules/placeholders.toml")).expect("a test reads the placeholders")
});

/// Returns the severity of the candidate `secret` of `rule`; `None` if it is not a secret. `before` is the text before
/// it.
pub(super) fn check(rule: &Rule, secret: &[u8], before: &[u8]) -> Option<Severity> {
    let is_secret = match rule.check {
        Check::Armour => true,
        Check::Random | Check::Crc32 | Check::Bech32 => {
            entropy(secret) >= rule.entropy && !has_filler(secret)
        }
        Check::Jwt => is_web_token(secret),
        Check::Given => is_given(secret, before),
        Check::Password => is_password(secret, before),
        Check::Named => is_named_secret(secret),
    };
    let severity = match rule.check {
        Check::Armour if !secret.contains(&b'\n') && secret.len() < 60 => Severity::Low,
        Check::Crc32 if !has_crc32(secret) => Severity::Medium,
        Check::Bech32 if !has_bech32(secret) => Severity::Medium,
        _ => rule.severity,
    };
    is_secret.then_some(severity)
}

/// Returns Shannon's entropy in bits for each byte.
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

/// Returns whether the bytes are filler for a secret: one character six times in a row, or a word such as `changeme`.
fn has_filler(secret: &[u8]) -> bool {
    let lists = &*PLACEHOLDERS;
    let mut runs = secret.chunk_by(|one, next| one == next);
    // Tokens of Twitter begin with a long run of the letter A.
    (runs.any(|run| run.len() >= 6) && !secret.starts_with(b"AAAA"))
        || contains_any(&secret.to_ascii_lowercase(), &lists.filler)
        || secret.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| {
            let mut words = lists.filler_at_edge.iter().map(|word| word.as_bytes());
            words.any(|word| part.starts_with(word) || part.ends_with(word))
        })
}

fn contains_any(text: &[u8], parts: &[&str]) -> bool {
    parts.iter().any(|part| contains(text, part))
}

fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

/// Returns whether the last six characters are the CRC-32, in base 62, of the characters between the prefix and them.
fn has_crc32(token: &[u8]) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut parts = token.splitn(2, |byte| *byte == b'_').skip(1);
    let Some((body, sum)) = parts.next().and_then(|rest| rest.split_last_chunk::<6>()) else {
        return false;
    };
    let mut rest = crc32fast::hash(body);
    sum.iter().rev().all(|digit| {
        let wanted = DIGITS[(rest % 62) as usize];
        rest /= 62;
        *digit == wanted
    })
}

/// Returns whether `text` ends in the checksum of Bech32 (BIP 173).
fn has_bech32(text: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(text).to_ascii_lowercase();
    CheckedHrpstring::new::<Bech32>(&lower).is_ok()
}

/// Returns whether the first part of a token of three parts is a header that names an algorithm.
fn is_web_token(token: &[u8]) -> bool {
    let header = token.split(|byte| *byte == b'.').next().unwrap_or_default();
    encoding::base64(header).is_some_and(|header| header.starts_with(b"{") && contains(&header, "\"alg\""))
}

/// Returns whether the value refers to another value: a variable, a template, an expression, a path.
fn is_reference(value: &[u8]) -> bool {
    let lists = &*PLACEHOLDERS;
    let is_name = |name: &[u8]| {
        !name.is_empty()
            && name
                .iter()
                .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    };
    let mut starts = lists.reference_start.iter();
    starts.any(|start| value.starts_with(start.as_bytes()))
        || contains_any(value, &lists.reference)
        || (value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name))
}

/// Returns whether `value` is a placeholder for a password.
fn is_placeholder(value: &[u8]) -> bool {
    let mut bare = value.to_ascii_lowercase();
    bare.retain(u8::is_ascii_alphanumeric);
    let is_word = PLACEHOLDERS.words.iter().any(|word| word.as_bytes() == bare);
    is_reference(value) || is_word || has_filler(value) || bare.len() < 3
}

/// Returns whether `value`, in a place where only a password is expected, is one: it is neither a placeholder nor the
/// user name before it.
fn is_given(value: &[u8], before: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    !is_placeholder(value) && !before.ends_with(&[value, b":"].concat()) && !contains(&lower, "passw")
}

/// Returns whether `value` is a password, given that it is assigned to a name for passwords.
fn is_password(value: &[u8], before: &[u8]) -> bool {
    if is_placeholder(value) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let (digit, letter) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    let symbol = has(|byte| !byte.is_ascii_alphanumeric());
    let ends = |ends: &[&str]| ends.iter().any(|end| before.ends_with(end.as_bytes()));
    let is_assigned = ends(&["=", "=\"", "='"]);
    let is_quoted = ends(&["\"", "'", "`"]);
    if digit && letter {
        // A word followed by a number, such as `pass1`, is a name as often as a password.
        return value.len() >= 6 && !contains(&lower, "password");
    }
    if letter && symbol {
        let is_part = |byte: &u8| byte.is_ascii_alphabetic() || b"_-./".contains(byte);
        let is_name = value.iter().all(is_part) || value.ends_with(b":") || value.contains(&b')');
        let is_sentence = value.contains(&b' ') && !is_quoted;
        return (value.len() >= 6 && !is_name && !is_sentence) || (is_quoted && is_passphrase(value));
    }
    if digit {
        return value.len() >= 6 && !symbol && (is_assigned || is_quoted);
    }
    let is_env = before.ends_with(b"=") && before.iter().rev().skip(1).take(4).all(u8::is_ascii_uppercase);
    let is_odd = changes_of_case(value) >= 4;
    value.len() >= 8 && (is_env || is_odd || (is_quoted && is_assigned)) && !contains(&lower, "passw")
}

/// Returns whether a quoted value consists of four to eight words in lower case.
fn is_passphrase(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_lowercase() || *byte == b' ';
    value.iter().all(is_part) && (4..=8).contains(&value.split(|byte| *byte == b' ').count())
}

/// Returns whether `whole` is a secret, given that it is assigned to a name for keys and tokens.
fn is_named_secret(whole: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| whole.iter().any(is);
    if is_reference(whole) || has_filler(whole) || !has(u8::is_ascii_alphabetic) {
        return false;
    }
    let value = whole.strip_prefix(b"sk-").unwrap_or(whole);
    let bits = entropy(value);
    let words = value.split(|byte| b"-_./:".contains(byte));
    let longest = words.map(<[u8]>::len).max().unwrap_or(0);
    let has_both_cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_mixed = has_both_cases && changes_of_case(value) >= 6;
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || (is_mixed && longest >= 20) {
        let is_one_run = value.len() < whole.len() && longest == value.len();
        return (is_mixed || is_one_run) && longest >= 20 && bits >= 3.5;
    }
    // Shorter words may be a name with hyphens and a version number.
    let is_dense = digits >= 2 && (value.len() >= 16 || has_both_cases || digits >= 3);
    longest >= 8 && bits >= 2.9 && value.len() >= 10 && is_dense
}

fn changes_of_case(value: &[u8]) -> usize {
    let pairs = value.windows(2);
    pairs
        .filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase())
        .count()
}
