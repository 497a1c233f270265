//! Sets up a coding agent: writes the server, the hooks and the skill into its own settings files, and takes them back.
//!
//! # Layer
//! Layer 10, part of cli.

mod edit;
mod files;
mod places;
mod record;

pub(crate) use self::files::{Change, Planned, program_of};
pub(crate) use self::places::{Wanted, changes};
