//! The sections of the envelope: their tags, their limits, and their two orders.
//!
//! # Layer
//! Pure.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::vocabulary::kind;

/// A section, in the order of the text: sections that change least come first, for the prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Rules of the project; at most 6.
    ProjectRules,
    /// Decisions; at most 5.
    KeyDecisions,
    /// Facts, blocks and other lasting items; only the budget limits them.
    PersistentMemory,
    /// The summary of a session: one, at most 3,000 characters with line breaks.
    SessionSnapshot,
    /// Notes of the session under compaction; at most 10.
    SessionNotes,
    /// Work of sub-agents; at most 4.
    SubagentWork,
    /// Open files; at most 6.
    FilesInPlay,
    /// Current tasks; at most 4.
    ActiveTasks,
    /// Unresolved errors; at most 4.
    UnresolvedErrors,
    /// State of the repository, for example branch and changes; at most 4.
    GitState,
    /// Untrusted items, on request; at most 10.
    Quarantine,
    /// The last request of the person; at most 1.
    LastRequest,
}

/// The format of a section.
pub(super) struct Layout {
    /// The name of the section's element.
    pub(super) tag: &'static str,
    /// The element of a record.
    pub(super) item: &'static str,
    /// The most records.
    pub(super) records_max: usize,
    /// Its turn in using the budget. The first section takes as much as it needs.
    pub(super) turn: u8,
}

/// The most characters of a record's text, in Unicode scalar values.
pub(super) const ITEM_CHARS_MAX: usize = 280;
/// The most characters of a session's summary, in Unicode scalar values.
pub(super) const SNAPSHOT_CHARS_MAX: usize = 3000;

impl Section {
    /// All sections, in the order of the text.
    pub(crate) const ALL: [Self; 12] = [
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

    /// Returns the default section of a kind; `None` for entries of a transcript.
    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
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
    pub(crate) fn name(self) -> &'static str {
        self.layout().tag
    }

    /// Returns the most records of the section.
    pub(crate) fn records_max(self) -> usize {
        self.layout().records_max
    }

    /// Returns the most characters of a record's text, in Unicode scalar values.
    pub(crate) fn chars_max(self) -> usize {
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
