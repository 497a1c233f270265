//! What is given to the renderer: memories as plain values.
//!
//! # Layer
//! Pure: imports words of the layer and nothing that acts.

use super::sections::Section;
use crate::agent::vocabulary::kind;
use crate::object::Origin;

/// A memory that may be shown. Expired, forgotten and superseded ones are the caller's to leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it is shown. What is not trusted goes to the quarantine instead.
    pub section: Section,
    /// When it was made, in microseconds since 1970, UTC: the order within a section. Nothing if nobody knows.
    pub time_us: Option<i64>,
    /// Its id. Shown up to 256 characters.
    pub id: &'a str,
    /// Its content. Shown up to the characters of its section.
    pub text: &'a str,
    /// Its kind, such as `fact`: an `entry` is never shown, a `note` only where notes are.
    pub kind: &'a str,
    /// The class of where it comes from.
    pub trust: Origin,
    /// What a scan says against it, such as the rules it met; empty if nothing. Shown up to 120 characters.
    pub flags: &'a str,
    /// What it comes from, such as a file or tool; empty if nothing is to be said. Shown up to 120 characters.
    pub source: &'a str,
    /// When it was last changed, if that is not when it was made.
    pub updated_us: Option<i64>,
    /// The root session that owns it; matters for notes.
    pub root_session: &'a str,
    /// Which go first where not all have room: low before high. Those of one rank go newest first.
    pub rank: u32,
}

impl<'a> Record<'a> {
    /// Returns a record of the person's own, without time, source, kind and session.
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

    /// All of it, for an order that does not depend on how it came.
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

    /// When it was made or last changed.
    pub(super) fn freshness_us(&self) -> Option<i64> {
        self.updated_us.max(self.time_us)
    }
}
