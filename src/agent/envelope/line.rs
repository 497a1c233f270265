//! Formats the text of a record for the envelope: on one line, with invisible characters escaped, cut to its limit.
//!
//! # Layer
//! Pure.
//!
//! # Invariants
//! - SHN-1: a formatted text has at most the given number of characters, and formatting it again does not change it.
//! - SHN-2: a cut never splits an escape `\u{..}` or an emoji of several parts, and never separates a letter from its
//!   marks.

use super::scrub::without_entries;
use treering_text::visible::{self, ZERO_WIDTH_JOINER, extends};

const ELLIPSIS: char = '\u{2026}';
/// The white space characters that are collapsed. Other white space is treated like any other character.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];
/// The number of characters after the limit that may decide whether characters before the limit are escaped.
const LOOK_AHEAD: usize = 8;

/// The maximum number of characters that a cut keeps together. A cut may split a longer run of marks.
const TOGETHER_MAX: usize = 32;

/// Formats the content of a record, after removing transcript entries from the content.
pub(super) fn content(text: &str, chars_max: usize, has_lines: bool) -> String {
    line(&without_entries(text), chars_max, has_lines)
}

/// Formats a text. With `has_lines`, retains tabs, spaces and line breaks, and writes each line break as `\n`.
/// Otherwise replaces each run of white space with one space.
pub(super) fn line(text: &str, chars_max: usize, has_lines: bool) -> String {
    let text = if has_lines {
        let text = text.trim_matches(SPACES);
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        let words = text.split(SPACES).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    };
    // Each input character becomes at least one output character, so characters after the look-ahead cannot matter.
    let chars: Vec<char> = text.chars().take(chars_max + LOOK_AHEAD).collect();
    let hidden = visible::hidden(&chars);
    let shown = write(&chars, &hidden);
    if shown.chars().count() <= chars_max {
        return shown;
    }
    cut(&chars, &hidden, chars_max)
}

/// Writes `chars`, with the `hidden` characters as `\u{..}`.
fn write(chars: &[char], hidden: &[bool]) -> String {
    let mut out = String::with_capacity(chars.len());
    for (char, is_hidden) in chars.iter().zip(hidden) {
        if *is_hidden {
            out.extend(char.escape_unicode());
        } else {
            out.push(*char);
        }
    }
    out
}

/// Cuts a text to `chars_max` characters, ellipsis included. Cuts between words if the words before the cut fill at
/// least half of the space.
fn cut(chars: &[char], hidden: &[bool], chars_max: usize) -> String {
    let room = chars_max.saturating_sub(1);
    let width = |at: usize| {
        if hidden[at] {
            chars[at].escape_unicode().count()
        } else {
            1
        }
    };
    let mut used = 0;
    let fits = |at: &usize| {
        used += width(*at);
        used <= room
    };
    let mut end = (0..chars.len()).take_while(fits).count();
    if let Some(space) = (end / 2..=end)
        .rev()
        .find(|at| chars.get(*at).is_some_and(|char| char.is_whitespace()))
    {
        end = space;
    } else {
        // SHN-2: the cut is not directly before a character that extends its predecessor.
        let is_joined = |at: usize| chars[at - 1] == ZERO_WIDTH_JOINER && !hidden[at - 1];
        let is_inside = |at: usize| (extends(chars[at]) && !hidden[at]) || is_joined(at);
        let lowest = end.saturating_sub(TOGETHER_MAX);
        end = (lowest + 1..=end).rev().find(|at| !is_inside(*at)).unwrap_or(end);
    }
    loop {
        while end > 0 && chars[end - 1].is_whitespace() {
            end -= 1;
        }
        // A character may lose its legitimate context to the cut. So check again which characters of the remaining text
        // to escape (SHN-1).
        let rest = &chars[..end];
        let mut shown = write(rest, &visible::hidden(rest));
        if shown.chars().count() <= room || end == 0 {
            shown.push(ELLIPSIS);
            return shown;
        }
        end -= 1;
    }
}
