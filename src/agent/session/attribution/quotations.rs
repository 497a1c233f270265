//! Long quotations within the person's own lines.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::ops::Range;

use super::{Span, SpanKind};

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
pub(super) fn split(text: &str, block: Range<usize>, chars_min: usize) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = block.start;
    let mut at = block.start;
    // Marks that nothing closes any more, so that each is looked for once.
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
