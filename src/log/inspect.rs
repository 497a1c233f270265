//! The files of a log as they are: for people who look at the bytes, whatever state they are in.
//!
//! Nothing here opens the log. Each file is read by itself, its parts are named, and what does not check out is
//! said beside the bytes instead of ending the reading: a store without its manifest still shows its frames.
//! Reading is by position, never through a map, and memory is bounded by one record.
//!
//! # Layer
//! L2. Knows where the parts of each file are; what a record means is for others.
//!
//! # Invariants
//! - INS-1: inspecting opens files for reading only, and takes no lock.
//!
//! # Format
//! docs/format.md, from "Files of a store" on; the tables of names here are tested against the encoders.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::batch::Batch;
use super::catch_up::FIRST_OFFSET;
use super::format_file::{FORMAT_BYTES, FORMAT_NAME, Format};
use super::frame::{
    FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameError, FrameHeader, FrameSeed, LINK_BYTES, RecordKind,
    UNLINK_BYTES,
};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{MANIFEST_NAME, MANIFEST_SEGMENTS_MAX, Manifest};
use super::recover::is_clean_behind;
use super::scan::Chain;
use super::segment::{LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_name};
use super::{Log, LogOptions, Mode};
use crate::disk::{Access, Disk, DiskFile, read_full};
use crate::error::{Error, Result};

/// Bytes that are read at a time while looking for the next frame.
const STEP: usize = 1 << 18;

/// Bytes of a file that have a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What they are.
    pub name: &'static str,
    /// Where they begin in the file.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they may be text: a number or a checksum never is, whatever its bytes spell.
    pub may_be_text: bool,
}

/// A small file, or the start of a large one, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The file, relative to the store.
    pub file: String,
    /// Its parts, in order; empty if there is no such file.
    pub parts: Vec<Part>,
    /// Why it cannot be believed, if so.
    pub trouble: Option<String>,
}

/// A file with a layout of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFile {
    /// What the store is.
    Format,
    /// How far the log is durable.
    Live,
    /// Which segments make up the log.
    Manifest,
    /// The header of a segment.
    Segment(u64),
}

/// What the manifest says of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentStanding {
    /// It is whole and never written to again.
    Sealed,
    /// It is the one that batches are appended to.
    Active,
    /// Nothing: only the folder has it.
    Unlisted,
}

impl SegmentStanding {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Active => "active",
            Self::Unlisted => "unlisted",
        }
    }
}

/// One segment, as the manifest and the folder know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentState {
    /// Its number.
    pub id: u64,
    /// Its file, relative to the store.
    pub file: String,
    /// The length of the file; `None` if it is missing.
    pub file_bytes: Option<u64>,
    /// What the manifest says of it.
    pub state: SegmentStanding,
    /// Bytes that count, if it is sealed.
    pub sealed_bytes: Option<u64>,
    /// Number of its first batch, if it is listed.
    pub first_batch: Option<u64>,
    /// Number of its last batch, if it is sealed.
    pub last_batch: Option<u64>,
}

/// What stands in a segment, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A frame with a valid header.
    Frame(Frame),
    /// Bytes that are no frame.
    Gap {
        /// Where they begin.
        offset: u64,
        /// How many there are.
        bytes: u64,
        /// Why no frame starts here; `None` where all of them are zero and nothing was written yet.
        trouble: Option<String>,
    },
}

/// One frame: the envelope and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it begins in the file.
    pub offset: u64,
    /// Bytes that it takes, with padding.
    pub framed_bytes: u64,
    /// The kind of its record, as stored.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// The batch it belongs to.
    pub batch: u64,
    /// The header, part by part.
    pub header: Vec<Part>,
    /// The body, whole.
    pub body: Vec<u8>,
    /// Why the body cannot be believed, if so.
    pub trouble: Option<String>,
}

/// What the next writer would do before it appends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextWriter {
    /// Go on in the active segment: `live` of this run of the machine says where, and nothing stands behind it.
    GoOn {
        /// The segment.
        segment: u64,
        /// Where the next batch would begin.
        offset: u64,
    },
    /// Seal the active segment and go on in a new one.
    Recover {
        /// The segment that would be sealed.
        segment: u64,
        /// The length it would be sealed at: how far it is known to be durable.
        sealed_at: u64,
        /// Numbers of the whole batches behind that, which would be written again.
        again: Vec<u64>,
        /// Bytes behind the last whole batch, which would stay where they are.
        torn_bytes: u64,
    },
}

const FORMAT_PARTS: &[(&str, usize)] = &[
    ("magic", 8),
    ("format", 4),
    ("least reader", 4),
    ("compatible", 8),
    ("read compatible", 8),
    ("incompatible", 8),
    ("hash", 1),
    ("cipher", 1),
    ("zeros", 6),
    ("lineage", 16),
    ("instance", 16),
];
const LIVE_PARTS: &[(&str, usize)] = &[
    ("magic", 8),
    ("lineage", 16),
    ("instance", 16),
    ("boot", 16),
    ("segment", 8),
    ("durable offset", 8),
    ("batch", 8),
    ("commit", 32),
    ("root", 32),
    ("seq", 8),
];
const SEGMENT_PARTS: &[(&str, usize)] = &[
    ("magic", 8),
    ("format", 4),
    ("zeros", 4),
    ("instance", 16),
    ("segment", 8),
    ("nonce", 16),
    ("previous segment", 8),
    ("previous length", 8),
    ("previous batch", 8),
    ("previous digest", 32),
];
const MANIFEST_PARTS: &[(&str, usize)] =
    &[("magic", 8), ("instance", 16), ("generation", 8), ("segments", 8)];
const MANIFEST_ENTRY_PARTS: &[(&str, usize)] = &[
    ("segment", 8),
    ("first batch", 8),
    ("length", 8),
    ("last batch", 8),
    ("last digest", 32),
];
const FRAME_PARTS: &[(&str, usize)] = &[
    ("magic", 4),
    ("kind", 1),
    ("flags", 1),
    ("key", 2),
    ("length", 4),
    ("raw length", 4),
    ("batch", 8),
    ("header checksum", 4),
    ("body checksum", 4),
];
const SEAL_PARTS: &[(&str, usize)] = &[
    ("batch", 8),
    ("start", 8),
    ("length", 8),
    ("synced up to", 8),
    ("previous digest", 32),
    ("commit", 32),
    ("digest", 32),
];

const LINK_PARTS: &[(&str, usize)] = &[("key path", UNLINK_BYTES), ("version", LINK_BYTES - UNLINK_BYTES)];
const UNLINK_PARTS: &[(&str, usize)] = &[("key path", UNLINK_BYTES)];

/// Names the bytes from `offset` of a file on; what no name is left for is `rest`.
fn name_parts(bytes: &[u8], offset: u64, names: &[(&'static str, usize)], rest: &'static str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    let mut push = |name, from: usize, to: usize| {
        if let Some(bytes) = bytes
            .get(from..to.min(bytes.len()))
            .filter(|bytes| !bytes.is_empty())
        {
            parts.push(Part {
                name,
                offset: offset + from as u64,
                bytes: bytes.to_vec(),
                may_be_text: name == "magic",
            });
        }
    };
    for (name, length) in names {
        push(name, at, at + length);
        at += length;
    }
    push(rest, at, usize::MAX);
    parts
}

/// Names entries that stand one behind the other.
fn name_entries(bytes: &[u8], offset: u64, names: &[(&'static str, usize)]) -> Vec<Part> {
    let entry = names.iter().map(|(_, length)| length).sum::<usize>();
    let entries = bytes.chunks(entry).zip((offset..).step_by(entry));
    entries
        .flat_map(|(bytes, at)| name_parts(bytes, at, names, "rest"))
        .collect()
}

/// The last four bytes are a checksum, what is before them and has no name is reserved.
fn with_checksum(bytes: &[u8], names: &[(&'static str, usize)]) -> Vec<Part> {
    let (covered, checksum) = bytes.split_at(bytes.len().saturating_sub(4));
    let mut parts = name_parts(covered, 0, names, "reserved");
    parts.extend(name_parts(
        checksum,
        covered.len() as u64,
        &[("checksum", 4)],
        "rest",
    ));
    parts
}

/// The parts of a seal's body, whose frame's body begins at `offset`.
pub fn seal_parts(body: &[u8], offset: u64) -> Vec<Part> {
    name_parts(body, offset, SEAL_PARTS, "rest")
}

/// The parts of a link record's body, which begins at `offset`.
pub fn link_parts(body: &[u8], offset: u64) -> Vec<Part> {
    name_entries(body, offset, LINK_PARTS)
}

/// The parts of an unlink record's body, which begins at `offset`.
pub fn unlink_parts(body: &[u8], offset: u64) -> Vec<Part> {
    name_entries(body, offset, UNLINK_PARTS)
}

/// The name of a kind of record.
pub fn kind_name(kind: u8) -> &'static str {
    match RecordKind::from_tag(kind) {
        Some(RecordKind::Object) => "object",
        Some(RecordKind::Content) => "content",
        Some(RecordKind::Text) => "text",
        Some(RecordKind::Link) => "link",
        Some(RecordKind::Unlink) => "unlink",
        Some(RecordKind::Commit) => "commit",
        Some(RecordKind::Reference) => "reference",
        Some(RecordKind::Seal) => "seal",
        None => "unknown",
    }
}

/// The files of a store, to be looked at.
#[derive(Clone)]
pub struct Inspection {
    disk: Arc<dyn Disk>,
}

impl Inspection {
    /// Looks at the store on this disk. Nothing is read yet.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk }
    }

    /// The files of the store with their lengths, by name.
    ///
    /// # Errors
    /// `Io` if a folder cannot be listed.
    pub fn files(&self) -> Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for folder in ["", LOG_FOLDER] {
            let names = match self.disk.list(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                names => names.map_err(|error| Error::io("listing the files of the store", error))?,
            };
            for name in names {
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                if let Some(length) = self.open(&path)?.and_then(|file| file.length().ok()) {
                    files.push((path, length));
                }
            }
        }
        Ok(files)
    }

    /// Opens a file for reading (INS-1); `None` if there is none, or if it is a folder.
    fn open(&self, name: &str) -> Result<Option<Arc<dyn DiskFile>>> {
        match self.disk.open(name, Access::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::IsADirectory
                ) =>
            {
                Ok(None)
            }
            // Not every system has a kind of its own for what is no plain file.
            Err(error) if name == LOG_FOLDER && error.kind() != io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(Error::io(format!("cannot open {name}"), error)),
        }
    }

    fn small(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        super::read_small(&*self.disk, name, limit)
    }

    /// One of the small files, or the header of a segment, part by part.
    ///
    /// # Errors
    /// `Io` if the file cannot be read. What is wrong with it is in the answer.
    pub fn layout(&self, file: StoreFile) -> Result<Layout> {
        match file {
            StoreFile::Format => self.checked_layout(FORMAT_NAME, FORMAT_BYTES + 1, |bytes| {
                let trouble = Format::decode(bytes, Mode::ReadOnly).err();
                (
                    with_checksum(bytes, FORMAT_PARTS),
                    trouble.map(|error| error.message().to_owned()),
                )
            }),
            StoreFile::Live => self.checked_layout(LIVE_NAME, LIVE_BYTES + 1, |bytes| {
                let trouble = Live::decode(bytes).is_none();
                let told = "it is no whole mark: the log is read without it".to_owned();
                (with_checksum(bytes, LIVE_PARTS), trouble.then_some(told))
            }),
            StoreFile::Manifest => self.checked_layout(MANIFEST_NAME, 64 * MANIFEST_SEGMENTS_MAX, |bytes| {
                let trouble = Manifest::decode(bytes).err();
                (manifest_parts(bytes), trouble.map(|error| error.to_string()))
            }),
            StoreFile::Segment(id) => self.checked_layout(&segment_name(id), SEGMENT_HEADER_BYTES, |bytes| {
                let trouble = SegmentHeader::decode(bytes).err();
                (
                    with_checksum(bytes, SEGMENT_PARTS),
                    trouble.map(|error| error.to_string()),
                )
            }),
        }
    }

    fn checked_layout(
        &self,
        name: &str,
        limit: usize,
        read: impl FnOnce(&[u8]) -> (Vec<Part>, Option<String>),
    ) -> Result<Layout> {
        let (parts, trouble) = match self.small(name, limit)? {
            Some(bytes) => read(&bytes),
            None => (Vec::new(), Some("it is missing".to_owned())),
        };
        Ok(Layout {
            file: name.to_owned(),
            parts,
            trouble,
        })
    }

    /// The segments: those that the manifest lists, then those that only the folder has.
    ///
    /// # Errors
    /// `Io` if the folder or the manifest cannot be read; a damaged manifest lists nothing.
    pub fn segments(&self) -> Result<Vec<SegmentState>> {
        let manifest = self
            .small(MANIFEST_NAME, 64 * MANIFEST_SEGMENTS_MAX)?
            .and_then(|bytes| Manifest::decode(&bytes).ok());
        let mut segments = Vec::new();
        let listed = manifest
            .iter()
            .flat_map(|manifest| manifest.sealed().iter().chain([manifest.active()]));
        for entry in listed {
            let sealed = !entry.is_active();
            segments.push(SegmentState {
                state: if sealed {
                    SegmentStanding::Sealed
                } else {
                    SegmentStanding::Active
                },
                sealed_bytes: sealed.then_some(entry.length),
                first_batch: Some(entry.first_batch),
                last_batch: sealed.then_some(entry.last_batch),
                ..self.unlisted(segment_name(entry.id), entry.id)?
            });
        }
        let names = self.disk.list(LOG_FOLDER).unwrap_or_default();
        for name in names {
            if let Some((id, unfinished)) = parse_segment_name(&name)
                && (unfinished || !segments.iter().any(|known| known.id == id))
            {
                segments.push(self.unlisted(format!("{LOG_FOLDER}/{name}"), id)?);
            }
        }
        Ok(segments)
    }

    fn unlisted(&self, file: String, id: u64) -> Result<SegmentState> {
        let file_bytes = self.open(&file)?.and_then(|file| file.length().ok());
        Ok(SegmentState {
            id,
            file,
            file_bytes,
            state: SegmentStanding::Unlisted,
            sealed_bytes: None,
            first_batch: None,
            last_batch: None,
        })
    }

    /// What stands in a segment from `offset` on (rounded up to a place where a frame may begin), to the end of the file.
    ///
    /// # Errors
    /// `NotFound` if there is no such segment, or it ends before `offset`; `Corrupt` if its header, which the checksums
    /// of its frames start from, cannot be read; `Io`.
    pub fn frames(&self, segment: u64, offset: u64) -> Result<Frames> {
        let name = segment_name(segment);
        let missing = || Error::not_found(format!("there is no segment {segment}")).with_code("no_segment");
        let file = self.open(&name)?.ok_or_else(missing)?;
        let mut bytes = vec![0; SEGMENT_HEADER_BYTES];
        let count = read_full(&*file, 0, &mut bytes)
            .map_err(|error| Error::io(format!("cannot read {name}"), error))?;
        let header = SegmentHeader::decode(bytes.get(..count).unwrap_or_default())
            .map_err(|error| super::damage(&name, 0, &error.to_string()))?;
        let end = file
            .length()
            .map_err(|error| Error::io(format!("cannot read {name}"), error))?;
        if offset > end {
            let told = format!("segment {segment} ends at {end}, before {offset}");
            return Err(Error::not_found(told).with_code("no_offset"));
        }
        Ok(Frames {
            name,
            file,
            seed: header.seed(),
            at: offset.max(FIRST_OFFSET).next_multiple_of(FRAME_ALIGNMENT as u64),
            end,
        })
    }

    /// What the next writer would do before it appends, found by reading what it would read.
    ///
    /// # Errors
    /// `Corrupt` if it would refuse to write, and why; as [`Log::open`].
    pub fn next_writer(&self) -> Result<NextWriter> {
        let log = Log::open(Arc::clone(&self.disk), Mode::ReadOnly, LogOptions::default())?;
        log.next_writer()
    }

    /// The whole batches that can be found, in the order of the log, until `visit` breaks off, and how many places are
    /// damaged up to there.
    ///
    /// # Errors
    /// As [`Log::check`].
    pub fn batches(&self, visit: &mut dyn FnMut(Batch) -> ControlFlow<()>) -> Result<u64> {
        let summary = Log::check(
            Arc::clone(&self.disk),
            LogOptions::default(),
            &mut |item| match item {
                super::CheckItem::Batch(batch) => Ok(visit(batch)),
                super::CheckItem::Finding(_) => Ok(ControlFlow::Continue(())),
            },
        )?;
        Ok(summary.damages)
    }
}

fn manifest_parts(bytes: &[u8]) -> Vec<Part> {
    let (covered, checksum) = bytes.split_at(bytes.len().saturating_sub(4));
    let header: usize = MANIFEST_PARTS.iter().map(|(_, length)| length).sum();
    let (head, entries) = covered.split_at(header.min(covered.len()));
    let mut parts = name_parts(head, 0, MANIFEST_PARTS, "rest");
    parts.extend(name_entries(entries, head.len() as u64, MANIFEST_ENTRY_PARTS));
    parts.extend(name_parts(
        checksum,
        covered.len() as u64,
        &[("checksum", 4)],
        "rest",
    ));
    parts
}

/// The frames of a segment; see [`Inspection::frames`]. Ends for good after an error.
pub struct Frames {
    name: String,
    file: Arc<dyn DiskFile>,
    seed: FrameSeed,
    at: u64,
    end: u64,
}

impl Frames {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let count = read_full(&*self.file, offset, &mut bytes)
            .map_err(|error| Error::io(format!("cannot read {}", self.name), error))?;
        bytes.truncate(count);
        Ok(bytes)
    }

    fn header_at(&self, bytes: &[u8], offset: u64) -> Result<FrameHeader, String> {
        FrameHeader::parse(bytes, self.seed, offset).map_err(|error| match error {
            FrameError::Invalid(what) => what.to_owned(),
            FrameError::Unsupported(what) => what,
        })
    }

    fn step(&mut self) -> Result<Option<Found>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let offset = self.at;
        let bytes = self.read(offset, FRAME_HEADER_BYTES)?;
        match self.header_at(&bytes, offset) {
            Ok(header) => self.frame(offset, &bytes, header).map(Some),
            Err(trouble) => self.gap(offset, trouble).map(Some),
        }
    }

    fn frame(&mut self, offset: u64, header_bytes: &[u8], header: FrameHeader) -> Result<Found> {
        let body = self.read(offset + FRAME_HEADER_BYTES as u64, header.body_length)?;
        let trouble = if body.len() < header.body_length {
            Some("the frame is cut off".to_owned())
        } else if header.matches(&body, self.seed, offset) {
            None
        } else {
            Some("the checksum of the body does not match".to_owned())
        };
        let framed_bytes = header.framed_bytes() as u64;
        self.at = offset + framed_bytes;
        Ok(Found::Frame(Frame {
            offset,
            framed_bytes,
            kind: header.kind,
            flags: header.flags,
            batch: header.batch,
            header: name_parts(header_bytes, offset, FRAME_PARTS, "rest"),
            body,
            trouble,
        }))
    }

    /// Goes on to the next place where a frame begins, or to the end of the file.
    fn gap(&mut self, offset: u64, trouble: String) -> Result<Found> {
        let (mut at, mut all_zero) = (offset, true);
        'search: while at < self.end {
            let chunk = self.read(at, STEP + FRAME_HEADER_BYTES)?;
            let places = chunk.len().min(STEP);
            for place in (0..places).step_by(FRAME_ALIGNMENT) {
                let rest = chunk.get(place..).unwrap_or_default();
                let here = at + place as u64;
                if here > offset && rest.first() != Some(&0) && self.header_at(rest, here).is_ok() {
                    at = here;
                    break 'search;
                }
                let cell = rest.get(..FRAME_ALIGNMENT.min(rest.len())).unwrap_or_default();
                all_zero &= cell.iter().all(|byte| *byte == 0);
            }
            if places == 0 {
                break;
            }
            at += places as u64;
        }
        self.at = at.min(self.end);
        Ok(Found::Gap {
            offset,
            bytes: self.at - offset,
            trouble: (!all_zero).then_some(trouble),
        })
    }
}

impl Iterator for Frames {
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.step();
        if found.is_err() {
            self.at = self.end;
        }
        found.transpose()
    }
}

impl Log {
    fn next_writer(&self) -> Result<NextWriter> {
        let live = self.place_live(self.read_live()?)?;
        let active = self.manifest.active().id;
        let segment = self.segment(active)?;
        self.check_active_header(&segment)?;
        let before = self.manifest.before_active();
        let chain = Chain {
            batch: before.last_batch,
            digest: Some(before.last_digest),
        };
        if let Some(offset) = live.as_ref().and_then(|live| self.live_limit(live))
            && is_clean_behind(&segment, offset)?
        {
            self.scan_active(&segment, FIRST_OFFSET, chain, live.as_ref(), Some(offset))?;
            return Ok(NextWriter::GoOn {
                segment: active,
                offset,
            });
        }
        let scan = self.scan_active(&segment, FIRST_OFFSET, chain, live.as_ref(), None)?;
        let again = scan.batches.iter().filter(|scanned| scanned.end > scan.durable);
        Ok(NextWriter::Recover {
            segment: active,
            sealed_at: scan.durable,
            again: again.map(|scanned| scanned.batch.number).collect(),
            torn_bytes: scan.torn_bytes,
        })
    }
}

#[cfg(test)]
mod tests;
