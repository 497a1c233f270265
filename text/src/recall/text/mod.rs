//! Text analysis: languages, terms, marks, dates.
//!
//! # Layer
//! Below `recall::index` and `recall::query`; pure, imports nothing of the crate.
//!
//! # Invariants
//! - TXT-1: any text is accepted, and its length limits the size of the result.

pub(crate) mod analysis;
pub(crate) mod asking;
pub(crate) mod calendar;
pub(crate) mod language;
pub(crate) mod lists;
pub(crate) mod marks;
pub(crate) mod relations;
pub(crate) mod runs;
pub(crate) mod stem;
pub(crate) mod terms;
pub(crate) mod variants;
