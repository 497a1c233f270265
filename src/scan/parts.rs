//! Cuts a text into parts, as ranges.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

/// Returns the parts of a text, each up to and including a character at which a part ends.
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
