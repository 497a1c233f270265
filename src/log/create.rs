//! Creates a store atomically: after a crash at any time, the store is complete or does not exist.
//!
//! Creation writes `format.tmp` first, and renames it to `format` last. So a folder without `format` contains an
//! unfinished creation if every other file belongs to the store that `format.tmp` names. The next creation removes
//! those files.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CRE-1: creation does not touch an existing store.
//! - CRE-2: files of a store other than the store in `format.tmp` are damage, and creation does not touch them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{BatchBuilder, Continue, HeadMark, encode_group};
use super::files::{cannot_list, damage, read_format, read_small};
use super::format_file::{FORMAT, FORMAT_BYTES, FORMAT_NAME, Format, Mode};
use super::handle::{Log, LogOptions};
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::lock::LOCK_NAME;
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest, SegmentEntry};
use super::rotate::next_segment_bytes;
use super::seal::Chain;
use super::segment::{
    LOG_FOLDER, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, parse_segment_name, segment_name,
};
use crate::digest::{HashAlgorithm, HashSuite};
use crate::disk::{self, Disk, is_not_regular, lock_within, unfinished_name};
use crate::error::{Cause, Error, ErrorCode, OrIo as _, Result};

/// The maximal time to wait for another process that creates the same store.
const CREATE_WAIT: Duration = Duration::from_secs(30);
/// The number of the first segment of a new log.
const FIRST_SEGMENT: u64 = 1;

impl Log {
    /// Creates a store whose log has one batch, and opens it for writing.
    ///
    /// # Errors
    /// `InvalidInput` with the code `store_exists` if a store exists, or with `exists` if unrelated files have the
    /// names of a store's files. `Corrupt` if the folder contains a store without its format file. `Busy` or `Io`.
    ///
    /// # Durability
    /// When the call returns, the store is durable. If a crash interrupts the call, the store is complete or does not
    /// exist.
    pub fn create(
        disk: Arc<dyn Disk>,
        hash: HashAlgorithm,
        first: BatchBuilder,
        head: HeadMark,
        options: LogOptions,
    ) -> Result<Self> {
        first.check()?;
        if let Err(error) = unfinished_files(&*disk) {
            // Creation acquires the lock before it writes. So if a lock file exists, the unexpected files may belong to
            // a creation that is still running.
            let names = disk.list("").unwrap_or_default();
            if error.code() == ErrorCode::StoreExists || !names.iter().any(|name| name == LOCK_NAME) {
                return Err(error);
            }
        }
        let lock = lock_within(&*disk, LOCK_NAME, CREATE_WAIT)?;
        // Checks again under the lock, because another process may have created the store meanwhile.
        let leftovers = unfinished_files(&*disk)?;
        write_store(&*disk, &leftovers, hash, (first, head), &options)
            .or_io(format_args!("cannot create a store in {}", disk.describe()))?;
        drop(lock);
        Self::open(disk, Mode::ReadWrite, options)
    }
}

/// Removes `leftovers` and writes every file of the store; the rename to `format` is the last step.
fn write_store(
    disk: &dyn Disk,
    leftovers: &[String],
    hash: HashAlgorithm,
    (first, head): (BatchBuilder, HeadMark),
    options: &LogOptions,
) -> io::Result<()> {
    let mut random = [[0; 16]; 3];
    for bytes in &mut random {
        disk.random(bytes)?;
    }
    let [lineage, instance, nonce] = random;
    let format = Format {
        format: FORMAT,
        hash,
        lineage,
        instance,
        features: 0,
    };
    let header = SegmentHeader {
        instance,
        id: FIRST_SEGMENT,
        nonce,
        previous: SegmentEnd::default(),
    };
    let after = Continue::start(&header, Chain::START);
    let encoded = encode_group([(first, head.commit)], HashSuite::new(hash), after);
    let (bytes, _) = encoded.map_err(io::Error::other)?;
    let mut content = header.encode();
    content.extend_from_slice(&bytes);
    let live = Live {
        lineage,
        instance,
        boot: disk.boot_id(),
        segment: FIRST_SEGMENT,
        offset: content.len() as u64,
        batch: 1,
        head,
    };
    let manifest = Manifest::new(instance, 1, 0, Vec::new(), SegmentEntry::active(FIRST_SEGMENT, 1));
    let length = next_segment_bytes(options, 0, bytes.len() as u64);

    disk.create_dir(LOG_FOLDER)?;
    for name in leftovers {
        disk.remove(name)?;
    }
    // INVARIANT CRE-2: the old `format.tmp` is replaced only after the removal of the other leftover files is durable,
    // because `format.tmp` identifies them.
    disk.sync_dir(LOG_FOLDER)?;
    disk.sync_dir("")?;
    disk::write_whole(disk, &unfinished_name(FORMAT_NAME), &format.encode(), 0)?;
    disk.sync_dir("")?;
    disk::create_whole(disk, &segment_name(FIRST_SEGMENT), &content, length)?;
    disk::replace(disk, MANIFEST_NAME, &manifest.encode())?;
    disk::replace(disk, LIVE_NAME, &live.encode())?;
    disk::finish_whole(disk, FORMAT_NAME)?;
    disk.sync_parent()
}

/// Returns the error for a folder without a format file: the folder contains either no store or a damaged store.
pub(super) fn no_store(disk: &dyn Disk) -> Error {
    match holds_other_store(disk) {
        Err(error) => error,
        Ok(true) => damage(FORMAT_NAME, 0, Cause::FormatMissing),
        Ok(false) => Error::not_found(format!("{} is not a store", disk.describe()))
            .with_code(ErrorCode::NoStore)
            .with_hint("create one with `treering init`"),
    }
}

/// Returns the files that an unfinished creation left, except `format.tmp`.
///
/// # Errors
/// The errors of [`Log::create`].
fn unfinished_files(disk: &dyn Disk) -> Result<Vec<String>> {
    let format = match read_format(disk, Mode::ReadOnly) {
        // INVARIANT CRE-1: creation does not touch an existing store.
        Ok(Some(_)) => {
            let message = format!("{} is already a store", disk.describe());
            return Err(Error::invalid(message)
                .with_code(ErrorCode::StoreExists)
                .with_hint("open it, or choose another folder"));
        }
        Ok(None) => damage(FORMAT_NAME, 0, Cause::FormatMissing),
        Err(error) if error.code() == ErrorCode::NotRegularFile => error,
        Err(error) => return Err(error),
    };
    // INVARIANT CRE-2: files of a store other than the store in `format.tmp` are damage, and creation does not touch
    // them.
    if holds_other_store(disk)? {
        return Err(format);
    }
    let marker = unfinished_name(FORMAT_NAME);
    let is_unfinished = unfinished_instance(disk)?.is_some();
    let listed = disk.list("");
    let mut found = listed.or_io(format_args!("cannot list {}", disk.describe()))?;
    found.retain(|name| match name.strip_suffix(".tmp").unwrap_or(name) {
        FORMAT_NAME => *name != marker || read_small(disk, name, 1).is_err(),
        LOG_FOLDER => disk.list(name).is_err(),
        other => [MANIFEST_NAME, LIVE_NAME].contains(&other),
    });
    for file in log_files(disk)? {
        let is_first = parse_segment_name(&file).is_some_and(|(id, _)| id == FIRST_SEGMENT);
        if is_first || !is_unfinished {
            found.push(format!("{LOG_FOLDER}/{file}"));
        }
    }
    match found.first() {
        Some(name) if !is_unfinished => Err(Error::invalid(format!(
            "{} contains {name}, which does not belong to a store",
            disk.describe()
        ))
        .with_code(ErrorCode::Exists)
        .with_hint("choose another folder, or move this file away")),
        _ => Ok(found),
    }
}

/// Returns whether the folder contains files of a store that are not leftovers of an unfinished creation.
pub(super) fn holds_other_store(disk: &dyn Disk) -> Result<bool> {
    loop {
        let unfinished = unfinished_instance(disk)?;
        if !holds_files_beside(disk, unfinished)? {
            return Ok(false);
        }
        // A running creation may have written or renamed `format.tmp` between the two reads.
        if unfinished_instance(disk)? == unfinished {
            return Ok(true);
        }
    }
}

/// Returns whether the folder contains a file of a store other than the `unfinished` store.
fn holds_files_beside(disk: &dyn Disk, unfinished: Option<[u8; 16]>) -> Result<bool> {
    let is_other = |instance| Some(instance) != unfinished;
    let manifest = read_regular(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)?;
    let manifest = manifest.and_then(|bytes| Manifest::decode(&bytes).ok());
    let live = read_regular(disk, LIVE_NAME, LIVE_BYTES)?;
    let live = live.and_then(|bytes| Live::decode(&bytes));
    if manifest.is_some_and(|manifest| is_other(manifest.instance))
        || live.is_some_and(|live| is_other(live.instance))
    {
        return Ok(true);
    }
    for file in log_files(disk)? {
        let header = read_regular(disk, &format!("{LOG_FOLDER}/{file}"), SEGMENT_HEADER_BYTES)?;
        // A writer gives a segment its final name only when the segment is complete. So a segment with a final name and
        // an undecodable header is damaged, and belongs to a store.
        let is_named = matches!(parse_segment_name(&file), Some((_, false)));
        if header.is_some_and(|bytes| {
            SegmentHeader::decode(&bytes).map_or(is_named, |header| is_other(header.instance))
        }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the instance in `format.tmp`, which an unfinished creation left. Returns `None` without a readable
/// `format.tmp`.
fn unfinished_instance(disk: &dyn Disk) -> Result<Option<[u8; 16]>> {
    let bytes = read_regular(disk, &unfinished_name(FORMAT_NAME), FORMAT_BYTES + 1)?;
    let format = bytes.and_then(|bytes| Format::decode(&bytes, Mode::ReadOnly).ok());
    Ok(format.map(|format| format.instance))
}

/// Reads a file like `read_small`. Returns `None` if the path is not a regular file.
fn read_regular(disk: &dyn Disk, name: &str, limit: usize) -> Result<Option<Vec<u8>>> {
    match read_small(disk, name, limit) {
        Err(error) if error.code() == ErrorCode::NotRegularFile => Ok(None),
        other => other,
    }
}

/// Returns the names of the files in the log's folder. Returns no names if the folder does not exist.
fn log_files(disk: &dyn Disk) -> Result<Vec<String>> {
    match disk.list(LOG_FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_not_regular(&error) => Ok(Vec::new()),
        other => other.map_err(cannot_list),
    }
}
