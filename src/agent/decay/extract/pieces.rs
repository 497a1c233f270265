//! Cuts a text into the pieces that a summary takes or leaves: sentences, and blocks that stay whole.
//!
//! Blocks are what Markdown and people write with lines: fenced and indented code, tables, quoted lines, headings,
//! and items of lists with all that is indented below them.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - PCE-1: pieces are slices in rising order that do not overlap, and what is between them is white space.

use std::ops::Range;

use super::sentences::sentences;

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// Where it is, in bytes.
    pub(super) range: Range<usize>,
}

/// What the lines so far belong to.
enum Open {
    Nothing,
    Paragraph,
    /// An item whose marker has so many columns before it.
    Item(usize),
    /// Indented code, a table or quoted lines: lines that go on with lines of the same kind.
    Lines(LineKind),
    /// Fenced code: the sign of the fence and how often it stands.
    Fence(char, usize),
}

/// What a line is by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Heading,
    Table,
    Quote,
    Indented,
    Fence(char, usize),
    Item,
    Text,
}

/// Returns the pieces of `text`.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
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
    /// What the open block covers.
    range: Range<usize>,
    found: Vec<Piece>,
}

impl Cutter<'_> {
    fn take(&mut self, line: &str, start: usize) {
        let end = start + line.trim_end().len();
        if let Open::Fence(sign, length) = self.open {
            self.range.end = end.max(self.range.end);
            if closes(line, sign, length) {
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
            LineKind::Fence(sign, length) => Open::Fence(sign, length),
            LineKind::Heading | LineKind::Table | LineKind::Quote => Open::Lines(kind),
            LineKind::Indented => {
                // The first line keeps its indent: it is code.
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
            Open::Paragraph => {
                let ranges = sentences(self.text, self.range.clone());
                self.found.extend(ranges.into_iter().map(|range| Piece { range }));
            }
            _ => self.found.push(Piece {
                range: self.range.clone(),
            }),
        }
    }
}

fn columns(line: &str) -> usize {
    let indent = line.chars().take_while(|letter| matches!(letter, ' ' | '\t'));
    indent.map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
}

fn kind_of(line: &str) -> LineKind {
    let bare = line.trim();
    if bare.is_empty() {
        return LineKind::Blank;
    }
    if let Some((sign, length)) = fence(bare) {
        return LineKind::Fence(sign, length);
    }
    if is_item(bare) {
        return LineKind::Item;
    }
    if columns(line) >= 4 {
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

fn fence(bare: &str) -> Option<(char, usize)> {
    let sign = bare.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = bare.chars().take_while(|&next| next == sign).count();
    // A line such as ```code``` is text.
    (length >= 3 && !(sign == '`' && bare[length..].contains('`'))).then_some((sign, length))
}

fn closes(line: &str, sign: char, length: usize) -> bool {
    let bare = line.trim();
    bare.chars().count() >= length && bare.chars().all(|next| next == sign)
}

fn is_item(bare: &str) -> bool {
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if (1..=9).contains(&digits) {
        bare[digits..].strip_prefix(['.', ')'])
    } else {
        bare.strip_prefix(['-', '*', '+', '\u{2022}', '\u{2013}'])
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|piece| &text[piece.range]).collect()
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
                prop_assert!(last <= piece.range.start && piece.range.start < piece.range.end);
                prop_assert!(text[last..piece.range.start].trim().is_empty());
                last = piece.range.end;
            }
            prop_assert!(text[last..].trim().is_empty());
        }
    }
}
