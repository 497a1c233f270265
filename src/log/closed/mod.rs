//! A closed log: the log of a backup or of a remote. Nobody appends to its segments: each addition is a new segment and a
//! new manifest.
//!
//! Its files are those of a store that no process has open: `format`, `manifest` and `log/*.seg`. So a copy of the listed
//! files opens as a store. A section behind the manifest says more about each segment and about the remote; a reader of
//! plain stores ignores it.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CLO-1: the section names the length and the digest of every segment, of the newest one too. Bytes that differ are
//!   damage, and never a shorter log.
//! - CLO-2: the newest segment names the end of the one before it. An older one may not, behind a segment that was written
//!   anew.
//!
//! # Format
//! docs/format.md, "Remotes and backups".

mod segment;
mod target;

use super::batch::BatchBuilder;
use super::fixed::{Fixed, layout};
use super::format_file::{Format, LINES, Mode};
use super::manifest::{
    MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest, SECTION_MAGIC, SegmentEntry, plain_length,
};
use super::segment::{FIRST_OFFSET, SegmentEnd};
use crate::codec::{DecodeError, Reader, put_sized};
use crate::digest::{CommitDigest, HashSuite};
use crate::disk::Disk;
use crate::error::{Cause, Damage, Result};

pub(crate) use segment::{NewSegment, ReadSegment};
pub(crate) use target::Target;

use super::files::{damage, read_small, undecodable};
use super::{format_file, live};

/// The names of the files of a closed log, and of a file that only an opened store has.
pub(crate) const FORMAT_FILE: &str = format_file::FORMAT_NAME;
pub(crate) const MANIFEST_FILE: &str = MANIFEST_NAME;
pub(crate) const LIVE_FILE: &str = live::LIVE_NAME;

/// More bytes of a file than these are damage, so nobody reads them.
pub(crate) const FORMAT_LIMIT: u64 = format_file::FORMAT_BYTES as u64 + 1;
pub(crate) const MANIFEST_LIMIT: u64 = MANIFEST_BYTES_MAX as u64 + 1;

/// The most bytes of batches in a segment, unless one batch is larger.
pub(crate) const CLOSED_SEGMENT_BYTES: u64 = 16 << 20;
/// The bytes of a segment before its first batch.
pub(crate) const CLOSED_HEADER_BYTES: u64 = FIRST_OFFSET;

/// What a closed log is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A backup of one store: all that its log has.
    Backup,
    /// A remote, to which many stores push their main line.
    Shared,
}

/// Returns whether a segment of a closed log may have this number. A locator has 32 bits for it. So a number that somebody
/// forged leaves room for those of a push, a clone and a store that goes on.
fn is_id(id: u64) -> bool {
    (1..=u64::from(u32::MAX / 2)).contains(&id)
}

/// A segment of a closed log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClosedSegment {
    pub(crate) id: u64,
    pub(crate) first_batch: u64,
    pub(crate) last_batch: u64,
    last_digest: [u8; 32],
    pub(crate) length: u64,
    /// The digest of the whole file.
    digest: [u8; 32],
}

impl ClosedSegment {
    fn entry(&self) -> SegmentEntry {
        SegmentEntry {
            id: self.id,
            first_batch: self.first_batch,
            length: self.length,
            last_batch: self.last_batch,
            last_digest: self.last_digest,
        }
    }
}

/// The side line of a machine in a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosedLine {
    pub(crate) name: String,
    pub(crate) base: CommitDigest,
    pub(crate) head: CommitDigest,
}

/// The format and the manifest of a closed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosedLog {
    pub(crate) format: Format,
    pub(crate) purpose: Purpose,
    /// Of a backup: the instance of the store, and the epoch of its log.
    pub(crate) source: Source,
    pub(crate) generation: u64,
    pub(crate) epoch: u32,
    pub(crate) segments: Vec<ClosedSegment>,
    /// The newest commit of the main line.
    pub(crate) head: CommitDigest,
    pub(crate) lines: Vec<ClosedLine>,
    /// Whether something was erased. Then each push deletes the segments that nobody lists.
    pub(crate) has_erased: bool,
    /// Segments that a join replaced, and which readers of an older manifest still read.
    pub(crate) leaving: Vec<Leaving>,
}

/// A segment that a join replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) id: u64,
    /// The generation of the first manifest that lists the join.
    pub(crate) since: u64,
}

/// The store and the epoch of which a backup is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) instance: [u8; 16],
    pub(crate) epoch: u64,
}

layout! {
    Source { instance: [u8; 16], epoch: u64 }
    Leaving { id: u64, since: u64 }
}

impl Purpose {
    fn tag(self) -> u8 {
        match self {
            Self::Backup => 1,
            Self::Shared => 2,
        }
    }
}

impl Format {
    /// Returns the format of a closed log of this store, as a store of its own.
    pub(crate) fn closed(&self, instance: [u8; 16]) -> Self {
        Self {
            instance,
            features: self.features | LINES,
            ..*self
        }
    }

    /// Returns the bytes of the format file.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        self.encode()
    }

    /// Decodes a format file for reading.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged; `UnsupportedFormat` if a newer program wrote the store.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Self> {
        Self::decode(bytes, Mode::ReadOnly)
    }
}

impl ClosedLog {
    /// Returns a closed log without a batch.
    pub(crate) fn new(format: Format, purpose: Purpose, source: Source, epoch: u32) -> Self {
        Self {
            format,
            purpose,
            source,
            // A manifest counts fewer rewrites than generations.
            generation: u64::from(epoch),
            epoch,
            segments: Vec::new(),
            head: CommitDigest::from_bytes([0; 32]),
            lines: Vec::new(),
            has_erased: false,
            leaving: Vec::new(),
        }
    }

    /// Returns the functions that compute the digests of the log.
    pub(crate) fn suite(&self) -> HashSuite {
        HashSuite::new(self.format.hash)
    }

    /// Returns the number of the newest batch.
    pub(crate) fn last_batch(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.last_batch)
    }

    /// Returns the highest number of a segment that this manifest lists, or that a join replaced.
    pub(crate) fn highest_id(&self) -> u64 {
        let leaving = self.leaving.iter().map(|old| old.id);
        self.segments
            .iter()
            .map(|segment| segment.id)
            .chain(leaving)
            .max()
            .unwrap_or(0)
    }

    fn end(&self) -> SegmentEnd {
        let last = self.segments.last();
        last.map(|last| last.entry().end()).unwrap_or_default()
    }

    /// Returns this log with a segment at its end and the next generation.
    pub(crate) fn with(&self, segment: &NewSegment, head: CommitDigest) -> Self {
        let mut next = self.clone();
        next.segments.push(segment.listed);
        next.generation += 1;
        next.head = head;
        next
    }

    /// Returns the bytes of the manifest. The log has a segment.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut sealed: Vec<SegmentEntry> = self.segments.iter().map(ClosedSegment::entry).collect();
        let active = sealed.pop().map_or(SegmentEntry::active(1, 1), |last| {
            SegmentEntry::active(last.id, last.first_batch)
        });
        let manifest = Manifest::new(self.format.instance, self.generation, self.epoch, sealed, active);
        let mut bytes = manifest.encode();
        let start = bytes.len();
        bytes.extend_from_slice(SECTION_MAGIC);
        bytes.push(self.purpose.tag());
        self.source.put(&mut bytes);
        self.head.put(&mut bytes);
        bytes.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
        for segment in &self.segments {
            segment.length.put(&mut bytes);
            segment.last_batch.put(&mut bytes);
            segment.last_digest.put(&mut bytes);
            segment.digest.put(&mut bytes);
        }
        bytes.extend_from_slice(&(self.lines.len() as u32).to_le_bytes());
        for line in &self.lines {
            put_sized(&mut bytes, line.name.as_bytes());
            line.base.put(&mut bytes);
            line.head.put(&mut bytes);
        }
        bytes.extend_from_slice(&u64::from(self.has_erased).to_le_bytes());
        bytes.extend_from_slice(&(self.leaving.len() as u32).to_le_bytes());
        for old in &self.leaving {
            old.put(&mut bytes);
        }
        let sum = crc32c::crc32c(&bytes[start..]);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes the manifest of a closed log. Returns `None` if it is one of a plain store.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged, or of another store than `format`.
    pub(crate) fn decode(format: Format, bytes: &[u8]) -> Result<Option<Self>> {
        let damaged = |cause| damage(MANIFEST_NAME, 0, cause);
        let manifest = Manifest::decode(bytes).map_err(|error| damaged(undecodable(&error)))?;
        if manifest.instance != format.instance {
            return Err(damaged(Cause::OtherStore));
        }
        let section = plain_length(bytes).and_then(|length| bytes.get(length..));
        let Some(section) = section.filter(|section| !section.is_empty()) else {
            return Ok(None);
        };
        let decoded = Self::decode_section(format, &manifest, section);
        decoded.map(Some).map_err(|error| damaged(undecodable(&error)))
    }

    /// Compares the segments of a closed log in a folder with the section of its manifest (CLO-1), and passes what differs to
    /// `visit`. The log of a plain store has no section.
    ///
    /// # Errors
    /// The errors of `visit`; `Io`.
    pub(super) fn check_files(
        disk: &dyn Disk,
        format: Format,
        visit: &mut dyn FnMut(Damage) -> Result<()>,
    ) -> Result<()> {
        let Some(bytes) = read_small(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)? else {
            return Ok(());
        };
        let log = match Self::decode(format, &bytes) {
            Ok(Some(log)) => log,
            Ok(None) => return Ok(()),
            Err(error) => return error.damage().map_or(Ok(()), |damage| visit(damage.clone())),
        };
        for (index, segment) in log.segments.iter().enumerate() {
            let limit = usize::try_from(segment.length.saturating_add(1)).unwrap_or(usize::MAX);
            // The check of the segments reports one that is missing.
            if let Some(bytes) = read_small(disk, &segment.name(), limit)?
                && let Err(error) = log.check_bytes(index, &bytes)
                && let Some(damage) = error.damage()
            {
                visit(damage.clone())?;
            }
        }
        Ok(())
    }

    fn decode_section(format: Format, manifest: &Manifest, section: &[u8]) -> Result<Self, DecodeError> {
        let (covered, sum) = section.split_at(section.len().saturating_sub(4));
        if sum != crc32c::crc32c(covered).to_le_bytes() {
            return Err(DecodeError::Invalid("the checksum of the section does not match"));
        }
        let mut reader = Reader::new(covered);
        reader.bytes(SECTION_MAGIC.len())?;
        let purpose = match reader.u8()? {
            1 => Purpose::Backup,
            2 => Purpose::Shared,
            _ => return Err(DecodeError::Invalid("the purpose of a closed log is not known")),
        };
        let source = Source::take(&mut reader)?;
        let head = CommitDigest::take(&mut reader)?;
        let count = reader.u32()? as usize;
        let entries: Vec<&SegmentEntry> = manifest.entries().collect();
        if count != entries.len() {
            return Err(DecodeError::Invalid(
                "the section lists other segments than the manifest",
            ));
        }
        let mut segments = Vec::with_capacity(count);
        for entry in entries {
            let segment = ClosedSegment {
                id: entry.id,
                first_batch: entry.first_batch,
                // In the order of the section.
                length: Fixed::take(&mut reader)?,
                last_batch: Fixed::take(&mut reader)?,
                last_digest: Fixed::take(&mut reader)?,
                digest: Fixed::take(&mut reader)?,
            };
            if !entry.is_active() && segment.entry() != *entry {
                return Err(DecodeError::Invalid("the section contradicts the manifest"));
            }
            segment.entry().check_end()?;
            if !is_id(segment.id) {
                return Err(DecodeError::Invalid("the number of a segment is out of range"));
            }
            segments.push(segment);
        }
        let mut lines = Vec::new();
        for _ in 0..reader.u32()? {
            lines.push(ClosedLine {
                name: reader.text()?.to_owned(),
                base: Fixed::take(&mut reader)?,
                head: Fixed::take(&mut reader)?,
            });
        }
        let (mut has_erased, mut leaving) = (false, Vec::new());
        // The first manifests end here.
        if reader.left() > 0 {
            has_erased = reader.u64()? > 0;
            for _ in 0..reader.u32()? {
                let old = Leaving::take(&mut reader)?;
                if !is_id(old.id) || old.since > manifest.generation {
                    return Err(DecodeError::Invalid(
                        "a replaced segment has a number out of range",
                    ));
                }
                leaving.push(old);
            }
        }
        reader.finish()?;
        Ok(Self {
            format,
            purpose,
            source,
            generation: manifest.generation,
            epoch: manifest.epoch,
            segments,
            head,
            lines,
            has_erased,
            leaving,
        })
    }
}

/// Batches for one segment, in order, each with the head after it.
pub(crate) type Group = Vec<(BatchBuilder, CommitDigest)>;

#[cfg(test)]
mod tests;
