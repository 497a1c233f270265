//! What is remembered, found again: one ranked list over kinds and scopes, at any past state.
//!
//! # Layer
//! L7, inside `agent`.

mod index;
mod kept;
mod query;
mod reflection;
mod search;
mod vectors;

pub use index::Reached;
pub(crate) use index::RecallIndex;
pub use query::{LIMIT, RECENCY, RecallHit, RecallQuery, Recalled, SNIPPET_CHARS};
pub(crate) use vectors::Vectors;
