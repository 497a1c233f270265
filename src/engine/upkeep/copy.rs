//! The durable part of the log, for a copy of it while others write.
//!
//! # Layer
//! Layer 5.

use crate::engine::memory::Memory;
use crate::error::Result;
use crate::log::{Format, LogReader, Position};

/// The log of a store up to a position. Its files stay readable, also if the log is rewritten meanwhile.
pub(crate) struct Copied {
    pub(crate) format: Format,
    pub(crate) epoch: u32,
    pub(crate) reader: LogReader,
    pub(crate) end: Position,
    /// The size of the batches in bytes.
    pub(crate) bytes: u64,
}

/// Makes the commits of this handle durable, and returns the log up to its newest batch. Waits for no writer of another
/// process.
///
/// # Errors
/// `Corrupt` or `Io` if the log cannot be read; the errors of [`Memory::sync`].
pub(crate) fn copied(memory: &Memory) -> Result<Copied> {
    let inner = &memory.inner;
    inner.check_main()?;
    memory.sync()?;
    memory.refresh()?;
    let writing = inner.log.lock();
    let log = &writing.log;
    Ok(Copied {
        format: *log.format(),
        epoch: log.epoch(),
        reader: log.reader(),
        end: log.position(),
        bytes: log.batch_bytes(),
    })
}
