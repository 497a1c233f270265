//! A disk in memory, for temporary stores and for tests.
//!
//! Its files exist only until the process ends, and no call fails because of a device. Clones share the same files,
//! like two processes that open the same folder.
//!
//! # Layer
//! Layer 1.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::{Access, Disk, DiskFile, LockGuard, check_name, folder_of};
use crate::threads::{Mutex, RwLock};

/// A folder in memory. Clones share the same folder.
#[derive(Clone, Default)]
pub struct MemDisk {
    files: Arc<Mutex<BTreeMap<String, Content>>>,
    locked: Arc<Mutex<BTreeSet<String>>>,
}

/// The bytes of a file. Maps share the bytes until the next write, which copies the bytes.
type Content = Arc<RwLock<Arc<Vec<u8>>>>;

impl MemDisk {
    /// Creates an empty folder.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Disk for MemDisk {
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        check_name(name)?;
        let content = self
            .files
            .lock()
            .get(name)
            .cloned()
            .ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(MemFile { content, access }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        check_name(name)?;
        let mut files = self.files.lock();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = Content::default();
        files.insert(name.to_owned(), Arc::clone(&content));
        let access = Access::ReadWrite;
        Ok(Arc::new(MemFile { content, access }))
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        check_name(name)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        if self.files.lock().contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename_over(from, to)
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(to)?;
        let mut files = self.files.lock();
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        let removed = self.files.lock().remove(name);
        removed.map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let files = self.files.lock();
        let within = files.keys().filter_map(|name| match folder {
            "" => name.split('/').next(),
            _ => name.rsplit('/').next().filter(|_| folder_of(name) == folder),
        });
        let names: BTreeSet<&str> = within.collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    fn sync_dir(&self, _folder: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_parent(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        if !self.locked.lock().insert(name.to_owned()) {
            return Ok(None);
        }
        let guard = MemLock {
            locked: Arc::clone(&self.locked),
            name: name.to_owned(),
        };
        let file = self
            .open(name, Access::ReadWrite)
            .or_else(|_| self.create(name))?;
        file.write_at(0, holder.as_bytes())?;
        Ok(Some(Box::new(guard)))
    }

    fn boot_id(&self) -> [u8; 16] {
        // The files do not survive a reboot, so a constant is sufficient.
        [1; 16]
    }

    fn identity(&self) -> (u64, u64) {
        // No real device has this number. Two folders have different addresses.
        (u64::MAX, Arc::as_ptr(&self.files).addr() as u64)
    }

    fn describe(&self) -> String {
        "a store in memory".to_owned()
    }
}

struct MemFile {
    content: Content,
    access: Access,
}

impl DiskFile for MemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.content.read();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let count = buffer.len().min(content.len() - start);
        buffer[..count].copy_from_slice(&content[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.access == Access::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        let range = range.ok_or(io::ErrorKind::FileTooLarge)?;
        let mut content = self.content.write();
        let content = Arc::make_mut(&mut content);
        content.resize(content.len().max(range.end), 0);
        content[range].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.content.read().len() as u64)
    }

    fn map(&self, length: u64) -> io::Result<Bytes> {
        mapped(&self.content.read(), length)
    }
}

/// The content of a file at the time of mapping.
struct Mapped(Arc<Vec<u8>>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the first `length` bytes of a content. Later writes to the file do not change the returned bytes.
pub(crate) fn mapped(content: &Arc<Vec<u8>>, length: u64) -> io::Result<Bytes> {
    if (content.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Bytes::from_owner(Mapped(Arc::clone(content))).slice(..length as usize))
}

struct MemLock {
    locked: Arc<Mutex<BTreeSet<String>>>,
    name: String,
}

impl LockGuard for MemLock {
    fn is_current(&self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.locked.lock().remove(&self.name);
    }
}
