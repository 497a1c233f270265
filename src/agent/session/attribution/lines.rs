//! The kinds of the lines of a turn.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::ops::Range;

use super::{AttributionSettings, Span, SpanKind};
use crate::agent::markdown::{Fence, INDENT, columns, is_item};

/// The kind of a line by itself.
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

/// Returns blocks of lines that cover the text: of one foreign kind, or of the person's own between empty lines.
pub(super) fn blocks(text: &str, settings: &AttributionSettings) -> Vec<Span> {
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

/// The end of the lines from `at` on that are as wanted.
fn run(lines: &[Line], at: usize, is_wanted: impl Fn(LineKind) -> bool) -> usize {
    let rest = lines[at..].iter().take_while(|line| is_wanted(line.kind));
    at + rest.count()
}

/// Indented lines, also with empty ones between them; a paste if there are many.
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

/// Lines up to an empty or a foreign one; a paste if they are many or long. A few indented lines belong to them.
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

/// The lines of the text with their ends.
fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let kind = match fence {
            // ATB-2: a fence that is not closed goes to the end.
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
