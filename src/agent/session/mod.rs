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
mod episodes;
pub(crate) mod extraction;
mod learning;
mod lineage;
mod prompts;
mod stated;
pub(crate) mod summaries;
mod summarising;
mod transcript;

pub use self::due::DueSummary;
pub use self::ending::{EndPrompt, Ended, end_prompt, end_session};
pub use self::entries::{Append, Appended, NewEntry, NotStored, follow_append};
pub(super) use self::episodes::unsay;
pub use self::learning::{Learnt, learn};
pub(in crate::agent) use self::lineage::SESSION_PREFIX;
pub(super) use self::lineage::{check_reach, session_id};
pub use self::lineage::{parent_session, root_session, session_of};
pub use self::prompts::Captured;
pub use self::summaries::SummaryRead;
pub use self::summarising::{Summarised, due_summaries, session_summaries, summarise};

#[cfg(test)]
mod tests;
