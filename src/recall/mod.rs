//! Ranked recall over memories: text, index, queries, duplicates.
//!
//! An [`Index`] takes memories in and is searchable at once; [`Index::recall`] answers a [`Query`] with hits
//! that say why they were found; [`similarity`] and [`Index::near`] say whether a text is new. Everything is
//! derived from the memories: no model, no clock, no disk.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.
//!
//! # Invariants
//! - RCL-1: any text is taken in and asked for; no input makes recall fail or panic.
//! - RCL-2: what is answered depends on the memories and the query alone.

mod duplicates;
mod index;
mod query;
mod text;

pub use duplicates::{CONFLICT_COVER, Contradiction, MERGE, Near, REPORT, Similarity, Verdict, similarity};
pub use index::{Full, Index, Key, Memory};
pub use query::{
    Answer, CHARS_A_TOKEN, Embedder, Filter, Hit, LATELY, MEANINGS, Moved, NAMES, Query, Reason, SIGNALS,
    Scratch, Signal, Snippet, TakesPlace, snippet, tokens,
};
pub(crate) use text::runs::is_spaceless;
