//! Cuts a text into parts, as ranges.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

/// Cuts a text after each character for which `is_end` is true. Returns the byte ranges of the parts.
pub(in crate::scan) fn parts(
    text: &str,
    is_end: impl Fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive(is_end).map(move |part| {
        end += part.len();
        end - part.len()..end
    })
}
