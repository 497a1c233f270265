//! Decodes the files of a log byte by byte, so that people can inspect a store even if it is damaged.
//!
//! Inspection does not open the log. It reads each file separately, names the file's parts and reports damage with the
//! bytes. So the frames of a store are readable even without its manifest. Inspection uses no memory map, and holds at
//! most one record in memory.
//!
//! # Layer
//! Layer 2. Decodes the layout of each file, but not the meaning of records.
//!
//! # Invariants
//! - INS-1: inspection opens files only for reading, and acquires no lock.
//!
//! # Format
//! docs/format.md, from "Files of a store" on. Tests compare the tables of part names with the encoders.

mod frames;
mod parts;

use std::sync::Arc;

use super::files::{cannot_list, open_there, read_small, undecodable};
use super::format_file::{FORMAT_BYTES, FORMAT_NAME, Format, Mode};
use super::frame::FRAME_ALIGNMENT;
use super::handle::{DurablePlaces, Log, LogOptions};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest, SegmentEntry};
use super::reader::read_segment_header;
use super::recover::NextWriter;
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_name,
};
use crate::disk::{Access, Disk, if_there};
use crate::error::{Cause, Error, ErrorCode, OrIo as _, Result};
pub use frames::{Found, Frame, Frames};
use parts::{FORMAT_PARTS, live_parts, manifest_parts, segment_parts, with_checksum};
pub use parts::{Part, link_parts, seal_parts, unlink_parts};

/// The named parts of a small file, or of the header of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The path of the file, relative to the store.
    pub file: String,
    /// The parts of the file, in order; empty if the file does not exist.
    pub parts: Vec<Part>,
    /// The damage, if the content is not valid.
    pub trouble: Option<Cause>,
}

/// A file that [`Inspection::layout`] can decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFile {
    /// The file `format`: the identity and the format of the store.
    Format,
    /// The file `live`: the durable end of the log.
    Live,
    /// The file `manifest`: the list of the log's segments.
    Manifest,
    /// The header of a segment.
    Segment(u64),
}

named! {
    /// The state of a segment, according to the manifest.
    pub enum SegmentStanding {
        /// The segment is complete and never written again.
        Sealed => "sealed",
        /// Writers append batches to this segment.
        Active => "active",
        /// The segment is in the folder, but the manifest does not list it.
        Unlisted => "unlisted",
    }
}

/// One segment, according to the manifest and the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentState {
    /// The number of the segment.
    pub id: u64,
    /// The path of the segment's file, relative to the store.
    pub file: String,
    /// The length of the file; `None` if the file is missing.
    pub file_bytes: Option<u64>,
    /// The state of the segment.
    pub state: SegmentStanding,
    /// The sealed length; `None` unless the segment is sealed.
    pub sealed_bytes: Option<u64>,
    /// The number of the segment's first batch; `None` for an unlisted segment.
    pub first_batch: Option<u64>,
    /// The number of the segment's last batch; `None` unless the segment is sealed.
    pub last_batch: Option<u64>,
}

/// Reads the files of a store for inspection.
#[derive(Clone)]
pub struct Inspection {
    disk: Arc<dyn Disk>,
    places: Option<Arc<DurablePlaces>>,
}

impl Inspection {
    /// Creates an inspection of the store on this disk. Reads no file.
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, places: None }
    }

    /// Sets the durable positions with which [`Self::next_writer`] distinguishes damage from a torn tail.
    #[must_use]
    pub fn asking(mut self, places: Arc<DurablePlaces>) -> Self {
        self.places = Some(places);
        self
    }

    /// Returns the path and the length of each file of the store.
    ///
    /// # Errors
    /// `Io` if the folder of the store cannot be listed. Omits files that cannot be opened.
    pub fn files(&self) -> Result<Vec<(String, u64)>> {
        let names = self.disk.list("").or_io("cannot list the files of the store")?;
        let paths = names.into_iter().flat_map(|name| {
            // If a path can be listed, it is a folder. Folders of a store contain no other folders.
            let inside = self.disk.list(&name).unwrap_or_default();
            let inside = inside.iter().map(|file| format!("{name}/{file}"));
            std::iter::once(name.clone()).chain(inside).collect::<Vec<_>>()
        });
        // Omits paths that are not regular files. INS-1: opens the file only for reading.
        let with_length = paths.filter_map(|path| {
            let file = self.disk.open(&path, Access::Read).ok()?;
            Some((path, file.length().ok()?))
        });
        Ok(with_length.collect())
    }

    /// Returns the named parts of a small file, or of the header of a segment.
    ///
    /// # Errors
    /// `Io` if the file cannot be read. Damage is not an error: the result contains it.
    pub fn layout(&self, file: StoreFile) -> Result<Layout> {
        type Read = fn(&[u8]) -> (Vec<Part>, Option<Cause>);
        let (name, limit, read): (_, _, Read) = match file {
            StoreFile::Format => (FORMAT_NAME.to_owned(), FORMAT_BYTES + 1, |bytes| {
                let trouble = Format::decode(bytes, Mode::ReadOnly).err();
                let parts = with_checksum(bytes, FORMAT_PARTS);
                (parts, trouble.map(|error| error.cause()))
            }),
            StoreFile::Live => (LIVE_NAME.to_owned(), LIVE_BYTES + 1, |bytes| {
                let trouble = Live::decode(bytes).is_none();
                (live_parts(bytes), trouble.then_some(Cause::NoMark))
            }),
            StoreFile::Manifest => (MANIFEST_NAME.to_owned(), MANIFEST_BYTES_MAX, |bytes| {
                let trouble = Manifest::decode(bytes).err();
                (manifest_parts(bytes), trouble.as_ref().map(undecodable))
            }),
            StoreFile::Segment(id) => (segment_name(id), SEGMENT_HEADER_BYTES, |bytes| {
                let trouble = SegmentHeader::decode(bytes).err();
                (segment_parts(bytes), trouble.as_ref().map(undecodable))
            }),
        };
        let (parts, trouble) = match read_small(&*self.disk, &name, limit)? {
            Some(bytes) => read(&bytes),
            None => (Vec::new(), Some(Cause::Missing)),
        };
        Ok(Layout {
            file: name,
            parts,
            trouble,
        })
    }

    /// Returns the segments that the manifest lists, then the unlisted segments in the folder.
    ///
    /// # Errors
    /// `Io` if the folder or the manifest cannot be read. A damaged manifest is treated as empty.
    pub fn segments(&self) -> Result<Vec<SegmentState>> {
        let manifest = read_small(&*self.disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)?;
        let manifest = manifest.and_then(|bytes| Manifest::decode(&bytes).ok());
        let mut segments = Vec::new();
        for entry in manifest.iter().flat_map(Manifest::entries) {
            segments.push(self.state(segment_name(entry.id), entry.id, Some(entry))?);
        }
        let names = if_there(self.disk.list(LOG_FOLDER)).map_err(cannot_list)?;
        for name in names.unwrap_or_default() {
            if let Some((id, unfinished)) = parse_segment_name(&name)
                && (unfinished || !segments.iter().any(|known| known.id == id))
            {
                segments.push(self.state(format!("{LOG_FOLDER}/{name}"), id, None)?);
            }
        }
        Ok(segments)
    }

    fn state(&self, file: String, id: u64, entry: Option<&SegmentEntry>) -> Result<SegmentState> {
        let opened = open_there(&*self.disk, &file)?;
        let sealed = entry.filter(|entry| !entry.is_active());
        Ok(SegmentState {
            id,
            file,
            file_bytes: opened.and_then(|file| file.length().ok()),
            state: match (entry, sealed) {
                (None, _) => SegmentStanding::Unlisted,
                (_, None) => SegmentStanding::Active,
                (_, Some(_)) => SegmentStanding::Sealed,
            },
            sealed_bytes: sealed.map(|entry| entry.length),
            first_batch: entry.map(|entry| entry.first_batch),
            last_batch: sealed.map(|entry| entry.last_batch),
        })
    }

    /// Returns the frames of a segment from `offset` to the end of the file. Rounds the offset up to the next offset at
    /// which a frame can start.
    ///
    /// # Errors
    /// `NotFound` if the segment does not exist or ends before `offset`. `Corrupt` if the segment's header cannot be
    /// read, because the checksums of the frames depend on the header. `Io`.
    pub fn frames(&self, segment: u64, offset: u64) -> Result<Frames> {
        let name = segment_name(segment);
        let missing =
            || Error::not_found(format!("segment {segment} does not exist")).with_code(ErrorCode::NoSegment);
        let file = open_there(&*self.disk, &name)?.ok_or_else(missing)?;
        let header = read_segment_header(&*file, &name)?;
        let end = file.length().or_io(format_args!("cannot read {name}"))?;
        if offset > end {
            let told = format!("segment {segment} ends at byte {end}, before the requested byte {offset}");
            return Err(Error::not_found(told).with_code(ErrorCode::NoOffset));
        }
        let at = offset.max(FIRST_OFFSET).next_multiple_of(FRAME_ALIGNMENT as u64);
        let seed = header.seed();
        Ok(Frames {
            name,
            file,
            seed,
            at,
            end,
        })
    }

    /// Determines what the next writer will do before it appends.
    ///
    /// # Errors
    /// The errors of [`Log::open`], and `Corrupt` with the reason if the writer would refuse to append.
    pub fn next_writer(&self) -> Result<NextWriter> {
        let mut log = Log::open(Arc::clone(&self.disk), Mode::ReadOnly, LogOptions::default())?;
        log.places.clone_from(&self.places);
        log.next_writer()
    }
}

#[cfg(test)]
mod tests;
