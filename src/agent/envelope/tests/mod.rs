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

use std::borrow::Cow;

use super::document::Envelope;
use super::render::{Omitted, Record, Request};
use super::scrub::scrubbed;
use super::sections::Section;
use super::selection::choose;
use crate::object::Origin;

impl<'a> Request<'a> {
    /// Returns a request for trusted records, without a compaction or a boundary, of at most 5,000 tokens.
    fn new(root: &'a str) -> Self {
        Self {
            root,
            compacted: None,
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

fn render(records: &[Record], request: &Request) -> Rendered {
    let (envelope, left_out) = choose(records, request, Omitted::default());
    Rendered {
        text: envelope.to_string(),
        envelope,
        left_out,
    }
}

fn scrub(text: &str) -> Cow<'_, str> {
    scrubbed(text).text
}
