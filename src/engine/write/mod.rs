//! Writing of drafts, commits and references, with rollback and restore.
//!
//! # Layer
//! Layer 5.

pub(crate) mod attempt;
pub(crate) mod authorisation;
mod changes;
pub(crate) mod commit;
pub(crate) mod draft;
#[cfg(feature = "remote")]
mod erasers;
pub(crate) mod fork;
pub(crate) mod incoming;
#[cfg(feature = "remote")]
pub(crate) mod intake;
pub(crate) mod kept_draft;
pub(crate) mod log_handle;
mod memory;
pub(crate) mod merge;
pub(crate) mod planned;
pub(crate) mod policy;
#[cfg(feature = "remote")]
pub(crate) mod push;
#[cfg(feature = "remote")]
pub(crate) mod remote;
pub(crate) mod request;
pub(crate) mod restore;
pub(crate) mod revert;
pub(crate) mod rollback;
pub(crate) mod session;
pub(crate) mod settle;
pub(crate) mod snapshot;
pub(crate) mod staging;
#[cfg(feature = "remote")]
pub(crate) mod travel;
pub(crate) mod tree;
pub(crate) mod writer;

pub(crate) use authorisation::{
    Authorisation, check_brings_back, check_return, check_takes_back, check_takes_back_any, check_trusted,
};
pub(crate) use commit::{Note, Ready};
pub(crate) use draft::{Draft, Staged, StagedChange, StagedObject, changed_meanwhile, named};
pub use fork::LiveFork;
#[cfg(feature = "remote")]
pub(crate) use log_handle::ReadLog;
pub(crate) use log_handle::{LogHandle, body_bytes};
pub(crate) use merge::conflict::conflict_id;
pub(crate) use policy::{PolicyVerdict, WritePolicy};
pub(crate) use request::{Committed, Queue, Request};
pub(crate) use snapshot::newest_references;
pub(crate) use staging::add_links;
pub(crate) use tree::Placed;
pub(crate) use writer::Writer;
