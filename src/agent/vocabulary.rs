//! The names of kinds and attributes that the agent layer stores. The module `change` defines the operations.
//!
//! `get` and JSON Lines print these names; docs/agent.md lists them.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

/// Names of kinds. Items may also have any other kind.
pub mod kind {
    /// A text that a person or program stores under a name.
    pub(crate) const BLOCK: &str = "block";
    /// A statement that is valid until it is superseded.
    pub(crate) const FACT: &str = "fact";
    /// A note of a session, which never expires.
    pub(crate) const NOTE: &str = "note";
    /// An ingested file.
    pub(crate) const DOCUMENT: &str = "document";
    /// A section of an ingested file.
    pub(crate) const HEADING: &str = "heading";
    /// A turn of a transcript.
    pub const ENTRY: &str = "entry";
    /// A summary of longer texts.
    pub(crate) const SUMMARY: &str = "summary";
    /// An account of a session, written when the session ends.
    pub(crate) const EPISODE: &str = "episode";
    /// A decision with its reason.
    pub(crate) const DECISION: &str = "decision";
    /// A session itself: its parent session, the class of its least trusted entry, and the speaker name of the person.
    pub const SESSION: &str = "session";
    /// An open conflict of a merge. Nobody reads it as an item.
    pub const MERGE_CONFLICT: &str = crate::engine::MERGE_CONFLICT;
    /// A rule of the project.
    pub(crate) const RULE: &str = "rule";
    /// Work in progress.
    pub(crate) const TASK: &str = "task";
    /// An open error.
    pub(crate) const ERROR: &str = "error";
    /// A file that is being worked on.
    pub(crate) const FILE: &str = "file";
    /// The state of version control: the branch, changes and so on.
    pub(crate) const GIT: &str = "git";
    /// A delegated task with its result.
    pub(crate) const SUBAGENT: &str = "subagent";
    /// The last request of the person.
    pub(crate) const REQUEST: &str = "request";
}

/// Attributes of items. Each one is optional.
pub mod attribute {
    /// Search words for the item: a list of unique texts, in the given order.
    pub(crate) const TAGS: &str = "tags";
    /// The speaker of the text.
    pub(crate) const SPEAKER: &str = "speaker";
    /// The subject of the text.
    pub(crate) const SUBJECT: &str = "subject";
    /// The title of the item: the heading of a section of a document.
    pub(crate) const TITLE: &str = "title";
    /// Other names of a document: a list of texts.
    pub(crate) const ALIASES: &str = "aliases";
    /// The front matter of a document: a map, or a text if it is not YAML.
    pub(crate) const FRONT_MATTER: &str = "front_matter";
    /// The name of the item, which stands for a missing title.
    pub(crate) const NAME: &str = "name";
    /// The key of the item. It is used as the title if the item has no title and no name.
    pub(crate) const KEY: &str = "key";
    /// The session in which the text was said.
    pub(crate) const SESSION: &str = "session";
    /// The position of the text in its session: an integer.
    pub(crate) const ORDER: &str = "order";
    /// The citations of the item: a list of maps `{file, line?, note?}`.
    pub(crate) const CITATIONS: &str = "citations";
    /// The confidence in the statement: a float from 0 to 1.
    pub(crate) const CONFIDENCE: &str = "confidence";
    /// The sensitivity of the item: `none`, `pii`, `internal` or `credentials`.
    pub(crate) const SENSITIVITY: &str = "sensitivity";
    /// The source of the item, as free text.
    pub const SOURCE: &str = "source";
    /// `true` if decay never shortens or forgets the item.
    pub(crate) const PINNED: &str = "pinned";
    /// The ids of the superseded items: a list of texts.
    pub const SUPERSEDES: &str = crate::engine::SUPERSEDES;
    /// The level of decay: `summary` or `keywords`; absent for a full text.
    pub(crate) const LEVEL: &str = "level";
    /// The digest, in hexadecimal, of the version with the full text, if decay shortened this version.
    pub(crate) const ORIGINAL: &str = "original";
    /// The time when the full version was stored, in microseconds since 1970: an integer.
    pub(crate) const WRITTEN: &str = "written";
    /// The session that owns a note.
    pub(crate) const OWNER: &str = "owner";
    /// The number of entries of a session that the scan refused or quarantined: an integer.
    pub(crate) const WITHHELD: &str = "withheld";
    /// The name of the origin class of the least trusted entry that a session ever had.
    pub(crate) const CLASS: &str = "class";
    /// The speaker name that means the person in a session, in addition to `user`.
    pub(crate) const USER: &str = "user";
    /// The digest of the text that a tool read, if the entry does not contain the text.
    pub(crate) const DIGEST: &str = "digest";
    /// The name of the prompt event that gave an entry, so that only the words of an event are the person's.
    pub const PROMPT: &str = "prompt";
    /// The span of a summary: `day`, `week` or `month`.
    pub(crate) const GRANULARITY: &str = "granularity";
    /// The arrival number of the last entry that a summary covers: an integer.
    pub(crate) const WATERMARK: &str = "watermark";
    /// The rules of the scan that matched this text when it was written: a list of texts.
    pub(crate) const FLAGS: &str = "flags";
    /// The digest, in hexadecimal, of the earlier version that a person promoted. The version with this attribute is
    /// the result of that promotion.
    pub(crate) const PROMOTED: &str = "promoted";
}
