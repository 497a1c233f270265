//! Finds credentials in a text and replaces them by keyed markers.
//!
//! A marker, `[REDACTED:kind:0123abcd]`, divides the text, and the scan reads the text before and after it separately.
//! So the text around a marker never forms a new secret, and redacting twice gives the same result as redacting once.
//!
//! # Layer
//! Pure: outside `scan` it imports only the keyed digest.

mod check;
mod marker;
mod redact;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;

use self::check::check;
use super::encoding;
use super::finding::Finding;
use super::rules::{self, Check};
use super::unicode;

pub(in crate::scan) use self::marker::marker;
pub(in crate::scan) use self::redact::redact;

/// A secret and the position of its rule. If two secrets have the same span, the earlier rule is used.
type Candidate = (usize, Finding);

/// Returns the secrets of `text` in order. No secret is inside another one.
pub(in crate::scan) fn find(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for part in marker::between(text) {
        let (start, part) = (part.start, &text[part]);
        let mut here = Vec::new();
        find_plain(part, &mut here);
        find_split(part, &mut here);
        find_decoded(part, &mut here);
        found.extend(
            here.into_iter()
                .map(|(rank, secret)| (rank, secret.shifted(start))),
        );
    }
    without_nested(found)
}

/// Returns the first secret in the value of the attribute `name`.
pub(in crate::scan) fn find_named(name: &str, value: &str) -> Option<Finding> {
    let start = name.len() + 1;
    let text = format!("{name}={value}");
    let found = find(&text).into_iter().find(|secret| secret.span.end > start)?;
    let span = found.span.start.max(start) - start..found.span.end - start;
    Some(Finding { span, ..found })
}

/// Finds the secrets that are in plain text.
fn find_plain(text: &str, found: &mut Vec<Candidate>) {
    let bytes = text.as_bytes();
    let mut searched_until = vec![0; rules::TEXT.rules().count()];
    rules::TEXT.run(bytes, |matched| {
        let rule = matched.rule;
        if matched.span.start < searched_until[matched.index] {
            return true;
        }
        let span = extent(rule.check, bytes, matched.span);
        searched_until[matched.index] = span.end;
        let before = &bytes[span.start.saturating_sub(160)..span.start];
        if let Some(severity) = check(rule, &bytes[span.clone()], before) {
            let span = boundaries(text, span);
            let finding = Finding::new(rule.category, rule.id, severity, span);
            found.push((matched.index, finding));
        }
        true
    });
}

/// Finds the secrets that invisible characters interrupt.
fn find_split(text: &str, found: &mut Vec<Candidate>) {
    let Some((stripped, sources)) = unicode::strip(text, false) else {
        return;
    };
    let first = found.len();
    find_plain(&stripped, found);
    for (_, secret) in &mut found[first..] {
        let last = sources.source(secret.span.end - 1);
        secret.span = boundaries(text, sources.source(secret.span.start)..last + 1);
    }
}

/// Finds the secrets that are encoded in base64.
fn find_decoded(text: &str, found: &mut Vec<Candidate>) {
    for span in encoding::runs(text.as_bytes()) {
        let Some(decoded) = encoding::printable(&text.as_bytes()[span.clone()]) else {
            continue;
        };
        let first = found.len();
        find_plain(&decoded, found);
        for (_, secret) in &mut found[first..] {
            secret.span = span.clone();
        }
    }
}

/// Returns the extent of the secret that contains a match, because patterns may end before a long secret does.
fn extent(check: Check, text: &[u8], span: Range<usize>) -> Range<usize> {
    // `token_end` finds the end of the token characters after the span; `trimmed` finds an end without trailing
    // `closing` characters.
    let token_end = |others: &[u8]| {
        let mut rest = text[span.end..].iter();
        let end = rest.position(|byte| !byte.is_ascii_alphanumeric() && !others.contains(byte));
        end.map_or(text.len(), |end| span.end + end)
    };
    let trimmed = |end: usize, closing: &[u8]| {
        let last = text[span.start..end]
            .iter()
            .rposition(|byte| !closing.contains(byte));
        last.map_or(end, |last| span.start + last + 1)
    };
    let end = match check {
        Check::Jwt => token_end(b"_.-"),
        Check::Armour => end_of_armour(text, span.end),
        Check::Named => trimmed(token_end(b"_.~+/=-"), b".!?"),
        // Punctuation that ends a sentence or a bracket around the value is not part of the value.
        Check::Password | Check::Given => trimmed(span.end, b".,;:!?)]}>'\"`"),
        Check::Random | Check::Crc32 | Check::Bech32 => span.end,
    };
    span.start..end
}

/// Returns the end of the body of an armoured key whose header ends at `at`.
fn end_of_armour(text: &[u8], at: usize) -> usize {
    const FOOT: &[u8] = b"-----END";
    let rest = &text[at..];
    // The dashes of the footer or of the next header end the search.
    let dashes = rest.windows(5).position(|window| window == b"-----");
    let rest = &rest[..dashes.map_or(rest.len(), |dashes| (dashes + 64).min(rest.len()))];
    // The body consists of letters, digits, and the characters of header lines and escaped line ends. The footer begins
    // with hyphens.
    let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\ \r\n\t:,.()\"-<>@_".contains(byte);
    let body = rest.iter().position(|byte| !is_body(byte)).unwrap_or(rest.len());
    let foot = rest[..body].windows(FOOT.len()).position(|window| window == FOOT);
    if let Some(foot) = foot {
        let tail = &rest[foot + FOOT.len()..body];
        let close = tail.windows(5).position(|window| window == b"-----");
        return at + foot + FOOT.len() + close.map_or(0, |close| close + 5);
    }
    // Without a footer, the key ends with the last line that looks like base64.
    let mut end = 0;
    for line in rest[..body].split_inclusive(|byte| *byte == b'\n') {
        let word = line.trim_ascii();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\.".contains(byte);
        let is_long = word.len() >= 12 || end > 0 || word.is_empty();
        if !word.iter().all(is_part) || !is_long {
            break;
        }
        end += line.len();
    }
    at + rest[..end].trim_ascii_end().len()
}

/// Returns the smallest range of whole characters that covers `span`.
pub(in crate::scan) fn boundaries(text: &str, span: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end)
}

/// Sorts secrets and drops those inside other ones. If two have the same span, keeps the one of the earlier rule.
fn without_nested(mut found: Vec<Candidate>) -> Vec<Finding> {
    found.sort_by_key(|(rank, secret)| (secret.span.start, Reverse(secret.span.end), *rank));
    let mut kept: Vec<Finding> = Vec::with_capacity(found.len());
    for (_, secret) in found {
        if kept.last().is_none_or(|last| last.span.end < secret.span.end) {
            kept.push(secret);
        }
    }
    kept
}
