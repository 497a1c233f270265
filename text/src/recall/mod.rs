//! Ranked search: text analysis, index, queries and duplicates. A document is a text of the memory with its metadata.
//!
//! A document can be found as soon as it is added to an [`Index`]. [`Index::recall`] answers a [`Query`] with hits and
//! the reasons for each. [`similarity`] and [`Index::near`] find duplicates and contradictions. Recall computes
//! everything from the documents, and uses no model, no clock and no disk.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.
//!
//! # Invariants
//! - RCL-1: any text can be indexed and searched for. No input makes recall fail or panic.
//! - RCL-2: an answer depends only on the documents and the query.

mod duplicates;
mod index;
mod query;
mod text;
mod vectors;

pub use duplicates::{
    ByMeaning, Compare, Contradiction, MERGE, Near, Relation, Similarity, TextMeaning, differ_in_indentation,
    similarity, similarity_with,
};
pub use index::{Document, Full, Index, Key, Voice};
pub use query::{
    Answer, CHARS_A_TOKEN, Embedder, Filter, Hit, IsSuccessor, Meaning, Moved, Query, Reason, SIGNALS,
    Scratch, Signal, Snippet, TextOf, WEAK, five_digits, snippet, tokens,
};
pub use text::language::is_english;
pub use text::runs::is_spaceless;
pub use vectors::{TextKey, VectorTable, rounded};
