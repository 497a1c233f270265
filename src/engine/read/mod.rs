//! Reading: a state, its objects, its history.
//!
//! # Layer
//! Layer 5. Writes nothing and takes no lock.

pub(crate) mod change;
pub(crate) mod children;
pub(crate) mod derived;
pub(crate) mod erased;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod inspect;
mod proof;
pub(crate) mod query;
pub(crate) mod revision;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod subtree;
pub(crate) mod text_records;
pub(crate) mod view;
