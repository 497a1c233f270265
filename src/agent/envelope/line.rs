//! The text of a record as shown: on one line, without invisible characters, cut to its limit.
//!
//! # Layer
//! Pure.
//!
//! # Invariants
//! - SHN-1: a shown text has at most the given number of characters, and showing it again does not change it.
//! - SHN-2: a cut does not split an escape `\u{..}`, an emoji of several parts, or a letter from its marks.

use super::invisible::{ZERO_WIDTH_JOINER, extends, hidden};
use super::scrub::without_entries;

const ELLIPSIS: char = '\u{2026}';
/// The white space that a line collapses; other white space is invisible or visible text.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];
/// The characters after the limit that may decide whether the last ones are hidden.
const LOOK_AHEAD: usize = 8;

/// The maximum number of characters that a cut keeps together. A longer run of marks is cut.
const TOGETHER_MAX: usize = 32;

/// Shows the content of a record, without transcript entries.
pub(super) fn content(text: &str, chars_max: usize, has_lines: bool) -> String {
    line(&without_entries(text), chars_max, has_lines)
}

/// Shows a text. With `has_lines`, line breaks, tabs and spaces stay, and each break becomes `\n`. Otherwise each run of
/// white space becomes one space.
pub(super) fn line(text: &str, chars_max: usize, has_lines: bool) -> String {
    let text = if has_lines {
        let text = text.trim_matches(SPACES);
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        let words = text.split(SPACES).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    };
    // Each input character is shown as at least one, so later characters cannot matter.
    let chars: Vec<char> = text.chars().take(chars_max + LOOK_AHEAD).collect();
    let hidden = hidden(&chars);
    let shown = write(&chars, &hidden);
    if shown.chars().count() <= chars_max {
        return shown;
    }
    cut(&chars, &hidden, chars_max)
}

/// Writes characters, with hidden ones as `\u{..}`.
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

/// Shows the part that fits, with an ellipsis. It ends with a whole word if whole words fill half of the space.
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
        // SHN-2: a character that extends the one before it is cut together with it.
        let is_joined = |at: usize| chars[at - 1] == ZERO_WIDTH_JOINER && !hidden[at - 1];
        let is_inside = |at: usize| (extends(chars[at]) && !hidden[at]) || is_joined(at);
        let lowest = end.saturating_sub(TOGETHER_MAX);
        end = (lowest + 1..=end).rev().find(|at| !is_inside(*at)).unwrap_or(end);
    }
    loop {
        while end > 0 && chars[end - 1].is_whitespace() {
            end -= 1;
        }
        // Without the text after the cut, other characters may count as hidden. So the remaining text is checked alone
        // (SHN-1).
        let rest = &chars[..end];
        let mut shown = write(rest, &super::invisible::hidden(rest));
        if shown.chars().count() <= room || end == 0 {
            shown.push(ELLIPSIS);
            return shown;
        }
        end -= 1;
    }
}
