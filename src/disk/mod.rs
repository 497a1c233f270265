//! The only access to the operating system: the files of one store folder, its lock, and durability.
//!
//! A [`Disk`] is a folder. Names are relative to it, with `/` between a subfolder and a file; absolute names and `..`
//! are refused. Every call states which data it makes durable. The upper layers rely on that contract, and not on the
//! behaviour of one file system. [`FileDisk`] is the real disk. [`MemDisk`] keeps everything in memory and never fails.
//! The simulated disk of the tests can lose data, tear writes and refuse calls.
//!
//! # Layer
//! Layer 1. Knows names, bytes and durability, not the meaning of bytes.
//!
//! # Invariants
//! - DSK-1: a handle opened with [`Access::Read`] never writes, truncates or creates the file.
//! - DSK-2: a file gets its final name only after its content is durable ([`create_whole`], [`replace`]).
//! - DSK-3: the lock file is never removed, so two processes can never lock two files of one name.
#![cfg_attr(
    feature = "testing",
    expect(
        clippy::missing_errors_doc,
        reason = "every call returns the error of the system, which the trait documents once"
    )
)]

mod file_disk;
mod lock;
mod map;
mod mem_disk;

use std::io;
use std::sync::Arc;

pub use file_disk::FileDisk;
pub use lock::{LockGuard, lock_holder, lock_within};
pub use mem_disk::MemDisk;
#[cfg(any(test, feature = "testing"))]
pub(crate) use mem_disk::mapped;

use crate::error::Damage;
use bytes::Bytes;

/// The purpose of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and overwriting bytes in place.
    ReadWrite,
}

/// The folder of one store.
///
/// Errors come from the operating system; the caller adds the operation. Their kinds distinguish `NotFound` and
/// `AlreadyExists`. A path that is not a regular file, or not a folder where one is needed, has its own error:
/// [`is_not_regular`].
pub trait Disk: Send + Sync {
    /// Opens an existing regular file. Changes nothing on disk.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates an empty file with access for its owner only (0600). Refuses an existing name with `AlreadyExists`. The
    /// name is durable after [`Disk::sync_dir`], the content after [`DiskFile::sync`].
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a subfolder (0700) if it does not exist. Durable after `sync_dir("")`.
    fn create_dir(&self, name: &str) -> io::Result<()>;

    /// Renames a file within its folder, atomically; refuses an existing target with `AlreadyExists`. Durable
    /// after [`Disk::sync_dir`].
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;

    /// Renames a file within its folder, atomically, over an existing target. Durable after [`Disk::sync_dir`].
    fn rename_over(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name. Open handles keep reading the file. Durable after [`Disk::sync_dir`].
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the sorted names in a folder, including subfolders; `""` is the store's own folder.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Makes the names of a folder durable: all creations, renames and removals before this call.
    fn sync_dir(&self, folder: &str) -> io::Result<()>;

    /// Makes the store folder's own name durable in its parent folder.
    fn sync_parent(&self) -> io::Result<()>;

    /// Takes the lock `name` if it is free. Creates its file if it is missing, and writes `holder` into it, for
    /// messages only. The lock ends when the guard is dropped or the process ends.
    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>>;

    /// Returns whether a process seems to hold the lock.
    fn is_locked_by(&self, _name: &str, process: u32) -> bool {
        process == self.process()
    }

    /// Signals to the holder of the lock that a process waits for it. A disk may ignore this.
    fn announce_waiting(&self, _name: &str) {}

    /// Returns whether another process has signalled since the last call that it waits for the lock.
    fn somebody_waits(&self, _name: &str) -> bool {
        false
    }

    /// Returns an identifier of this run of the machine; zeros if the system has none.
    fn boot_id(&self) -> [u8; 16];

    /// Returns the number of this process. In a forked child, it differs from the number stored in an inherited handle.
    fn process(&self) -> u32 {
        std::process::id()
    }

    /// Fills `bytes` from the secure random source of the system.
    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }

    /// Returns the device and file number of the folder: equal for two paths to one store.
    fn identity(&self) -> (u64, u64);

    /// Returns the number of bytes that this user may still write to the disk, if it is known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the location of the folder, for messages.
    fn describe(&self) -> String;
}

/// An open file. Reads and writes name their offset; there is no file position and no append mode.
pub trait DiskFile: Send + Sync {
    /// Reads at most `buffer.len()` bytes from `offset`; fewer only at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`. They are durable after [`DiskFile::sync`]. If the call fails, any part of
    /// them may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content and the length durable, but not the name. If the call fails, the state of all bytes written
    /// since the last success is unknown, and a second successful call does not change that.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length of the file in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Returns the first `length` bytes, shared with the page cache. The caller must know that no process will ever
    /// change these bytes or shorten the file.
    fn map(&self, length: u64) -> io::Result<Bytes>;
}

/// Reads until `buffer` is full or the file ends.
pub fn read_full(file: &dyn DiskFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let count = file.read_at(offset + done as u64, rest)?;
        if count == 0 {
            break;
        }
        done += count;
    }
    Ok(done)
}

/// Reads `length` bytes from `offset`, or fewer if the file ends earlier.
pub fn read_bytes(file: &dyn DiskFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let count = read_full(file, offset, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Returns at most the first `limit` bytes of a file; `None` if the file does not exist.
pub fn read_whole(disk: &dyn Disk, name: &str, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = if_there(disk.open(name, Access::Read))? else {
        return Ok(None);
    };
    let length = usize::try_from(file.length()?).unwrap_or(usize::MAX);
    read_bytes(&*file, 0, length.min(limit)).map(Some)
}

/// Returns the result of a call on a file or folder; `None` if the path does not exist.
pub fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Returns whether a call failed because a path of the store is not a regular file, or not a folder where one is
/// needed.
pub fn is_not_regular(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Damage>)
}

/// The zeros of one write when a file is filled with them.
static ZEROS: [u8; 256 * 1024] = [0; 256 * 1024];

/// Creates `name` with `content` followed by zeros up to `length`, and makes the bytes durable. First removes a file of
/// that name, so no reader may rely on it yet. The name is durable only after [`Disk::sync_dir`].
pub fn write_whole(disk: &dyn Disk, name: &str, content: &[u8], length: u64) -> io::Result<()> {
    let write = || {
        let file = match disk.create(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk.remove(name)?;
                disk.create(name)?
            }
            other => other?,
        };
        if !content.is_empty() {
            file.write_at(0, content)?;
        }
        let mut at = content.len() as u64;
        while at < length {
            let count = (length - at).min(ZEROS.len() as u64);
            file.write_at(at, &ZEROS[..count as usize])?;
            at += count;
        }
        file.sync()
    };
    // Removing the file frees space on a full disk. If this fails too, an unused file is left.
    write().inspect_err(|_| drop(disk.remove(name)))
}

/// Creates a file that is either complete or absent, even after a crash. Refuses an existing name.
///
/// # Durability
/// When the call returns, the file and its name are durable.
pub fn create_whole(disk: &dyn Disk, name: &str, content: &[u8], length: u64) -> io::Result<()> {
    write_whole(disk, &unfinished_name(name), content, length)?;
    finish_whole(disk, name)
}

/// Renames a file that [`write_whole`] wrote under its temporary name to `name`. Refuses an existing name.
///
/// # Durability
/// When the call returns, the name is durable.
pub fn finish_whole(disk: &dyn Disk, name: &str) -> io::Result<()> {
    disk.rename_new(&unfinished_name(name), name)?;
    disk.sync_dir(folder_of(name))
}

/// Replaces a file. After a crash, it has either the old or the new content.
///
/// # Durability
/// When the call returns, the new content is durable under the name.
pub fn replace(disk: &dyn Disk, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = unfinished_name(name);
    write_whole(disk, &unfinished, content, content.len() as u64)?;
    disk.rename_over(&unfinished, name)?;
    disk.sync_dir(folder_of(name))
}

/// Returns the temporary name that a file has while it is written.
pub fn unfinished_name(name: &str) -> String {
    format!("{name}.tmp")
}

/// Returns the folder part of a name; `""` for the store's own folder.
pub fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Refuses names that could lead out of the folder.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if name.split('/').all(plain) {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid name of a file in a store"),
        ))
    }
}

#[cfg(test)]
mod tests;
