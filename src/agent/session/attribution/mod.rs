//! Separates a person's own words in a turn from pasted and quoted words.
//!
//! A trusted person may paste an untrusted page. Code fences, quoted lines, several indented lines, long quotations and
//! very long blocks count as foreign text. A doubtful text counts as foreign, because a person can promote their own
//! words later, but a model may read stored foreign words at once. Short text pasted without any mark is not
//! recognised.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - ATB-1: spans cover the text without gaps or overlaps, and neighbours differ in kind.
//! - ATB-2: a line in a fence or after `>` is never the person's own.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::agent::markdown::{Fence, INDENT, columns, is_item};
use crate::agent::words;

/// The minimum sizes of text that counts as pasted. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttributionSettings {
    /// The minimum number of lines indented by four columns that count as pasted.
    pub indented_lines_min: usize,
    /// The minimum number of adjacent lines that count as pasted.
    pub block_lines_min: usize,
    /// The minimum number of characters in adjacent lines that count as pasted.
    pub block_chars_min: usize,
    /// The minimum number of characters between quotation marks that count as a quotation.
    pub quotation_chars_min: usize,
    /// The maximum number of characters of a turn that count as the person's own. If a turn has more own characters,
    /// the whole turn counts as foreign.
    pub own_chars_max: usize,
}

impl Default for AttributionSettings {
    /// 4 indented lines, a block of 25 lines or a block of 3,000 characters count as pasted. A quotation has at least
    /// 120 characters. A turn has at most 8,000 own characters.
    fn default() -> Self {
        Self {
            indented_lines_min: 4,
            block_lines_min: 25,
            block_chars_min: 3_000,
            quotation_chars_min: 120,
            own_chars_max: 8_000,
        }
    }
}

/// A span of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Span {
    /// The range of the span, in bytes.
    range: Range<usize>,
    /// Whether the span contains the person's own words.
    is_own: bool,
}

/// Returns the spans of a person's turn, in order.
fn spans(text: &str, settings: &AttributionSettings) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    for block in blocks(text, settings) {
        let parts = if block.is_own {
            split(text, block.range, settings.quotation_chars_min)
        } else {
            vec![block]
        };
        for part in parts.into_iter().filter(|part| !part.range.is_empty()) {
            // ATB-1: neighbours of the same kind become one span.
            match found.last_mut() {
                Some(last) if last.is_own == part.is_own => last.range.end = part.range.end,
                _ => found.push(part),
            }
        }
    }
    let own = found.iter().filter(|span| span.is_own);
    let own_chars: usize = own.map(|span| text[span.range.clone()].chars().count()).sum();
    if own_chars > settings.own_chars_max {
        let range = 0..text.len();
        return vec![Span { range, is_own: false }];
    }
    found
}

/// The kind of a single line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    /// A line of a code fence, or a quoted line that begins with `>`.
    Foreign,
    Indented,
    Text,
}

struct Line {
    range: Range<usize>,
    kind: LineKind,
}

/// Splits the text into blocks of lines of one kind. Each block is either foreign or the person's own.
fn blocks(text: &str, settings: &AttributionSettings) -> Vec<Span> {
    let mut lines = lines(text);
    let is_text = |line: &Line| matches!(line.kind, LineKind::Foreign | LineKind::Text);
    for run in lines.chunk_by_mut(|one, next| is_text(one) == is_text(next)) {
        // Indented lines count as pasted if there are at least `indented_lines_min`, even with empty lines between
        // them. Fewer indented lines belong to the text around them.
        let indented = run
            .iter()
            .enumerate()
            .filter(|(_, line)| line.kind == LineKind::Indented);
        let places: Vec<usize> = indented.map(|(place, _)| place).collect();
        if let (Some(&first), Some(&last)) = (places.first(), places.last()) {
            let is_paste = places.len() >= settings.indented_lines_min;
            let kind = if is_paste {
                LineKind::Foreign
            } else {
                LineKind::Text
            };
            run[first..=last].iter_mut().for_each(|line| line.kind = kind);
        }
    }
    let blocks = lines.chunk_by(|one, next| one.kind == next.kind);
    let spans = blocks.map(|block| {
        let range = block[0].range.start..block[block.len() - 1].range.end;
        let is_paste = block.len() >= settings.block_lines_min
            || text[range.clone()].chars().count() >= settings.block_chars_min;
        let is_own = match block[0].kind {
            LineKind::Blank => true,
            LineKind::Text => !is_paste,
            _ => false,
        };
        Span { range, is_own }
    });
    spans.collect()
}

/// Splits the text into lines. The range of a line includes its line break.
fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        // ATB-2: a fence without an end extends to the end of the text.
        let is_in_fence = fence.is_some();
        fence = match fence {
            Some(open) => Some(open).filter(|open| !open.is_closed_by(line)),
            None => Fence::opened_by(line),
        };
        let kind = if is_in_fence || fence.is_some() {
            LineKind::Foreign
        } else {
            kind_of(line)
        };
        let range = start..start + line.len();
        start = range.end;
        found.push(Line { range, kind });
    }
    found
}

fn kind_of(line: &str) -> LineKind {
    let bare = line.trim();
    if bare.is_empty() {
        LineKind::Blank
    } else if bare.starts_with('>') {
        LineKind::Foreign
    } else if columns(line) >= INDENT && !is_item(bare) {
        LineKind::Indented
    } else {
        LineKind::Text
    }
}

/// A quotation: an opening mark, and the text up to the first matching closing mark.
static QUOTATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "\"[^\"]*\"|`[^`]*`|\u{201C}[^\u{201D}]*\u{201D}|\u{201E}[^\u{201C}\u{201D}]*[\u{201C}\u{201D}]\
                   |\u{AB}[^\u{BB}]*\u{BB}|\u{300C}[^\u{300D}]*\u{300D}|\u{300E}[^\u{300F}]*\u{300F}";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Splits `text[block]` into own text and quotations of at least `chars_min` characters between their marks.
fn split(text: &str, block: Range<usize>, chars_min: usize) -> Vec<Span> {
    let own = |range: Range<usize>| Span { range, is_own: true };
    let mut found = Vec::new();
    let mut start = block.start;
    for quotation in QUOTATION.find_iter(&text[block.clone()]) {
        if quotation.as_str().chars().count() >= chars_min + 2 {
            let range = block.start + quotation.start()..block.start + quotation.end();
            found.push(own(start..range.start));
            start = range.end;
            found.push(Span { range, is_own: false });
        }
    }
    found.push(own(start..block.end));
    found
}

/// The person's own words and the foreign words of a session.
#[derive(Default)]
pub(crate) struct TurnWords {
    own: HashSet<String>,
    foreign: HashSet<String>,
}

impl TurnWords {
    /// Adds a turn of the person.
    pub(crate) fn add_turn(&mut self, text: &str, settings: &AttributionSettings) {
        for span in spans(text, settings) {
            let side = if span.is_own {
                &mut self.own
            } else {
                &mut self.foreign
            };
            side.extend(words::tokens(&words::normalised(&text[span.range])));
        }
    }

    /// Adds a text of a tool or page. All words of the text are foreign.
    pub(crate) fn add_foreign(&mut self, text: &str) {
        self.foreign.extend(words::tokens(&words::normalised(text)));
    }

    /// Checks whether at least a quarter of the words of a fact occur only in foreign text. Ignores words of up to
    /// three bytes, unless the fact has no longer words.
    pub(crate) fn is_foreign(&self, fact: &str) -> bool {
        let mut counted = words::tokens(&words::normalised(fact));
        if counted.iter().any(|word| word.len() > 3) {
            counted.retain(|word| word.len() > 3);
        }
        let only_foreign = |word: &&String| !self.own.contains(*word) && self.foreign.contains(*word);
        let foreign_count = counted.iter().filter(only_foreign).count();
        foreign_count > 0 && foreign_count * 4 >= counted.len()
    }
}

#[cfg(test)]
mod tests;
