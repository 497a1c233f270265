//! Finds characters that cannot be seen or that look like others, and takes them out or makes them visible.
//!
//! Sequences that people write are left alone: emoji of several parts, joiners in Arabic and Indic scripts, selectors
//! of ideographs, direction marks beside letters that run right to left. Everything else that is invisible by property
//! is found, in runs.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-4: in a text without its suspicious characters none is found.

mod classes;
mod lookalike;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::classes::CLASSES;
pub(crate) use self::classes::{JOINING, RIGHTWARD, Ranges};
use super::finding::Severity;

pub(in crate::scan) use self::lookalike::{disguised, fold, is_latin};

const SOFT_HYPHEN: char = '\u{AD}';

/// A run of suspicious characters of one sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct Suspicion {
    pub(in crate::scan) rule: &'static str,
    pub(in crate::scan) severity: Severity,
    pub(in crate::scan) span: Range<usize>,
}

/// What is done to characters that cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neutral {
    /// They are left out.
    Strip,
    /// They are written as `\u{200b}`.
    Show,
}

/// Text without its suspicious characters, with where its bytes came from.
pub(in crate::scan) struct Stripped {
    pub(in crate::scan) text: String,
    /// (start in `text`, start in the source) of what follows each gap, ascending.
    steps: Vec<(usize, usize)>,
}

impl Stripped {
    /// Returns where in the source the byte at `at` came from.
    pub(in crate::scan) fn source(&self, at: usize) -> usize {
        let step = self.steps.partition_point(|(start, _)| *start <= at);
        match step.checked_sub(1).map(|step| self.steps[step]) {
            Some((start, source)) => source + (at - start),
            None => at,
        }
    }
}

/// Returns the runs of suspicious characters.
pub(in crate::scan) fn find(text: &str) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = Vec::new();
    each(text, true, |span, rule, severity| match found.last_mut() {
        Some(last) if last.rule == rule && last.span.end == span.start => last.span.end = span.end,
        _ => found.push(Suspicion { rule, severity, span }),
    });
    for run in &mut found {
        // Many in a row are a payload, whatever each of them is.
        let count = text[run.span.clone()].chars().count();
        if count >= 8 && !matches!(run.rule, "private-use" | "unassigned" | "control") {
            run.severity = Severity::High;
        }
    }
    found
}

/// Returns `text` without its suspicious characters and without soft hyphens, wherever they stand; nothing if it has none.
pub(in crate::scan) fn stripped(text: &str) -> Option<Stripped> {
    let mut out = Stripped {
        text: String::new(),
        steps: Vec::new(),
    };
    let mut at = 0;
    each(text, false, |span, _, _| {
        out.text.push_str(&text[at..span.start]);
        out.steps.push((out.text.len(), span.end));
        at = span.end;
    });
    if out.steps.is_empty() {
        return None;
    }
    out.text.push_str(&text[at..]);
    Some(out)
}

/// Returns `text` with its suspicious characters out of the way; nothing if it has none.
pub(in crate::scan) fn neutral(text: &str, how: Neutral) -> Option<String> {
    let mut clean = neutral_once(text, how)?;
    // What stood on both sides of a gap may make a new sequence: a selector after the base of another.
    while let Some(next) = neutral_once(&clean, how) {
        clean = next;
    }
    // INVARIANT SCA-4: the loop ends when nothing is found; each round takes characters away.
    Some(clean)
}

fn neutral_once(text: &str, how: Neutral) -> Option<String> {
    let mut out = String::new();
    let mut at = 0;
    each(text, true, |span, _, _| {
        out.push_str(&text[at..span.start]);
        if how == Neutral::Show {
            out.extend(text[span.clone()].chars().flat_map(char::escape_unicode));
        }
        at = span.end;
    });
    (at > 0).then(|| out + &text[at..])
}

/// Calls `found` for each suspicious character that nothing excuses; `hyphenates` says whether soft hyphens are excused in words.
fn each(text: &str, hyphenates: bool, mut found: impl FnMut(Range<usize>, &'static str, Severity)) {
    let bytes = text.as_bytes();
    let suspicious = &CLASSES.suspicious;
    let mut at = 0;
    // Up to where characters have been excused as part of a sequence.
    let mut excused = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            if (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7f {
                found(at..at + 1, control(bytes, at).0, control(bytes, at).1);
            }
            at += 1;
            continue;
        }
        let char = text[at..]
            .chars()
            .next()
            .expect("`at` is inside the text, on a boundary");
        let end = at + char.len_utf8();
        if suspicious.has(char) && at >= excused {
            if let Some(length) = flag_of_tags(&text[at..], &text[..at]) {
                excused = at + length;
            } else if (char == SOFT_HYPHEN && !hyphenates) || !is_excused(char, &text[..at], &text[end..]) {
                let (rule, severity) = sort(char);
                found(at..end, rule, severity);
            }
        }
        at = end;
    }
}

/// The sort of an ASCII control character; an escape that begins a terminal sequence is graver.
fn control(bytes: &[u8], at: usize) -> (&'static str, Severity) {
    match (bytes[at], bytes.get(at + 1)) {
        (0x1b, Some(b'[' | b']' | b'P' | b'_' | b'^')) => ("terminal-escape", Severity::Medium),
        (0x08, _) => ("control", Severity::Medium),
        _ => ("control", Severity::Low),
    }
}

/// The sort of a suspicious character beyond ASCII.
fn sort(char: char) -> (&'static str, Severity) {
    match char {
        '\u{E0000}'..='\u{E007F}' => ("tag-character", Severity::High),
        '\u{202D}' | '\u{202E}' => ("bidi-override", Severity::High),
        '\u{AD}' => ("soft-hyphen", Severity::Low),
        '\u{FEFF}' => ("byte-order-mark", Severity::Low),
        '\u{2028}' | '\u{2029}' | '\u{85}' => ("line-separator", Severity::Low),
        '\u{9B}' | '\u{9D}' | '\u{90}' => ("terminal-escape", Severity::Medium),
        '\u{80}'..='\u{9F}' => ("control", Severity::Low),
        '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{180E}' => ("zero-width", Severity::Medium),
        _ if CLASSES.bidi.has(char) => ("bidi-control", Severity::Medium),
        _ if CLASSES.variation.has(char) => ("variation-selector", Severity::Medium),
        _ if CLASSES.private.has(char) => ("private-use", Severity::Low),
        _ if CLASSES.unassigned.has(char) => ("unassigned", Severity::Low),
        _ => ("invisible", Severity::Medium),
    }
}

/// Whether `char` is part of what people write, between `before` and `after`.
fn is_excused(char: char, before: &str, after: &str) -> bool {
    let classes = &*CLASSES;
    let last = before.chars().next_back();
    let next = after.chars().next();
    let is_last = |class: &Ranges| last.is_some_and(|last| class.has(last));
    let is_next = |class: &Ranges| next.is_some_and(|next| class.has(next));
    match char {
        // A mark at the very start says how the text was encoded.
        '\u{FEFF}' => before.is_empty(),
        SOFT_HYPHEN => last.is_some_and(char::is_alphabetic) && next.is_some_and(char::is_alphabetic),
        '\u{200D}' => {
            joins_emoji(before, after)
                || is_last(&classes.joining)
                || (last.is_none_or(char::is_whitespace) && is_next(&classes.joining))
        }
        '\u{200C}' => is_last(&classes.joining),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => is_beside_rightward(before, after),
        '\u{FE0E}' | '\u{FE0F}' => is_last(&classes.emoji),
        '\u{FE00}'..='\u{FE0D}' => is_last(&classes.varying),
        '\u{E0100}'..='\u{E01EF}' => is_last(&classes.ideograph),
        '\u{180B}'..='\u{180F}' => is_last(&classes.mongolian),
        '\u{115F}' | '\u{1160}' => is_last(&classes.jamo) || is_next(&classes.jamo),
        '\u{13430}'..='\u{1343F}' => is_last(&classes.hieroglyph),
        '\u{1D173}'..='\u{1D17A}' => is_last(&classes.musical),
        _ => false,
    }
}

/// Whether a joiner between `before` and `after` makes one emoji of two.
fn joins_emoji(before: &str, after: &str) -> bool {
    let mut back = before.chars().rev();
    let mut last = back.next();
    while last.is_some_and(|last| last == '\u{FE0F}' || CLASSES.modifier.has(last)) {
        last = back.next();
        if last.is_some_and(|last| CLASSES.pictograph.has(last)) {
            break;
        }
        if last.is_none_or(|last| !CLASSES.modifier.has(last)) {
            return false;
        }
    }
    last.is_some_and(|last| CLASSES.pictograph.has(last))
        && after
            .chars()
            .next()
            .is_some_and(|next| CLASSES.pictograph.has(next))
}

/// Whether a direction mark stands alone, near a letter that runs right to left.
fn is_beside_rightward(before: &str, after: &str) -> bool {
    const NEAR: usize = 24;
    let is_mark = |char: char| CLASSES.suspicious.has(char);
    if before.chars().next_back().is_some_and(is_mark) || after.chars().next().is_some_and(is_mark) {
        return false;
    }
    let has_letter = |char: char| CLASSES.rightward.has(char);
    before.chars().rev().take(NEAR).any(has_letter) || after.chars().take(NEAR).any(has_letter)
}

/// Returns the length of the tags that make a black flag one of the three flags of that kind in use.
fn flag_of_tags(text: &str, before: &str) -> Option<usize> {
    const REGIONS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    if !before.ends_with('\u{1F3F4}') {
        return None;
    }
    let tag = |byte: u8| char::from_u32(0xE_0000 + u32::from(byte)).expect("a tag is a character");
    let flags = REGIONS.map(|region| region.bytes().chain([0x7f]).map(tag).collect::<String>());
    flags
        .iter()
        .find(|flag| text.starts_with(flag.as_str()))
        .map(String::len)
}

/// Whether `char` is left out of the copies that rules look at.
pub(in crate::scan) fn is_ignored(char: char) -> bool {
    CLASSES.suspicious.has(char) && !matches!(char, '\u{85}' | '\u{2028}' | '\u{2029}')
}
