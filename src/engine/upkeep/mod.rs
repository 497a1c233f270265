//! Upkeep: checkpoints, garbage collection, erasure, derived files, verification and salvage.
//!
//! # Layer
//! Layer 5.

pub(crate) mod checkpointing;
pub(crate) mod dangling;
pub(crate) mod derived_files;
mod derived_writer;
pub(crate) mod doctor;
pub(crate) mod erase;
pub(crate) mod gc;
pub(crate) mod last_access;
mod paths;
pub(crate) mod retention;
pub(crate) mod salvage;
pub(crate) mod verify;
