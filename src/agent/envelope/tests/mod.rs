//! Tests of the envelope.
//!
//! `generator` generates hostile texts and records from a seed. The tables of cases are hand-written.

mod admission;
mod assembly;
mod generator;
mod hostile;
mod line;
mod properties;
mod reader;
mod refusals;
mod render;
mod scrub;
mod shelves;

use std::borrow::Cow;
use std::cmp::Reverse;

use super::document::Envelope;
use super::render::{Omitted, Record, Request};
use super::scrub::scrubbed;
use super::sections::Section;
use super::selection::Selection;
use crate::object::Origin;

impl<'a> Request<'a> {
    /// Returns a request for trusted records, without a compaction or a boundary, of at most 5,000 tokens.
    fn new(root: &'a str) -> Self {
        Self {
            root,
            compacted: None,
            all_notes: false,
            budget_tokens: 5000,
            with_untrusted: false,
            boundary: None,
        }
    }
}

impl Record {
    /// Returns a record with the origin `direct_user`, without a time, source, kind or session.
    fn new(section: Section, id: &str, text: &str) -> Self {
        Self {
            section,
            time_us: None,
            id: id.to_owned(),
            title: String::new(),
            text: text.to_owned(),
            kind: String::new(),
            trust: Origin::DirectUser,
            flags: String::new(),
            source: String::new(),
            updated_us: None,
            root_session: String::new(),
            rank: 0,
        }
    }
}

/// An envelope, its text, and the numbers of omitted records.
#[derive(Debug, PartialEq)]
struct Rendered {
    text: String,
    envelope: Envelope,
    left_out: Omitted,
}

/// Renders records as the verb does: section by section, each by rank and then the newest first.
fn render(records: &[Record], request: &Request) -> Rendered {
    let mut selection = Selection::new(request, records.len(), Omitted::default());
    let admitted = records.iter().map(|record| (selection.admit(record), record));
    let mut admitted: Vec<_> = admitted
        .filter_map(|(section, record)| Some((section?, record)))
        .collect();
    let order = |record: &Record| (record.rank, Reverse(record.updated_us.max(record.time_us)));
    admitted.sort_by(|(_, one), (_, two)| {
        let by_rank = order(one).cmp(&order(two));
        by_rank.then_with(|| one.key().cmp(&two.key()))
    });
    for turn in Section::by_turn() {
        selection.next_section();
        for (section, record) in &admitted {
            if *section == turn {
                match selection.is_done(turn) {
                    Some(count) => selection.omit(count, 1),
                    None => selection.offer(turn, (*record).clone()),
                }
            }
        }
    }
    let (envelope, left_out) = selection.finish();
    Rendered {
        text: envelope.to_string(),
        envelope,
        left_out,
    }
}

fn scrub(text: &str) -> Cow<'_, str> {
    scrubbed(text).text
}
