//! Ranked search: text analysis, index, queries, duplicates. A document is a text of the memory with its metadata.
//!
//! An [`Index`] is searchable as soon as a document is added. [`Index::recall`] answers a [`Query`] with hits and the
//! reasons for each. [`similarity`] and [`Index::near`] find duplicates and contradictions. Everything is derived from
//! the documents: no model, no clock, no disk.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.
//!
//! # Invariants
//! - RCL-1: any text can be indexed and searched for; no input makes recall fail or panic.
//! - RCL-2: an answer depends on the documents and the query alone.

mod duplicates;
mod index;
mod query;
mod text;

#[cfg(any(test, feature = "testing"))]
pub use duplicates::similarity;
pub use duplicates::{Contradiction, MERGE, Near, Relation, Similarity};
pub use index::{Document, Full, Index, Key};
pub(crate) use query::five_digits;
pub use query::{
    Answer, CHARS_A_TOKEN, Embedder, Filter, Hit, IsSuccessor, Moved, Query, Reason, SIGNALS, Scratch,
    Signal, Snippet, snippet, tokens,
};
pub(crate) use text::runs::is_spaceless;
