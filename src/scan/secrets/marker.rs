//! Markers, which replace secrets.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan` but the keyed digest.
//!
//! # Invariants
//! - SCA-2: a marker depends on the kind, the secret and the key alone; without the key it discloses nothing.

use std::ops::Range;

use crate::digest::keyed;
use crate::scan::rules;

const START: &str = "[REDACTED:";
/// Hexadecimal digits of the keyed digest that a marker shows.
const DIGITS: usize = 8;
/// The kind of a marker that replaces a whole text.
pub(super) const WHOLE: &str = "text";

/// Returns the marker for `secret`.
pub(in crate::scan) fn marker(kind: &str, secret: &[u8], key: &[u8; 32]) -> String {
    let digest = keyed(key, secret);
    // INVARIANT SCA-2: only the first bytes of the keyed digest leave this function.
    let shown: String = digest[..DIGITS / 2]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{START}{kind}:{shown}]")
}

/// Returns the length of the marker at the start of `text`.
fn length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(START)?;
    let (kind, rest) = rest.split_at_checked(rest.bytes().take(64).position(|byte| byte == b':')?)?;
    let digits = rest.as_bytes().get(1..=DIGITS)?;
    let is_digits = digits
        .iter()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    let is_kind = kind == WHOLE || rules::TEXT.rules().any(|rule| rule.id == kind);
    let is_closed = rest.as_bytes().get(DIGITS + 1) == Some(&b']');
    (is_digits && is_kind && is_closed).then_some(START.len() + kind.len() + DIGITS + 2)
}

/// Returns the parts of `text` between markers.
pub(super) fn between(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(next) = text[at..].find(START) {
        at += next;
        match length(&text[at..]) {
            Some(length) => {
                parts.push(start..at);
                at += length;
                start = at;
            }
            None => at += START.len(),
        }
    }
    parts.push(start..text.len());
    parts
}
