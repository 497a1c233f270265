//! Splits a text into the pieces of which a summary consists: sentences, and blocks that are never split.
//!
//! A Markdown parser finds the blocks: code, tables, quotations, headings, and list items with their nested content.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - PCE-1: pieces are slices in rising order without overlaps, with only white space between them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::sentences::{sentences, trimmed};

/// Returns the ranges of the pieces of `text`, in bytes.
pub(super) fn pieces(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut codes): (Vec<Range<usize>>, Vec<Range<usize>>) = Default::default();
    let mut end = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        if matches!(event, Event::Code(_)) {
            codes.push(range.clone());
        }
        // Skip events inside the last block. Also skip the start of a list, because each item of the list is a block.
        if range.start < end || matches!(event, Event::Start(Tag::List(_))) {
            continue;
        }
        // The parser emits no events for link definitions, so add the skipped text here.
        found.extend(trimmed(text, end..range.start));
        end = range.end;
        match event {
            Event::Start(Tag::Paragraph) => found.extend(sentences(text, range)),
            // Include the indentation of the first line of indented code.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                let indent = text[..range.start].rfind('\n').map_or(0, |line| line + 1);
                found.push(indent..text[..range.end].trim_end().len());
            }
            _ => found.extend(trimmed(text, range)),
        }
    }
    found.extend(trimmed(text, end..text.len()));
    // Merge pieces that split inline code.
    found.dedup_by(|next, before| {
        let code = codes.partition_point(|code| code.end <= next.start);
        let is_inside = codes.get(code).is_some_and(|code| code.start < next.start);
        if is_inside {
            before.end = next.end;
        }
        is_inside
    });
    found
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
        let cases: [(&str, &[&str]); 12] = [
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
                "| a. b | c. |\n|---|---|\n| 1. 2 | x |\n\nAfter.",
                &["| a. b | c. |\n|---|---|\n| 1. 2 | x |", "After."],
            ),
            (
                "Text.\n\n    let a = b. c;\n    d. e\n\nEnd.",
                &["Text.", "    let a = b. c;\n    d. e", "End."],
            ),
            (
                "> he said. that.\n> and more.\n\nI say.",
                &["> he said. that.\n> and more.", "I say."],
            ),
            (
                "[a]: http://b.c 'x. y.'\n\nOne. <b>\n\n***",
                &["[a]: http://b.c 'x. y.'", "One.", "<b>", "***"],
            ),
            ("~~~\nopen. to the. end", &["~~~\nopen. to the. end"]),
            (
                "One goes\non here. Two.\r\n\r\nThree.",
                &["One goes\non here.", "Two.", "Three."],
            ),
            (
                "Use `a. b! c`. Then ``d. ` e``. Or ` f. g",
                &["Use `a. b! c`.", "Then ``d. ` e``.", "Or ` f.", "g"],
            ),
            ("```a. b``` is text. Yes.", &["```a. b``` is text.", "Yes."]),
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
