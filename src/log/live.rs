//! The `live` file: a mark of the durable end of the log, which the last writer wrote.
//!
//! The file is only a hint. The writer overwrites it in place and never syncs it, so after a power loss it may be
//! outdated. The mark never includes bytes that are not durable, because the writer syncs them first. A damaged file is
//! treated as missing. Bytes after the mark are ignored, because a writer cannot shorten the file.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - LIV-1: the writer syncs all bytes before the mark, then writes `live`.
//! - LIV-2: readers accept every mark that a writer wrote, whatever the file contained before. Otherwise each writer
//!   would recover again, and move batches that were just read.
//!
//! # Format
//! docs/format.md, "live".

use std::time::Duration;

use super::batch::HeadMark;
use super::fixed::{Fixed, checked, layout, with_checksum, zeros_left};
use super::format_file::Format;
use crate::digest::{CommitDigest, Root};
use crate::disk::{DiskFile, read_bytes};
use crate::error::{Error, Result};
use crate::threads::sleep;

/// The length of the file `live` in bytes.
pub(super) const LIVE_BYTES: usize = 256;
/// The name of the file `live`.
pub(crate) const LIVE_NAME: &str = "live";

const MAGIC: &[u8; 8] = b"TRlive01";

/// The mark of the durable end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) lineage: [u8; 16],
    pub(super) instance: [u8; 16],
    pub(super) boot: [u8; 16],
    pub(super) segment: u64,
    pub(super) offset: u64,
    pub(super) batch: u64,
    pub(super) head: HeadMark,
}

layout! {
    HeadMark { commit: CommitDigest, root: Root, seq: u64 }
    Live {
        lineage: [u8; 16],
        instance: [u8; 16],
        boot: [u8; 16],
        segment: u64,
        offset as "durable offset": u64,
        batch: u64,
        head: HeadMark,
    }
}

impl Live {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LIVE_BYTES);
        bytes.extend_from_slice(MAGIC);
        self.put(&mut bytes);
        with_checksum(bytes, LIVE_BYTES)
    }

    /// Decodes the mark at the start of `bytes`. Returns `None` if that is not a complete, undamaged mark.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        // INVARIANT LIV-2: ignores the bytes after the mark, because a writer overwrites only the mark.
        let mut reader = checked(bytes, LIVE_BYTES, MAGIC).ok()?;
        let live = Self::take(&mut reader).ok()?;
        zeros_left(&mut reader).ok()?;
        Some(live)
    }

    /// Returns whether the mark was written during the boot `boot`. If the mark was written during the current boot,
    /// bytes after the mark were never acknowledged.
    pub(super) fn is_of_boot(&self, boot: [u8; 16]) -> bool {
        boot != [0; 16] && self.boot == boot
    }
}

/// The maximal number of attempts to read an invalid mark. A writer may be overwriting the mark during a read.
const READ_TRIES: u32 = 4;

/// Reads the mark from `file`. Returns `None` if the mark is damaged or does not belong to the store of `format`.
pub(super) fn read_live(file: &dyn DiskFile, format: &Format) -> Result<Option<Live>> {
    for attempt in 0..READ_TRIES {
        if attempt > 0 {
            sleep(Duration::from_micros(200));
        }
        let bytes = read_bytes(file, 0, LIVE_BYTES).map_err(|error| Error::unreadable(LIVE_NAME, error))?;
        if let Some(live) = Live::decode(&bytes) {
            let ours = live.instance == format.instance && live.lineage == format.lineage;
            return Ok(ours.then_some(live));
        }
    }
    Ok(None)
}
