//! The verbs of an agent, on top of [`Memory`](crate::Memory).
//!
//! [`Agent`] is the handle. It scans every text that it stores, ranks the items that recall finds, and commits a
//! guarded change only if the checks pass.
//!
//! ```
//! use treering::agent::{Agent, Checks, NewItem, Policy, Reach, RecallQuery, RememberOptions, Settings};
//! use treering::{Id, Memory, Writer};
//!
//! let agent = Agent::new(Memory::in_memory()?, Settings::default());
//! let (vera, model) = (Writer::person("vera"), Writer::model("agent").session("monday"));
//!
//! // Store a fact, and find it by a word.
//! let tea = NewItem::new("Vera drinks green tea in the morning.");
//! let stored = agent.remember(tea, &RememberOptions::default(), &vera)?;
//! assert_eq!(stored.status, treering::agent::Status::Created);
//! let found = agent.recall(&agent.memory().view(), &RecallQuery::new("tea", Reach::All))?;
//! assert_eq!(found.hits.len(), 1);
//!
//! // A guarded turn is committed completely or not at all.
//! agent.memory().snapshot(Some("before"), &model)?;
//! let plan = Id::new("plan")?;
//! let turn = |draft: &mut treering::Draft| {
//!     draft.put(NewItem::new("Buy green tea.").into_object(plan.clone())?)
//! };
//! let guarded = agent.attempt(&model, turn, &Checks::new(Policy::default()))?;
//! guarded.into_result()?;
//!
//! // Roll back, even if other writers have committed since. A rollback is a new commit, so it can be undone.
//! agent.memory().rollback("before").across_lanes().by(&vera)?;
//! assert!(!agent.memory().view().contains(&plan)?);
//! # Ok::<(), treering::Error>(())
//! ```
//!
//! [`Agent::remember`] stores a *fact*, which all sessions of its scope share. [`Agent::write_note`] stores a *note*,
//! which belongs to the session that writes it. [`Agent::recall`] finds both. Objects that a host writes or removes
//! through [`Agent::memory`] are not scanned or checked.

// Layer: L7. `vocabulary`, `item`, `scope`, `caller` and `settings` define the terms of the layer. `words` and `markdown` split
// texts. Only `change` makes commits. The other modules implement verbs, or helpers that several verbs share.

#[expect(clippy::module_inception, reason = "the layer is named after its handle")]
mod agent;
mod audit;
mod bisect;
pub(crate) mod blocks;
mod caller;
mod change;
mod clean_texts;
pub(crate) mod command;
pub(crate) mod decay;
mod embedding;
pub(crate) mod envelope;
mod fault;
pub(crate) mod forget;
pub(crate) mod guard;
pub(crate) mod import;
pub(crate) mod inbox;
mod index_keys;
mod item;
mod judge;
pub(crate) mod markdown;
#[cfg(feature = "semantic")]
pub mod meaning;
pub(crate) mod notes;
pub(crate) mod projects;
mod remember;
mod scope;
pub(crate) mod search;
pub(crate) mod session;
mod settings;
mod stored_text;
mod superseding;
#[cfg(test)]
mod test_memory;
#[cfg(test)]
mod tests;
mod titles;
pub(crate) mod trust;
mod verbs;
pub(crate) mod vocabulary;
mod words;

pub use crate::engine::Reached;
pub use agent::Agent;
#[doc(hidden)]
pub use agent::{scanner_of, storeless_scanner};
#[doc(hidden)]
pub use audit::{AuditRequest, Audited, audit};
pub use bisect::BisectedAnswer;
#[doc(hidden)]
pub use caller::{Caller, Confinement};
#[doc(hidden)]
pub use change::documents::{DocumentReview, review_documents};
#[doc(hidden)]
pub use change::names::{clean_writer, refuse_secret_name};
pub use decay::{Decayed, Level, Listener, Move, Pass, Summarizer, Ticker};
pub use embedding::Embedding;
pub use envelope::{Boundary, EnvelopeAnswer, EnvelopeRequest, Section, Shown};
pub use forget::{Forgetting, Forgot, Forgotten, Restored};
pub use guard::{
    ChangeLimits, Checked, Checks, CommandCheck, Guarded, KindRules, PinnedRules, Policy, QuotaLimits,
    Refuse, RefusedRules, Report, ScanRules, TrustRules,
};
#[doc(hidden)]
pub use inbox::Group;
#[doc(hidden)]
pub use item::ItemFields;
pub use item::{Citation, Item, NewItem, Sensitivity};
pub use judge::{Judge, Judgement};
pub use notes::{NewNote, NoteAction, NoteFound, NoteRead, NoteWritten, Replace};
#[doc(hidden)]
pub use remember::CommitIfAny;
#[doc(hidden)]
pub use remember::edit;
pub use remember::{
    Alike, LineVerdict, LinesOptions, LinesRemembered, OnDuplicate, RefusedLine, RememberOptions, Remembered,
    Status,
};
#[doc(hidden)]
pub use remember::{expected_version, follow_lines};
pub use scope::{Place, Reach};
pub use search::{RecallHit, RecallQuery, Recalled, ScopeMatches, VectorCounts};
pub use session::{Append, Appended, NewEntry, NotStored};
#[doc(hidden)]
pub use settings::Fault;
pub use settings::{DecaySettings, MeaningProtocol, MeaningSettings, Quotas, Secrets, Settings};
pub use stored_text::StoredText;
pub use trust::{ActingField, HiddenItem, PersonSays, Promoted, Quarantined, Review};

pub use treering_text::recall::Embedder;
pub use treering_text::scan::Verdict;
