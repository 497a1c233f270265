//! Reads the small files of a log, and builds the errors for damaged files.
//!
//! # Layer
//! Layer 2.

use std::io;
use std::sync::Arc;

use super::format_file::{self, FORMAT_NAME, Format, Mode};
use super::manifest::{MANIFEST_BYTES_MAX, MANIFEST_NAME, Manifest};
use super::segment::LOG_FOLDER;
use crate::codec::DecodeError;
use crate::disk::{Access, Disk, DiskFile, if_there, read_whole};
use crate::error::{Cause, Damage, Error, ErrorCode, Result};

/// Reads the format file; returns `None` if it does not exist.
pub(super) fn read_format(disk: &dyn Disk, mode: Mode) -> Result<Option<Format>> {
    let bytes = read_small(disk, FORMAT_NAME, format_file::FORMAT_BYTES + 1)?;
    bytes.map(|bytes| Format::decode(&bytes, mode)).transpose()
}

pub(super) fn read_manifest(disk: &dyn Disk, format: &Format) -> Result<Manifest> {
    let manifest = present_manifest(disk)?;
    if manifest.instance != format.instance {
        return Err(damage(MANIFEST_NAME, 0, Cause::OtherStore));
    }
    Ok(manifest)
}

fn present_manifest(disk: &dyn Disk) -> Result<Manifest> {
    let damaged = |cause| damage(MANIFEST_NAME, 0, cause);
    let bytes =
        read_small(disk, MANIFEST_NAME, MANIFEST_BYTES_MAX)?.ok_or_else(|| damaged(Cause::Missing))?;
    Manifest::decode(&bytes).map_err(|error| damaged(undecodable(&error)))
}

/// Reads the manifest of a store. Returns the id of the store, and the number of rewrites of its log.
///
/// # Errors
/// `Corrupt` if the manifest is missing or damaged; `Io`.
pub(crate) fn epoch_in(disk: &dyn Disk) -> Result<([u8; 16], u32)> {
    let manifest = present_manifest(disk)?;
    Ok((manifest.instance, manifest.epoch))
}

/// Reads the first `limit` bytes of a file; returns `None` if it does not exist.
pub(super) fn read_small(disk: &dyn Disk, name: &str, limit: usize) -> Result<Option<Vec<u8>>> {
    read_whole(disk, name, limit).map_err(|error| Error::unreadable(name, error))
}

/// Opens a file for reading; returns `None` if it does not exist.
pub(super) fn open_there(disk: &dyn Disk, name: &str) -> Result<Option<Arc<dyn DiskFile>>> {
    if_there(disk.open(name, Access::Read)).map_err(|error| Error::unreadable(name, error))
}

/// Returns the error for damage at `offset` of `file`.
pub(super) fn damage(file: &str, offset: u64, cause: Cause) -> Error {
    let hint = if cause.is_of_newer_version() {
        "upgrade treering"
    } else if matches!(file, FORMAT_NAME | MANIFEST_NAME) {
        // Without these two files, only salvage finds the segments (docs/decisions/0006).
        "`--degraded` and `treering salvage` read the log without this file; `salvage` writes a new store"
    } else {
        "`treering doctor` lists all damage; `--degraded` reads the newest state before the damage; `treering salvage` copies all intact data into a new store"
    };
    Error::damaged(Damage::new(file, offset, cause)).with_hint(hint)
}

/// Converts a decoding error to a cause of damage.
pub(crate) fn undecodable(error: &DecodeError) -> Cause {
    match error {
        DecodeError::Truncated { .. } => Cause::CutOff,
        other => Cause::Undecodable(other.to_string()),
    }
}

/// Returns the error for a log folder that cannot be listed.
pub(super) fn cannot_list(error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound {
        return Error::io("cannot list the log", error);
    }
    damage(LOG_FOLDER, 0, Cause::Missing)
        .with_code(ErrorCode::NoLog)
        .with_hint("restore the folder from a backup of the store, or import an export of it")
}
