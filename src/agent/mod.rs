//! The verbs of an agent over [`Memory`](crate::Memory).
//!
//! The handle is [`Agent`]. `vocabulary`, `item`, `scope` and `settings` define the terms of the layer. `words` and `markdown`
//! read texts. `change` is the only way to a commit. Every other module is a verb or a family of verbs.
//!
//! # Layer
//! L7.

#[expect(clippy::module_inception, reason = "the handle of the layer has its name")]
mod agent;
mod audit;
pub mod blocks;
mod change;
pub(crate) mod command;
pub mod decay;
pub mod envelope;
mod followed;
pub mod forget;
pub mod guard;
pub mod import;
mod item;
mod markdown;
pub mod notes;
mod remember;
mod scope;
pub mod search;
pub mod session;
mod settings;
mod superseding;
#[cfg(test)]
mod test_memory;
#[cfg(test)]
mod tests;
pub mod trust;
mod verbs;
pub mod vocabulary;
mod words;

pub use agent::Agent;
pub use audit::{Audit, AuditLine, AuditRequest};
pub use item::{Citation, Item, NewItem, Sensitivity};
pub use remember::{
    Alike, LinesOptions, LinesRemembered, OnDuplicate, RefusedLine, RememberOptions, Remembered, Status,
};
pub use scope::{Place, Reach};
pub use search::{Reached, RecallHit, RecallQuery, Recalled};
pub use settings::{DecaySettings, Quotas, Secrets, Settings};
