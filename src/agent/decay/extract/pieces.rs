//! Cuts a text into the pieces of a summary: sentences, and blocks that stay whole.
//!
//! Blocks are fenced and indented code, tables, quoted lines, headings, and list items with all indented lines below
//! them.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - PCE-1: pieces are slices in rising order without overlap; only white space is between them.

use std::ops::Range;

use super::sentences::sentences;
use crate::agent::markdown::{Fence, INDENT, columns, is_item};

/// The block to which the last lines belong.
enum Open {
    Nothing,
    Paragraph,
    /// A list item whose marker is at this column.
    Item(usize),
    /// Indented code, a table or quoted lines, which end with a line of another kind.
    Lines(LineKind),
    /// Fenced code.
    Fence(Fence),
}

/// The kind of a single line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Heading,
    Table,
    Quote,
    Indented,
    Fence(Fence),
    Item,
    Text,
}

/// Returns the ranges of the pieces of `text`, in bytes.
pub(super) fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut cutter = Cutter {
        text,
        open: Open::Nothing,
        range: 0..0,
        found: Vec::new(),
    };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        cutter.take(line, start);
        start += line.len();
    }
    cutter.close();
    cutter.found
}

struct Cutter<'a> {
    text: &'a str,
    open: Open,
    /// The range of the open block.
    range: Range<usize>,
    found: Vec<Range<usize>>,
}

impl Cutter<'_> {
    fn take(&mut self, line: &str, start: usize) {
        let end = start + line.trim_end().len();
        if let Open::Fence(fence) = self.open {
            self.range.end = end.max(self.range.end);
            if fence.is_closed_by(line) {
                self.close();
            }
            return;
        }
        let (kind, columns) = (kind_of(line), columns(line));
        let goes_on = match (&self.open, kind) {
            (Open::Item(own), LineKind::Item | LineKind::Fence(..)) => columns > *own,
            (Open::Lines(own), kind) => *own == kind,
            (Open::Item(_), LineKind::Text | LineKind::Indented | LineKind::Quote | LineKind::Table)
            | (Open::Paragraph, LineKind::Text | LineKind::Indented) => true,
            _ => false,
        };
        if goes_on {
            self.range.end = end;
            return;
        }
        self.close();
        self.range = start + (line.len() - line.trim_start().len())..end;
        self.open = match kind {
            LineKind::Blank => Open::Nothing,
            LineKind::Text => Open::Paragraph,
            LineKind::Item => Open::Item(columns),
            LineKind::Fence(fence) => Open::Fence(fence),
            LineKind::Heading | LineKind::Table | LineKind::Quote => Open::Lines(kind),
            LineKind::Indented => {
                // The first line keeps its indent, because it is code.
                self.range.start = start;
                Open::Lines(kind)
            }
        };
        if kind == LineKind::Heading {
            self.close();
        }
    }

    /// Ends the open block.
    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Paragraph => self.found.extend(sentences(self.text, self.range.clone())),
            _ => self.found.push(self.range.clone()),
        }
    }
}

fn kind_of(line: &str) -> LineKind {
    let bare = line.trim();
    if bare.is_empty() {
        return LineKind::Blank;
    }
    if let Some(fence) = Fence::opened_by(bare) {
        return LineKind::Fence(fence);
    }
    if is_item(bare) {
        return LineKind::Item;
    }
    if columns(line) >= INDENT {
        return LineKind::Indented;
    }
    if bare.starts_with('|') {
        return LineKind::Table;
    }
    if bare.starts_with('>') {
        return LineKind::Quote;
    }
    let level = bare.bytes().take_while(|&byte| byte == b'#').count();
    if (1..=6).contains(&level) && bare[level..].starts_with(' ') {
        return LineKind::Heading;
    }
    LineKind::Text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|piece| &text[piece]).collect()
    }

    #[test]
    fn blocks_stay_whole() {
        let cases: [(&str, &[&str]); 10] = [
            ("# Title\nOne. Two.\n", &["# Title", "One.", "Two."]),
            (
                "Run this:\n```sh\na. b.\n\nc. d.\n```\nThen rest.",
                &["Run this:", "```sh\na. b.\n\nc. d.\n```", "Then rest."],
            ),
            (
                "- one. two.\n  - below. it.\n  more. of it.\n- three.",
                &["- one. two.\n  - below. it.\n  more. of it.", "- three."],
            ),
            (
                "1. First. Do it.\n2) Second.",
                &["1. First. Do it.", "2) Second."],
            ),
            (
                "| a. b | c. |\n|---|---|\n| 1. 2 | x |\nAfter.",
                &["| a. b | c. |\n|---|---|\n| 1. 2 | x |", "After."],
            ),
            (
                "Text.\n\n    let a = b. c;\n    d. e\n\nEnd.",
                &["Text.", "    let a = b. c;\n    d. e", "End."],
            ),
            (
                "> he said. that.\n> and more.\nI say.",
                &["> he said. that.\n> and more.", "I say."],
            ),
            ("~~~\nopen. to the. end", &["~~~\nopen. to the. end"]),
            (
                "One goes\non here. Two.\r\n\r\nThree.",
                &["One goes\non here.", "Two.", "Three."],
            ),
            ("```a. b.``` is text. Yes.", &["```a. b.``` is text.", "Yes."]),
        ];
        for (text, expected) in cases {
            assert_eq!(all(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn pce_1_only_white_space_is_between_pieces(text in "([a-c.] ?|\n|- |1\\. |    |```|~~~~|> |\\||# |\t|\r\n|\u{3002}){0,40}") {
            let mut last = 0;
            for piece in pieces(&text) {
                prop_assert!(last <= piece.start && piece.start < piece.end);
                prop_assert!(text[last..piece.start].trim().is_empty());
                last = piece.end;
            }
            prop_assert!(text[last..].trim().is_empty());
        }
    }
}
