//! Searches the memory: ranks the items of all kinds and scopes, in the present or a past state.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - `recall` includes untrusted items when it computes how rare a word is. If the searched scopes contain untrusted
//!   items, a question is scored twice, because the answer counts the omitted untrusted items.

mod compared;
mod found;
mod hits;
mod index;
mod indexed;
mod query;
mod questions;
mod reflection;
mod vectors;

pub use found::{LeftOut, RecallHit, Recalled, ScopeMatches};
pub use hits::MATCHES_MAX;
pub(super) use hits::search;
pub(crate) use index::RecallIndex;
pub(super) use indexed::key_of;
pub use query::{LIMIT, RecallQuery};
pub(super) use reflection::reflect;
pub use vectors::VectorCounts;
pub(crate) use vectors::Vectors;
