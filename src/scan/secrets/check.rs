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
    toml::from_str(include_str!("../rules/placeholders.toml")).expect("a test parses the placeholders")
});

/// Returns the severity of the candidate `secret` of `rule`. Returns `None` if the candidate is not a secret. `before`
/// is the text before the candidate.
pub(super) fn check(rule: &Rule, secret: &str, before: &str) -> Option<Severity> {
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
        Check::Armour if !secret.contains('\n') && secret.len() < 60 => Severity::Low,
        Check::Crc32 if !has_crc32(secret) => Severity::Medium,
        Check::Bech32 if !has_bech32(secret) => Severity::Medium,
        _ => rule.severity,
    };
    is_secret.then_some(severity)
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

/// Returns whether the text is filler for a secret: one character six times in a row, or a word such as `changeme`.
fn has_filler(secret: &str) -> bool {
    let lists = &*PLACEHOLDERS;
    let lower = secret.to_ascii_lowercase();
    let mut runs = secret.as_bytes().chunk_by(|one, next| one == next);
    // Tokens of Twitter begin with a long run of the letter A.
    (runs.any(|run| run.len() >= 6) && !secret.starts_with("AAAA"))
        || lists.filler.iter().any(|word| lower.contains(word))
        || secret
            .split(|char: char| !char.is_ascii_alphanumeric())
            .any(|part| {
                let mut words = lists.filler_at_edge.iter();
                words.any(|word| part.starts_with(word) || part.ends_with(word))
            })
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

/// Returns whether the value refers to another value: a variable, a template, an expression, a path.
fn is_reference(value: &str) -> bool {
    let lists = &*PLACEHOLDERS;
    let is_letter = |char: char| char.is_ascii_alphabetic() || char == '_';
    let is_name = |name: &str| !name.is_empty() && name.chars().all(is_letter);
    lists.reference_start.iter().any(|start| value.starts_with(start))
        || lists.reference.iter().any(|part| value.contains(part))
        || (value.contains('.') && value.split('.').all(is_name))
}

/// Returns whether `value` is a placeholder for a password.
fn is_placeholder(value: &str) -> bool {
    let mut bare = value.to_ascii_lowercase();
    bare.retain(|char| char.is_ascii_alphanumeric());
    let is_word = PLACEHOLDERS.words.contains(&bare.as_str());
    is_reference(value) || is_word || has_filler(value) || bare.len() < 3
}

/// Returns whether `value` is a password, given that the value is in a place where only a password is expected. A
/// placeholder is no password, and neither is a repetition of the user name in `before`.
fn is_given(value: &str, before: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    !is_placeholder(value) && !before.ends_with(&format!("{value}:")) && !lower.contains("passw")
}

/// Returns whether `value` is a password, given that the value is assigned to a name for passwords.
fn is_password(value: &str, before: &str) -> bool {
    if is_placeholder(value) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let digit = value.contains(|char: char| char.is_ascii_digit());
    let letter = value.contains(|char: char| char.is_ascii_alphabetic());
    let symbol = value.contains(|char: char| !char.is_ascii_alphanumeric());
    let ends = |ends: &[&str]| ends.iter().any(|end| before.ends_with(end));
    let is_assigned = ends(&["=", "=\"", "='"]);
    let is_quoted = ends(&["\"", "'", "`"]);
    if digit && letter {
        // A word followed by a number, such as `pass1`, is a name as often as a password.
        return value.len() >= 6 && !lower.contains("password");
    }
    if letter && symbol {
        let is_part = |char: char| char.is_ascii_alphabetic() || "_-./".contains(char);
        let is_name = value.chars().all(is_part) || value.ends_with(':') || value.contains(')');
        let is_sentence = value.contains(' ') && !is_quoted;
        return (value.len() >= 6 && !is_name && !is_sentence) || (is_quoted && is_passphrase(value));
    }
    if digit {
        return value.len() >= 6 && !symbol && (is_assigned || is_quoted);
    }
    let name = before.strip_suffix('=').map(str::as_bytes);
    let is_env = name.is_some_and(|name| name.iter().rev().take(4).all(u8::is_ascii_uppercase));
    let is_odd = changes_of_case(value) >= 4;
    value.len() >= 8 && (is_env || is_odd || (is_quoted && is_assigned)) && !lower.contains("passw")
}

/// Returns whether a quoted value consists of four to eight words in lower case.
fn is_passphrase(value: &str) -> bool {
    let is_part = |char: char| char.is_ascii_lowercase() || char == ' ';
    value.chars().all(is_part) && (4..=8).contains(&value.split(' ').count())
}

/// Returns whether `whole` is a secret, given that the value is assigned to a name for keys and tokens.
fn is_named_secret(whole: &str) -> bool {
    let has = |is: fn(&u8) -> bool| whole.as_bytes().iter().any(is);
    if is_reference(whole) || has_filler(whole) || !has(u8::is_ascii_alphabetic) {
        return false;
    }
    let value = whole.strip_prefix("sk-").unwrap_or(whole);
    let bits = entropy(value);
    let words = value.split(['-', '_', '.', '/', ':']);
    let longest = words.map(str::len).max().unwrap_or(0);
    let has_both_cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_mixed = has_both_cases && changes_of_case(value) >= 6;
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || (is_mixed && longest >= 20) {
        let is_one_run = value.len() < whole.len() && longest == value.len();
        return (is_mixed || is_one_run) && longest >= 20 && bits >= 3.5;
    }
    // Requires a long word, because a value of short words may be a name with hyphens and a version number.
    let is_dense = digits >= 2 && (value.len() >= 16 || has_both_cases || digits >= 3);
    longest >= 8 && bits >= 2.9 && value.len() >= 10 && is_dense
}

fn changes_of_case(value: &str) -> usize {
    let pairs = value.as_bytes().windows(2);
    pairs
        .filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase())
        .count()
}
