//! Text as ranking sees it: terms, marks, days.
//!
//! # Layer
//! Below `recall::index` and `recall::query`; pure, imports nothing of the crate.
//!
//! # Invariants
//! - TXT-1: any text is accepted; what is made of it is bounded by its length.

pub(crate) mod analysis;
pub(crate) mod calendar;
pub(crate) mod lexicon;
pub(crate) mod lists;
pub(crate) mod marks;
pub(crate) mod relations;
pub(crate) mod runs;
pub(crate) mod stem;
pub(crate) mod terms;
