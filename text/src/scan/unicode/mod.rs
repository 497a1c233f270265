//! Finds invisible characters, and removes them.
//!
//! Legitimate sequences are kept: emoji of several parts, joiners in Arabic and Indic scripts, selectors of ideographs,
//! and direction marks next to letters that run from right to left. The scan reports runs of all other characters whose
//! properties make them invisible. `characters.toml` contains the sets.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! A legitimate character can still be one of many that carry a hidden message, so `carrier` counts them.
//!
//! # Invariants
//! - SCA-4: a text without its suspicious characters has no finding.

mod carrier;
mod classes;
mod lookalike;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::carrier::Carrier;
use self::classes::{CLASSES, JOINING_SET, RIGHTWARD_SET, Sort};
use super::finding::{Category, Finding, Severity};
use crate::visible::{FLAGS, Ranges};

pub(in crate::scan) use self::lookalike::{disguised, fold, is_latin, spell};

const SOFT_HYPHEN: char = '\u{AD}';
/// The minimal number of places with misplaced soft hyphens that are a pattern.
const HYPHENS_MIN: usize = 4;

/// Returns the runs of suspicious characters.
pub(in crate::scan) fn find(text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    each(text, true, |span, rule, severity| match found.last_mut() {
        Some(last) if last.rule == rule && last.span.end == span.start => last.span.end = span.end,
        _ => found.push(Finding::new(Category::Unicode, rule, severity, span)),
    });
    // Several soft hyphens where no word is divided are a pattern.
    let hyphens = found.iter().filter(|run| run.rule == "soft-hyphen").count();
    for run in &mut found {
        if run.rule == "soft-hyphen" && hyphens >= HYPHENS_MIN {
            run.severity = Severity::Medium;
        }
        // A long run is a payload, whatever its characters are.
        let count = text[run.span.clone()].chars().count();
        if count >= 8 && !matches!(run.rule, "private-use" | "unassigned" | "control") {
            run.severity = Severity::High;
        }
    }
    found
}

/// Returns `text` without its suspicious characters. Returns `None` if `text` has no such characters.
pub(in crate::scan) fn neutral(text: &str) -> Option<String> {
    let (mut clean, _) = strip(text, true)?;
    // The text before and after a removed character may form a new suspicious sequence, such as a selector after
    // another base.
    while let Some((next, _)) = strip(&clean, true) {
        clean = next;
    }
    // INVARIANT SCA-4: the loop ends when it finds nothing. The loop always ends, because each round removes
    // characters.
    Some(clean)
}

/// Returns `text` without its suspicious characters, and the original position of each remaining byte. Returns `None`
/// if there are no suspicious characters. If `hyphenates` is true, keeps soft hyphens in words.
pub(in crate::scan) fn strip(text: &str, hyphenates: bool) -> Option<(String, Vec<usize>)> {
    let (mut out, mut sources) = (String::new(), Vec::new());
    let mut at = 0;
    each(text, hyphenates, |span, _, _| {
        out.push_str(&text[at..span.start]);
        sources.extend(at..span.start);
        at = span.end;
    });
    if at == 0 {
        return None;
    }
    out.push_str(&text[at..]);
    sources.extend(at..text.len());
    Some((out, sources))
}

/// Calls `found` for each suspicious character, except legitimate characters. If `hyphenates` is true, soft hyphens in
/// words are legitimate.
fn each(text: &str, hyphenates: bool, mut found: impl FnMut(Range<usize>, &'static str, Severity)) {
    let bytes = text.as_bytes();
    if is_plain(bytes) {
        return;
    }
    let carrier = Carrier::of(text);
    let mut at = 0;
    // The end of the sequence whose characters are legitimate.
    let mut excused = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            if (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7f {
                let (rule, severity) = control(byte, bytes.get(at + 1));
                found(at..at + 1, rule, severity);
            }
            at += 1;
            continue;
        }
        let char = text[at..]
            .chars()
            .next()
            .expect("`at` is a character boundary inside the text");
        let end = at + char.len_utf8();
        if CLASSES.suspicious.has(char) && at >= excused {
            if let Some(length) = flag_of_tags(&text[at..], &text[..at]) {
                excused = at + length;
            } else if carrier.has(char) {
                found(
                    at..end,
                    sort_of(char).id,
                    sort_of(char).severity.max(Severity::Medium),
                );
            } else if (char == SOFT_HYPHEN && !hyphenates) || !is_excused(char, &text[..at], &text[end..]) {
                found(at..end, sort_of(char).id, sort_of(char).severity);
            }
        }
        at = end;
    }
}

/// Returns whether all characters are visible ones in ASCII or white space, as in most texts.
fn is_plain(text: &[u8]) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    // Without an end within a chunk, the loop tests many bytes at once.
    let mut chunks = text.chunks(64);
    chunks.all(|chunk| chunk.iter().fold(true, |all, byte| all & is_plain(*byte)))
}

fn sort_of(char: char) -> &'static Sort {
    let mut sorts = CLASSES.sort.iter();
    sorts
        .find(|sort| sort.set.has(char))
        .expect("the last sort contains every character")
}

/// Returns the sort and the severity of an ASCII control character. A character that begins a terminal sequence has a
/// higher severity.
fn control(byte: u8, next: Option<&u8>) -> (&'static str, Severity) {
    match (byte, next) {
        (0x1b, Some(b'[' | b']' | b'P' | b'_' | b'^')) => ("terminal-escape", Severity::Medium),
        (0x08, _) => ("control", Severity::Medium),
        _ => ("control", Severity::Low),
    }
}

/// Returns whether `char` is legitimate between `before` and `after`.
fn is_excused(char: char, before: &str, after: &str) -> bool {
    let last = before.chars().next_back();
    let next = after.chars().next();
    let is_in = |set: &Ranges, char: Option<char>| char.is_some_and(|char| set.has(char));
    match char {
        // A byte order mark at the start of the text is allowed.
        '\u{FEFF}' => before.is_empty(),
        SOFT_HYPHEN => is_between_syllables(before, after),
        '\u{200D}' => {
            joins_emoji(before, after)
                || is_in(&JOINING_SET, last)
                || (last.is_none_or(char::is_whitespace) && is_in(&JOINING_SET, next))
        }
        '\u{200C}' => is_in(&JOINING_SET, last) && is_in(&JOINING_SET, next),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => is_beside_rightward(before, after),
        _ => CLASSES.excuse.iter().any(|excuse| {
            let is_before = |before: &Ranges| is_in(before, next);
            excuse.set.has(char)
                && (is_in(&excuse.after, last) || excuse.before.as_ref().is_some_and(is_before))
        }),
    }
}

/// Returns whether a word may be divided between `before` and `after`: there are two letters on each side.
fn is_between_syllables(before: &str, after: &str) -> bool {
    let are_letters = |chars: &mut dyn Iterator<Item = char>| {
        chars.take(2).filter(|char| char.is_alphabetic()).count() == 2
    };
    are_letters(&mut before.chars().rev()) && are_letters(&mut after.chars())
}

/// Returns whether a joiner between `before` and `after` combines two emoji.
fn joins_emoji(before: &str, after: &str) -> bool {
    let base = before.strip_suffix('\u{FE0F}').unwrap_or(before);
    let base = base.trim_end_matches(|char| CLASSES.modifier.has(char));
    let is_in = |set: &Ranges, char: Option<char>| char.is_some_and(|char| set.has(char));
    is_in(&CLASSES.joined_first, base.chars().next_back())
        && is_in(&CLASSES.joined_second, after.chars().next())
}

/// Returns whether a direction mark is single, and next to a letter of a script that runs from right to left.
fn is_beside_rightward(before: &str, after: &str) -> bool {
    const NEAR: usize = 24;
    let is_mark = |char: char| CLASSES.suspicious.has(char);
    if before.chars().next_back().is_some_and(is_mark) || after.chars().next().is_some_and(is_mark) {
        return false;
    }
    let has_letter = |char: char| RIGHTWARD_SET.has(char);
    before.chars().rev().take(NEAR).any(has_letter) || after.chars().take(NEAR).any(has_letter)
}

/// Returns the length of the tags in [`FLAGS`] at the start of `text`, if a black flag precedes them at the end of
/// `before`.
fn flag_of_tags(text: &str, before: &str) -> Option<usize> {
    let mut flags = FLAGS.iter().filter(|_| before.ends_with('\u{1F3F4}'));
    flags.find(|flag| text.starts_with(**flag)).map(|flag| flag.len())
}

/// Returns whether `char` is removed from the copies of a text that the rules read.
pub(in crate::scan) fn is_ignored(char: char) -> bool {
    CLASSES.suspicious.has(char) && !matches!(char, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns the ASCII character that a model reads in a tag character.
pub(in crate::scan) fn untagged(char: char) -> Option<u8> {
    matches!(char, '\u{E0020}'..='\u{E007E}').then_some(char as u8 & 0x7f)
}
