//! The sections of the envelope: their tags and limits, their order in the text, and their order of using the budget.
//!
//! # Layer
//! Pure.

use crate::agent::vocabulary::kind;

named! {
    /// A section. The variants have the order of the sections in the text: those that change least are first, so that
    /// a prompt cache matches more of the text.
    #[derive(PartialOrd, Ord)]
    pub enum Section {
        /// Rules of the project; at most 6.
        ProjectRules => "project_rules",
        /// Decisions; at most 5.
        KeyDecisions => "key_decisions",
        /// Facts, blocks and other lasting items. Only the budget limits their number.
        PersistentMemory => "persistent_memory",
        /// The episode or summary of a session: at most 1, with at most 3,000 characters and with line breaks.
        SessionSnapshot => "session_snapshot",
        /// Notes of the session under compaction; at most 10.
        SessionNotes => "session_notes",
        /// Work of sub-agents; at most 4.
        SubagentWork => "subagent_work",
        /// Open files; at most 6.
        FilesInPlay => "files_in_play",
        /// Current tasks; at most 4.
        ActiveTasks => "active_tasks",
        /// Unresolved errors; at most 4.
        UnresolvedErrors => "unresolved_errors",
        /// State of the repository, for example branch and changes; at most 4.
        GitState => "git_state",
        /// Untrusted items, on request; at most 10.
        Quarantine => "quarantine",
        /// The last request of the person; at most 1.
        LastRequest => "last_request",
    }
}

/// The format of a section.
pub(super) struct Layout {
    /// The name of the element of a record.
    pub(super) item: &'static str,
    /// The maximum number of records.
    pub(super) records_max: usize,
    /// The order in which sections use the budget. The section with turn 0 takes its part first, as much as it needs.
    pub(super) turn: u8,
}

/// The maximum number of characters of a record's text, in Unicode scalar values.
pub(super) const ITEM_CHARS_MAX: usize = 280;
/// The maximum number of characters of a session's summary, in Unicode scalar values.
pub(super) const SNAPSHOT_CHARS_MAX: usize = 3000;

impl Section {
    /// Returns the section of a kind. Returns `None` for kinds that are never shown, such as sessions and their
    /// entries.
    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            kind::ENTRY | kind::SESSION | kind::MERGE_CONFLICT => None,
            kind::NOTE => Some(Self::SessionNotes),
            kind::DECISION => Some(Self::KeyDecisions),
            kind::EPISODE | kind::SUMMARY => Some(Self::SessionSnapshot),
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

    /// Returns all sections in the order in which they use the budget.
    pub(super) fn by_turn() -> [Self; Self::ALL.len()] {
        let mut sections = Self::ALL;
        sections.sort_by_key(|section| section.layout().turn);
        sections
    }

    /// Returns the maximum number of records of the section.
    pub(crate) fn records_max(self) -> usize {
        self.layout().records_max
    }

    /// Returns the maximum number of characters of a record's text, in Unicode scalar values.
    pub(crate) fn chars_max(self) -> usize {
        if self.has_lines() {
            SNAPSHOT_CHARS_MAX
        } else {
            ITEM_CHARS_MAX
        }
    }

    /// Checks whether the items of the section stay valid as they age. Such a section ranks the class of an item before
    /// its age, so that new items do not push out the older ones of a more trusted writer. The other sections describe
    /// the present, so the newest item is the one to show.
    pub(super) fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::ProjectRules | Self::KeyDecisions | Self::PersistentMemory
        )
    }

    /// Checks whether a record of the section may have more than one line.
    pub(super) fn has_lines(self) -> bool {
        self == Self::SessionSnapshot
    }

    pub(super) fn layout(self) -> Layout {
        let of = |item, records_max, turn| Layout {
            item,
            records_max,
            turn,
        };
        match self {
            Self::LastRequest => of("request", 1, 0),
            Self::ActiveTasks => of("task", 4, 1),
            Self::KeyDecisions => of("decision", 5, 2),
            Self::FilesInPlay => of("file", 6, 3),
            Self::ProjectRules => of("rule", 6, 4),
            Self::UnresolvedErrors => of("error", 4, 5),
            Self::GitState => of("item", 4, 6),
            Self::SubagentWork => of("item", 4, 7),
            Self::SessionSnapshot => of("snapshot", 1, 8),
            Self::SessionNotes => of("note", 10, 9),
            Self::PersistentMemory => of("fact", usize::MAX, 10),
            Self::Quarantine => of("item", 10, 11),
        }
    }
}
