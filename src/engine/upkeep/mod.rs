//! Upkeep: checkpoints, garbage collection, erasure, derived files, verification and salvage.
//!
//! # Layer
//! Layer 5.

mod background;
pub(crate) mod checkpointing;
#[cfg(feature = "remote")]
pub(crate) mod copy;
pub(crate) mod dangling;
pub(crate) mod derived_files;
pub(crate) mod derived_writer;
pub(crate) mod doctor;
pub(crate) mod erase;
pub(crate) mod gc;
mod gc_in_room;
pub(crate) mod last_access;
mod paths;
pub(crate) mod retention;
mod room;
pub(crate) mod salvage;
pub(crate) mod verify;

pub(crate) use checkpointing::{
    Checkpoints, checkpoint_if_due, end_background, newest_store, open_log, places_of, remove_outdated,
};
pub(crate) use dangling::Dangling;
pub(crate) use derived_files::derived_content;
pub(crate) use gc::{Cut, Kept};
pub(crate) use last_access::Stamps;
use paths::not_regular;
pub(crate) use retention::Retention;
pub(crate) use verify::{VerifyDepth, examine};
