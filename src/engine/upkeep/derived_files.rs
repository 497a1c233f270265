//! Derived files of the layers above: what can be made anew from the state, kept because making it takes time.
//!
//! A file is bytes under a name. It counts only if it is whole and of this store; else it reads as if it were not there.
//! Erasure removes all of them, because an index holds words.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - DER-1: what is read is what was kept under that name in this store, or nothing.
//! - DER-2: nothing is kept that was made of a state from before an erasure.
//!
//! # After a crash
//! The file is the old one or the new one. One that had not got its name is left; the next one takes its place.
//!
//! # Format
//! docs/format.md, "Derived files".

use std::io;
use std::time::Duration;

use crate::bytes::Bytes;
use crate::codec::{DecodeError, Reader};
use crate::disk::{self, Access, Disk, read_full};
use crate::error::{Cause, Error, ErrorKind, Finding, Result, Severity};
use crate::log::CompactionLock;
use crate::object::Op;
use crate::store::Store;
use crate::trie::Trie;

use super::last_access::{USES, USES_NEW};
use crate::engine::memory::{Inner, Memory};
use crate::engine::read::view::View;

/// The folder of derived files.
pub(crate) const FOLDER: &str = "derived";
const MAGIC: &[u8; 8] = b"TRderiv1";
/// The version of the layout. A file of another one is not read.
const VERSION: u32 = 1;
/// The longest name, in bytes.
const NAME_BYTES: usize = 32;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 76;

impl Memory {
    /// The bytes that were last kept under `name`; `None` if there are none, or they are damaged or of another store.
    ///
    /// # Errors
    /// `InvalidInput` if the name has other characters than `a` to `z`, digits and `-`, or not 1 to 32 of them; `Io`.
    pub fn derived(&self, name: &str) -> Result<Option<Bytes>> {
        self.inner.derived_content(name)
    }

    /// Keeps `bytes` under `name`, in place of what was kept there. They must have been made of the state `of`, or of that
    /// and later ones. Returns whether they were kept: not if something was erased since that state, and not while another
    /// process rewrites the log. Other processes may commit meanwhile.
    ///
    /// # Errors
    /// As [`Self::derived`]; `Io` with the code `read_only` for a handle that only reads.
    ///
    /// # Durability
    /// When this returns, they are durable. After a crash before, there are the bytes from before, or none.
    pub fn keep_derived(&self, name: &str, bytes: &[u8], of: &View) -> Result<bool> {
        self.inner.keep_derived(name, bytes, of)
    }
}

impl Inner {
    /// As [`Memory::derived`].
    pub(crate) fn derived_content(&self, name: &str) -> Result<Option<Bytes>> {
        let bytes = self.derived(name)?;
        Ok(bytes.and_then(|bytes| bytes.slice(HEADER_BYTES..bytes.len())))
    }

    /// As [`Memory::keep_derived`].
    pub(crate) fn keep_derived(&self, name: &str, bytes: &[u8], of: &View) -> Result<bool> {
        check_name(name)?;
        self.check_writable()?;
        // INVARIANT DER-2: whoever erases has this lock until its commit is to be read.
        let Some(_alone) = self.nobody_rewrites(Duration::ZERO)? else {
            return Ok(false);
        };
        self.follow()?;
        self.stamps.lock().may_be_behind();
        if self.was_erased_since(of.entry.seq())? {
            return Ok(false);
        }
        self.write_derived(name, bytes)?;
        Ok(true)
    }

    /// The lock that keeps rewrites apart, unless somebody else has it for so long.
    pub(crate) fn nobody_rewrites(&self, patience: Duration) -> Result<Option<CompactionLock>> {
        match CompactionLock::take(&*self.disk, patience) {
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            taken => taken.map(Some),
        }
    }

    fn was_erased_since(&self, seq: u64) -> Result<bool> {
        let store = self.store();
        for index in (0..store.kept()).rev() {
            match store.commit_at(index)? {
                Some(entry) if entry.seq() > seq => {
                    if entry.commit.op.as_str() == Op::ERASE {
                        return Ok(true);
                    }
                }
                _ => break,
            }
        }
        Ok(false)
    }

    /// A whole file with its header.
    pub(crate) fn derived(&self, name: &str) -> Result<Option<Bytes>> {
        check_name(name)?;
        let path = format!("{FOLDER}/{name}");
        let reading = |error| Error::io(format!("cannot read {path}"), error);
        let file = match self.disk.open(&path, Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(reading(error)),
        };
        let length = file.length().map_err(reading)?;
        // It never changes: another one takes its place.
        let mapped = if self.options.map {
            file.map(length).map_err(reading)?
        } else {
            None
        };
        let bytes = match mapped {
            Some(mapped) => Bytes::new(mapped),
            None => {
                let Ok(length) = usize::try_from(length) else {
                    return Ok(None);
                };
                let mut bytes = vec![0; length];
                let read = read_full(&*file, 0, &mut bytes).map_err(reading)?;
                bytes.truncate(read);
                Bytes::from(bytes)
            }
        };
        // INVARIANT DER-1
        Ok(examine(&bytes, name, &self.instance).is_ok().then_some(bytes))
    }

    /// Puts a file in the place of the one with its name. Nobody else does at the same time.
    pub(crate) fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = format!("{FOLDER}/{name}");
        let writing = |error| Error::io(format!("cannot write {path}"), error);
        match self.disk.list(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self
                .disk
                .create_dir(FOLDER)
                .and_then(|()| self.disk.sync_dir(""))
                .map_err(writing)?,
            _ => {}
        }
        disk::replace(&*self.disk, &path, &encode(&self.instance, name, bytes)).map_err(writing)
    }

    /// Removes every derived file but the stamps of use, which are written as one, without those of objects that `left` does
    /// not have.
    pub(crate) fn forget_derived(&self, left: &Trie, store: &Store) -> Result<()> {
        let removing = |error| Error::io(format!("cannot remove a file in {FOLDER}"), error);
        let names = match self.disk.list(FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(removing)?,
        };
        let stamps = self.stamps.lock().merged(self, left, store)?;
        for name in names.iter().filter(|name| *name != USES) {
            let path = format!("{FOLDER}/{name}");
            self.disk.remove(&path).map_err(removing)?;
        }
        if !names.is_empty() {
            self.disk.sync_dir(FOLDER).map_err(removing)?;
        }
        if names.iter().any(|name| name == USES || name == USES_NEW) {
            self.write_derived(USES, &stamps)?;
        }
        self.stamps.lock().retain(left, store)
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the name of a derived file must have 1 to {NAME_BYTES} of the characters a to z, 0 to 9 and -, and {name:?} has not"
    )))
}

fn encode(instance: &[u8; 16], name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(HEADER_BYTES + bytes.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(instance);
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    file.extend_from_slice(&padded);
    file.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    file.extend_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
    file.extend_from_slice(&crc32c::crc32c(&file).to_le_bytes());
    file.extend_from_slice(bytes);
    file
}

fn examine(file: &[u8], name: &str, instance: &[u8; 16]) -> std::result::Result<(), Cause> {
    let cut = |_: DecodeError| Cause::DerivedCut;
    let mut reader = Reader::new(file);
    let magic: [u8; 8] = reader.array().map_err(cut)?;
    let version = reader.u32().map_err(cut)?;
    let owner: [u8; 16] = reader.array().map_err(cut)?;
    let named: [u8; NAME_BYTES] = reader.array().map_err(cut)?;
    let length = reader.u64().map_err(cut)?;
    let (sum, header_sum) = (reader.u32().map_err(cut)?, reader.u32().map_err(cut)?);
    if &magic != MAGIC || crc32c::crc32c(&file[..HEADER_BYTES - 4]) != header_sum {
        return Err(Cause::DerivedChecksum);
    }
    if version != VERSION {
        return Err(Cause::DerivedVersion);
    }
    let padding = named.get(name.len()..).unwrap_or_default();
    if !named.starts_with(name.as_bytes()) || padding.iter().any(|byte| *byte != 0) {
        return Err(Cause::DerivedForeign);
    }
    if owner != *instance {
        return Err(Cause::DerivedForeign);
    }
    let content = &file[HEADER_BYTES..];
    if content.len() as u64 != length {
        return Err(Cause::DerivedCut);
    }
    if crc32c::crc32c(content) != sum {
        return Err(Cause::DerivedChecksum);
    }
    Ok(())
}

/// Looks at every derived file of the store `instance`.
pub(crate) fn check(disk: &dyn Disk, instance: &[u8; 16]) -> Result<Vec<Finding>> {
    let failed = |error| Error::io(format!("cannot read {FOLDER}"), error);
    let names = match disk.list(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut found = Vec::new();
    for name in names {
        let path = format!("{FOLDER}/{name}");
        let finished = name.strip_suffix(".tmp");
        if check_name(finished.unwrap_or(&name)).is_err() {
            continue;
        }
        let wrong = if finished.is_some() {
            Err(Cause::Unfinished)
        } else {
            match read(disk, &path) {
                Ok(bytes) => examine(&bytes, &name, instance),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => return Err(failed(error)),
            }
        };
        let finding = |cause| Finding::new(Severity::Derived, &path, 0, cause);
        found.extend(wrong.err().map(finding));
    }
    Ok(found)
}

fn read(disk: &dyn Disk, path: &str) -> io::Result<Vec<u8>> {
    let file = disk.open(path, Access::Read)?;
    let length = usize::try_from(file.length()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let read = read_full(&*file, 0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}
