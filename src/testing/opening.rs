//! Opens a memory on a disk that the test chooses.
//!
//! # Layer
//! For tests. Uses the engine.

use std::sync::Arc;

use crate::disk::Disk;
use crate::engine::{Memory, Options};
use crate::error::Result;

/// Opens the store on `disk`, or creates a store there.
///
/// # Errors
/// The errors of [`Options::open`] and [`Options::create`].
pub fn memory_on(disk: Arc<dyn Disk>, options: Options, create: bool) -> Result<Memory> {
    Memory::on_disk(disk, options, create, None)
}
