//! Search of memory: one ranked list over kinds and scopes, at any past state.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - Untrusted items count when `recall` computes how rare a word is. If the searched scopes hold untrusted items,
//!   a question is scored twice, to count the omitted ones.

mod found;
mod hits;
mod index;
mod indexed;
mod query;
mod reflection;
mod vectors;

pub(super) use hits::search;
pub(crate) use index::RecallIndex;
pub(super) use indexed::key_of;
pub(crate) use query::{LIMIT, LeftOut};
pub use query::{RecallHit, RecallQuery, Recalled};
pub(super) use reflection::reflect;
pub(crate) use vectors::Vectors;
