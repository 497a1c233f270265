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

use super::{Access, Disk, DiskFile, Holder, LockGuard, check_name, folder_of};
use crate::threads::{Mutex, RwLock};

/// A folder in memory. Clones share the same folder.
#[derive(Clone)]
pub struct MemDisk {
    files: Arc<Mutex<BTreeMap<String, Content>>>,
    locks: Arc<Mutex<BTreeMap<String, Arc<Mutex<Turns>>>>>,
    /// The process that made the folder. A forked child has a folder of its own, so it may continue.
    process: u32,
}

/// The state of a lock.
#[derive(Default)]
struct Turns {
    is_locked: bool,
    /// The last holder.
    holder: Option<Holder>,
}

impl Default for MemDisk {
    fn default() -> Self {
        Self {
            files: Arc::default(),
            locks: Arc::default(),
            process: std::process::id(),
        }
    }
}

type Content = Arc<RwLock<Pieces>>;

/// The bytes of a file: the written pieces by offset, which do not overlap. All other bytes are zero. So a file that was
/// created with its full size uses no memory for the part that is not written yet.
#[derive(Default)]
struct Pieces {
    length: u64,
    written: BTreeMap<u64, Bytes>,
}

impl Pieces {
    /// Copies the bytes from `start` on to `buffer`. Returns the number of bytes up to the end of the file.
    fn read(&self, start: u64, buffer: &mut [u8]) -> usize {
        let count = self.length.saturating_sub(start).min(buffer.len() as u64);
        let buffer = &mut buffer[..count as usize];
        buffer.fill(0);
        let end = start + count;
        // The first piece may begin before `start`.
        let first = self.written.range(..=start).next_back();
        let first = first.map_or(start, |(&at, _)| at);
        for (&at, bytes) in self.written.range(first..end) {
            let piece_end = at + bytes.len() as u64;
            let (from, to) = (at.max(start), piece_end.min(end));
            if from < to {
                let copied = &bytes[(from - at) as usize..(to - at) as usize];
                buffer[(from - start) as usize..(to - start) as usize].copy_from_slice(copied);
            }
        }
        count as usize
    }

    /// Sets the bytes from `start` on to `bytes`, without copying them. Cuts the pieces that they overlap.
    fn write(&mut self, start: u64, bytes: Bytes) -> io::Result<()> {
        let end = start.checked_add(bytes.len() as u64);
        let end = end.ok_or(io::ErrorKind::FileTooLarge)?;
        self.length = self.length.max(end);
        if start == end {
            return Ok(());
        }
        if let Some(old) = self.written.get_mut(&start)
            && old.len() == bytes.len()
        {
            *old = bytes;
            return Ok(());
        }
        // At most one piece begins before `start` and reaches into the range, because pieces do not overlap.
        while let Some((&at, old)) = self.written.range(..end).next_back() {
            let old_end = at + old.len() as u64;
            if old_end <= start {
                break;
            }
            let tail = (old_end > end).then(|| old.slice((end - at) as usize..));
            let head = (at < start).then(|| old.slice(..(start - at) as usize));
            self.written.remove(&at);
            self.written.extend(tail.map(|tail| (end, tail)));
            if let Some(head) = head {
                self.written.insert(at, head);
                break;
            }
        }
        self.written.insert(start, bytes);
        Ok(())
    }

    /// Returns the first `length` bytes as one piece, and keeps that piece instead of the smaller ones. Later writes do
    /// not change the returned bytes.
    fn joined(&mut self, length: u64) -> io::Result<Bytes> {
        if self.length < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let whole = self.written.get(&0).filter(|bytes| bytes.len() as u64 >= length);
        if let Some(whole) = whole {
            return Ok(whole.slice(..length as usize));
        }
        let mut bytes = vec![0; length as usize];
        self.read(0, &mut bytes);
        let bytes = Bytes::from(bytes);
        self.write(0, bytes.clone())?;
        Ok(bytes)
    }
}

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
        check_name(to)?;
        let mut files = self.files.lock();
        if files.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
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

    fn try_lock(&self, name: &str, holder: &Holder) -> io::Result<Option<Box<dyn LockGuard>>> {
        let known = self.locks.lock().get(name).cloned();
        let turns =
            known.unwrap_or_else(|| Arc::clone(self.locks.lock().entry(name.to_owned()).or_default()));
        let mut state = turns.lock();
        if state.is_locked {
            return Ok(None);
        }
        let had_no_other_holder = state.holder.as_ref() == Some(holder);
        if !had_no_other_holder {
            let file = self
                .open(name, Access::ReadWrite)
                .or_else(|_| self.create(name))?;
            file.write_at(0, holder.as_bytes())?;
            state.holder = Some(holder.clone());
        }
        state.is_locked = true;
        drop(state);
        Ok(Some(Box::new(MemLock {
            turns,
            had_no_other_holder,
        })))
    }

    fn process(&self) -> u32 {
        self.process
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

impl MemFile {
    fn check_writable(&self) -> io::Result<()> {
        match self.access {
            Access::Read => Err(io::ErrorKind::PermissionDenied.into()),
            Access::ReadWrite => Ok(()),
        }
    }
}

impl DiskFile for MemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.content.read().read(offset, buffer))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_shared(offset, &Bytes::copy_from_slice(bytes))
    }

    fn write_shared(&self, offset: u64, bytes: &Bytes) -> io::Result<()> {
        self.check_writable()?;
        self.content.write().write(offset, bytes.clone())
    }

    fn extend_to(&self, length: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut content = self.content.write();
        content.length = content.length.max(length);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.content.read().length)
    }

    fn map(&self, length: u64) -> io::Result<Bytes> {
        self.content.write().joined(length)
    }
}

struct MemLock {
    turns: Arc<Mutex<Turns>>,
    had_no_other_holder: bool,
}

impl LockGuard for MemLock {
    fn is_current(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn had_no_other_holder(&self) -> bool {
        self.had_no_other_holder
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.turns.lock().is_locked = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_file_of_pieces_is_like_one_vector(
            calls in proptest::collection::vec((0..5_u8, 0..80_u64, 0..40_usize, 1..=255_u8), 1..40)
        ) {
            let disk = MemDisk::new();
            let file = disk.create("a").expect("a new name");
            let (mut model, mut maps) = (Vec::new(), Vec::new());
            for (call, offset, count, value) in calls {
                let (start, end) = (offset as usize, offset as usize + count);
                match call {
                    0 | 1 => {
                        let bytes = vec![value; count];
                        if call == 0 {
                            file.write_at(offset, &bytes)?;
                        } else {
                            file.write_shared(offset, &bytes.clone().into())?;
                        }
                        model.resize(model.len().max(end), 0);
                        model[start..end].copy_from_slice(&bytes);
                    }
                    2 => {
                        file.extend_to(offset)?;
                        model.resize(model.len().max(start), 0);
                    }
                    3 => match file.map(offset) {
                        Ok(bytes) => {
                            prop_assert_eq!(&bytes[..], &model[..start]);
                            maps.push((bytes, model[..start].to_vec()));
                        }
                        Err(_) => prop_assert!(start > model.len()),
                    },
                    _ => {
                        let mut read = vec![9; count];
                        let found = file.read_at(offset, &mut read)?;
                        let expected = model.get(start..end.min(model.len())).unwrap_or_default();
                        prop_assert_eq!(&read[..found], expected);
                    }
                }
                prop_assert_eq!(file.length()?, model.len() as u64);
                let mut whole = vec![9; model.len()];
                file.read_at(0, &mut whole)?;
                prop_assert_eq!(&whole, &model);
                // Later writes do not change a map.
                for (bytes, then) in &maps {
                    prop_assert_eq!(&bytes[..], &then[..]);
                }
            }
        }
    }
}
