//! Markers, which replace secrets.
//!
//! # Layer
//! Pure. The caller supplies the keyed digest, because this package names no hash.
//!
//! # Invariants
//! - SCA-2: a marker depends only on the kind, the secret and the key. Without the key, it discloses nothing.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::scan::rules;

const START: &str = "[REDACTED:";
/// The number of hexadecimal digits of the keyed digest in a marker.
const DIGITS: usize = 8;
/// The kind in a marker that replaces a whole text.
pub(super) const WHOLE: &str = "text";

/// The key of markers, and the keyed digest that markers show.
#[derive(Clone, Copy)]
pub struct MarkerKey {
    key: [u8; 32],
    digest: fn(&[u8; 32], &[u8]) -> [u8; 32],
}

impl MarkerKey {
    /// Makes a key. `digest` computes the keyed digest of some bytes, and must be a pseudorandom function of them.
    pub fn new(key: [u8; 32], digest: fn(&[u8; 32], &[u8]) -> [u8; 32]) -> Self {
        Self { key, digest }
    }
}

/// Returns the marker for `secret`.
pub(in crate::scan) fn marker(kind: &str, secret: &[u8], key: &MarkerKey) -> String {
    let digest = (key.digest)(&key.key, secret);
    let mut marker = format!("{START}{kind}:");
    // INVARIANT SCA-2: only the first bytes of the keyed digest leave this function.
    for byte in &digest[..DIGITS / 2] {
        write!(marker, "{byte:02x}").expect("a string takes any text");
    }
    marker.push(']');
    marker
}

/// Matches any text in the form of a marker.
static FORM: LazyLock<Regex> = LazyLock::new(|| {
    let form = format!(r"\[REDACTED:([a-z0-9_-]{{1,63}}):[0-9a-f]{{{DIGITS}}}\]");
    Regex::new(&form).expect("the pattern is a valid regex")
});

/// Returns the parts of `text` between markers.
pub(super) fn between(text: &str) -> Vec<Range<usize>> {
    if !text.contains(START) {
        return std::iter::once(0..text.len()).collect();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for found in FORM.captures_iter(text) {
        let kind = &found[1];
        if kind == WHOLE || rules::TEXT.position(kind).is_some() {
            let marker = found.get_match();
            parts.push(start..marker.start());
            start = marker.end();
        }
    }
    parts.push(start..text.len());
    parts
}
