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
    /// The root of the state of the records.
    pub root: &'a str,
    /// The root session whose notes are shown for its compaction. The caller resolves child sessions.
    pub compacted: Option<&'a str>,
    /// The limit of the whole text, as [`tokens`](crate::recall::tokens) counts.
    pub budget_tokens: usize,
    /// Whether untrusted records are shown, in the quarantine.
    pub with_untrusted: bool,
    /// A word in the first and the last line that no record may repeat.
    pub boundary: Option<Boundary>,
}

/// A random word of the host for one session: 16 to 64 ASCII letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// Returns the boundary; `None` if `word` is too short, too long, or has other characters.
    pub fn new(word: &str) -> Option<Self> {
        let fits = (16..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(word.to_owned()))
    }

    /// Returns the word.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The numbers of omitted items, by the first reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Omitted {
    /// The number of entries of a transcript.
    pub entries: usize,
    /// The number of notes omitted because this is a turn, or the compaction of another session.
    pub notes: usize,
    /// The number of untrusted items that the request does not ask for.
    pub untrusted: usize,
    /// The number of items whose section is full.
    pub full: usize,
    /// The number of items without a text.
    pub empty: usize,
    /// The number of items that repeat the boundary.
    pub forged: usize,
    /// The number of items that repeat the text of another record.
    pub duplicates: usize,
    /// The number of items that do not fit into the budget.
    pub budget: usize,
    /// The number of expired items. The verb, not the renderer, sets this count and those below.
    pub expired: usize,
    /// The number of items that another item supersedes.
    pub superseded: usize,
    /// The number of items that are more sensitive than the request permits.
    pub sensitive: usize,
    /// The number of items that do not answer the query, or for which newer items leave no place in the section.
    pub beside: usize,
}

impl Omitted {
    /// Returns the number of records that did not fit, which the envelope states.
    pub fn skipped(&self) -> usize {
        self.full + self.budget
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> usize {
        let held_back = self.entries + self.notes + self.untrusted + self.forged;
        let no_candidates = self.expired + self.superseded + self.sensitive + self.beside;
        held_back + self.empty + self.duplicates + self.skipped() + no_candidates
    }
}

/// An item to show. The caller leaves out expired, forgotten and superseded items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its section. An untrusted record is shown in the quarantine instead.
    pub section: Section,
    /// The time of its creation in microseconds since 1970, which orders the records of a section.
    pub time_us: Option<i64>,
    /// Its id, shown up to 256 characters.
    pub id: String,
    /// Its text, shown up to the limit of its section.
    pub text: String,
    /// Its kind, for example `fact`. An `entry` is never shown; a `note` only in a compaction.
    pub kind: String,
    /// Its class of origin.
    pub trust: Origin,
    /// The findings of the scan, shown up to 120 characters.
    pub flags: String,
    /// Its source, for example a file or a tool, shown up to 120 characters.
    pub source: String,
    /// The time of its last change, if that differs from its creation.
    pub updated_us: Option<i64>,
    /// The root session that owns a note.
    pub root_session: String,
    /// Its priority if not all records fit: low before high, and newest first among equals.
    pub rank: u32,
}

impl Record {
    /// Whether it is a note of a session.
    pub(super) fn is_note(&self) -> bool {
        self.kind == kind::NOTE || self.section == Section::SessionNotes
    }

    /// Returns all fields, for an order that does not depend on the input order.
    pub(super) fn key(&self) -> impl Ord {
        (
            self.section,
            self.time_us,
            (&self.id, &self.text, &self.kind),
            self.trust.tag(),
            (&self.flags, &self.source),
            self.updated_us,
            &self.root_session,
            self.rank,
        )
    }
}
