//! Separates a person's own words in a turn from pasted and quoted ones.
//!
//! A person who is trusted may paste a page that is not. What stands in code fences, after `>`, in long indented
//! stretches, in long quotations, or is simply too long to have been typed, is not taken for the person's own word.
//! When in doubt it is foreign: own words that are held back can be promoted, foreign ones that were stored cannot be
//! unread. Text that was pasted without any mark cannot be told apart, and no rule here pretends so.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - ATB-1: spans follow each other without gaps from the first byte to the last, and neighbours differ in kind.
//! - ATB-2: a line in a fence or after `>` is never the person's own.

mod backing;
mod lines;
mod quotations;

use std::ops::Range;

use serde::Deserialize;

pub use self::backing::{Backing, backing};

/// When a stretch counts as pasted. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttributionSettings {
    /// Lines that are indented by four columns, from which on they count as pasted.
    pub indented_lines_min: usize,
    /// Lines without an empty one between them, from which on they count as pasted.
    pub block_lines_min: usize,
    /// Characters of such lines, from which on they count as pasted.
    pub block_chars_min: usize,
    /// Characters between quotation marks, from which on they count as quoted.
    pub quotation_chars_min: usize,
    /// Characters that a person writes in one turn; if there would be more, none of them count as their own.
    pub own_chars_max: usize,
}

impl Default for AttributionSettings {
    /// 4 indented lines, blocks of 25 lines or 3,000 characters, quotations of 120, 8,000 characters a turn.
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

/// Where a stretch of a turn comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpanKind {
    /// The person's own words.
    Own,
    /// A code fence with its content.
    Code,
    /// Lines after `>`, or a long quotation.
    Quote,
    /// A long stretch that looks pasted.
    Paste,
}

impl SpanKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Code => "code",
            Self::Quote => "quote",
            Self::Paste => "paste",
        }
    }
}

/// A stretch of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// Where it comes from.
    pub kind: SpanKind,
}

/// Returns the spans of a person's turn, in order.
pub fn spans(text: &str, settings: &AttributionSettings) -> Vec<Span> {
    let mut found = Vec::new();
    for block in lines::blocks(text, settings) {
        match block.kind {
            SpanKind::Own => found.extend(quotations::split(text, block.range, settings.quotation_chars_min)),
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

/// ATB-1: neighbours of the same kind are one.
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

#[cfg(test)]
mod tests;
