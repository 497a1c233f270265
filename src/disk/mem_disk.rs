//! A disk in memory: for stores that need not outlive the process, and for tests.
//!
//! Nothing in it is durable, and no call fails because of a device. Clones share the same files, as two processes share
//! a folder.
//!
//! # Layer
//! Layer 1.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Access, Disk, DiskFile, LockGuard, check_name, folder_of};
use crate::bytes::Buffer;
use crate::threads::{Mutex, RwLock};

/// A folder in memory. Clones share the same folder.
#[derive(Clone)]
pub struct MemDisk {
    shared: Arc<Shared>,
}

struct Shared {
    files: Mutex<BTreeMap<String, Arc<Content>>>,
    locks: Mutex<BTreeMap<String, Arc<AtomicBool>>>,
    number: u64,
}

/// The bytes of a file. Maps share them until the next write, which copies them.
#[derive(Default)]
struct Content(RwLock<Arc<Vec<u8>>>);

impl MemDisk {
    /// Creates an empty folder.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::new(Shared {
                files: Mutex::default(),
                locks: Mutex::default(),
                number,
            }),
        }
    }

    fn find(&self, name: &str) -> io::Result<Arc<Content>> {
        check_name(name)?;
        let files = self.shared.files.lock();
        files
            .get(name)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Default for MemDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk for MemDisk {
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(MemFile {
            content: self.find(name)?,
            access,
        }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        check_name(name)?;
        let mut files = self.shared.files.lock();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = Arc::new(Content::default());
        files.insert(name.to_owned(), Arc::clone(&content));
        Ok(Arc::new(MemFile {
            content,
            access: Access::ReadWrite,
        }))
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        check_name(name)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        if self.shared.files.lock().contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename_over(from, to)
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(to)?;
        let mut files = self.shared.files.lock();
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.find(name)?;
        self.shared.files.lock().remove(name);
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let files = self.shared.files.lock();
        let in_folder = files.keys().filter(|name| folder_of(name) == folder);
        let mut names: Vec<String> = in_folder
            .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
            .collect();
        if folder.is_empty() {
            names.extend(
                files
                    .keys()
                    .filter_map(|name| name.split_once('/'))
                    .map(|(first, _)| first.to_owned()),
            );
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn sync_dir(&self, _folder: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_parent(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        let held = Arc::clone(self.shared.locks.lock().entry(name.to_owned()).or_default());
        if held.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let guard = MemLock(held);
        let file = match self.open(name, Access::ReadWrite) {
            Ok(file) => file,
            Err(_) => self.create(name)?,
        };
        file.write_at(0, holder.as_bytes())?;
        Ok(Some(Box::new(guard)))
    }

    fn boot_id(&self) -> [u8; 16] {
        // A disk in memory never outlives a run of the machine, so any constant works.
        [1; 16]
    }

    fn process(&self) -> u32 {
        std::process::id()
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }

    fn identity(&self) -> (u64, u64) {
        // No real device has this number.
        (u64::MAX, self.shared.number)
    }

    fn describe(&self) -> String {
        "a store in memory".to_owned()
    }
}

struct MemFile {
    content: Arc<Content>,
    access: Access,
}

impl DiskFile for MemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.content.0.read();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let count = buffer.len().min(content.len() - start);
        buffer[..count].copy_from_slice(&content[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.access == Access::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
        let start = usize::try_from(offset).map_err(|_| too_large())?;
        let end = start.checked_add(bytes.len()).ok_or_else(too_large)?;
        let mut content = self.content.0.write();
        let content = Arc::make_mut(&mut content);
        if content.len() < end {
            content.resize(end, 0);
        }
        content[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.content.0.read().len() as u64)
    }

    fn map(&self, length: u64) -> io::Result<Option<Arc<dyn Buffer>>> {
        let content = Arc::clone(&self.content.0.read());
        if (content.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Arc::new(MemMap {
            content,
            length: length as usize,
        })))
    }
}

/// The first bytes of a file as they were when it was mapped.
struct MemMap {
    content: Arc<Vec<u8>>,
    length: usize,
}

impl Buffer for MemMap {
    fn bytes(&self) -> &[u8] {
        self.content.get(..self.length).unwrap_or_default()
    }
}

struct MemLock(Arc<AtomicBool>);

impl LockGuard for MemLock {
    fn is_current(&self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
