//! Finds the value of a credential near the word that names it, in any order: in the same sentence, in the answer to a
//! question, or below the heading of a column.
//!
//! The value must look like a password or key by itself, because no sign of an assignment confirms it.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use super::check::is_key;
use super::names::{is_link_word, names_key};
use super::values::{is_passphrase_with_number, is_strong_password};
use crate::scan::parts::parts;
use crate::scan::rules::Check;

/// The maximal distance in bytes between a name and its value.
const REACH: usize = 120;
/// The maximal length of a row in bytes.
const ROW_LENGTH_MAX: usize = 400;
/// The number of rows below a heading that are read.
const ROWS_MAX: usize = 8;
/// The minimal length of a key.
const KEY_LENGTH_MIN: usize = 16;
/// The signs that end a sentence.
const SENTENCE_ENDS: [&str; 5] = [". ", "! ", "? ", "\u{3002}", "\n"];

/// Calls `found` with the values near the name at `name`, which is the name of a key or of a password.
pub(super) fn each(check: Check, text: &str, name: Range<usize>, mut found: impl FnMut(Range<usize>)) {
    // A longer word that begins with a name does not count. A value that touches the name is a part of the same word.
    let ends_word = text.as_bytes()[..name.end].last().is_some_and(u8::is_ascii);
    if ends_word && text[name.end..].starts_with(|char: char| char.is_ascii_alphanumeric()) {
        return;
    }
    let after = until(text, name.end, REACH, &SENTENCE_ENDS);
    let before = since(text, name.start);
    let phrase = [&text[before.clone()], &text[name.clone()], &text[after.clone()]];
    if check == Check::NearKey && !names_key(phrase) {
        return;
    }
    // INVARIANT SCA-1: the areas of a name have a maximal length.
    let others = answer(text, &after).into_iter().chain(cells(text, &name));
    for area in std::iter::once(after.clone()).chain(others) {
        let is_value = |value: &Range<usize>| {
            let gap = &text[area.start..value.start];
            let is_direct = area.start != name.end || is_link(gap);
            !is_code(gap)
                && !is_name_in_code(text, value)
                && is_credential(check, &text[value.clone()], is_direct)
        };
        if let Some(value) = values(text, area.clone()).find(is_value) {
            found(value);
        }
    }
    let is_value = |value: &Range<usize>| {
        let gap = text.get(value.end..name.start).unwrap_or_default();
        let is_direct = gap.split_ascii_whitespace().next().is_some_and(is_link_word);
        let is_text = !gap.is_empty() && !is_code(gap) && !is_name_in_code(text, value);
        is_text && is_credential(check, &text[value.clone()], is_direct)
    };
    if let Some(value) = values(text, before).filter(is_value).last() {
        found(value);
    }
}

/// Returns the text from `start` to the first of `ends`, at most `length_max` bytes.
fn until(text: &str, start: usize, length_max: usize, ends: &[&str]) -> Range<usize> {
    let area = &text[start..text.floor_char_boundary(start + length_max)];
    let end = ends.iter().filter_map(|end| area.find(end)).min();
    start..start + end.unwrap_or(area.len())
}

/// Returns the part of a sentence before `end`.
fn since(text: &str, end: usize) -> Range<usize> {
    let start = text.floor_char_boundary(end.saturating_sub(REACH));
    let area = &text[start..end];
    let starts = SENTENCE_ENDS
        .iter()
        .filter_map(|sign| area.rfind(sign).map(|at| at + sign.len()));
    start + starts.max().unwrap_or(0)..end
}

/// Returns the line or sentence after the question that `asked` is the end of.
fn answer(text: &str, asked: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[asked.start..];
    let asked = &text[asked.clone()];
    let is_question = asked.ends_with(['?', '\u{ff1f}']) || rest[asked.len()..].starts_with("? ");
    let gap = rest[asked.len()..].len()
        - rest[asked.len()..]
            .trim_start_matches(['?', ' ', '\n', '\r', '>'])
            .len();
    let start = text.len() - rest.len() + asked.len() + gap;
    is_question.then(|| until(text, start, REACH, &["\n"]))
}

/// Returns the cells below the cell that contains `name`, if its line is the row of a table.
fn cells(text: &str, name: &Range<usize>) -> Vec<Range<usize>> {
    let start = text.floor_char_boundary(name.start.saturating_sub(ROW_LENGTH_MAX));
    let start = text[start..name.start]
        .rfind('\n')
        .map_or(start, |at| start + at + 1);
    let heading = until(text, start, ROW_LENGTH_MAX, &["\n"]);
    let line = &text[heading.clone()];
    // The commas of a sentence have spaces after them.
    let separates = |sign: &char| line.contains(*sign) && (*sign != ',' || !line.contains(", "));
    let Some(sign) = ['|', '\t', ';', ','].into_iter().find(separates) else {
        return Vec::new();
    };
    let column = text[start..name.start].matches(sign).count();
    let mut below = Vec::new();
    let mut row = heading;
    while below.len() < ROWS_MAX && text[row.end..].starts_with('\n') {
        row = until(text, row.end + 1, ROW_LENGTH_MAX, &["\n"]);
        let Some(cell) = parts(&text[row.clone()], |char| char == sign).nth(column) else {
            break;
        };
        below.push(row.start + cell.start..row.start + cell.end);
    }
    below
}

/// Returns the words in `area` that may be values: runs of the characters of keys and passwords.
fn values(text: &str, area: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let is_other = |char: char| {
        !char.is_ascii_graphic()
            || matches!(
                char,
                '"' | '\'' | '`' | ',' | ';' | '|' | '(' | ')' | '<' | '>' | '[' | ']' | '{' | '}' | '\\'
            )
    };
    parts(&text[area.clone()], is_other).filter_map(move |part| {
        let value = text[area.start + part.start..area.start + part.end]
            .trim_end_matches(is_other)
            .trim_end_matches(['.', ':']);
        let start = area.start + part.start;
        (value.len() >= 8).then_some(start..start + value.len())
    })
}

/// Returns whether `gap`, the text between a name and a value, tells that the value is the one with this name.
fn is_link(gap: &str) -> bool {
    let is_other = |char: char| !char.is_alphanumeric();
    let words = gap.trim_end_matches(is_other);
    let word = &words[words.trim_end_matches(char::is_alphanumeric).len()..];
    gap.trim_end().ends_with(':') || word.is_empty() || !word.is_ascii() || is_link_word(word)
}

/// Returns whether `gap`, the text between a name and a value, belongs to code.
fn is_code(gap: &str) -> bool {
    const CODE: [&str; 10] = ["(", "[", "{", "=", ";", "$", "/", "\\", "_", "::"];
    !matches!(gap.trim(), "=" | ":=") && CODE.iter().any(|sign| gap.contains(sign))
}

/// Returns whether `value` is a name: of a constant, or before the sign of a call or an assignment.
fn is_name_in_code(text: &str, value: &Range<usize>) -> bool {
    let after = text[value.end..].trim_start_matches(' ');
    let is_constant = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    let name = &text[value.clone()];
    after.starts_with(['(', '[', '{', '=', ':']) || (name.contains('_') && name.chars().all(is_constant))
}

/// Returns whether `value` is a password or a key by itself. `is_direct` tells whether it follows its name directly.
fn is_credential(check: Check, value: &str, is_direct: bool) -> bool {
    if value.trim_end_matches('=').contains('=') {
        return false;
    }
    if check == Check::NearKey {
        let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
        let is_mixed = count(u8::is_ascii_digit) >= 2 || count(u8::is_ascii_uppercase) >= 8;
        let longest = value.split(['-', '_', '.', '/', ':', '+']).map(str::len).max();
        let groups = || value.split('-').filter(|group| group.len() >= 4).count() >= 3;
        let is_whole = longest >= Some(9) || groups();
        return value.len() >= KEY_LENGTH_MIN && is_mixed && is_whole && is_key(value);
    }
    is_strong_password(value, is_direct) || (is_direct && is_passphrase_with_number(value))
}
