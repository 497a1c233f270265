//! Finding what is whole in the files of a damaged log, also without its manifest and its format file.
//!
//! Every segment file is read by itself. What does not check out is left out and said; reading goes on behind it. Which
//! segment a file is, its header says, whatever its name; only without a header the name counts. A
//! segment whose header is damaged still tells what its checksums start from: a checksum can be computed backwards.
//!
//! # Layer
//! L2. Does not know what a body means.
//!
//! # Invariants
//! - SAL-1: nothing is written, and nothing is handed out whose checksums do not match.
//! - SAL-2: what a rewrite did away with is not brought back where the manifest says so.
//! - SAL-3: memory taken is bounded by what a file holds (RUN-2), whatever its length says.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::batch::{Ignorable, Locator, Record};
use super::catch_up::FIRST_OFFSET;
use super::check::{Finding, Severity, unproven_tail};
use super::format_file::FORMAT_NAME;
use super::frame::{
    FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FrameError, FrameHeader, FrameSeed, RecordKind, parse_frame,
};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{MANIFEST_NAME, MANIFEST_SEGMENTS_MAX, Manifest, SegmentEntry};
use super::position::Position;
use super::rewrite::is_rewrite_name;
use super::runs::Runs;
use super::scan::{Chain, Scanned, Window};
use super::segment::{
    LOG_FOLDER, SEGMENT_BYTES_LIMIT, SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_name, segment_name,
};
use super::{Mode, read_format, read_small};
use crate::bytes::Bytes;
use crate::digest::{CommitDigest, HashAlgorithm, HashSuite};
use crate::disk::{Access, Disk, DiskFile, is_of_other_kind, read_full};
use crate::error::{Error, Result};

/// The records of one batch, or what is whole of it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of the batch.
    pub number: u64,
    /// Whether all of it is there, under its digest.
    pub whole: bool,
    /// How new its segment is: a higher age is newer. Those that one manifest lists are of one age, because rewritten ones
    /// have higher numbers than those that were appended to meanwhile.
    pub age: u64,
    /// Which log its segment is of: the numbers of batches count among those of one chain only, because a rewrite numbers
    /// them anew. Segments are of one chain if one manifest lists them, or if the header of one names the other.
    pub chain: u64,
    /// Its records, in order. Their places count for [`Wreck::read`] only.
    pub records: Vec<Record>,
    /// Where its records are of a kind that this version may ignore, for [`Wreck::read_ignorable`].
    pub ignorable: Vec<Locator>,
}

impl Piece {
    fn of(number: u64, file: &WreckFile) -> Self {
        Self {
            number,
            whole: false,
            age: file.age,
            chain: file.chain,
            records: Vec::new(),
            ignorable: Vec::new(),
        }
    }

    /// Adds the record at `at`, whose checksums match.
    fn add(&mut self, window: &Window, header: &FrameHeader, at: u64) {
        let locator = Locator::new(window.segment, at);
        let Some(kind) = RecordKind::from_tag(header.kind) else {
            self.ignorable.push(locator);
            return;
        };
        let start = (at - window.base) as usize + header.body_range().start;
        let body = window.bytes.slice(start..start + header.body_length);
        self.records.extend(body.map(|body| Record {
            kind,
            flags: header.flags,
            locator,
            batch: header.batch,
            body,
        }));
    }
}

/// What is left of a log.
pub struct Wreck {
    disk: Arc<dyn Disk>,
    suite: HashSuite,
    files: Vec<WreckFile>,
    live: Option<Live>,
    found: Vec<Finding>,
}

/// A file that holds batches.
struct WreckFile {
    name: String,
    /// The number in its header; without one, that in its name.
    id: u64,
    file: Arc<dyn DiskFile>,
    length: u64,
    seed: FrameSeed,
    /// Whether neither a header nor a frame is in it.
    is_blank: bool,
    header: Option<SegmentHeader>,
    /// Where it was sealed, with the number of its last batch, as far as that is known.
    sealed: Option<(u64, u64)>,
    /// As [`Piece::age`].
    age: u64,
    /// As [`Piece::chain`].
    chain: u64,
}

impl Wreck {
    /// Looks for the segments of a log. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no log; `UnsupportedFormat` if a newer version wrote it; `Corrupt` if no batch of it is whole,
    /// so that not even its hash is known; `Io`.
    pub fn open(disk: Arc<dyn Disk>) -> Result<Self> {
        let mut found = Vec::new();
        let mut files = list_files(&*disk, &mut found)?;
        let common = most_common_instance(&files);
        let format = match read_format(&*disk, Mode::ReadOnly) {
            // Where all segments are of another store, this file is in the wrong place, and not they.
            Ok(format) => format.filter(|format| {
                let is_ours = |file: &WreckFile| {
                    file.header
                        .is_some_and(|header| header.instance == format.instance)
                };
                common.is_none() || files.iter().any(is_ours)
            }),
            Err(error) if error.is_corruption() => None,
            Err(error) => return Err(error),
        };
        let manifest = read_small(&*disk, MANIFEST_NAME, 64 * MANIFEST_SEGMENTS_MAX)?;
        let manifest = manifest.and_then(|bytes| Manifest::decode(&bytes).ok());
        let manifest =
            manifest.filter(|manifest| format.is_none_or(|format| format.instance == manifest.instance));
        // One that lists nothing of what is there is of another time of the log: no help, and in the way.
        let (manifest, other) = match manifest {
            Some(other) if !files.is_empty() && !files.iter().any(|file| other.lists(file.id)) => {
                (None, Some(other))
            }
            manifest => (manifest, None),
        };
        let newer = other.filter(|other| files.iter().all(|file| file.id < other.highest_id()));
        if let Some(newer) = &newer {
            let what = format!(
                "the {} segments that it lists are missing; older ones were read instead, of which some may have been \
                 collected or erased since",
                newer.entries().count()
            );
            found.push(Finding::new(Severity::Damage, MANIFEST_NAME, 0, &what));
        }
        if files.is_empty() && format.is_none() && manifest.is_none() {
            return Err(Error::not_found(format!("{} is not a store", disk.describe())).with_code("no_store"));
        }
        for (name, is_there) in [
            (FORMAT_NAME, format.is_some()),
            (MANIFEST_NAME, manifest.is_some() || newer.is_some()),
        ] {
            if !is_there {
                let what = "it is missing or damaged; the segments were read without it";
                found.push(Finding::new(Severity::Derived, name, 0, what));
            }
        }
        let instance = format
            .map(|format| format.instance)
            .or_else(|| manifest.as_ref().map(|manifest| manifest.instance))
            .or(common);
        if let Some(instance) = instance {
            leave_out(&mut files, instance, manifest.as_ref(), &mut found);
        }
        if let Some(manifest) = &manifest {
            use_manifest(&mut files, manifest, &mut found);
        } else {
            use_headers(&mut files);
        }
        let live = read_small(&*disk, LIVE_NAME, LIVE_BYTES + 1)?;
        let live = live.and_then(|bytes| Live::decode(&bytes));
        let live = live.filter(|live| instance.is_none_or(|instance| live.instance == instance));
        let mut wreck = Self {
            disk,
            suite: HashSuite::new(format.map_or(HashAlgorithm::Blake3, |format| format.hash)),
            files,
            live,
            found,
        };
        if format.is_none() {
            wreck.suite = HashSuite::new(wreck.find_hash()?);
        }
        Ok(wreck)
    }

    /// What computes the digests of the store.
    pub fn suite(&self) -> HashSuite {
        self.suite
    }

    /// The store's instance, if a segment says it.
    pub fn instance(&self) -> Option<[u8; 16]> {
        self.files.iter().find_map(|file| Some(file.header?.instance))
    }

    /// The files that it is read from.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The head that the last writer noted, with its number.
    pub fn noted_head(&self) -> Option<(CommitDigest, u64)> {
        self.live.map(|live| (live.commit, live.seq))
    }

    /// Bytes of all segment files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// Hands every batch, or what is whole of it, to `visit`, with the bytes read so far: segment by segment, so numbers may
    /// fall and be there twice. Returns what is not as it should be; what stands before one of `places` was durable.
    ///
    /// # Errors
    /// `Io`; what `visit` returns.
    pub fn pieces(
        &self,
        places: &[Position],
        visit: &mut dyn FnMut(Piece, u64) -> Result<()>,
    ) -> Result<Vec<Finding>> {
        let mut found = self.found.clone();
        let mut done = 0;
        for index in 0..self.files.len() {
            self.pieces_of(index, places, &mut found, &mut |piece| visit(piece, done))?;
            done += self.files.get(index).map_or(0, |file| file.length);
        }
        Ok(found)
    }

    /// The record at a place that a [`Piece`] gave.
    ///
    /// # Errors
    /// `Corrupt` if the file changed meanwhile; `Io`.
    pub fn read(&self, place: Locator) -> Result<Record> {
        let (file, header, body) = self.frame(place)?;
        let kind = RecordKind::from_tag(header.kind).ok_or_else(|| file.changed(place))?;
        Ok(Record {
            kind,
            flags: header.flags,
            locator: place,
            batch: header.batch,
            body,
        })
    }

    /// The same for a record of a kind that this version may ignore.
    ///
    /// # Errors
    /// As [`Wreck::read`].
    pub fn read_ignorable(&self, place: Locator) -> Result<Ignorable> {
        let (_, header, body) = self.frame(place)?;
        Ok(Ignorable::new(header.kind, header.flags, body))
    }

    fn frame(&self, place: Locator) -> Result<(&WreckFile, FrameHeader, Bytes)> {
        let file = usize::try_from(place.segment())
            .ok()
            .and_then(|index| self.files.get(index));
        let file = file.ok_or_else(|| Error::internal("a record of another log was asked for"))?;
        let head = file.bytes(place.offset(), FRAME_HEADER_BYTES)?;
        let header = FrameHeader::parse(&head, file.seed, place.offset());
        let header = header.map_err(|_| file.changed(place))?;
        let body = file.bytes(place.offset() + FRAME_HEADER_BYTES as u64, header.body_length)?;
        if body.len() != header.body_length || !header.matches(&body, file.seed, place.offset()) {
            return Err(file.changed(place));
        }
        Ok((file, header, Bytes::from(body)))
    }

    /// The next part of the file `index`.
    fn next_window(&self, index: usize, file: &WreckFile, runs: &mut Runs<'_>) -> Result<Option<Window>> {
        let run = runs.next().map_err(|error| file.cannot_read(error))?;
        Ok(run.map(|run| Window {
            bytes: Bytes::from(run.bytes),
            base: run.base,
            // Records are read again by the place of their file, whatever its header says.
            segment: index as u64,
            seed: file.seed,
            suite: self.suite,
        }))
    }

    /// The hash under which a batch has the digest that its seal states.
    fn find_hash(&self) -> Result<HashAlgorithm> {
        for (index, file) in self.files.iter().enumerate() {
            let mut runs = file.runs();
            while let Some(mut window) = self.next_window(index, file, &mut runs)? {
                let seals: Vec<_> = window.seals_from(window.base).map(|(_, seal)| seal).collect();
                for seal in seals.into_iter().filter(|seal| seal.start >= window.base) {
                    for hash in [HashAlgorithm::Blake3, HashAlgorithm::Sha256] {
                        window.suite = HashSuite::new(hash);
                        if window.batch_at(seal.start, before(seal.batch)).is_ok() {
                            return Ok(hash);
                        }
                    }
                }
            }
        }
        Err(self.nothing("no batch of the log is whole, and the format file is lost"))
    }

    /// The error that nothing can be had, with the files that were not looked at.
    pub fn nothing(&self, why: &str) -> Error {
        let passed = self.found.iter().filter(|found| found.message == NO_SEGMENT);
        let passed: Vec<_> = passed.map(|found| found.file.as_str()).take(NAMED_MAX).collect();
        let passed = if passed.is_empty() {
            String::new()
        } else {
            format!(
                "; not looked at, because they neither are named nor begin as a segment: {}",
                passed.join(", ")
            )
        };
        Error::corrupt(format!("{why}: nothing can be had from it{passed}"))
    }

    /// Whether a file is what is marked by its number: the first that says to be it. Others are copies, maybe older ones.
    fn is_marked(&self, index: usize, file: &WreckFile) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.files.get(before));
        before.is_none_or(|before| before.id != file.id)
    }

    /// Offset below which every byte of a file must be right.
    fn durable(&self, index: usize, file: &WreckFile, places: &[Position]) -> Result<u64> {
        if let Some((length, _)) = file.surely_sealed() {
            return Ok(length);
        }
        let sealed = file.sealed.map_or(0, |(length, _)| length);
        let is_marked = self.is_marked(index, file);
        let live = self
            .live
            .filter(|live| is_marked && live.segment == file.id)
            .map_or(0, |live| live.offset);
        let placed = places
            .iter()
            .filter(|place| is_marked && place.segment == file.id);
        let mut durable = placed
            .map(|place| place.offset)
            .fold(FIRST_OFFSET.max(sealed).max(live), u64::max);
        let mut runs = file.runs();
        while let Some(window) = self.next_window(index, file, &mut runs)? {
            let sealed = window.seals_from(window.base).map(|(_, seal)| seal.synced_upto);
            durable = sealed.fold(durable, u64::max);
        }
        Ok(durable)
    }

    fn pieces_of(
        &self,
        index: usize,
        places: &[Position],
        found: &mut Vec<Finding>,
        visit: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let Some(file) = self.files.get(index) else {
            return Ok(());
        };
        let durable = self.durable(index, file, places)?;
        let (mut at, mut newest) = (FIRST_OFFSET, 0);
        let mut runs = file.runs();
        while let Some(window) = self.next_window(index, file, &mut runs)? {
            if window.base > at {
                if at >= durable {
                    return self.tail(index, at, durable, (&window, &mut runs), found);
                }
                found.push(Finding::new(
                    Severity::Damage,
                    &file.name,
                    at,
                    "zeros are where a batch was",
                ));
                at = window.base;
            }
            let used = window.base + window.used_bytes_from(window.base);
            while at < used {
                match batch_here(&window, at) {
                    Ok(scanned) => {
                        at = scanned.end;
                        newest = scanned.batch.number;
                        visit(whole_piece(&window, &scanned, file))?;
                    }
                    Err(_) if at >= durable => {
                        return self.tail(index, at, durable, (&window, &mut runs), found);
                    }
                    Err((offset, reason)) => {
                        found.push(Finding::new(Severity::Damage, &file.name, offset, &reason));
                        let (piece, next) = broken_piece(&window, at, file);
                        at = next;
                        if let Some(piece) = piece {
                            newest = piece.number.max(newest);
                            visit(piece)?;
                        }
                    }
                }
            }
        }
        let last = file.sealed.map_or(0, |(_, last)| last);
        if at < durable && (file.sealed.is_none() || newest < last) {
            let what = "its end is lost: batches that were durable are not there";
            found.push(Finding::new(Severity::Damage, &file.name, at, what));
        }
        Ok(())
    }

    /// Says what stands behind the last whole batch of a file, if it may have been acknowledged.
    fn tail(
        &self,
        index: usize,
        at: u64,
        durable: u64,
        (window, runs): (&Window, &mut Runs<'_>),
        found: &mut Vec<Finding>,
    ) -> Result<()> {
        let Some(file) = self.files.get(index) else {
            return Ok(());
        };
        let live = self.live.filter(|live| live.segment == file.id);
        let live = live.filter(|live| live.is_of_boot(self.disk.boot_id()));
        if !self.is_marked(index, file)
            || file.sealed.is_some()
            || live.is_some_and(|live| live.offset == durable)
        {
            return Ok(());
        }
        let mut end = window.base + window.used_bytes_from(window.base);
        while let Some(window) = self.next_window(index, file, runs)? {
            end = window.base + window.used_bytes_from(window.base);
        }
        let what = unproven_tail(end.saturating_sub(at));
        found.push(Finding::new(Severity::Unsure, &file.name, at, &what));
        Ok(())
    }
}

impl WreckFile {
    fn changed(&self, place: Locator) -> Error {
        super::damage(&self.name, place.offset(), "it changed while it was read")
    }

    /// As `sealed`, if the header says that this is the file that was. A name alone may be another segment's.
    fn surely_sealed(&self) -> Option<(u64, u64)> {
        self.sealed.filter(|_| self.header.is_some())
    }

    /// The parts of the file, as far as it was sealed, that are not zero (SAL-3).
    fn runs(&self) -> Runs<'_> {
        let sealed = self.surely_sealed().map_or(u64::MAX, |(length, _)| length);
        let end = sealed.min(self.length).min(SEGMENT_BYTES_LIMIT);
        Runs::new(&*self.file, self.seed, FIRST_OFFSET, end)
    }

    fn cannot_read(&self, error: std::io::Error) -> Error {
        Error::io(format!("cannot read {}", self.name), error)
    }

    /// The bytes there; fewer if the file ends before.
    fn bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(left)];
        let count = read_full(&*self.file, offset, &mut bytes).map_err(|error| self.cannot_read(error))?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// What a batch of this number continues, whatever the one before it is.
fn before(number: u64) -> Chain {
    Chain {
        batch: number.wrapping_sub(1),
        digest: None,
    }
}

/// The batch that starts at `at`, whatever its number.
fn batch_here(window: &Window, at: u64) -> std::result::Result<Scanned, (u64, String)> {
    let said = |reason: FrameError| match reason {
        FrameError::Invalid(what) => what.to_owned(),
        FrameError::Unsupported(what) => what,
    };
    let header = FrameHeader::parse(window.rest(at), window.seed, at).map_err(|reason| (at, said(reason)))?;
    window
        .batch_at(at, before(header.batch))
        .map_err(|stop| (stop.offset, said(stop.reason)))
}

/// All records of a batch that is whole.
fn whole_piece(window: &Window, scanned: &Scanned, file: &WreckFile) -> Piece {
    let mut piece = Piece::of(scanned.batch.number, file);
    piece.whole = true;
    let mut at = scanned.start;
    while at < scanned.start + scanned.length {
        let Ok(header) = FrameHeader::parse(window.rest(at), window.seed, at) else {
            break;
        };
        piece.add(window, &header, at);
        at += header.framed_bytes() as u64;
    }
    piece
}

/// The records that are whole of a damaged batch that starts at or behind `start`, and where to go on.
fn broken_piece(window: &Window, start: u64, file: &WreckFile) -> (Option<Piece>, u64) {
    let mut piece: Option<Piece> = None;
    let mut at = start;
    while at < window.end() {
        let rest = window.rest(at);
        let Ok(header) = FrameHeader::parse(rest, window.seed, at) else {
            at += FRAME_ALIGNMENT as u64;
            continue;
        };
        let is_next = match &piece {
            Some(piece) => piece.number != header.batch,
            None => at > start && window.batch_at(at, before(header.batch)).is_ok(),
        };
        if is_next {
            break;
        }
        let piece = piece.get_or_insert_with(|| Piece::of(header.batch, file));
        let place = at;
        at += header.framed_bytes() as u64;
        if parse_frame(rest, window.seed, place).is_err() {
            continue;
        }
        if header.kind == RecordKind::Seal as u8 {
            break;
        }
        piece.add(window, &header, place);
    }
    (piece, at.max(start + FRAME_ALIGNMENT as u64))
}

/// What is said of a file that may or may not have been a segment.
const NO_SEGMENT: &str = "it neither is named nor begins as a segment, so it was not looked at";
/// Files that were not looked at, at the most, that an error names.
const NAMED_MAX: usize = 5;

/// Opens every file of the folder that is a segment by its name or by its header.
fn list_files(disk: &dyn Disk, found: &mut Vec<Finding>) -> Result<Vec<WreckFile>> {
    let names = match disk.list(LOG_FOLDER) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| Error::io("cannot list the log", error))?,
    };
    let mut files: Vec<WreckFile> = Vec::new();
    // What a rewrite has not finished is in listed segments too.
    for file in names.iter().filter(|file| !is_rewrite_name(file)) {
        let named = parse_segment_name(file).map(|(id, _)| id);
        let name = format!("{LOG_FOLDER}/{file}");
        let opening = |error| Error::io(format!("cannot open {name}"), error);
        let opened = match disk.open(&name, Access::Read) {
            // A folder or a pipe in the place of a segment is none.
            Err(error) if is_of_other_kind(&error) => continue,
            opened => opened.map_err(opening)?,
        };
        let mut file = WreckFile {
            length: opened.length().map_err(opening)?,
            name,
            id: 0,
            file: opened,
            seed: FrameSeed::new(&[0; 16], &[0; 16]),
            header: None,
            is_blank: true,
            sealed: None,
            age: 0,
            chain: 0,
        };
        file.header = SegmentHeader::decode(&file.bytes(0, SEGMENT_HEADER_BYTES)?).ok();
        let Some(id) = file.header.map(|header| header.id).or(named) else {
            found.push(Finding::new(Severity::Unsure, &file.name, 0, NO_SEGMENT));
            continue;
        };
        if named != Some(id) {
            let what = format!("it is segment {id}, by its header, and was read as that");
            found.push(Finding::new(Severity::Derived, &file.name, 0, &what));
        }
        (file.id, file.age, file.chain) = (id, id, id);
        let seed = match &file.header {
            Some(header) => Some(header.seed()),
            None => find_seed(&file)?,
        };
        (file.seed, file.is_blank) = (seed.unwrap_or(file.seed), seed.is_none());
        files.push(file);
    }
    // Of two that say to be the same, the one of that name is first.
    files.sort_by_key(|file| (file.id, !file.name.ends_with(&segment_name(file.id))));
    Ok(files)
}

/// What the checksums of a file start from, by its frames alone.
fn find_seed(file: &WreckFile) -> Result<Option<FrameSeed>> {
    let mut runs = file.runs();
    while let Some(run) = runs.next().map_err(|error| file.cannot_read(error))? {
        for place in (0..run.bytes.len()).step_by(FRAME_ALIGNMENT) {
            let rest = run.bytes.get(place..).unwrap_or_default();
            let offset = run.base + place as u64;
            // The body's checksum confirms what the header's gives.
            if let Some(seed) = FrameSeed::of_frame(rest, offset)
                && parse_frame(rest, seed, offset).is_ok()
            {
                return Ok(Some(seed));
            }
        }
    }
    Ok(None)
}

/// The instance of most bytes of segments.
fn most_common_instance(files: &[WreckFile]) -> Option<[u8; 16]> {
    let mut bytes: HashMap<[u8; 16], u64> = HashMap::new();
    for file in files {
        if let Some(header) = file.header {
            *bytes.entry(header.instance).or_default() += file.length;
        }
    }
    bytes
        .into_iter()
        .max_by_key(|(instance, bytes)| (*bytes, *instance))
        .map(|(instance, _)| instance)
}

/// Leaves out files of other stores.
fn leave_out(
    files: &mut Vec<WreckFile>,
    instance: [u8; 16],
    manifest: Option<&Manifest>,
    found: &mut Vec<Finding>,
) {
    let listed: Option<HashSet<u64>> =
        manifest.map(|manifest| manifest.entries().map(|entry| entry.id).collect());
    files.retain(|file| {
        let is_listed = listed.as_ref().is_none_or(|listed| listed.contains(&file.id));
        match &file.header {
            None if is_listed => {
                let (severity, what) = if file.is_blank && listed.is_some() {
                    (Severity::Damage, "nothing of what was in it can be read")
                } else {
                    (
                        Severity::Derived,
                        "its header is damaged; its batches were read without it",
                    )
                };
                found.push(Finding::new(severity, &file.name, 0, what));
                true
            }
            None => {
                if !file.is_blank {
                    let what = "the manifest does not list it, and without its header nothing else tells what it is: it was left out";
                    found.push(Finding::new(Severity::Unsure, &file.name, 0, what));
                }
                false
            }
            Some(header) if header.instance == instance => true,
            Some(_) => {
                let severity = if is_listed {
                    Severity::Damage
                } else {
                    Severity::Harmless
                };
                found.push(Finding::new(
                    severity,
                    &file.name,
                    0,
                    "it belongs to another store",
                ));
                false
            }
        }
    });
}

/// Leaves out what a rewrite did away with (SAL-2), names what is missing and notes where segments were sealed.
fn use_manifest(files: &mut Vec<WreckFile>, manifest: &Manifest, found: &mut Vec<Finding>) {
    let highest = manifest.highest_id();
    let listed: HashMap<u64, &SegmentEntry> = manifest.entries().map(|entry| (entry.id, entry)).collect();
    files.retain(|file| listed.contains_key(&file.id) || file.id > highest);
    let mut present = HashSet::new();
    for file in files.iter_mut() {
        if let Some(entry) = listed.get(&file.id)
            && present.insert(file.id)
        {
            (file.age, file.chain) = (highest, highest);
            if !entry.is_active() {
                file.sealed = Some((entry.length, entry.last_batch));
            }
        }
    }
    // What says no more than what a file is does not say that the segment of its name is lost.
    let told = found.iter().filter(|found| found.severity == Severity::Damage);
    let told: HashSet<String> = told.map(|found| found.file.clone()).collect();
    for entry in manifest.entries().filter(|entry| !present.contains(&entry.id)) {
        let name = segment_name(entry.id);
        if !told.contains(&name) {
            let what = "the manifest lists it and it is missing";
            found.push(Finding::new(Severity::Damage, &name, 0, what));
        }
    }
    // The manifest may be older than the segments.
    use_headers(files);
}

/// A segment says where the one before it was sealed, and so that both are of one chain.
fn use_headers(files: &mut [WreckFile]) {
    // The one before has the lower number.
    for index in 0..files.len() {
        let Some((before, [file, ..])) = files.split_at_mut_checked(index) else {
            return;
        };
        let Some(end) = file.header.map(|header| header.previous) else {
            continue;
        };
        // Of several, the first.
        let found = before.partition_point(|before| before.id < end.id);
        if let Some(before) = before.get_mut(found).filter(|before| before.id == end.id) {
            before.sealed.get_or_insert((end.length, end.last_batch));
            // Whatever one manifest lists is of one chain already.
            if file.chain == file.id {
                file.chain = before.chain;
            }
        }
    }
}
