//! Distinguishes secrets from other text, by entropy, checksums, placeholders and names in code.
//!
//! A wrong checksum lowers the severity of a finding, but does not remove it. Formats change, and a token with a typing
//! error is still worth hiding.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use bech32::Bech32;
use bech32::primitives::decode::CheckedHrpstring;

use super::mnemonic::is_mnemonic;
use super::names::{Link, Meaning, Naming};
use super::values::{
    has_filler, is_file_name, is_name, is_passphrase, is_passphrase_with_number, is_placeholder, is_random,
    is_reference, is_strong_password, is_uuid, surprise,
};
use crate::scan::encoding;
use crate::scan::finding::Severity;
use crate::scan::rules::{Check, Rule};

/// The number of bytes before a secret that are read.
pub(super) const BEFORE_MAX: usize = 160;
/// The number of bytes before a name that are read.
const BEFORE_NAME_MAX: usize = 80;
/// The number of bytes of a value with a name that are read. A value of more bytes is judged by its first ones.
const VALUE_MAX: usize = 512;

/// Returns the severity of the candidate of `rule` at `span`. Returns `None` if the candidate is not a secret. `name` is
/// the name to which the candidate is assigned.
pub(super) fn check(
    rule: &Rule,
    text: &str,
    span: Range<usize>,
    name: Option<Range<usize>>,
) -> Option<Severity> {
    let secret = &text[span.clone()];
    let before = &text[text.floor_char_boundary(span.start.saturating_sub(BEFORE_MAX))..span.start];
    let after = &text[span.end..];
    let naming = match name {
        Some(name) => {
            let start = text.floor_char_boundary(name.start.saturating_sub(BEFORE_NAME_MAX));
            Naming::read(&text[start..name.end], &text[name.end..span.start])
        }
        None => Naming::given(before),
    };
    let is_secret = match rule.check {
        // `near` judges the values near a name.
        Check::Armour | Check::NearPassword | Check::NearKey => true,
        Check::Random | Check::Crc32 | Check::Bech32 => {
            entropy(secret) >= rule.entropy && !has_filler(secret) && !is_in_blob(before)
        }
        Check::Jwt => is_web_token(secret),
        Check::Given => is_given(secret, before),
        Check::Password => is_password(secret, &naming, after),
        // INVARIANT SCA-1: values of one name may contain each other, to the end of the text.
        Check::Named => is_named_secret(first_of(secret), &naming, after),
        Check::Key => is_key(first_of(secret)),
        Check::Mnemonic => is_mnemonic(secret),
        Check::Code => secret.contains(|char: char| char.is_ascii_digit()) && !is_placeholder(secret),
        Check::Basic => is_user_and_password(secret),
    };
    let severity = match rule.check {
        Check::Armour if !secret.contains('\n') && secret.len() < 60 => Severity::Low,
        Check::Crc32 if !has_crc32(secret) => Severity::Medium,
        Check::Bech32 if !has_bech32(secret) => Severity::Medium,
        _ => rule.severity,
    };
    is_secret.then_some(severity)
}

/// Returns the part of a value that is read.
fn first_of(value: &str) -> &str {
    &value[..value.floor_char_boundary(VALUE_MAX)]
}

/// Returns Shannon's entropy in bits for each byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    let parts = counts.iter().filter(|count| **count > 0).map(|&count| {
        let share = f64::from(count) / total;
        -share * share.log2()
    });
    parts.sum()
}

/// Returns whether the last six characters are a CRC-32 in base 62, computed over the characters between the prefix and
/// this checksum.
fn has_crc32(token: &str) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let rest = token.split_once('_').map(|(_, rest)| rest.as_bytes());
    let Some((body, sum)) = rest.and_then(|rest| rest.split_last_chunk::<6>()) else {
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
fn has_bech32(text: &str) -> bool {
    CheckedHrpstring::new::<Bech32>(&text.to_ascii_lowercase()).is_ok()
}

/// Returns whether the first part of a token of three parts is a header that names an algorithm.
fn is_web_token(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header =
        encoding::base64(header.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    header.is_some_and(|header| header.starts_with('{') && header.contains("\"alg\""))
}

/// Returns whether the text after `before` is in the middle of data in base64, where any letters occur by chance.
fn is_in_blob(before: &str) -> bool {
    let is_base64 = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '/');
    let blob = &before[before.trim_end_matches(is_base64).len()..];
    let length_min = if blob.ends_with('+') { 8 } else { 24 };
    blob.len() >= length_min && surprise(blob) >= 0.25
}

/// Returns whether `value` is the base64 form of a user name, a colon and a password.
fn is_user_and_password(value: &str) -> bool {
    let plain = encoding::base64(value.as_bytes()).and_then(|bytes| String::from_utf8(bytes).ok());
    let is_plain = |text: &String| text.chars().all(|char| char.is_ascii_graphic());
    plain
        .filter(is_plain)
        .is_some_and(|text| text.trim_matches(':').contains(':'))
}

/// Returns whether `value` is a key, given that the value is in a place where only a key is expected.
pub(super) fn is_key(value: &str) -> bool {
    !is_reference(value)
        && !has_filler(value)
        && !is_file_name(value)
        && (is_random(value, 12) || is_uuid(value))
}

/// Returns whether `value` is a password, given that the value is in a place where only a password is expected. A
/// placeholder is no password, and neither is a repetition of the user name in `before`.
fn is_given(value: &str, before: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    !is_placeholder(value) && !before.ends_with(&format!("{value}:")) && !lower.contains("passw")
}

/// Returns whether `value` is a password, given that the value is assigned to a name for passwords.
fn is_password(value: &str, naming: &Naming, after: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if naming.meaning != Meaning::Password
        || is_placeholder(value)
        || (lower.contains("passw") && surprise(value) < 0.25)
    {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letter = value.contains(|char: char| char.is_ascii_alphabetic());
    let symbol = value.contains(|char: char| !char.is_ascii_alphanumeric());
    let is_quoted = naming.is_quoted;
    let is_tag = after.starts_with('<') && !after.starts_with("</");
    let is_code = !is_quoted
        && (is_tag || after.starts_with(['(', '[']) || (value.ends_with('-') && after.starts_with('>')));
    if is_code || (!is_quoted && value.starts_with(':')) {
        return false;
    }
    if naming.link == Link::Comma || (naming.link == Link::Space && !naming.is_option) {
        return digits > 0 && is_random(value, 8);
    }
    if digits > 0 && letter {
        let is_code = naming.link == Link::Sign && !is_quoted && !naming.is_setting && is_name(value);
        return value.len() >= 6 && !(is_code && after.starts_with([';', ',', ')', '.']));
    }
    if letter && symbol {
        let is_part = |char: char| char.is_ascii_alphabetic() || "_-./*&".contains(char);
        let is_name = value.chars().all(is_part) || value.ends_with(':') || value.contains(')');
        let is_sentence = value.contains(' ') && !is_quoted;
        let is_odd = surprise(value) >= 0.34 && value.len() >= 8;
        return (value.len() >= 6 && (!is_name || is_odd) && !is_sentence)
            || (is_quoted && is_passphrase(value));
    }
    if digits > 0 {
        return value.len() >= 6 && !symbol && (naming.link == Link::Tight || is_quoted);
    }
    // A word that a program compares a password with is seldom one.
    if naming.link == Link::Compared {
        return false;
    }
    let is_env = naming.is_setting && naming.link == Link::Tight;
    let is_odd = surprise(value) >= 0.34;
    let is_plain = (is_quoted && naming.link != Link::Word)
        || (value.len() >= 18 && value.chars().all(|char| char.is_ascii_lowercase()));
    value.len() >= 8 && (is_env || is_odd || is_plain) && !value.contains(|char: char| !char.is_ascii())
}

/// Returns whether `value` is a secret, given that the value is assigned to a name for keys and tokens.
fn is_named_secret(value: &str, naming: &Naming, after: &str) -> bool {
    if is_reference(value) || has_filler(value) || after.starts_with(['(', '[']) {
        return false;
    }
    let groups = || value.split('-').filter(|group| group.len() >= 4).count() >= 3;
    let longest = value
        .split(['-', '_', '.', '/', ':'])
        .map(str::len)
        .max()
        .unwrap_or(0);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_bare = naming.link == Link::Comma || (naming.link == Link::Space && !naming.is_option);
    let is_phrase = || {
        is_strong_password(value, false) || (naming.link != Link::Word && is_passphrase_with_number(value))
    };
    match naming.meaning {
        Meaning::Other => false,
        Meaning::Key | Meaning::Password if !is_bare && is_phrase() => true,
        Meaning::Key if naming.link != Link::Space && is_uuid(value) => true,
        Meaning::Unclear => {
            is_random(value, 20)
                && digits >= 2
                && longest >= 16
                && !is_uuid(value)
                && naming.link != Link::Word
        }
        Meaning::Key | Meaning::Password if is_bare => is_random(value, 16) && digits >= 2 && longest >= 12,
        Meaning::Key | Meaning::Password => {
            let length_min = if digits > 1 || naming.is_quoted || naming.link == Link::Tight {
                10
            } else {
                14
            };
            is_random(value, length_min) && (longest >= 8 || groups())
        }
    }
}
