//! Open files and locks of a simulated folder.
//!
//! # Layer
//! For tests; uses L1 only.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::fault::{Outcome, ReadFault, Space};
use super::state::{Inode, State, put};
use super::tell;
use crate::disk::{Access, DiskFile, LockGuard};
use crate::threads::Mutex;

pub(super) struct SimFile {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) inode: usize,
    pub(super) name: String,
    pub(super) access: Access,
}

impl SimFile {
    /// Returns whether a write adds zeros to the end of a segment. They belong to no group.
    fn is_room(&self, inode: &Inode, start: usize, bytes: &[u8]) -> bool {
        let is_segment = self.name.strip_suffix(".seg").is_some();
        is_segment && start >= inode.current.len() && bytes.iter().all(|byte| *byte == 0)
    }

    pub(super) fn check_order(&self, inode: &Inode, start: usize, bytes: &[u8], relaxed: bool) {
        if self.name.strip_suffix(".seg").is_none() {
            return;
        }
        assert!(
            relaxed || inode.pending.is_empty() || self.is_room(inode, start, bytes),
            "SIM-2: {} is written before its earlier bytes are synced",
            self.name
        );
        let old = inode.current.iter().skip(start).zip(bytes);
        let changed = old.enumerate().find(|(_, (old, new))| **old != 0 && old != new);
        assert!(
            changed.is_none(),
            "SIM-3: {} is changed from byte {start} on",
            self.name
        );
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let wanted = match state.count_read()? {
            Some(ReadFault::Short) => buffer.len().div_ceil(2),
            _ => buffer.len(),
        };
        let content = &state.inodes[self.inode].current;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let count = wanted.min(content.len() - start);
        state.check_bytes(self.inode, start..start + count)?;
        buffer[..count].copy_from_slice(&content[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert_eq!(
            self.access,
            Access::ReadWrite,
            "{} was opened only for reading",
            self.name
        );
        let start = offset as usize;
        let mut state = self.state.lock();
        let space = if self.is_room(&state.inodes[self.inode], start, bytes) {
            Space::Ahead
        } else {
            Space::Needed
        };
        let outcome = state.count(space, &self.name)?;
        let grows = (start + bytes.len()).saturating_sub(state.inodes[self.inode].current.len());
        if state.free_bytes().is_some_and(|free| grows > free) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        (state.last_write, state.is_writing) = (Some(self.inode), true);
        let relaxed = state.relaxed;
        let inode = &mut state.inodes[self.inode];
        self.check_order(inode, start, bytes, relaxed);
        let done = match outcome {
            Outcome::Done | Outcome::Crashed => bytes.len(),
            Outcome::Failed(fault) => fault.written(bytes.len()),
        };
        if done > 0 {
            put(&mut inode.current, start, &bytes[..done]);
            inode.pending.push((start, bytes[..done].into()));
        }
        let alive = state.check_alive();
        tell(state);
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Crashed => alive,
            Outcome::Failed(fault) => Err(fault.error()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.is_writing = false;
        tell(state);
        let mut state = self.state.lock();
        let outcome = state.count(Space::None, &self.name)?;
        if outcome == Outcome::Crashed {
            return state.check_alive();
        }
        let inode = &mut state.inodes[self.inode];
        let pending = std::mem::take(&mut inode.pending);
        if let Outcome::Failed(fault) = outcome {
            // The pages now count as clean although the sync failed, so they never reach the device.
            return Err(fault.error());
        }
        for (offset, bytes) in pending {
            put(&mut inode.durable, offset, &bytes);
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let mut state = self.state.lock();
        state.count_read()?;
        Ok(state.inodes[self.inode].current.len() as u64)
    }

    fn map(&self, length: u64) -> io::Result<Bytes> {
        let mut state = self.state.lock();
        state.count_read()?;
        state.check_bytes(self.inode, 0..length as usize)?;
        let content = &state.inodes[self.inode].current;
        if (content.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Bytes::from_owner(Mapped(Arc::clone(content))).slice(..length as usize))
    }
}

/// The content of a file at the time of mapping. Later writes copy the content, so they do not change it.
struct Mapped(Arc<Vec<u8>>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(super) struct SimLock {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) name: String,
    pub(super) had_no_other_holder: bool,
}

impl LockGuard for SimLock {
    fn is_current(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn had_no_other_holder(&self) -> bool {
        self.had_no_other_holder
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.state.lock().locked.remove(&self.name);
    }
}
