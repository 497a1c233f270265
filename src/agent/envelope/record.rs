//! The input of the renderer: items as plain values.
//!
//! # Layer
//! Pure.

use super::sections::Section;
use crate::agent::vocabulary::kind;
use crate::object::Origin;

/// An item to show. The caller leaves out expired, forgotten and superseded items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its section. An untrusted record goes to the quarantine instead.
    pub section: Section,
    /// The time of its creation in microseconds since 1970: the order within a section.
    pub time_us: Option<i64>,
    /// Its id, shown up to 256 characters.
    pub id: &'a str,
    /// Its text, shown up to the limit of its section.
    pub text: &'a str,
    /// Its kind, such as `fact`. An `entry` is never shown; a `note` only in a compaction.
    pub kind: &'a str,
    /// Its class of origin.
    pub trust: Origin,
    /// Findings of the scan, shown up to 120 characters.
    pub flags: &'a str,
    /// Its source, such as a file or a tool, shown up to 120 characters.
    pub source: &'a str,
    /// The time of its last change, if that differs from its creation.
    pub updated_us: Option<i64>,
    /// The root session that owns a note.
    pub root_session: &'a str,
    /// Its priority if not all records have room: low before high, and newest first among equals.
    pub rank: u32,
}

impl<'a> Record<'a> {
    /// A record of the person, without time, source, kind and session.
    pub fn new(section: Section, id: &'a str, text: &'a str) -> Self {
        Self {
            section,
            time_us: None,
            id,
            text,
            kind: "",
            trust: Origin::DirectUser,
            flags: "",
            source: "",
            updated_us: None,
            root_session: "",
            rank: 0,
        }
    }

    /// Whether it is a note of a session.
    pub(super) fn is_note(&self) -> bool {
        self.kind == kind::NOTE || self.section == Section::SessionNotes
    }

    /// All fields, for an order that does not depend on the input order.
    pub(super) fn key(&self) -> impl Ord + use<'a> {
        (
            self.section,
            self.time_us,
            (self.id, self.text, self.kind),
            self.trust.tag(),
            (self.flags, self.source),
            self.updated_us,
            self.root_session,
            self.rank,
        )
    }

    /// The later of creation and change.
    pub(super) fn freshness_us(&self) -> Option<i64> {
        self.updated_us.max(self.time_us)
    }
}
