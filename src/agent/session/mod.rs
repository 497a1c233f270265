//! Sessions: transcript entries, summaries of time spans, and facts that the end of a session stores.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! The names of sessions are global. If one project uses a name, other projects cannot use this name. The error reports
//! the scope of the session that has the name.

pub(crate) mod attribution;
mod due;
mod ending;
mod entries;
pub(crate) mod extraction;
mod lineage;
pub(crate) mod summaries;
mod summarising;
mod transcript;

pub use self::due::DueSummary;
pub use self::ending::EndPrompt;
pub use self::ending::Ended;
pub use self::ending::end_prompt;
pub use self::ending::end_session;
pub use self::entries::follow_append;
pub use self::entries::{Append, Appended, NewEntry, NotStored};
pub(in crate::agent) use self::lineage::SESSION_PREFIX;
pub use self::lineage::parent_session;
pub use self::lineage::root_session;
pub use self::lineage::session_of;
pub(super) use self::lineage::{check_reach, session_id};
pub use self::summaries::SummaryRead;
pub use self::summarising::Summarised;
pub use self::summarising::due_summaries;
pub use self::summarising::session_summaries;
pub use self::summarising::summarise;

#[cfg(test)]
mod tests;
