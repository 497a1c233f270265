//! The sections of the envelope: their tags, their limits, and their two orders.
//!
//! # Layer
//! Pure: imports words of the layer and nothing that acts.

use crate::agent::vocabulary::kind;

/// A section, in the order in which they are written: what changes least first, for the cache of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// How the project wants things done; at most 6.
    ProjectRules,
    /// What was decided; at most 5.
    KeyDecisions,
    /// Facts, blocks and whatever else is remembered for long; as many as there is room for.
    PersistentMemory,
    /// What a session came to, at most 3,000 characters with line breaks; one.
    SessionSnapshot,
    /// Notes of the session that is being compacted; at most 10.
    SessionNotes,
    /// What was delegated; at most 4.
    SubagentWork,
    /// Files that are being worked on; at most 6.
    FilesInPlay,
    /// What is being done; at most 4.
    ActiveTasks,
    /// What went wrong and still is; at most 4.
    UnresolvedErrors,
    /// Branch, changes, and the like; at most 4.
    GitState,
    /// What is not trusted, if it was asked for; at most 10.
    Quarantine,
    /// What the person asked last; one.
    LastRequest,
}

/// What is written of a section.
pub(super) struct Layout {
    /// The name of the section's element.
    pub(super) tag: &'static str,
    /// The name of the element of each record.
    pub(super) item: &'static str,
    /// The most records.
    pub(super) records_max: usize,
    /// Its place when records are chosen: the first gets what it needs of the budget first.
    pub(super) turn: u8,
}

/// Unicode scalar values of a record's text.
pub(super) const ITEM_CHARS_MAX: usize = 280;
/// Unicode scalar values of a session's snapshot.
pub(super) const SNAPSHOT_CHARS_MAX: usize = 3000;

impl Section {
    /// All sections, in the order in which they are written.
    pub const ALL: [Self; 12] = [
        Self::ProjectRules,
        Self::KeyDecisions,
        Self::PersistentMemory,
        Self::SessionSnapshot,
        Self::SessionNotes,
        Self::SubagentWork,
        Self::FilesInPlay,
        Self::ActiveTasks,
        Self::UnresolvedErrors,
        Self::GitState,
        Self::Quarantine,
        Self::LastRequest,
    ];

    /// Returns the section where objects of `kind` belong unless the caller knows better; none for entries of a transcript.
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            kind::ENTRY => None,
            kind::NOTE => Some(Self::SessionNotes),
            kind::DECISION => Some(Self::KeyDecisions),
            kind::SUMMARY => Some(Self::SessionSnapshot),
            kind::RULE => Some(Self::ProjectRules),
            kind::TASK => Some(Self::ActiveTasks),
            kind::ERROR => Some(Self::UnresolvedErrors),
            kind::FILE => Some(Self::FilesInPlay),
            kind::GIT => Some(Self::GitState),
            kind::SUBAGENT => Some(Self::SubagentWork),
            kind::REQUEST => Some(Self::LastRequest),
            _ => Some(Self::PersistentMemory),
        }
    }

    /// The name of the section's element.
    pub fn name(self) -> &'static str {
        self.layout().tag
    }

    /// The most records that it shows.
    pub fn records_max(self) -> usize {
        self.layout().records_max
    }

    /// The most Unicode scalar values of a record's text in it.
    pub fn chars_max(self) -> usize {
        if self.has_lines() {
            SNAPSHOT_CHARS_MAX
        } else {
            ITEM_CHARS_MAX
        }
    }

    /// Whether a record may have more than one line.
    pub(super) fn has_lines(self) -> bool {
        self == Self::SessionSnapshot
    }

    pub(super) fn layout(self) -> Layout {
        let of = |tag, item, records_max, turn| Layout {
            tag,
            item,
            records_max,
            turn,
        };
        match self {
            Self::LastRequest => of("last_request", "request", 1, 0),
            Self::ActiveTasks => of("active_tasks", "task", 4, 1),
            Self::KeyDecisions => of("key_decisions", "decision", 5, 2),
            Self::FilesInPlay => of("files_in_play", "file", 6, 3),
            Self::ProjectRules => of("project_rules", "rule", 6, 4),
            Self::UnresolvedErrors => of("unresolved_errors", "error", 4, 5),
            Self::GitState => of("git_state", "item", 4, 6),
            Self::SubagentWork => of("subagent_work", "item", 4, 7),
            Self::SessionSnapshot => of("session_snapshot", "snapshot", 1, 8),
            Self::SessionNotes => of("session_notes", "note", 10, 9),
            Self::PersistentMemory => of("persistent_memory", "fact", usize::MAX, 10),
            Self::Quarantine => of("quarantine", "item", 10, 11),
        }
    }
}
