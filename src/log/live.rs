//! The `live` file: the durable end of the log, as the last writer noted it.
//!
//! The file is only a hint. The writer overwrites it in place and never syncs it, so after a power loss it may be
//! outdated. It never declares bytes durable too early, because the writer syncs them first. A damaged file counts as
//! missing.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - LIV-1: the writer syncs all bytes before the mark, then writes `live`.
//!
//! # Format
//! docs/format.md, "live".

use std::time::Duration;

use super::format_file::Format;
use crate::codec::Reader;
use crate::digest::{CommitDigest, Root};
use crate::disk::{DiskFile, read_full};
use crate::error::{Error, Result};
use crate::threads::sleep;

/// The number of bytes in the file.
pub(super) const LIVE_BYTES: usize = 256;
/// The name of the file.
pub(super) const LIVE_NAME: &str = "live";

const MAGIC: &[u8; 8] = b"TRlive01";

/// The durable end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) lineage: [u8; 16],
    pub(super) instance: [u8; 16],
    pub(super) boot: [u8; 16],
    pub(super) segment: u64,
    pub(super) offset: u64,
    pub(super) batch: u64,
    pub(super) commit: CommitDigest,
    pub(super) root: Root,
    pub(super) seq: u64,
}

impl Live {
    pub(super) fn encode(&self) -> [u8; LIVE_BYTES] {
        let mut bytes = Vec::with_capacity(LIVE_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.lineage);
        bytes.extend_from_slice(&self.instance);
        bytes.extend_from_slice(&self.boot);
        for number in [self.segment, self.offset, self.batch] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(self.commit.as_bytes());
        bytes.extend_from_slice(self.root.as_bytes());
        bytes.extend_from_slice(&self.seq.to_le_bytes());
        bytes.resize(LIVE_BYTES - 4, 0);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
            .try_into()
            .expect("the fields above add up to the length of the file")
    }

    /// Returns `None` if the bytes are not a complete, undamaged mark.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LIVE_BYTES || !bytes.starts_with(MAGIC) {
            return None;
        }
        let (covered, stored) = bytes.split_at_checked(LIVE_BYTES - 4)?;
        if crc32c::crc32c(covered).to_le_bytes() != *stored {
            return None;
        }
        let mut reader = Reader::new(covered.get(MAGIC.len()..)?);
        let live = Self {
            lineage: reader.array().ok()?,
            instance: reader.array().ok()?,
            boot: reader.array().ok()?,
            segment: reader.u64().ok()?,
            offset: reader.u64().ok()?,
            batch: reader.u64().ok()?,
            commit: CommitDigest::from_bytes(reader.array().ok()?),
            root: Root::from_bytes(reader.array().ok()?),
            seq: reader.u64().ok()?,
        };
        reader
            .bytes(reader.left())
            .ok()?
            .iter()
            .all(|byte| *byte == 0)
            .then_some(live)
    }

    /// Returns whether the mark is from this run of the machine. If it is, bytes after it were never acknowledged.
    pub(super) fn is_of_boot(&self, boot: [u8; 16]) -> bool {
        boot != [0; 16] && self.boot == boot
    }
}

/// The maximal number of reads of an invalid mark, which a writer may be overwriting.
const READ_TRIES: u32 = 4;

/// Reads the mark of the store `format`; returns `None` if it is missing, damaged or from another store.
pub(super) fn read_live(file: &dyn DiskFile, format: &Format) -> Result<Option<Live>> {
    for attempt in 0..READ_TRIES {
        if attempt > 0 {
            sleep(Duration::from_micros(200));
        }
        // Reads one more byte, to detect a file that is too long.
        let mut bytes = [0; LIVE_BYTES + 1];
        let count = read_full(file, 0, &mut bytes)
            .map_err(|error| Error::io(format!("cannot read {LIVE_NAME}"), error))?;
        if let Some(live) = bytes.get(..count).and_then(Live::decode) {
            let ours = live.instance == format.instance && live.lineage == format.lineage;
            return Ok(ours.then_some(live));
        }
    }
    Ok(None)
}
