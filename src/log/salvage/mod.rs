//! Finds the intact records of a damaged log, even without its manifest and its format file.
//!
//! Salvage reads each segment file separately, reports damage and continues after it. The segment number is in the
//! header of the file. If the header is damaged, salvage uses the number in the file name. A damaged header does not
//! make other data unreadable: salvage computes the seed of the checksums from the first frame, because each step of a
//! CRC can be reversed.
//!
//! # Layer
//! Layer 2. Does not interpret the bodies of records.
//!
//! # Invariants
//! - SAL-1: salvage does not write to the damaged log, and returns only bytes whose checksums match.
//! - SAL-2: salvage excludes segments that a rewrite replaced, according to the manifest. If a rewrite wrote segments
//!   that the manifest does not list, salvage marks these segments as orphaned. Salvage does not exclude these
//!   segments, because the manifest may be outdated.
//! - SAL-3: the use of memory is limited by the content of a file (RUN-2), not by its length.
//! - SAL-4: salvage reads a segment outside `log/` only if no segment in `log/` has its number, and if the manifest lists
//!   the number. Without the manifest, the header of a later segment must name it, or it must be newer than all segments
//!   in `log/`. No header written after an erasure names a segment from before it, so a copy brings nothing back.

mod files;

use std::sync::Arc;

use super::batch::{Locator, Position, Record};
use super::files::{damage, read_format, read_small};
use super::format_file::{FORMAT_NAME, Mode};
use super::frame::{FRAME_ALIGNMENT, FrameHeader, RecordKind, parse_record};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest};
use super::seal::Chain;
use super::segment::FIRST_OFFSET;
use super::walk::{Scanned, Stop, Window, Windows, record_in};
use crate::digest::{CommitDigest, HashAlgorithm, HashSuite};
use crate::disk::Disk;
use crate::error::{Cause, Error, ErrorCode, Finding, OrIo as _, Result, Severity};
use files::{
    DamagedFile, leave_out, list_files, list_outside, most_common_instance, take_outside,
    tell_rewritten_twice, use_headers, use_manifest,
};

/// The maximal number of times that salvage lists the files. Salvage lists the files again if a writer replaced the
/// manifest meanwhile.
const LISTINGS: u32 = 8;

/// The maximal number of ignored files whose names an error contains.
const NAMED_MAX: usize = 5;

/// The bytes of `live` and of the manifest.
type Marks = [Option<Vec<u8>>; 2];

/// A damaged log: its readable segments, and the damage found so far.
pub struct DamagedLog {
    disk: Arc<dyn Disk>,
    suite: HashSuite,
    files: Vec<DamagedFile>,
    live: Option<Live>,
    found: Vec<Finding>,
    /// The bytes of `live` and of the manifest when the log was opened.
    marks: Marks,
}

/// Returns the bytes of `live` and of the manifest. Every write to the store changes one of these files.
fn read_marks(disk: &dyn Disk) -> Result<Marks> {
    Ok([
        readable(read_small(disk, LIVE_NAME, LIVE_BYTES))?,
        readable(read_small(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX))?,
    ])
}

/// Lists the segments. Lists them again if the manifest changed meanwhile, because a rewrite may have removed files.
/// Also returns the result of [`read_marks`].
fn list_unchanged(disk: &dyn Disk, found: &mut Vec<Finding>) -> Result<(Marks, Vec<DamagedFile>)> {
    let mut marks = read_marks(disk)?;
    let mut files = list_files(disk, found)?;
    for _ in 1..LISTINGS {
        let now = read_marks(disk)?;
        // A manifest that cannot be read now was not replaced.
        if now[1].is_none() || now[1] == marks[1] {
            break;
        }
        found.clear();
        (marks, files) = (now, list_files(disk, found)?);
    }
    Ok((marks, files))
}

/// Treats an unreadable file as missing.
fn readable<T>(read: Result<Option<T>>) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_unreadable() => Ok(None),
        read => read,
    }
}

impl DamagedLog {
    /// Finds the segments of a log. Acquires no lock and writes nothing.
    ///
    /// # Errors
    /// `NotFound` if the folder contains no log. `UnsupportedFormat` if a newer program wrote the log. `Corrupt` if the
    /// format file is lost and no batch is complete, because the hash function is then unknown. `Io`.
    pub fn open(disk: Arc<dyn Disk>) -> Result<Self> {
        let mut found = Vec::new();
        let (marks, mut files) = list_unchanged(&*disk, &mut found)?;
        let outside = list_outside(&*disk);
        let common = most_common_instance(&files).or_else(|| most_common_instance(&outside));
        let format = match read_format(&*disk, Mode::ReadOnly) {
            // If all segments belong to another store, ignores the format file, because that file belongs to none of
            // these segments.
            Ok(format) => format.filter(|format| {
                let mut headers = files.iter().chain(&outside).filter_map(|file| file.header);
                common.is_none() || headers.any(|header| header.instance == format.instance)
            }),
            Err(error) if error.is_unreadable() => {
                found.push(Finding::new(Severity::Derived, FORMAT_NAME, 0, error.cause()));
                None
            }
            Err(error) if error.is_corruption() => None,
            Err(error) => return Err(error),
        };
        let [live, manifest] = &marks;
        let manifest = manifest.as_ref().and_then(|bytes| Manifest::decode(bytes).ok());
        let manifest =
            manifest.filter(|manifest| format.is_none_or(|format| format.instance == manifest.instance));
        let listed = manifest.as_ref().map(|manifest| manifest.instance);
        let instance = format.map(|format| format.instance).or(listed).or(common);
        take_outside(&mut files, outside, instance, manifest.as_ref(), &mut found);
        // Ignores a manifest that lists none of the files, because that manifest belongs to another state of the log.
        let is_used =
            |manifest: &Manifest| files.is_empty() || files.iter().any(|file| manifest.lists(file.id));
        let (manifest, other) = match manifest {
            Some(manifest) if is_used(&manifest) => (Some(manifest), None),
            other => (None, other),
        };
        let newer = other.filter(|other| files.iter().all(|file| file.id < other.highest_id()));
        if let Some(newer) = &newer {
            let listed = newer.entries().count();
            let cause = Cause::OnlyOlderSegments { listed };
            found.push(Finding::new(Severity::Damage, MANIFEST_NAME, 0, cause));
        }
        if files.is_empty() && format.is_none() && manifest.is_none() {
            let message = format!("{} is not a store", disk.describe());
            return Err(Error::not_found(message).with_code(ErrorCode::NoStore));
        }
        let has_manifest = manifest.is_some() || newer.is_some();
        for (name, is_there) in [(FORMAT_NAME, format.is_some()), (MANIFEST_NAME, has_manifest)] {
            let is_told = found.iter().any(|found| found.damage.file == name);
            if !is_there && !is_told {
                let cause = match read_small(&*disk, name, 1) {
                    Ok(Some(_)) => Cause::ReadWithout,
                    Ok(None) => Cause::Missing,
                    Err(error) if error.is_unreadable() => error.cause(),
                    Err(error) => return Err(error),
                };
                found.push(Finding::new(Severity::Derived, name, 0, cause));
            }
        }
        if let Some(instance) = instance {
            leave_out(&mut files, instance, manifest.as_ref(), &mut found);
        }
        if let Some(manifest) = &manifest {
            use_manifest(&mut files, manifest, &mut found);
        } else {
            use_headers(&mut files);
            tell_rewritten_twice(&files, &mut found);
        }
        let live = live.as_ref().and_then(|bytes| Live::decode(bytes));
        let live = live.filter(|live| instance.is_none_or(|instance| live.instance == instance));
        // `live` never names a segment of an unpublished rewrite. So if `live` names an orphaned segment, the rewrite
        // was published, and no segment is orphaned.
        let is_noted = |file: &DamagedFile| file.orphaned && live.is_some_and(|live| live.segment == file.id);
        if files.iter().any(is_noted) {
            for file in &mut files {
                file.orphaned = false;
            }
        }
        let mut damaged = Self {
            disk,
            suite: HashSuite::new(format.map_or(HashAlgorithm::Blake3, |format| format.hash)),
            files,
            live,
            found,
            marks,
        };
        if format.is_none() {
            damaged.suite = HashSuite::new(damaged.find_hash()?);
        }
        Ok(damaged)
    }

    /// Returns the hash functions of the store.
    pub fn suite(&self) -> HashSuite {
        self.suite
    }

    /// Returns the store's instance, if a segment with a valid header exists.
    pub fn instance(&self) -> Option<[u8; 16]> {
        self.files.iter().find_map(|file| Some(file.header?.instance))
    }

    /// Returns the disk that contains the log.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Returns the head commit in `live` and its seq, if `live` is readable.
    pub fn noted_head(&self) -> Option<(CommitDigest, u64)> {
        self.live.map(|live| (live.head.commit, live.head.seq))
    }

    /// Returns the numbers of the orphaned segments, with the names of their files.
    pub fn orphaned_segments(&self) -> impl Iterator<Item = (u64, &str)> {
        let orphaned = self.files.iter().filter(|file| file.orphaned);
        orphaned.map(|file| (file.id, file.name.as_str()))
    }

    /// Returns the highest number of a batch that ends a sealed segment. Ignores orphaned segments.
    pub fn newest_sealed(&self) -> Option<u64> {
        let listed = self.files.iter().filter(|file| !file.orphaned);
        listed.filter_map(|file| Some(file.sealed?.1)).max()
    }

    /// Returns the total size of the segment files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// Passes every batch to `visit`, with the number of bytes read so far. Passes only the intact records of a damaged
    /// batch. The batches are in the order of the segment files, so batch numbers may fall and repeat. Returns the
    /// findings. `places` are positions up to which the log was durable.
    ///
    /// # Errors
    /// `Io`; the errors of `visit`.
    pub fn pieces(
        &self,
        places: &[Position],
        visit: &mut dyn FnMut(Piece, u64) -> Result<()>,
    ) -> Result<Vec<Finding>> {
        let mut found = self.found.clone();
        let mut done = 0;
        for (index, file) in self.files.iter().enumerate() {
            self.pieces_of((index, file), places, &mut found, &mut |piece| visit(piece, done))?;
            done += file.length;
        }
        Ok(found)
    }

    /// Returns a finding if a process has written to the store since [`DamagedLog::open`].
    ///
    /// # Errors
    /// `Io`.
    pub fn written_meanwhile(&self) -> Result<Option<Finding>> {
        let is_same = read_marks(&*self.disk)? == self.marks;
        Ok((!is_same).then(|| Finding::new(Severity::Unsure, LIVE_NAME, 0, Cause::WrittenMeanwhile)))
    }

    /// Reads the record at a locator that a [`Piece`] contains.
    ///
    /// # Errors
    /// `Corrupt` if the file changed meanwhile; `Io`.
    pub fn read(&self, place: Locator) -> Result<Record> {
        let file = self.files.get(place.segment() as usize);
        let file = file.ok_or_else(|| Error::internal("the record belongs to another log"))?;
        let found = record_in(&*file.file, file.seed(), place);
        let found = found.or_io(format_args!("cannot read {}", file.name))?;
        found.map_err(|_| damage(&file.name, place.offset(), Cause::Changed))
    }

    /// Determines the hash function: finds a complete batch, and the function that computes the digest in its seal.
    fn find_hash(&self) -> Result<HashAlgorithm> {
        for (index, file) in self.files.iter().enumerate() {
            let mut windows = file.windows(index, self.suite);
            while let Some(mut window) = windows.next()? {
                let seals: Vec<_> = window.seals_from(window.base).map(|(_, seal)| seal).collect();
                for seal in seals.into_iter().filter(|seal| seal.start >= window.base) {
                    for hash in [HashAlgorithm::Blake3, HashAlgorithm::Sha256] {
                        window.origin.suite = HashSuite::new(hash);
                        if window.batch_at(seal.start, Chain::before(seal.batch)).is_ok() {
                            return Ok(hash);
                        }
                    }
                }
            }
        }
        Err(self.nothing("no batch of the log is complete, and the format file is lost"))
    }

    /// Returns the error for a log without salvageable content. `why` is the reason. The message names ignored files.
    pub fn nothing(&self, why: &str) -> Error {
        let passed = self.found.iter().map(|found| &found.damage);
        let passed = passed.filter(|damage| damage.cause == Cause::NotASegment);
        let passed: Vec<_> = passed
            .map(|damage| damage.file.as_str())
            .take(NAMED_MAX)
            .collect();
        let mut message = format!("{why}: nothing can be saved");
        if !passed.is_empty() {
            message += "; files without the name and header of a segment were not read: ";
            message += &passed.join(", ");
        }
        Error::corrupt(message)
    }

    /// Returns whether a file is the first of all files with its segment number. Later files with the number are
    /// copies, which may be older.
    fn is_marked(&self, index: usize, file: &DamagedFile) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.files.get(before));
        before.is_none_or(|before| before.id != file.id)
    }

    /// Returns the offset up to which a file was durable. Invalid bytes before this offset are damage.
    fn durable(&self, index: usize, file: &DamagedFile, places: &[Position]) -> Result<u64> {
        if let Some((length, _)) = file.surely_sealed() {
            return Ok(length);
        }
        let mut durable = file.sealed.map_or(0, |(length, _)| length).max(FIRST_OFFSET);
        if self.is_marked(index, file) {
            let placed = places.iter().map(|place| (place.segment, place.offset));
            let marked = self.live.map(|live| (live.segment, live.offset));
            let here = placed.chain(marked).filter(|(segment, _)| *segment == file.id);
            durable = here.map(|(_, offset)| offset).fold(durable, u64::max);
        }
        let mut windows = file.windows(index, self.suite);
        while let Some(window) = windows.next()? {
            let sealed = window.seals_from(window.base).map(|(_, seal)| seal.synced_upto);
            durable = sealed.fold(durable, u64::max);
        }
        Ok(durable)
    }

    fn pieces_of(
        &self,
        (index, file): (usize, &DamagedFile),
        places: &[Position],
        found: &mut Vec<Finding>,
        visit: &mut dyn FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let durable = self.durable(index, file, places)?;
        let mut pass = |number, whole, records| {
            visit(Piece {
                number,
                whole,
                age: file.age,
                chain: file.chain,
                orphaned: file.orphaned,
                records,
            })
        };
        let (mut at, mut newest) = (FIRST_OFFSET, 0);
        let mut windows = file.windows(index, self.suite);
        while let Some(window) = next_of(&mut windows, file, found)? {
            if window.base > at {
                if at >= durable {
                    return self.tail((index, file), at, durable, (&window, &mut windows), found);
                }
                found.push(Finding::new(Severity::Damage, &file.name, at, Cause::Zeros));
                at = window.base;
            }
            let used = window.base + window.used_bytes_from(window.base);
            while at < used {
                match batch_here(&window, at) {
                    Ok(scanned) => {
                        at = scanned.end;
                        newest = scanned.batch.number;
                        pass(newest, true, scanned.batch.records)?;
                    }
                    Err(_) if at >= durable => {
                        return self.tail((index, file), at, durable, (&window, &mut windows), found);
                    }
                    Err(stop) => {
                        let Stop { offset, cause } = stop;
                        found.push(Finding::new(Severity::Damage, &file.name, offset, cause));
                        let (broken, next) = broken_batch(&window, at);
                        at = next;
                        if let Some((number, records)) = broken {
                            newest = newest.max(number);
                            pass(number, false, records)?;
                        }
                    }
                }
            }
        }
        let last = file.sealed.map_or(0, |(_, last)| last);
        if at < durable && (file.sealed.is_none() || newest < last) {
            found.push(Finding::new(Severity::Damage, &file.name, at, Cause::EndLost));
        }
        Ok(())
    }

    /// Reports the bytes after the last complete batch of a file, if a writer may have acknowledged them.
    fn tail(
        &self,
        (index, file): (usize, &DamagedFile),
        at: u64,
        durable: u64,
        (window, windows): (&Window, &mut Windows<'_>),
        found: &mut Vec<Finding>,
    ) -> Result<()> {
        let live = self.live.filter(|live| live.segment == file.id);
        let live = live.filter(|live| live.is_of_boot(self.disk.boot_id()));
        if !self.is_marked(index, file)
            || file.sealed.is_some()
            || live.is_some_and(|live| live.offset == durable)
        {
            return Ok(());
        }
        let mut end = window.base + window.used_bytes_from(window.base);
        while let Some(window) = windows.next()? {
            end = window.base + window.used_bytes_from(window.base);
        }
        let cause = Cause::UnprovenTail {
            bytes: end.saturating_sub(at),
        };
        found.push(Finding::new(Severity::Unsure, &file.name, at, cause));
        Ok(())
    }
}

/// The intact records of one batch, which may be damaged.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of the batch.
    pub number: u64,
    /// Whether the batch is complete and matches its digest.
    pub whole: bool,
    /// A number that orders segments by age. A higher number means a newer segment. All segments of one manifest have
    /// the same number, because their segment numbers do not show the order: a rewrite gives old batches higher segment
    /// numbers than newer batches.
    pub age: u64,
    /// The chain of the segment. Compare batch numbers only within one chain, because a rewrite renumbers batches. Two
    /// segments belong to the same chain if one manifest lists both, or if the header of one names the other.
    pub chain: u64,
    /// Whether the batch is in an orphaned segment: the segment belongs to a rewrite that may be unpublished. The
    /// manifest lists another, complete log.
    pub orphaned: bool,
    /// The records of the batch, in order. Their locators are valid only for [`DamagedLog::read`].
    pub records: Vec<Record>,
}

/// Returns the next extent of a file. Reports the first page that cannot be read.
fn next_of(
    windows: &mut Windows<'_>,
    file: &DamagedFile,
    found: &mut Vec<Finding>,
) -> Result<Option<Window>> {
    let was_read = windows.unread().is_none();
    let window = windows.next()?;
    if let Some((at, error)) = windows.unread().filter(|_| was_read) {
        found.push(Finding::new(Severity::Damage, &file.name, *at, error.cause()));
    }
    Ok(window)
}

/// Decodes the batch that starts at `at`. Accepts any batch number.
fn batch_here(window: &Window, at: u64) -> Result<Scanned, Stop> {
    let header = FrameHeader::parse(window.rest(at), window.origin.seed, at)
        .map_err(|cause| Stop { offset: at, cause })?;
    window.batch_at(at, Chain::before(header.batch))
}

/// Finds the damaged batch at or after `start`. Returns its number and its intact records, and the offset at which to
/// continue.
fn broken_batch(window: &Window, start: u64) -> (Option<(u64, Vec<Record>)>, u64) {
    let (mut broken, mut at) = (None, start);
    while at < window.end() {
        let rest = window.rest(at);
        let Ok(header) = FrameHeader::parse(rest, window.origin.seed, at) else {
            at += FRAME_ALIGNMENT as u64;
            continue;
        };
        let is_next = match &broken {
            Some((number, _)) => *number != header.batch,
            None => at > start && window.batch_at(at, Chain::before(header.batch)).is_ok(),
        };
        if is_next {
            break;
        }
        let (_, records) = broken.get_or_insert_with(|| (header.batch, Vec::new()));
        let place = at;
        at += header.framed_bytes() as u64;
        if parse_record(rest, window.origin.seed, place).is_err() {
            continue;
        }
        if header.kind == RecordKind::Seal {
            break;
        }
        records.extend(window.record(&header, place));
    }
    (broken, at.max(start + FRAME_ALIGNMENT as u64))
}
