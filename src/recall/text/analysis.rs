//! Analyses the text of a memory in one pass: terms with their weights, marks, dates, names that are addressed.
//!
//! # Layer
//! The entry point of `recall::text` for the index.

use super::calendar::{Day, Span};
use super::marks::{Marker, Marks, push_word};
use super::runs::is_apostrophe;
use super::runs::{RunKind, Runs};
use super::terms::{Side, facts_of, fenced, fold, for_each_sign, settle};

/// How often a term counts outside of code, in quarters.
pub(crate) const QUARTERS_PROSE: u32 = 4;
/// How often it counts in a code fence: a fence is long and says little about the topic.
pub(crate) const QUARTERS_CODE: u32 = 1;

/// The result of the analysis besides the terms.
pub(crate) struct Analysis {
    pub(crate) marks: Marks,
    pub(crate) spans: Vec<Span>,
    pub(crate) calls: Vec<String>,
}

/// Calls `found` with each term of `text`, how much it counts in quarters, and whether it adds to the length.
///
/// Emoji and single characters do not add to the length: emoji decorate, and single characters repeat the pairs.
pub(crate) fn analyse(text: &str, day: Day, mut found: impl FnMut(&str, u32, bool)) -> Analysis {
    let mut marker = Marker::new(text, day);
    let (mut folded, mut term) = (String::new(), String::new());
    let mut at = 0;
    for (code, part) in fenced(text) {
        let quarters = if code { QUARTERS_CODE } else { QUARTERS_PROSE };
        for run in Runs::new(part) {
            match run.kind {
                RunKind::Word if run.text.contains(is_apostrophe) => {
                    push_word(&mut marker, at + run.start, run.text, &mut folded);
                    fold(run.text, &mut folded);
                    settle(&mut folded);
                    let facts = facts_of(&folded);
                    if !folded.is_empty() && !facts.stop {
                        found(facts.term(&folded, &mut term), quarters, true);
                    }
                }
                RunKind::Word => {
                    fold(run.text, &mut folded);
                    settle(&mut folded);
                    let facts = facts_of(&folded);
                    marker.push(at + run.start, run.text.len(), &folded, facts.class);
                    if !folded.is_empty() && !facts.stop {
                        found(facts.term(&folded, &mut term), quarters, true);
                    }
                }
                RunKind::Spaceless => for_each_sign(run, Side::Memory, |sign| {
                    let pair = sign.chars().nth(1).is_some();
                    found(sign, quarters, pair || run.text == sign);
                }),
                RunKind::Emoji => for_each_sign(run, Side::Memory, |sign| found(sign, quarters, false)),
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
