//! Finds the segment files of a damaged log, excludes files of other logs, and determines where each segment was
//! sealed.
//!
//! # Layer
//! Layer 2. Part of salvage/.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;

use crate::digest::{HashAlgorithm, HashSuite};
use crate::disk::{Access, Disk, DiskFile, if_there, is_not_regular, read_bytes};
use crate::error::{Cause, Error, Finding, Result, Severity};
use crate::log::files::cannot_list;
use crate::log::frame::{FRAME_ALIGNMENT, FrameSeed, parse_frame};
use crate::log::manifest::{Manifest, SegmentEntry};
use crate::log::segment::{
    FIRST_OFFSET, LOG_FOLDER, SEGMENT_BYTES_LIMIT, SEGMENT_HEADER_BYTES, SegmentHeader, is_rewrite_name,
    parse_segment_name, segment_name,
};
use crate::log::walk::{Origin, Windows};

/// The folders of a store beside the folder of the log.
const FOLDERS_BESIDE: [&str; 2] = ["checkpoint", "derived"];

/// A segment file of a damaged log.
pub(super) struct DamagedFile {
    pub(super) name: String,
    /// The segment number in the file's header, or in its name if the header is damaged.
    pub(super) id: u64,
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) length: u64,
    /// The seed of the frames' checksums; `None` if the file contains neither a valid header nor a valid frame.
    known_seed: Option<FrameSeed>,
    pub(super) header: Option<SegmentHeader>,
    /// The offset at which the segment was sealed, and the number of its last batch, if both are known.
    pub(super) sealed: Option<(u64, u64)>,
    /// The value of `Piece::age` for the batches of this file.
    pub(super) age: u64,
    /// The value of `Piece::chain` for the batches of this file.
    pub(super) chain: u64,
    /// The value of `Piece::orphaned` for the batches of this file.
    pub(super) orphaned: bool,
}

impl DamagedFile {
    /// Returns `sealed` if the file has a valid header, which proves the segment's number. The name does not prove the
    /// number, because someone may have renamed the file.
    pub(super) fn surely_sealed(&self) -> Option<(u64, u64)> {
        self.sealed.filter(|_| self.header.is_some())
    }

    /// Reads the extents of the file up to the offset at which it was sealed (SAL-3). The records' locators contain
    /// `index`, the file's position in the list of files, instead of the segment number.
    pub(super) fn windows(&self, index: usize, suite: HashSuite) -> Windows<'_> {
        let sealed = self.surely_sealed().map_or(u64::MAX, |(length, _)| length);
        let end = sealed.min(self.length).min(SEGMENT_BYTES_LIMIT);
        let origin = Origin {
            segment: index as u64,
            seed: self.seed(),
            suite,
        };
        Windows::new(&*self.file, self.name.clone(), origin, FIRST_OFFSET..end).passing_over()
    }

    /// Returns the seed of the frames' checksums. A file without valid frames needs no seed, so the function then
    /// returns an arbitrary seed.
    pub(super) fn seed(&self) -> FrameSeed {
        self.known_seed
            .unwrap_or_else(|| FrameSeed::new(&[0; 16], &[0; 16]))
    }

    fn begins_log(&self) -> bool {
        self.header.is_some_and(|header| header.begins_log())
    }
}

/// Opens every file in the log's folder that has the name or the header of a segment. Reports a file that cannot be
/// read, and continues with the other files.
pub(super) fn list_files(disk: &dyn Disk, found: &mut Vec<Finding>) -> Result<Vec<DamagedFile>> {
    let names = if_there(disk.list(LOG_FOLDER)).map_err(cannot_list)?;
    let mut files: Vec<DamagedFile> = Vec::new();
    // Skips files of an unpublished rewrite, because listed segments contain the same batches.
    for file in names.iter().flatten().filter(|file| !is_rewrite_name(file)) {
        let named = parse_segment_name(file).map(|(id, _)| id);
        let name = format!("{LOG_FOLDER}/{file}");
        match open_file(disk, &name, named, found) {
            Ok(file) => files.extend(file),
            Err(error) if error.is_unreadable() => {
                let severity = if named.is_some() {
                    Severity::Damage
                } else {
                    Severity::Unsure
                };
                found.push(Finding::new(severity, &name, 0, error.cause()));
            }
            Err(error) => return Err(error),
        }
    }
    // If two files have the same number in their headers, the file with the matching name is first.
    files.sort_by_key(|file| (file.id, !file.name.ends_with(&segment_name(file.id))));
    Ok(files)
}

/// Opens every file of the store outside the log's folder that has the header of a segment. Ignores unreadable files and
/// folders.
pub(super) fn list_outside(disk: &dyn Disk) -> Vec<DamagedFile> {
    let names = |folder: &str| disk.list(folder).unwrap_or_default();
    let open = |name: &str| open_file(disk, name, None, &mut Vec::new()).ok().flatten();
    let mut files = Vec::new();
    let mut folders = names("");
    // A disk may list only files.
    folders.extend(FOLDERS_BESIDE.map(str::to_owned));
    folders.sort_unstable();
    folders.dedup();
    for name in folders.iter().filter(|name| *name != LOG_FOLDER) {
        files.extend(open(name));
        let within = names(name).into_iter().map(|file| format!("{name}/{file}"));
        files.extend(within.filter_map(|file| open(&file)));
    }
    files
}

/// Adds the segments outside the log's folder whose files in that folder are missing or contain no data (SAL-4).
pub(super) fn take_outside(
    files: &mut Vec<DamagedFile>,
    mut outside: Vec<DamagedFile>,
    instance: Option<[u8; 16]>,
    manifest: Option<&Manifest>,
    found: &mut Vec<Finding>,
) {
    let readable = files.iter().filter(|file| file.known_seed.is_some());
    let newest = readable.map(|file| file.id).max().unwrap_or_default();
    let previous = |file: &DamagedFile| Some(file.header?.previous.id);
    let mut linked: HashSet<u64> = files.iter().filter_map(previous).collect();
    // A segment has a higher number than the segment that its header names.
    outside.sort_by_key(|file| std::cmp::Reverse(file.id));
    for file in outside {
        let (id, name) = (file.id, file.name.clone());
        let is_ours = file
            .header
            .is_some_and(|header| Some(header.instance) == instance);
        let is_there = files
            .iter()
            .any(|other| other.id == id && other.known_seed.is_some());
        if !is_ours || is_there {
            continue;
        }
        // INVARIANT SAL-4: a copy from before an erasure brings nothing back.
        let is_linked = linked.contains(&id) || id > newest;
        let may_be_read = manifest.map_or(is_linked, |manifest| manifest.lists(id));
        let (severity, cause) = match may_be_read {
            true => (Severity::Derived, Cause::FoundOutside { segment: id }),
            false if manifest.is_some() => continue,
            false => (Severity::Unsure, Cause::LeftOutside { segment: id }),
        };
        found.push(Finding::new(severity, &name, 0, cause));
        if may_be_read {
            linked.extend(previous(&file));
            files.retain(|other| other.id != id);
            files.push(file);
        }
    }
    files.sort_by_key(|file| (file.id, !file.name.ends_with(&segment_name(file.id))));
}

/// Opens a file with the name or the header of a segment. Returns `None` if the file has neither, or is gone.
fn open_file(
    disk: &dyn Disk,
    name: &str,
    named: Option<u64>,
    found: &mut Vec<Finding>,
) -> Result<Option<DamagedFile>> {
    let unreadable = |error| Error::unreadable(name, error);
    let file = match disk.open(name, Access::Read) {
        // Skips a file that a garbage collection has removed, and a folder without the name of a segment.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if named.is_none() && is_not_regular(&error) => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let length = file.length().map_err(unreadable)?;
    let header = match read_bytes(&*file, 0, SEGMENT_HEADER_BYTES).map_err(unreadable) {
        // The pages after the header may be readable.
        Err(error) if error.is_unreadable() && named.is_some() => {
            found.push(Finding::new(Severity::Derived, name, 0, error.cause()));
            None
        }
        start => SegmentHeader::decode(&start?).ok(),
    };
    let Some(id) = header.map(|header| header.id).or(named) else {
        found.push(Finding::new(Severity::Unsure, name, 0, Cause::NotASegment));
        return Ok(None);
    };
    if named != Some(id) {
        let cause = Cause::ReadAs { segment: id };
        found.push(Finding::new(Severity::Derived, name, 0, cause));
    }
    let mut file = DamagedFile {
        name: name.to_owned(),
        id,
        file,
        length,
        known_seed: header.map(|header| header.seed()),
        header,
        sealed: None,
        age: id,
        chain: id,
        orphaned: false,
    };
    if header.is_none() {
        file.known_seed = find_seed(&file)?;
    }
    Ok(Some(file))
}

/// Computes the seed of a file's checksums from its first valid frame, without the segment's header.
fn find_seed(file: &DamagedFile) -> Result<Option<FrameSeed>> {
    // The choice of the hash has no effect, because checksums do not depend on the hash.
    let mut windows = file.windows(0, HashSuite::new(HashAlgorithm::Blake3));
    while let Some(window) = windows.next()? {
        for offset in (window.base..window.end()).step_by(FRAME_ALIGNMENT) {
            let rest = window.rest(offset);
            // The header yields a candidate seed, and the body's checksum confirms it.
            if let Some(seed) = FrameSeed::of_frame(rest, offset)
                && parse_frame(rest, seed, offset).is_ok()
            {
                return Ok(Some(seed));
            }
        }
    }
    Ok(None)
}

/// Returns the store instance whose segments have the most bytes.
pub(super) fn most_common_instance(files: &[DamagedFile]) -> Option<[u8; 16]> {
    let mut bytes: HashMap<[u8; 16], u64> = HashMap::new();
    for file in files {
        if let Some(header) = file.header {
            *bytes.entry(header.instance).or_default() += file.length;
        }
    }
    let most = bytes
        .into_iter()
        .max_by_key(|(instance, bytes)| (*bytes, *instance));
    most.map(|(instance, _)| instance)
}

/// Removes files of other stores from the list, and reports them.
pub(super) fn leave_out(
    files: &mut Vec<DamagedFile>,
    instance: [u8; 16],
    manifest: Option<&Manifest>,
    found: &mut Vec<Finding>,
) {
    let listed: Option<HashSet<u64>> =
        manifest.map(|manifest| manifest.entries().map(|entry| entry.id).collect());
    files.retain(|file| {
        let is_listed = listed.as_ref().is_none_or(|listed| listed.contains(&file.id));
        let is_ours = file.header.map(|header| header.instance == instance);
        let cause = match (is_ours, is_listed, file.known_seed) {
            (Some(true), ..) | (None, false, None) => None,
            (Some(false), true, _) => Some((Severity::Damage, Cause::OtherStore)),
            (Some(false), false, _) => Some((Severity::Harmless, Cause::OtherStore)),
            (None, true, Some(_)) => Some((Severity::Derived, Cause::HeaderDamaged)),
            (None, false, Some(_)) => Some((Severity::Unsure, Cause::UnlistedHeaderless)),
            // Without the manifest, it is unknown whether the file ever contained batches.
            (None, true, None) if listed.is_none() => Some((Severity::Unsure, Cause::Unreadable)),
            (None, true, None) => Some((Severity::Damage, Cause::Unreadable)),
        };
        found.extend(cause.map(|(severity, cause)| Finding::new(severity, &file.name, 0, cause)));
        is_ours.unwrap_or(is_listed)
    });
}

/// Applies the manifest: excludes segments that a rewrite replaced (SAL-2), marks orphaned segments, reports missing
/// segments, and sets the sealed lengths.
pub(super) fn use_manifest(files: &mut Vec<DamagedFile>, manifest: &Manifest, found: &mut Vec<Finding>) {
    let highest = manifest.highest_id();
    let listed: HashMap<u64, &SegmentEntry> = manifest.entries().map(|entry| (entry.id, entry)).collect();
    files.retain(|file| listed.contains_key(&file.id) || file.id > highest);
    set_rewrite_aside(files, manifest);
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
    // Does not report a segment as missing if its file was already reported as damaged.
    let told = found.iter().filter(|found| found.severity == Severity::Damage);
    let told: HashSet<String> = told.map(|found| found.damage.file.clone()).collect();
    for entry in manifest.entries().filter(|entry| !present.contains(&entry.id)) {
        let name = segment_name(entry.id);
        if !told.contains(&name) {
            found.push(Finding::new(Severity::Damage, &name, 0, Cause::SegmentMissing));
        }
    }
    // The manifest may be outdated, so the headers of newer segments are needed too.
    use_headers(files);
}

/// Marks the segments of a rewrite that the manifest does not list as orphaned (SAL-2). Either the rewrite was
/// interrupted, or the manifest is outdated. If a sealed segment that the manifest lists is missing, marks no segment,
/// because the rewrite may contain the only copy of its batches.
fn set_rewrite_aside(files: &mut [DamagedFile], manifest: &Manifest) {
    let readable = files.iter().filter(|file| file.known_seed.is_some());
    let present: HashSet<u64> = readable.map(|file| file.id).collect();
    if !manifest.sealed().iter().all(|entry| present.contains(&entry.id)) {
        return;
    }
    let highest = manifest.highest_id();
    let mut aside = HashSet::new();
    for file in files.iter_mut().filter(|file| file.id > highest) {
        let follows = |header: SegmentHeader| aside.contains(&header.previous.id);
        if file.begins_log() || file.header.is_some_and(follows) {
            aside.insert(file.id);
            file.orphaned = true;
        }
    }
}

/// Reports a log that exists twice: before and after a rewrite. Without the manifest, it is unknown which of the two is
/// valid.
pub(super) fn tell_rewritten_twice(files: &[DamagedFile], found: &mut Vec<Finding>) {
    let mut beginnings: Vec<&DamagedFile> = files.iter().filter(|file| file.begins_log()).collect();
    beginnings.dedup_by_key(|file| file.id);
    if let [.., _, newest] = beginnings.as_slice() {
        let cause = Cause::RewrittenTwice;
        found.push(Finding::new(Severity::Unsure, &newest.name, 0, cause));
    }
}

/// Copies the end of each segment from the header of the next segment, and assigns both to the same chain.
pub(super) fn use_headers(files: &mut [DamagedFile]) {
    // The previous segment has a lower number, so that segment is before `index` in the sorted list.
    for index in 0..files.len() {
        let Some((before, [file, ..])) = files.split_at_mut_checked(index) else {
            return;
        };
        let Some(end) = file.header.map(|header| header.previous) else {
            continue;
        };
        // If several files have this number, uses the first file.
        let found = before.partition_point(|before| before.id < end.id);
        if let Some(before) = before.get_mut(found).filter(|before| before.id == end.id) {
            before.sealed.get_or_insert((end.length, end.last_batch));
            // Segments that one manifest lists already belong to one chain.
            if file.chain == file.id {
                file.chain = before.chain;
            }
        }
    }
}
