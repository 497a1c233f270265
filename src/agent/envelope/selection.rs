//! Selects the records of an envelope: applies the admission rules, omits duplicates, and respects the budget.
//!
//! # Layer
//! Pure.

use std::cmp::Reverse;
use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

use super::document::{Envelope, ROOT_CHARS_MAX, Shown, closing, opening, section_tags};
use super::line;
use super::render::{Boundary, Omitted, Record, Request};
use super::sections::Section;
use crate::agent::vocabulary::kind;
use crate::recall::CHARS_A_TOKEN;

/// Selects records for the envelope, and adds the omitted records to the counts of `left_out`.
///
/// Fills the sections by their turn, and each section by rank, then newest first. Omits a record that does not fit, and
/// tries the next record. Apart from sorting, the time is linear in the number of records and shown characters. Callers
/// pass candidates, not all items of a store.
pub(super) fn choose(records: &[Record], request: &Request, mut left_out: Omitted) -> (Envelope, Omitted) {
    let mut admitted: Vec<(Section, &Record)> = Vec::with_capacity(records.len());
    for record in records {
        match admit(record, request) {
            Ok(section) => admitted.push((section, record)),
            Err(count) => *count(&mut left_out) += 1,
        }
    }
    // ENV-3: records with equal keys are identical, so the order of the input does not matter.
    admitted.sort_unstable_by_key(|&(section, record)| {
        (
            section.layout().turn,
            record.rank,
            Reverse(record.updated_us.max(record.time_us)),
            record.key(),
        )
    });

    let root = line::line(request.root, ROOT_CHARS_MAX, false);
    let mut page = Page::new(&root, request, admitted.len());
    for (section, record) in admitted {
        if let Err(count) = page.add(section, record) {
            *count(&mut left_out) += 1;
        }
    }
    page.shown
        .sort_by_key(|(section, record, _)| (*section, record.time_us, Record::key(record)));
    let envelope = Envelope {
        boundary: page.boundary.map(str::to_owned),
        root,
        shown: page.shown.into_iter().map(|(_, _, shown)| shown).collect(),
        skipped: left_out.skipped(),
    };
    (envelope, left_out)
}

/// Selects the counter of a reason to omit a record.
type Count = fn(&mut Omitted) -> &mut usize;

/// Returns the section of `record`, or the reason to omit it.
fn admit(record: &Record, request: &Request) -> Result<Section, Count> {
    // ENV-4: entries are never shown. Notes are shown only in a compaction of their session.
    if record.kind == kind::ENTRY {
        return Err(|left_out| &mut left_out.entries);
    }
    let is_own = !record.root_session.is_empty() && request.compacted == Some(&*record.root_session);
    if record.is_note() && !is_own {
        return Err(|left_out| &mut left_out.notes);
    }
    // ENV-5: untrusted records are shown only in the section `quarantine`.
    match record.trust.is_trusted() && record.section != Section::Quarantine {
        true => Ok(record.section),
        false if request.with_untrusted => Ok(Section::Quarantine),
        false => Err(|left_out| &mut left_out.untrusted),
    }
}

/// The selected records so far.
struct Page<'a> {
    boundary: Option<&'a str>,
    /// The number of characters left in the budget; `None` if the budget is too small for an empty envelope.
    room: Option<usize>,
    shown: Vec<(Section, &'a Record, Shown)>,
    counts: [usize; Section::ALL.len()],
    said: HashSet<String>,
}

impl<'a> Page<'a> {
    /// Begins a page for up to `records_max` records.
    fn new(root: &str, request: &'a Request, records_max: usize) -> Self {
        let boundary = request.boundary.as_ref().map(Boundary::as_str);
        // The final counts are not known yet, so this reserves space for the largest counts.
        let frame = opening(boundary) + &closing(boundary, root, records_max, records_max);
        let chars_max = request.budget_tokens.saturating_mul(CHARS_A_TOKEN);
        Self {
            boundary,
            room: chars_max.checked_sub(frame.chars().count()),
            shown: Vec::new(),
            counts: [0; Section::ALL.len()],
            said: HashSet::new(),
        }
    }

    /// Adds `record`. Returns the counter of the reason if the record must be omitted.
    fn add(&mut self, section: Section, record: &'a Record) -> Result<(), Count> {
        let count = self.counts[section as usize];
        if count >= section.records_max() {
            return Err(|left_out| &mut left_out.full);
        }
        let shown = Shown::of(record, section);
        if shown.text.is_empty() {
            return Err(|left_out| &mut left_out.empty);
        }
        let repeats = |boundary: &str| {
            [&shown.text, &shown.id, &shown.title, &shown.source, &shown.flags]
                .iter()
                .any(|text| text.contains(boundary))
        };
        if self.boundary.is_some_and(repeats) {
            return Err(|left_out| &mut left_out.forged);
        }
        let said = normalised(&shown.text);
        if self.said.contains(&said) {
            return Err(|left_out| &mut left_out.duplicates);
        }
        let mut text = String::new();
        shown.write(&mut text);
        if count == 0 {
            text.extend(section_tags(section));
        }
        // ENV-2: the text never exceeds the budget.
        let left = self.room.and_then(|room| room.checked_sub(text.chars().count()));
        let Some(left) = left else {
            return Err(|left_out| &mut left_out.budget);
        };
        self.room = Some(left);
        self.counts[section as usize] += 1;
        self.said.insert(said);
        self.shown.push((section, record, shown));
        Ok(())
    }
}

/// Normalises a text to find duplicates: ignores case, compatibility forms, and differences of white space.
fn normalised(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}
