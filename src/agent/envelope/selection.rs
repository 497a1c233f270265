//! Selects the records of an envelope: applies the admission rules, omits duplicates, and respects the budget.
//!
//! # Layer
//! Pure.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::document::{Envelope, ROOT_CHARS_MAX, Shown, closing, opening, section_tags};
use super::line;
use super::render::{Boundary, Omitted, Record, Request};
use super::sections::Section;
use crate::agent::vocabulary::kind;
use crate::object::Origin;
use treering_text::recall::CHARS_A_TOKEN;

/// The number of records in a row that may exceed the budget before a section counts as done. The next records would
/// hardly fit either.
const MISSES_MAX: usize = 16;
/// The least number of characters of a record: its tag, id, trust and text.
const RECORD_CHARS_MIN: usize = 32;

/// Selects the records of an envelope, and counts the omitted ones.
///
/// The caller offers the records of one section after the other, in the order of [`Section::by_turn`]: in each section
/// by rank, then by class if the section is lasting, then newest first. A record that does not fit is omitted, and the
/// next one may fit. [`Self::is_done`] tells the caller that no further record of the section can be shown.
pub(super) struct Selection<'a> {
    request: &'a Request<'a>,
    root: String,
    page: Page<'a>,
    left_out: Omitted,
    misses: usize,
}

impl<'a> Selection<'a> {
    /// Begins a selection among at most `records_max` records. `left_out` counts the items that are not offered.
    pub(super) fn new(request: &'a Request<'a>, records_max: usize, left_out: Omitted) -> Self {
        let root = line::line(request.root, ROOT_CHARS_MAX, false);
        Self {
            page: Page::new(&root, request, records_max),
            root,
            request,
            left_out,
            misses: 0,
        }
    }

    /// Returns the section in which a record is shown. Counts the record as omitted if it may not be shown.
    pub(super) fn admit(&mut self, record: &Record) -> Option<Section> {
        let admitted = admit(record, self.request);
        let counted = admitted.map_err(|count| *count(&mut self.left_out) += 1);
        counted.ok()
    }

    /// Shows a record in a section, or counts it as omitted.
    pub(super) fn offer(&mut self, section: Section, record: Record) {
        let budget = self.left_out.budget;
        if let Err(count) = self.page.add(section, record) {
            *count(&mut self.left_out) += 1;
        }
        let is_miss = self.left_out.budget > budget;
        self.misses = if is_miss { self.misses + 1 } else { 0 };
    }

    /// Returns the counter for the further records of a section if none of them can be shown.
    pub(super) fn is_done(&self, section: Section) -> Option<Count> {
        if self.page.counts[section as usize] >= section.records_max() {
            return Some(|left_out| &mut left_out.full);
        }
        let is_out = self.misses >= MISSES_MAX || self.page.room.is_none_or(|room| room < RECORD_CHARS_MIN);
        is_out.then_some(|left_out| &mut left_out.budget)
    }

    /// Begins the next section.
    pub(super) fn next_section(&mut self) {
        self.misses = 0;
    }

    /// Counts `items` that are not offered.
    pub(super) fn omit(&mut self, count: Count, items: usize) {
        *count(&mut self.left_out) += items;
    }

    /// Returns the envelope, and the counts of the omitted records.
    pub(super) fn finish(self) -> (Envelope, Omitted) {
        let Self {
            mut page, left_out, ..
        } = self;
        page.shown.sort_by(|(section, record, _), (other, beside, _)| {
            let order = (section, record.time_us).cmp(&(other, beside.time_us));
            order.then_with(|| record.key().cmp(&beside.key()))
        });
        let envelope = Envelope {
            boundary: page.boundary.map(str::to_owned),
            root: self.root,
            shown: page.shown.into_iter().map(|(_, _, shown)| shown).collect(),
            skipped: left_out.skipped(),
        };
        (envelope, left_out)
    }
}

/// Selects the counter of a reason to omit a record.
pub(super) type Count = fn(&mut Omitted) -> &mut usize;

/// Returns the section of `record`, or the reason to omit it.
fn admit(record: &Record, request: &Request) -> Result<Section, Count> {
    // ENV-4: entries are never shown. Notes are shown only in a compaction of their session, or if all are asked for.
    if record.kind == kind::ENTRY {
        return Err(|left_out| &mut left_out.entries);
    }
    let is_own = !record.root_session.is_empty() && request.compacted == Some(&*record.root_session);
    if record.is_note() && !is_own && !request.all_notes {
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
    shown: Vec<(Section, Record, Shown)>,
    counts: Counts,
    /// The records that show a text, by the normalised text.
    said: HashMap<String, Said>,
}

/// The number of records in each section.
type Counts = [usize; Section::ALL.len()];

/// A record that shows a text.
#[derive(Clone, Copy)]
struct Said {
    /// The index of the record among the selected ones.
    at: usize,
    section: Section,
    trust: Origin,
    /// The number of characters of the record, without the tags of its section.
    chars: usize,
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
            said: HashMap::new(),
        }
    }

    /// Adds `record`. Returns the counter of the reason if a record must be omitted. Of records with the same text, the
    /// page shows the most trusted one, and of these the one that was added first (ENV-7).
    fn add(&mut self, section: Section, record: Record) -> Result<(), Count> {
        let count = self.counts[section as usize];
        if count >= section.records_max() {
            return Err(|left_out| &mut left_out.full);
        }
        let shown = Shown::of(&record, section);
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
        let twin = self.said.get(&said).copied();
        if twin.is_some_and(|twin| !record.trust.is_above(twin.trust)) {
            return Err(|left_out| &mut left_out.duplicates);
        }
        let mut text = String::new();
        shown.write(&mut text);
        let chars = text.chars().count();
        let (mut room, mut counts) = (self.room, self.counts);
        if let Some(twin) = twin {
            counts[twin.section as usize] -= 1;
            let freed = twin.chars + chars_of_tags(twin.section, counts);
            room = room.map(|room| room + freed);
        }
        // ENV-2: the text never exceeds the budget.
        let left = room.and_then(|room| room.checked_sub(chars + chars_of_tags(section, counts)));
        let Some(left) = left else {
            return Err(|left_out| &mut left_out.budget);
        };
        counts[section as usize] += 1;
        (self.room, self.counts) = (Some(left), counts);
        let at = twin.map_or(self.shown.len(), |twin| twin.at);
        let trust = record.trust;
        let kept = Said {
            at,
            section,
            trust,
            chars,
        };
        self.said.insert(said, kept);
        let added = (section, record, shown);
        match self.shown.get_mut(at) {
            Some(twin) => {
                *twin = added;
                Err(|left_out| &mut left_out.duplicates)
            }
            None => {
                self.shown.push(added);
                Ok(())
            }
        }
    }
}

/// Returns the number of characters of the tags of a section if the section has no record yet, else 0.
fn chars_of_tags(section: Section, counts: Counts) -> usize {
    match counts[section as usize] {
        0 => section_tags(section).iter().map(|tag| tag.chars().count()).sum(),
        _ => 0,
    }
}

/// Normalises a text to find duplicates: ignores case, compatibility forms, and differences of white space.
fn normalised(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}
