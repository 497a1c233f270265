//! Finds credentials in a text and replaces them by keyed markers.
//!
//! A marker, `[REDACTED:kind:0123abcd]`, is a wall: what stands left and right of it is scanned on its own, so that text
//! around a marker never joins to a new secret, and redacting twice is redacting once.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan` but the keyed digest.

mod check;
mod cloud;
mod code;
mod generic;
mod kinds;
mod marker;
mod redact;
mod services;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::LazyLock;

use self::check::check;
use self::kinds::{Check, Kind, kinds};
use super::encoding;
use super::finding::Severity;
use super::rules::RuleSet;
use super::unicode;

pub(in crate::scan) use self::marker::marker;
pub(in crate::scan) use self::redact::redact;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct Secret {
    pub(in crate::scan) kind: &'static str,
    pub(in crate::scan) severity: Severity,
    pub(in crate::scan) span: Range<usize>,
    /// Position in the table: of two kinds at one place the first counts.
    rank: usize,
    /// Whether the span has to be decoded to see it.
    pub(in crate::scan) is_decoded: bool,
}

/// All kinds of secrets, the special before the general.
struct Table {
    kinds: Vec<Kind>,
    rules: RuleSet,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rows = [cloud::ROWS, code::ROWS, services::ROWS, generic::ROWS];
    let kinds: Vec<Kind> = rows.into_iter().flat_map(kinds).collect();
    let rules = RuleSet::new(kinds.iter().map(|kind| kind.rule).collect(), true, str::to_owned);
    Table { kinds, rules }
});

/// Returns the secrets of `text`, sorted, none inside another.
pub(in crate::scan) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    for part in marker::between(text) {
        let mut here = Vec::new();
        find_plain(&text[part.clone()], &mut here);
        find_split(&text[part.clone()], &mut here);
        find_decoded(&text[part.clone()], &mut here);
        for secret in &mut here {
            secret.span = secret.span.start + part.start..secret.span.end + part.start;
        }
        found.append(&mut here);
    }
    without_nested(found)
}

/// Returns whether the value of an attribute called `name` is a secret, with its kind.
pub(in crate::scan) fn find_named(name: &str, value: &str) -> Option<Secret> {
    let start = name.len() + 1;
    let text = format!("{name}={value}");
    let found = find(&text).into_iter().find(|secret| secret.span.end > start)?;
    let span = found.span.start.max(start) - start..found.span.end - start;
    Some(Secret { span, ..found })
}

/// The secrets that can be read as they stand.
fn find_plain(text: &str, found: &mut Vec<Secret>) {
    let bytes = text.as_bytes();
    let table = &*TABLE;
    let mut looked_until = vec![0; table.kinds.len()];
    table.rules.run(bytes, |matched| {
        let kind = &table.kinds[matched.rule];
        if matched.span.start < looked_until[matched.rule] {
            return true;
        }
        let span = extent(kind.check, bytes, matched.span);
        looked_until[matched.rule] = span.end;
        let before = &bytes[span.start.saturating_sub(160)..span.start];
        if let Some(mut severity) = check(kind.check, &bytes[span.clone()], before) {
            if kind.check == Check::Armour && !bytes[span.clone()].contains(&b'\n') && span.len() < 60 {
                severity = Severity::Low;
            }
            found.push(Secret {
                kind: kind.rule.name,
                rank: matched.rule,
                severity,
                span: boundaries(text, span),
                is_decoded: false,
            });
        }
        true
    });
}

/// The secrets that invisible characters split.
fn find_split(text: &str, found: &mut Vec<Secret>) {
    let Some(stripped) = unicode::stripped(text) else {
        return;
    };
    let mut split = Vec::new();
    find_plain(&stripped.text, &mut split);
    for mut secret in split {
        let last = stripped.source(secret.span.end - 1);
        secret.span = boundaries(text, stripped.source(secret.span.start)..last + 1);
        found.push(secret);
    }
}

/// The secrets that stand in base64.
fn find_decoded(text: &str, found: &mut Vec<Secret>) {
    for span in encoding::runs(text.as_bytes()) {
        let Some(decoded) = encoding::printable(&text.as_bytes()[span.clone()]) else {
            continue;
        };
        let mut inner = Vec::new();
        find_plain(&decoded, &mut inner);
        found.extend(inner.into_iter().map(|secret| Secret {
            span: span.clone(),
            is_decoded: true,
            ..secret
        }));
    }
}

/// Returns how far a match really goes: patterns end early where a secret may be long.
fn extent(how: Check, text: &[u8], span: Range<usize>) -> Range<usize> {
    let while_in = |from: usize, is_part: &dyn Fn(u8) -> bool| {
        let rest = &text[from..];
        from + rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len())
    };
    match how {
        Check::Jwt => {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            span.start..while_in(span.end, &is_part)
        }
        Check::Armour => span.start..end_of_armour(text, span.end),
        Check::Named => {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.~+/=-".contains(&byte);
            let end = while_in(span.end, &is_part);
            let value = &text[span.start..end];
            let last = value.iter().rposition(|byte| !b".!?".contains(byte));
            span.start..last.map_or(end, |last| span.start + last + 1)
        }
        Check::Password | Check::Given => {
            // What closes a sentence or a bracket around the value is not part of it.
            let value = &text[span.clone()];
            let end = value.iter().rposition(|byte| !b".,;:!?)]}>'\"`".contains(byte));
            span.start..end.map_or(span.end, |last| span.start + last + 1)
        }
        _ => span,
    }
}

/// Returns where the body of a key in armour ends whose head ends at `at`.
fn end_of_armour(text: &[u8], at: usize) -> usize {
    const FOOT: &[u8] = b"-----END";
    let rest = &text[at..];
    // Letters, digits and what lines of headers and escaped line ends need; the foot begins with hyphens.
    // The dashes of a foot, or of the next head, end the search.
    let dashes = rest.windows(5).position(|window| window == b"-----");
    let rest = &rest[..dashes.map_or(rest.len(), |dashes| (dashes + 64).min(rest.len()))];
    let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\ \r\n\t:,.()\"-<>@_".contains(byte);
    let body = rest.iter().position(|byte| !is_body(byte)).unwrap_or(rest.len());
    let foot = rest[..body].windows(FOOT.len()).position(|window| window == FOOT);
    if let Some(foot) = foot {
        let tail = &rest[foot + FOOT.len()..body];
        let close = tail.windows(5).position(|window| window == b"-----");
        return at + foot + FOOT.len() + close.map_or(0, |close| close + 5);
    }
    // Without a foot: as long as lines look like base64.
    let mut end = 0;
    for line in rest[..body].split_inclusive(|byte| *byte == b'\n') {
        let word = line.trim_ascii();
        let is_base64 = word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\.".contains(byte));
        let is_key = is_base64 && (word.len() >= 12 || end > 0 || word.is_empty());
        if !is_key {
            break;
        }
        end += line.len();
    }
    at + rest[..end].trim_ascii_end().len()
}

/// Returns the least range of whole characters that covers `span`.
pub(in crate::scan) fn boundaries(text: &str, span: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end)
}

/// Sorts, and drops what stands inside another secret; of equal spans the special kind stays.
fn without_nested(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.span.start, usize::MAX - secret.span.end, secret.rank));
    let mut kept: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match kept.last() {
            Some(last) if secret.span.end <= last.span.end => {}
            _ => kept.push(secret),
        }
    }
    kept
}
