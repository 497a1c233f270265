//! Separates a person's own words in a turn from pasted and quoted ones.
//!
//! A trusted person may paste an untrusted page. Code fences, quoted lines, long indented stretches, long quotations
//! and very long blocks count as foreign text. In doubt a text counts as foreign: a person can promote their own words
//! later, but stored foreign words may already have been read. Text that was pasted without any mark is not recognised.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - ATB-1: spans cover the text without gaps or overlaps, and neighbours differ in kind.
//! - ATB-2: a line in a fence or after `>` is never the person's own.

use std::collections::HashSet;
use std::ops::Range;

use serde::Deserialize;

use crate::agent::markdown::{Fence, INDENT, columns, is_item};
use crate::agent::words;

/// The sizes from which text counts as pasted. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttributionSettings {
    /// The fewest lines with an indent of four columns that count as pasted.
    pub indented_lines_min: usize,
    /// The fewest adjacent lines that count as pasted.
    pub block_lines_min: usize,
    /// The fewest characters of adjacent lines that count as pasted.
    pub block_chars_min: usize,
    /// The fewest characters between quotation marks that count as quoted.
    pub quotation_chars_min: usize,
    /// The most own characters of a turn. In a longer turn no character counts as own.
    pub own_chars_max: usize,
}

impl Default for AttributionSettings {
    /// 4 indented lines, a block of 25 lines or a block of 3,000 characters count as pasted. A quotation has 120
    /// characters. A turn has at most 8,000 own characters.
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

/// The source of a stretch of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SpanKind {
    /// The person's own words.
    Own,
    /// A code fence with its content.
    Code,
    /// Lines after `>`, or a long quotation.
    Quote,
    /// A long run of text that looks pasted.
    Paste,
}

#[cfg(test)]
impl SpanKind {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Code => "code",
            Self::Quote => "quote",
            Self::Paste => "paste",
        }
    }
}

/// A span of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Its range, in bytes.
    pub range: Range<usize>,
    /// Its source.
    pub kind: SpanKind,
}

/// Returns the spans of a person's turn, in order.
pub(crate) fn spans(text: &str, settings: &AttributionSettings) -> Vec<Span> {
    let mut found = Vec::new();
    for block in blocks(text, settings) {
        match block.kind {
            SpanKind::Own => found.extend(split(text, block.range, settings.quotation_chars_min)),
            _ => found.push(block),
        }
    }
    let own_chars: usize = found
        .iter()
        .filter(|span| span.kind == SpanKind::Own)
        .map(|span| text[span.range.clone()].chars().count())
        .sum();
    if own_chars > settings.own_chars_max {
        for span in &mut found {
            if span.kind == SpanKind::Own {
                span.kind = SpanKind::Paste;
            }
        }
    }
    merged(found)
}

/// ATB-1: joins neighbours of the same kind.
fn merged(spans: Vec<Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if last.kind == span.kind => last.range.end = span.range.end,
            _ => out.push(span),
        }
    }
    out
}

/// The kind of a single line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Code,
    Quote,
    Indented,
    Text,
}

struct Line {
    range: Range<usize>,
    kind: LineKind,
}

/// Returns blocks of lines that cover the text. A block is of one foreign kind, or holds the person's own lines between
/// empty ones.
fn blocks(text: &str, settings: &AttributionSettings) -> Vec<Span> {
    let lines = lines(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (end, kind) = match lines[at].kind {
            LineKind::Blank => (at + 1, SpanKind::Own),
            LineKind::Code => (run(&lines, at, |kind| kind == LineKind::Code), SpanKind::Code),
            LineKind::Quote => (run(&lines, at, |kind| kind == LineKind::Quote), SpanKind::Quote),
            LineKind::Indented => indented(&lines, at, settings),
            LineKind::Text => own(text, &lines, at, settings),
        };
        let range = lines[at].range.start..lines[end - 1].range.end;
        found.push(Span { range, kind });
        at = end;
    }
    found
}

/// Returns the end of the run of wanted lines that begins at `at`.
fn run(lines: &[Line], at: usize, is_wanted: impl Fn(LineKind) -> bool) -> usize {
    let rest = lines[at..].iter().take_while(|line| is_wanted(line.kind));
    at + rest.count()
}

/// Reads indented lines, with empty lines between them. Many of them count as a paste.
fn indented(lines: &[Line], at: usize, settings: &AttributionSettings) -> (usize, SpanKind) {
    let mut end = run(lines, at, |kind| {
        matches!(kind, LineKind::Indented | LineKind::Blank)
    });
    while lines[end - 1].kind == LineKind::Blank {
        end -= 1;
    }
    let count = lines[at..end]
        .iter()
        .filter(|line| line.kind == LineKind::Indented)
        .count();
    if count >= settings.indented_lines_min {
        (end, SpanKind::Paste)
    } else {
        (end, SpanKind::Own)
    }
}

/// Reads lines up to an empty or foreign line. They count as a paste if they are many or long. A few indented lines
/// belong to them.
fn own(text: &str, lines: &[Line], at: usize, settings: &AttributionSettings) -> (usize, SpanKind) {
    let mut end = at;
    while end < lines.len() {
        end = match lines[end].kind {
            LineKind::Text => end + 1,
            LineKind::Indented => match indented(lines, end, settings) {
                (end, SpanKind::Own) => end,
                _ => break,
            },
            _ => break,
        };
    }
    let chars = text[lines[at].range.start..lines[end - 1].range.end]
        .chars()
        .count();
    if end - at >= settings.block_lines_min || chars >= settings.block_chars_min {
        (end, SpanKind::Paste)
    } else {
        (end, SpanKind::Own)
    }
}

/// Splits the text into lines, with their line ends.
fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let kind = match fence {
            // ATB-2: an open fence ends with the text.
            Some(open) => {
                if open.is_closed_by(line) {
                    fence = None;
                }
                LineKind::Code
            }
            None => {
                fence = Fence::opened_by(line);
                if fence.is_some() {
                    LineKind::Code
                } else {
                    kind_of(line)
                }
            }
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
        LineKind::Quote
    } else if columns(line) >= INDENT && !is_item(bare) {
        LineKind::Indented
    } else {
        LineKind::Text
    }
}

/// Marks that open a quotation, each with the marks that may close it.
const MARKS: [(char, &[char]); 7] = [
    ('"', &['"']),
    ('`', &['`']),
    ('\u{201C}', &['\u{201D}']),
    ('\u{201E}', &['\u{201C}', '\u{201D}']),
    ('\u{AB}', &['\u{BB}']),
    ('\u{300C}', &['\u{300D}']),
    ('\u{300E}', &['\u{300F}']),
];

/// Cuts `text[block]` at quotations of `chars_min` characters and more, marks included.
fn split(text: &str, block: Range<usize>, chars_min: usize) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = block.start;
    let mut at = block.start;
    // Opening marks without a closing mark in the rest, so that the search runs once for each.
    let mut hopeless: Vec<char> = Vec::new();
    let opens = |sign: char| MARKS.iter().find(|(open, _)| *open == sign);
    while let Some((offset, sign)) = text[at..block.end]
        .char_indices()
        .find(|(_, sign)| opens(*sign).is_some())
    {
        let (open, inside) = (at + offset, at + offset + sign.len_utf8());
        at = inside;
        let closers = opens(sign).map_or(&[][..], |(_, closers)| closers);
        if hopeless.contains(&sign) {
            continue;
        }
        let Some((length, closer)) = text[inside..block.end]
            .char_indices()
            .find(|(_, sign)| closers.contains(sign))
        else {
            hopeless.push(sign);
            continue;
        };
        let end = inside + length + closer.len_utf8();
        at = end;
        if text[inside..inside + length].chars().count() >= chars_min {
            push(&mut found, start..open, SpanKind::Own);
            push(&mut found, open..end, SpanKind::Quote);
            start = end;
        }
    }
    push(&mut found, start..block.end, SpanKind::Own);
    found
}

fn push(found: &mut Vec<Span>, range: Range<usize>, kind: SpanKind) {
    if !range.is_empty() {
        found.push(Span { range, kind });
    }
}

/// The attribution of the words of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Backing {
    /// At least half of its words are the person's own, and less than a quarter are only in foreign text.
    Own,
    /// At least a quarter of its words are only in foreign text.
    Foreign,
    /// Most of its words are in no turn: a conclusion of the model.
    Nobody,
}

/// Attributes the words of `fact`, by the turns of a session with their spans. Words of up to three Latin letters count
/// only if there are no others.
pub(crate) fn backing(fact: &str, turns: &[(&str, &[Span])]) -> Backing {
    let (mut own, mut foreign) = (HashSet::new(), HashSet::new());
    for (text, spans) in turns {
        for span in *spans {
            let side = if span.kind == SpanKind::Own {
                &mut own
            } else {
                &mut foreign
            };
            side.extend(words::tokens(&words::normalised(&text[span.range.clone()])));
        }
    }
    let all = words::tokens(&words::normalised(fact));
    let weighty: Vec<&String> = all.iter().filter(|word| word.len() > 3).collect();
    let counted: Vec<&String> = if weighty.is_empty() {
        all.iter().collect()
    } else {
        weighty
    };
    let own_count = counted.iter().filter(|word| own.contains(**word)).count();
    let foreign_count = counted
        .iter()
        .filter(|word| !own.contains(**word) && foreign.contains(**word))
        .count();
    if foreign_count * 4 >= counted.len() && foreign_count > 0 {
        Backing::Foreign
    } else if own_count * 2 >= counted.len() && own_count > 0 {
        Backing::Own
    } else {
        Backing::Nobody
    }
}

#[cfg(test)]
mod tests;
