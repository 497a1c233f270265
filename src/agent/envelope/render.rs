//! The records to render, a request to the renderer, and the counts of omitted records.
//!
//! # Layer
//! Pure.

use schemars::JsonSchema;
use serde::Serialize;

use super::sections::Section;
use crate::agent::vocabulary::kind;
use crate::object::Origin;

/// A request to [`choose`](super::selection::choose).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// The root of the state that contains the records.
    pub root: &'a str,
    /// The root session whose context is compacted, and whose notes are shown. The caller replaces a child session with
    /// its root.
    pub compacted: Option<&'a str>,
    /// Whether the notes of every session are shown.
    pub all_notes: bool,
    /// The maximum size of the whole text in tokens, as [`tokens`](treering_text::recall::tokens) counts them.
    pub budget_tokens: usize,
    /// Whether the section `quarantine` shows untrusted records.
    pub with_untrusted: bool,
    /// A word in the opening and closing lines that no record may repeat.
    pub boundary: Option<Boundary>,
}

/// A random word that the host chooses for one session: 16 to 64 ASCII letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// Returns the boundary. Returns `None` if `word` is too short, too long, or contains other characters.
    pub fn new(word: &str) -> Option<Self> {
        let fits = (16..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(word.to_owned()))
    }

    /// Returns the word.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The numbers of omitted items by reason. An item counts only under the first reason that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Omitted {
    /// The number of transcript entries.
    pub entries: usize,
    /// The number of notes that are omitted because the request is not a compaction of their root session.
    pub notes: usize,
    /// The number of untrusted items, if the request excludes them.
    pub untrusted: usize,
    /// The number of items that are omitted because their section is full.
    pub full: usize,
    /// The number of items that have no visible text.
    pub empty: usize,
    /// The number of items that contain the boundary.
    pub forged: usize,
    /// The number of items that repeat the text of another record.
    pub duplicates: usize,
    /// The number of items that do not fit into the budget.
    pub budget: usize,
    /// The number of expired items. The verb, not the renderer, sets this count and the counts below.
    pub expired: usize,
    /// The number of items that another item supersedes.
    pub superseded: usize,
    /// The number of items that are more sensitive than the request permits.
    pub sensitive: usize,
    /// The number of items that do not match the query, or that are beyond the maximum number of candidates of
    /// their section.
    pub beside: usize,
}

impl Omitted {
    /// Returns the number of records that the request permits, but the envelope does not show: they did not fit, or
    /// did not match the query. The envelope reports it as `skipped`.
    pub fn skipped(&self) -> usize {
        self.full + self.budget + self.beside
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> usize {
        let held_back = self.entries + self.notes + self.untrusted + self.forged;
        let no_candidates = self.expired + self.superseded + self.sensitive;
        held_back + self.empty + self.duplicates + self.skipped() + no_candidates
    }
}

/// An item to show. The caller omits expired, forgotten and superseded items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The section of the item. An untrusted record is shown in the section `quarantine` instead.
    pub section: Section,
    /// The time when the item was created, in microseconds since 1970, which orders the records of a section.
    pub time_us: Option<i64>,
    /// The id of the item, shown up to 256 characters.
    pub id: String,
    /// The titles of the item from the top down, shown up to 256 characters; empty if there are none.
    pub title: String,
    /// The text of the item, shown up to the limit of its section.
    pub text: String,
    /// The kind of the item, for example `fact`. An `entry` is never shown; a `note` only in a compaction.
    pub kind: String,
    /// The origin class of the item.
    pub trust: Origin,
    /// The rules of the scan that matched the text, shown up to 120 characters.
    pub flags: String,
    /// The source of the item, for example a file or a tool, shown up to 120 characters.
    pub source: String,
    /// The time of the last change of the item, if that time differs from the time of its creation.
    pub updated_us: Option<i64>,
    /// The root session that owns a note.
    pub root_session: String,
    /// The priority if not all records fit. A lower rank is selected first, and of equal ranks the newest record.
    pub rank: u32,
}

impl Record {
    /// Checks whether the record is a note of a session.
    pub(super) fn is_note(&self) -> bool {
        self.kind == kind::NOTE || self.section == Section::SessionNotes
    }

    /// Returns a sort key of all fields, so that the order of records does not depend on the order of the input.
    pub(super) fn key(&self) -> impl Ord {
        (
            self.section,
            self.time_us,
            (&self.id, &self.title, &self.text, &self.kind),
            self.trust.tag(),
            (&self.flags, &self.source),
            self.updated_us,
            &self.root_session,
            self.rank,
        )
    }
}
