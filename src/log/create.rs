//! Creating a store so that it is either there or not, whenever the machine stops.
//!
//! The format file is written last: without it there is no store, and what an unfinished creation left is cleared
//! away by the next one.
//!
//! # Layer
//! L2.
//!
//! # Invariants
//! - CRE-1: an existing store is not touched.
//! - CRE-2: files that hold more than an unfinished creation can have left are damage, and are not touched, whatever else
//!   is beside them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{BatchBuilder, Continue, HeadMark, encode_group};
use super::catch_up::{FIRST_OFFSET, no_folder};
use super::format_file::{FORMAT, FORMAT_NAME, Format};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest, SegmentEnd, SegmentEntry};
use super::reader::SegmentFile;
use super::segment::{
    LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentHeader, next_segment_bytes, parse_segment_name, segment_name,
};
use super::{LOCK_NAME, Log, LogOptions, Mode, damage, of_other_kind, read_format, read_small};
use crate::digest::{HashAlgorithm, HashSuite};
use crate::disk::{self, Access, Disk, is_of_other_kind, lock_within};
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// How long creating waits for somebody else who is creating the same store.
const CREATE_WAIT: Duration = Duration::from_secs(30);
const FIRST_SEGMENT: u64 = 1;

impl Log {
    /// Creates a store whose log holds one batch, and opens it for writing.
    ///
    /// # Errors
    /// `InvalidInput` with the code `store_exists` if there is one already, and with `exists` if something of no store is in
    /// the way; `Corrupt` if there are files of a store whose format file is missing; `Busy`; `Io`.
    ///
    /// # Durability
    /// When this returns, the store is durable. After a crash before that there is no store, or the whole one.
    pub fn create(
        disk: Arc<dyn Disk>,
        hash: HashAlgorithm,
        first: BatchBuilder,
        head: HeadMark,
        options: LogOptions,
    ) -> Result<Self> {
        first.check()?;
        refuse_existing(&*disk)?;
        let lock = lock_within(&*disk, LOCK_NAME, CREATE_WAIT)?;
        refuse_existing(&*disk)?;
        let creating = |error| Error::io(format!("cannot create a store in {}", disk.describe()), error);
        disk.create_dir(LOG_FOLDER)
            .and_then(|()| disk.sync_dir(""))
            .map_err(creating)?;
        clear_unfinished(&*disk)?;
        write_store(&*disk, hash, first, head, &options)?;
        drop(lock);
        Self::open(disk, Mode::ReadWrite, options)
    }
}

fn refuse_existing(disk: &dyn Disk) -> Result<()> {
    // INVARIANT CRE-1.
    if read_format(disk, Mode::ReadOnly)?.is_some() {
        return Err(Error::invalid(format!("{} already is a store", disk.describe()))
            .with_code(ErrorCode::StoreExists));
    }
    // Before anything is written: what is cut off half way would look like a damaged store.
    match in_the_way(disk) {
        Some(name) => Err(damaged(disk).unwrap_or_else(|| foreign(disk, &name))),
        None => Ok(()),
    }
}

/// A name that creation needs, under which something of another kind stands.
fn in_the_way(disk: &dyn Disk) -> Option<String> {
    if disk.list(LOG_FOLDER).is_err_and(|error| is_of_other_kind(&error)) {
        return Some(LOG_FOLDER.to_owned());
    }
    let names = [MANIFEST_NAME, LIVE_NAME, FORMAT_NAME];
    let unfinished = names.map(disk::unfinished_name);
    let mut all = names.map(str::to_owned).into_iter().chain(unfinished);
    all.find(|name| disk::other_kind_at(disk, name).is_some())
}

/// Writes everything, the format file last.
fn write_store(
    disk: &dyn Disk,
    hash: HashAlgorithm,
    first: BatchBuilder,
    head: HeadMark,
    options: &LogOptions,
) -> Result<()> {
    let mut random = [[0; 16]; 3];
    for bytes in &mut random {
        disk.random(bytes)
            .map_err(|error| Error::io("cannot get random bytes", error))?;
    }
    let [lineage, instance, nonce] = random;
    let format = Format {
        format: FORMAT,
        hash,
        lineage,
        instance,
    };
    let header = SegmentHeader {
        instance,
        id: FIRST_SEGMENT,
        nonce,
        previous: SegmentEnd::default(),
    };
    let after = Continue {
        segment: FIRST_SEGMENT,
        seed: header.seed(),
        start: FIRST_OFFSET,
        synced_upto: FIRST_OFFSET,
        last_batch: 0,
        last_digest: [0; 32],
    };
    let (bytes, _) = encode_group(vec![(first, head.commit)], HashSuite::new(hash), after)?;
    let mut content = header.encode();
    content.extend_from_slice(&bytes);
    let live = Live {
        lineage,
        instance,
        boot: disk.boot_id(),
        segment: FIRST_SEGMENT,
        offset: content.len() as u64,
        batch: 1,
        commit: head.commit,
        root: head.root,
        seq: head.seq,
    };
    let manifest = Manifest::new(instance, 1, 0, Vec::new(), SegmentEntry::active(FIRST_SEGMENT, 1));
    let length = next_segment_bytes(options, 0, bytes.len() as u64);
    disk::create_whole(disk, &segment_name(FIRST_SEGMENT), &content, length)
        .and_then(|()| disk::replace(disk, MANIFEST_NAME, &manifest.encode()))
        .and_then(|()| disk::replace(disk, LIVE_NAME, &live.encode()))
        .and_then(|()| disk::create_whole(disk, FORMAT_NAME, &format.encode(), 0))
        .and_then(|()| disk.sync_parent())
        .map_err(|error| Error::io(format!("cannot create a store in {}", disk.describe()), error))
}

/// The error for a folder without a format file: no store, or a damaged one.
pub(super) fn no_store(disk: &dyn Disk) -> Error {
    damaged(disk).unwrap_or_else(|| {
        Error::not_found(format!("{} is not a store", disk.describe()))
            .with_code(ErrorCode::NoStore)
            .with_hint("create one with `treering init`")
    })
}

/// Why a folder without a format file is a damaged store, or cannot be told from one; `None` if it is no store.
fn damaged(disk: &dyn Disk) -> Option<Error> {
    let error = leftovers(disk).err()?;
    let is_foreign = error.kind() == ErrorKind::InvalidInput;
    (!is_foreign).then(|| of_other_kind(disk, FORMAT_NAME).unwrap_or(error))
}

/// The files that an unfinished creation left.
///
/// # Errors
/// `Corrupt` if they hold more than that (CRE-2); `InvalidInput` if the folder of the log holds what is of no store at all.
fn leftovers(disk: &dyn Disk) -> Result<Vec<String>> {
    let more = |what: &str| {
        let what = format!("it is missing, and there is {what}, which no unfinished creation leaves");
        damage(FORMAT_NAME, 0, &what)
    };
    let live = read_small(disk, LIVE_NAME, LIVE_BYTES + 1)?;
    if live
        .and_then(|bytes| Live::decode(&bytes))
        .is_some_and(|live| live.batch > 1)
    {
        return Err(more("a mark of later commits in live"));
    }
    let mut names = Vec::new();
    if let Some(bytes) = read_small(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)? {
        let first = Manifest::decode(&bytes)
            .ok()
            .filter(|manifest| manifest.generation == 1 && manifest.sealed().is_empty());
        first.ok_or_else(|| more("a manifest of more than the first segment"))?;
        names.push(MANIFEST_NAME.to_owned());
    }
    let listed = match disk.list(LOG_FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        // Without a manifest it may be a folder of anything.
        Err(error) if is_of_other_kind(&error) && names.is_empty() => Vec::new(),
        other => other.map_err(|error| no_folder(disk, error))?,
    };
    let mut stray = None;
    for file in listed {
        let name = format!("{LOG_FOLDER}/{file}");
        let is_first = match parse_segment_name(&file) {
            Some((FIRST_SEGMENT, unfinished)) => !is_beyond_first(disk, &name, unfinished)?,
            Some(_) => false,
            // What salvage would read under any name, somebody put there.
            None if begins_as_segment(disk, &name)? => false,
            None => {
                stray.get_or_insert(name);
                continue;
            }
        };
        if !is_first {
            return Err(more(&name));
        }
        names.push(name);
    }
    // It is written behind the segment that it lists.
    let has_first = names.iter().any(|name| *name == segment_name(FIRST_SEGMENT));
    if names.first().is_some_and(|name| name == MANIFEST_NAME) && !has_first {
        return Err(more("a manifest without a segment"));
    }
    for name in [LIVE_NAME, MANIFEST_NAME, FORMAT_NAME] {
        if !names.is_empty() && disk::other_kind_at(disk, name).is_some() {
            return Err(more(&format!("no file under the name {name}")));
        }
    }
    // INVARIANT CRE-2: only now, as a store may have been beside it.
    stray.map_or(Ok(names), |name| Err(foreign(disk, &name)))
}

/// A folder of something else may have a folder of that name in it.
fn foreign(disk: &dyn Disk, name: &str) -> Error {
    Error::invalid(format!(
        "{} has {name} in it, which is of no store",
        disk.describe()
    ))
    .with_code(ErrorCode::Exists)
    .with_hint("name another folder, or move that away")
}

fn begins_as_segment(disk: &dyn Disk, name: &str) -> Result<bool> {
    let start = read_small(disk, name, SEGMENT_HEADER_BYTES)?;
    Ok(start.is_some_and(|start| SegmentHeader::decode(&start).is_ok()))
}

/// Whether a first segment holds a batch after the first, or is not as it is created. Of an unfinished one any part may
/// be missing.
fn is_beyond_first(disk: &dyn Disk, name: &str, unfinished: bool) -> Result<bool> {
    let file = match disk.open(name, Access::Read) {
        Err(error) if is_of_other_kind(&error) => return Ok(true),
        // Somebody else who is creating the store has given it its name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(|error| Error::io(format!("cannot open {name}"), error))?,
    };
    let segment = match SegmentFile::with_file(file, false, name) {
        Ok(segment) => segment,
        Err(error) if error.is_corruption() => return Ok(!unfinished),
        Err(error) => return Err(error),
    };
    // Which hash the store has was in the format file; a seal is known by its checksum.
    let survey = segment.survey(HashSuite::new(HashAlgorithm::Blake3))?;
    Ok(survey.batch > 1)
}

fn clear_unfinished(disk: &dyn Disk) -> Result<()> {
    for name in leftovers(disk)? {
        let removing = |error| Error::io(format!("cannot remove {name}"), error);
        disk.remove(&name).map_err(removing)?;
        if name == MANIFEST_NAME {
            // It is never alone (CRE-2).
            disk.sync_dir("").map_err(removing)?;
        }
    }
    Ok(())
}
