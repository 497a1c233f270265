//! Sets up a coding agent: writes the server, the hooks and the skill into its own settings files, and takes them back.
//!
//! # Layer
//! Layer 10, part of cli.

mod files;
mod places;
mod record;

pub(crate) use self::files::{FileChange, Planned, Standing, program_of};
pub(crate) use self::places::{Wanted, changes};
