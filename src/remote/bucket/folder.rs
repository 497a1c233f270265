//! A bucket in a folder: `file://`. Also the bucket in memory, which is a folder on a disk in memory.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
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
use crate::digest::{sha256, to_hex};
use crate::disk::{
    Access, Disk, FileDisk, LockGuard, MemDisk, folder_of, if_there, is_not_regular, lock_within, read_bytes,
};
use crate::error::Result;

/// The file that a writer locks while it compares and replaces an object.
const LOCK: &str = "bucket.lock";
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".part";
/// The longest wait for the lock. A swap takes milliseconds.
const WAIT: Duration = Duration::from_secs(30);

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

    /// Returns the bytes of a file in `range`, and the version of the whole file.
    fn read(&self, name: &str, range: Option<Range<u64>>) -> io::Result<Stored> {
        let file = self.disk.open(name, Access::Read)?;
        let length = usize::try_from(file.length()?).map_err(io::Error::other)?;
        // A version is the digest of the whole file: a manifest never has the bytes of an earlier one.
        let mut bytes = read_bytes(&*file, 0, length)?;
        let version = version_of(&bytes);
        if let Some(range) = range {
            let end = range.end.min(bytes.len() as u64) as usize;
            bytes.truncate(end);
            bytes = bytes.split_off((range.start as usize).min(end));
        }
        Ok(Stored { bytes, version })
    }

    /// Writes a file under a name of its own, syncs it, and gives it its name with `finish`.
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
        let part = format!("{name}.{}{UNFINISHED}", to_hex(&random));
        let written = || {
            let file = disk.create(&part)?;
            file.write_at(0, bytes)?;
            file.sync()?;
            finish(disk, &part)?;
            disk.sync_dir(folder)
        };
        // A part that stays is only garbage.
        written().inspect_err(|_| drop(disk.remove(&part)))
    }

    fn lock(&self) -> BucketResult<Box<dyn LockGuard>> {
        lock_within(&*self.disk, LOCK, WAIT).map_err(|error| BucketError::Failed(error.to_string()))
    }
}

impl Bucket for Folder {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        self.read(name, range).map_err(|error| failed(&error))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        // INVARIANT BKT-1: `rename_new` refuses a name that exists.
        let written = self.write(name, bytes, |disk, part| disk.rename_new(part, name));
        written.map_err(|error| failed(&error))
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        let _alone = self.lock()?;
        match self.read(name, None) {
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

fn version_of(bytes: &[u8]) -> Version {
    Version(to_hex(&sha256(bytes)))
}

/// Returns the error of a call. A failed write of a local file system has an unknown outcome.
fn failed(error: &io::Error) -> BucketError {
    match error.kind() {
        io::ErrorKind::NotFound => BucketError::Missing,
        io::ErrorKind::AlreadyExists => BucketError::Exists,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            BucketError::Denied(error.to_string())
        }
        io::ErrorKind::InvalidInput => BucketError::Failed(error.to_string()),
        _ => BucketError::Unclear(error.to_string()),
    }
}
