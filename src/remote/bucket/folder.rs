//! A bucket in a folder: `file://`. Also the bucket in memory, which is a folder on a disk in memory.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
//!
//! # Invariants
//! - FLD-1: a writer holds the lock. So a file that nobody finished is garbage, and the next writer removes it.
//!
//! # Limits
//! - The folder must be on a file system whose locks and renames this machine decides alone. A network file system is
//!   refused.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Bucket, BucketError, BucketResult, Stored, Version};
use crate::digest::{derive_key, to_hex};
use crate::disk::{
    Access, Disk, DiskFile, FileDisk, LockGuard, MemDisk, folder_of, if_there, is_not_regular, lock_within,
    read_bytes,
};
use crate::error::{ErrorKind, Result};

/// The file that a writer locks while it compares and replaces an object.
const LOCK: &str = "bucket.lock";
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".part";
/// The wait of one call for the lock. The caller repeats a call that found the folder busy.
const WAIT: Duration = Duration::from_millis(250);

const CONTEXT: &str = "treering 2026-11 version of a file in a folder";
/// A file of more bytes is no manifest.
const OBJECT_BYTES_MAX: u64 = 256 << 20;

/// A bucket whose objects are the files of a folder.
#[derive(Clone)]
pub struct Folder {
    disk: Arc<dyn Disk>,
}

impl Folder {
    /// Opens a folder. With `create`, makes a missing one.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist; `Io`.
    pub fn at(path: &Path, create: bool) -> Result<Self> {
        let disk = if create {
            FileDisk::create(path)
        } else {
            FileDisk::open(path)
        };
        Ok(Self {
            disk: Arc::new(disk?),
        })
    }

    /// Makes an empty bucket in memory. Clones share it.
    pub fn in_memory() -> Self {
        Self {
            disk: Arc::new(MemDisk::new()),
        }
    }

    /// Returns the bytes of a file in `range`, and the version of the file. A file that is too long for an object of ours has
    /// no version, and only the range of it is read.
    fn stored(&self, name: &str, range: Range<u64>) -> io::Result<Stored> {
        let file = self.disk.open(name, Access::Read)?;
        let length = file.length()?;
        if length > range.end.max(OBJECT_BYTES_MAX) {
            let bytes = bytes_in(&*file, &range)?;
            let version = Version(format!("{length}+"));
            return Ok(Stored { bytes, version });
        }
        let mut bytes = bytes_in(&*file, &(0..length))?;
        let version = version_of(&bytes);
        bytes.truncate(usize::try_from(range.end).unwrap_or(usize::MAX));
        bytes.drain(..(range.start as usize).min(bytes.len()));
        Ok(Stored { bytes, version })
    }

    /// Writes a file under a name of its own, syncs it, and gives it its name with `finish`. The caller holds the lock.
    fn write(
        &self,
        name: &str,
        bytes: &[u8],
        finish: impl FnOnce(&dyn Disk, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        let disk = &*self.disk;
        let mut random = [0; 8];
        disk.random(&mut random)?;
        let folder = folder_of(name);
        if !folder.is_empty() {
            disk.create_dir(folder)?;
            disk.sync_dir("")?;
        }
        self.remove_unfinished(folder)?;
        let part = format!("{name}.{}{UNFINISHED}", to_hex(&random));
        let written = || {
            let file = disk.create(&part)?;
            file.write_at(0, bytes)?;
            file.sync()?;
            finish(disk, &part)?;
            // The file has its name by now, so the outcome of a failure is unknown.
            disk.sync_dir(folder).map_err(io::Error::other)
        };
        // A part that stays is only garbage.
        written().inspect_err(|_| drop(disk.remove(&part)))
    }

    /// Removes what a writer that was killed left in a folder (FLD-1). It may contain what was erased since.
    fn remove_unfinished(&self, folder: &str) -> io::Result<()> {
        for name in self.disk.list(folder)? {
            if is_unfinished(&name) {
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                if_there(self.disk.remove(&path))?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> BucketResult<Box<dyn LockGuard>> {
        lock_within(&*self.disk, LOCK, WAIT).map_err(|error| {
            let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
            match (error.kind(), source) {
                (ErrorKind::Busy, _) => BucketError::Busy(error.to_string()),
                (_, Some(source)) => failed(source),
                _ => BucketError::Failed(error.to_string()),
            }
        })
    }
}

impl Bucket for Folder {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        self.stored(name, range.unwrap_or(0..u64::MAX))
            .map_err(|error| failed(&error))
    }

    /// Computes no version, which is the digest of the whole file.
    fn read(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Vec<u8>> {
        let read = || {
            let file = self.disk.open(name, Access::Read)?;
            let range = range.unwrap_or(0..u64::MAX);
            bytes_in(&*file, &(range.start..range.end.min(file.length()?)))
        };
        read().map_err(|error| failed(&error))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        let _alone = self.lock()?;
        // INVARIANT BKT-1: `rename_new` refuses a name that exists.
        let written = self.write(name, bytes, |disk, part| disk.rename_new(part, name));
        written.map_err(|error| failed(&error))
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        let _alone = self.lock()?;
        // A file of another length has another version, and is not read.
        match self.stored(name, 0..length_in(version)) {
            Ok(known) if known.version == *version => {}
            Ok(_) => return Err(BucketError::Stale),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(BucketError::Stale),
            Err(error) => return Err(failed(&error)),
        }
        // INVARIANT BKT-2: a rename replaces the whole object.
        let written = self.write(name, bytes, |disk, part| disk.rename_over(part, name));
        written.map_err(|error| failed(&error))?;
        Ok(version_of(bytes))
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        let folder = folder_of(prefix);
        let names = match if_there(self.disk.list(folder)) {
            Err(error) if is_not_regular(&error) => None,
            names => names.map_err(|error| failed(&error))?,
        };
        let names = names.unwrap_or_default().into_iter().map(|name| match folder {
            "" => name,
            folder => format!("{folder}/{name}"),
        });
        let is_object =
            |name: &String| name.starts_with(prefix) && !name.ends_with(UNFINISHED) && name != LOCK;
        Ok(names.filter(is_object).collect())
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        let removed = if_there(self.disk.remove(name));
        let synced = removed.and_then(|_| if_there(self.disk.sync_dir(folder_of(name))));
        synced.map(drop).map_err(|error| failed(&error))
    }

    fn describe(&self) -> String {
        self.disk.describe()
    }
}

/// Returns whether a file has a name as [`Folder::write`] gives it: others have files that end in `.part`, too.
fn is_unfinished(name: &str) -> bool {
    let random = name
        .strip_suffix(UNFINISHED)
        .and_then(|name| name.rsplit_once('.'));
    random
        .is_some_and(|(_, random)| random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn bytes_in(file: &dyn DiskFile, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let length = range.end.saturating_sub(range.start);
    read_bytes(
        file,
        range.start,
        usize::try_from(length).map_err(io::Error::other)?,
    )
}

/// A version is the length and the digest of the whole file: a manifest never has the bytes of an earlier one.
fn version_of(bytes: &[u8]) -> Version {
    Version(format!(
        "{}-{}",
        bytes.len(),
        to_hex(&derive_key(CONTEXT, &[bytes]))
    ))
}

/// Returns the length of the file that has a version.
fn length_in(version: &Version) -> u64 {
    let length = version.0.split_once('-').map(|(length, _)| length.parse());
    length.and_then(Result::ok).unwrap_or_default()
}

/// Returns the error of a call. A failed write of a local file system has an unknown outcome.
fn failed(error: &io::Error) -> BucketError {
    match error.kind() {
        io::ErrorKind::NotFound => BucketError::Missing,
        io::ErrorKind::AlreadyExists => BucketError::Exists,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            BucketError::Denied(error.to_string())
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            BucketError::Failed(error.to_string())
        }
        _ => BucketError::Unclear(error.to_string()),
    }
}
