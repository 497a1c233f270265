//! Writing: drafts, commits, references, rollback and restore.
//!
//! # Layer
//! Layer 5.

pub(crate) mod attempt;
pub(crate) mod authorisation;
pub(crate) mod commit;
pub(crate) mod draft;
pub(crate) mod kept_draft;
pub(crate) mod log_handle;
pub(crate) mod policy;
pub(crate) mod request;
pub(crate) mod restore;
pub(crate) mod rollback;
pub(crate) mod snapshot;
pub(crate) mod staging;
pub(crate) mod tree;
pub(crate) mod writer;
