//! Analyses the text of a document in one pass: its terms with their weights, marks, dates, and the names that it
//! addresses.
//!
//! # Layer
//! The part of `recall::text` that the index calls.

use super::calendar::{Day, Span};
use super::marks::{Marker, Marks};
use super::runs::{RunKind, Runs, is_apostrophe};
use super::terms::{Side, facts_of, fenced, for_each_sign, word_of};

/// The count of one occurrence of a term outside of code, in units of a quarter.
pub(crate) const QUARTERS_PROSE: u32 = 4;
/// The count of one occurrence of a term in a code block. This count is lower, because code is long and seldom mentions
/// the topic.
pub(crate) const QUARTERS_CODE: u32 = 1;

/// The result of the analysis, except for the terms.
pub(crate) struct Analysis {
    pub(crate) marks: Marks,
    pub(crate) spans: Vec<Span>,
    pub(crate) calls: Vec<String>,
}

/// Calls `found` with each term of `text`, its count in units of a quarter, and whether the term adds to the length.
///
/// Emoji are decoration, and the single characters of a script without spaces repeat its pairs of characters. So
/// neither adds to the length.
pub(crate) fn analyse(text: &str, day: Day, mut found: impl FnMut(&str, u32, bool)) -> Analysis {
    let mut marker = Marker::new(text, day);
    let (mut folded, mut term) = (String::new(), String::new());
    let mut at = 0;
    for (code, part) in fenced(text) {
        let quarters = if code { QUARTERS_CODE } else { QUARTERS_PROSE };
        for run in Runs::new(part) {
            match run.kind {
                RunKind::Word => {
                    let has_pieces = run.text.contains(is_apostrophe);
                    if has_pieces {
                        marker.push_word(at + run.start, run, &mut folded);
                    }
                    word_of(run.text, &mut folded);
                    let facts = facts_of(&folded);
                    if !has_pieces {
                        marker.push(at + run.start, run.text.len(), &folded, facts.class);
                    }
                    if !folded.is_empty() && !facts.stop {
                        found(facts.term(&folded, &mut term), quarters, true);
                    }
                }
                RunKind::Spaceless => for_each_sign(run, Side::Document, |sign| {
                    let pair = sign.chars().nth(1).is_some();
                    found(sign, quarters, pair || run.text == sign);
                }),
                RunKind::Emoji => for_each_sign(run, Side::Document, |sign| found(sign, quarters, false)),
            }
        }
        at += part.len() + 3;
    }
    Analysis {
        marks: marker.marks,
        spans: marker.spans,
        calls: marker.calls,
    }
}
