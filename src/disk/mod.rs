//! The only access to the operating system: reads, writes, syncs and locks the files in the folder of a store.
//!
//! A [`Disk`] is a folder. File names are relative to the folder, with `/` between a subfolder and a file. Absolute
//! names and `..` are errors. The documentation of every call states which data the call makes durable. Upper layers
//! rely on this contract, not on the behaviour of one file system. [`FileDisk`] is the real disk. [`MemDisk`] stores
//! all files in memory, and its calls never fail because of a device. The simulated disk of the tests can lose data,
//! tear writes and make calls fail.
//!
//! # Layer
//! Layer 1. Handles names, bytes and durability, but does not interpret bytes.
//!
//! # Invariants
//! - DSK-1: a handle opened with [`Access::Read`] never writes, truncates or creates the file.
//! - DSK-2: a file gets its final name only after its content is durable ([`create_whole`], [`replace`]).
//! - DSK-3: Treering never removes the lock file, so two processes cannot lock two different files with the same name.
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
mod user_folder;

use std::io;
use std::sync::Arc;

use bytes::Bytes;

pub use file_disk::FileDisk;
pub use lock::{Holder, LockGuard, lock_as, lock_holder, lock_within};
pub use mem_disk::MemDisk;
pub use user_folder::{xdg_base, xdg_folder};

use crate::error::Damage;

/// The operations that an open file allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The file can only be read.
    Read,
    /// The file can be read, and its bytes can be overwritten in place.
    ReadWrite,
}

/// Fills `bytes` from the secure random source of the system.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// The folder of one store.
///
/// Calls return the errors of the operating system, and the caller adds the name of the operation. Callers rely on the
/// kinds `NotFound` and `AlreadyExists`. If a path is not a regular file, or not a folder as expected, the error
/// satisfies [`is_not_regular`].
pub trait Disk: Send + Sync {
    /// Opens an existing regular file. Changes nothing on disk.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates an empty file with access for its owner only (0600). Returns `AlreadyExists` if the name exists. The
    /// name is durable after [`Disk::sync_dir`], and the content after [`DiskFile::sync`].
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a subfolder (mode 0700) if it does not exist. The subfolder is durable after `sync_dir("")`.
    fn create_dir(&self, name: &str) -> io::Result<()>;

    /// Renames a file within its folder, atomically. Returns `AlreadyExists` if the target exists. The new name is
    /// durable after [`Disk::sync_dir`].
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;

    /// Renames a file within its folder, atomically, and replaces an existing target. The new name is durable after
    /// [`Disk::sync_dir`].
    fn rename_over(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Open handles can still read the file. The removal is durable after [`Disk::sync_dir`].
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the sorted names of the files and subfolders in a folder. `""` is the folder of the store.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Makes all earlier creations, renames and removals in a folder durable.
    fn sync_dir(&self, folder: &str) -> io::Result<()>;

    /// Makes the name of the store's folder durable in the parent folder.
    fn sync_parent(&self) -> io::Result<()>;

    /// Acquires the lock `name` if it is free, otherwise returns `None`. Creates a missing lock file, and names
    /// `holder` in the file (LCK-2). The lock is released when the guard is dropped or the process ends.
    fn try_lock(&self, name: &str, holder: &Holder) -> io::Result<Option<Box<dyn LockGuard>>>;

    /// Returns whether a process seems to hold the lock. Use the result for messages only.
    fn is_locked_by(&self, _name: &str, process: u32) -> bool {
        process == self.process()
    }

    /// Signals to the holder of the lock that this process waits for the lock. A disk may ignore the call.
    fn announce_waiting(&self, _name: &str) {}

    /// Returns whether another process called `announce_waiting` before this disk last acquired the lock, and since the
    /// time before that.
    fn somebody_waits(&self, _name: &str) -> bool {
        false
    }

    /// Returns the identifier of the current boot of the machine. Returns zeros if the system provides no such
    /// identifier.
    fn boot_id(&self) -> [u8; 16];

    /// Returns the number of this process. Handles store this number to detect that they are used in a forked child.
    fn process(&self) -> u32 {
        std::process::id()
    }

    /// Fills `bytes` from the secure random source of the system.
    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        random(bytes)
    }

    /// Returns the device number and the file number of the folder. Two paths to the same store have equal numbers.
    fn identity(&self) -> (u64, u64);

    /// Returns whether the path of the folder still leads to this folder, or to nothing because the folder was moved.
    /// Returns false once another folder has the path, or the folder was removed.
    fn is_in_place(&self) -> bool {
        true
    }

    /// Returns the number of bytes that this user can still write to the disk. Returns `None` if the number is unknown.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the location of the folder, for messages.
    fn describe(&self) -> String;
}

/// An open file. Every read and write has an explicit offset. There is no file position and no append mode.
pub trait DiskFile: Send + Sync {
    /// Reads `buffer.len()` bytes from `offset`, and fewer only at the end of the file. Returns the number of bytes
    /// read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`. The bytes are durable after [`DiskFile::sync`]. If the call fails, any part
    /// of the bytes may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `bytes` like [`DiskFile::write_at`], from a buffer that the caller also keeps. A disk in memory
    /// shares the buffer.
    fn write_shared(&self, offset: u64, bytes: &Bytes) -> io::Result<()> {
        self.write_at(offset, bytes)
    }

    /// Adds zeros to the end of the file until the file has `length` bytes. The zeros are durable after
    /// [`DiskFile::sync`]. Later writes in that part change neither the length nor the used space of the file.
    fn extend_to(&self, length: u64) -> io::Result<()> {
        let mut at = self.length()?;
        while at < length {
            let count = (length - at).min(ZEROS.len() as u64);
            self.write_at(at, &ZEROS[..count as usize])?;
            at += count;
        }
        Ok(())
    }

    /// Makes the content and the length durable, but not the name. If the call fails, it is unknown which bytes written
    /// since the last successful sync are durable. A later successful call does not make these bytes durable.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length of the file in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Maps the first `length` bytes into memory. The caller must ensure that no process ever changes these bytes or
    /// shortens the file.
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

/// Returns at most the first `limit` bytes of a file. Returns `None` if the file does not exist.
pub fn read_whole(disk: &dyn Disk, name: &str, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = if_there(disk.open(name, Access::Read))? else {
        return Ok(None);
    };
    let length = usize::try_from(file.length()?).unwrap_or(usize::MAX);
    read_bytes(&*file, 0, length.min(limit)).map(Some)
}

/// Returns the text of a file of the user, which is in no store.
#[cfg(feature = "remote-postgres")]
pub(crate) fn read_text(path: &std::path::Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// Returns bytes from the secure random source of the system.
///
/// # Errors
/// `Io` if the system has none.
#[cfg(feature = "remote")]
pub(crate) fn random_bytes<const N: usize>() -> crate::error::Result<[u8; N]> {
    let mut bytes = [0; N];
    let drawn = getrandom::fill(&mut bytes).map_err(io::Error::other);
    drawn.map_err(|error| crate::error::Error::io("cannot get random bytes", error))?;
    Ok(bytes)
}

/// Converts the error `NotFound` to `None`, and other results to `Some`.
pub fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Returns whether a call failed because a path is not a regular file, or not a folder as expected.
pub fn is_not_regular(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Damage>)
}

/// The zeros that one write adds to a file.
static ZEROS: [u8; 256 * 1024] = [0; 256 * 1024];

/// Creates `name` with `content` followed by zeros up to `length`, and makes the bytes durable. Removes an existing
/// file of that name first. Do not use this for a file that readers may need. The name is durable only after
/// [`Disk::sync_dir`].
pub fn write_whole(disk: &dyn Disk, name: &str, content: &[u8], length: u64) -> io::Result<()> {
    write_parts(disk, name, [content], length)
}

/// Creates a file as [`write_whole`] does. The parts are its content.
pub fn write_parts<const N: usize>(
    disk: &dyn Disk,
    name: &str,
    parts: [&[u8]; N],
    length: u64,
) -> io::Result<()> {
    let write = || {
        let file = match disk.create(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk.remove(name)?;
                disk.create(name)?
            }
            other => other?,
        };
        let mut at = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            file.write_at(at, part)?;
            at += part.len() as u64;
        }
        file.extend_to(length)?;
        file.sync()
    };
    // After an error, removes the file to free space on a full disk. If the removal also fails, an unused file remains.
    write().inspect_err(|_| drop(disk.remove(name)))
}

/// Creates a file atomically: after a crash, the file is complete or absent. Returns an error if the name exists.
///
/// # Durability
/// When the call returns, the file and its name are durable.
pub fn create_whole(disk: &dyn Disk, name: &str, content: &[u8], length: u64) -> io::Result<()> {
    write_whole(disk, &unfinished_name(name), content, length)?;
    finish_whole(disk, name)
}

/// Renames a file that [`write_whole`] wrote under its temporary name to `name`. Returns an error if `name` exists.
///
/// # Durability
/// When the call returns, the name is durable.
pub fn finish_whole(disk: &dyn Disk, name: &str) -> io::Result<()> {
    disk.rename_new(&unfinished_name(name), name)?;
    disk.sync_dir(folder_of(name))
}

/// Replaces a file atomically: after a crash, the file has either the old or the new content.
///
/// # Durability
/// When the call returns, the new content is durable under the name.
pub fn replace(disk: &dyn Disk, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = unfinished_name(name);
    write_whole(disk, &unfinished, content, content.len() as u64)?;
    disk.rename_over(&unfinished, name)?;
    disk.sync_dir(folder_of(name))
}

/// Returns the temporary name that a file has until its content is durable.
pub fn unfinished_name(name: &str) -> String {
    format!("{name}.tmp")
}

/// Returns the folder part of a name. Returns `""` for a file in the folder of the store.
pub fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns an error if a name could refer to a path outside the folder.
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
