//! A disk that forgets: it knows what is durable, crashes at a chosen call, and fails on demand.
//!
//! A write that was not synced may survive a loss of power in any subset of its 512-byte sectors; a created, renamed
//! or removed name survives only after its folder was synced, and independently of contents. A failed sync loses
//! what it should have made durable, for good, while reads still show it: as page caches do.
//!
//! # Layer
//! For tests; uses L1 only.
//!
//! # Invariants
//! These are asserted on every call, so every test on this disk checks them:
//! - SIM-1: no file is renamed while bytes of it are not synced.
//! - SIM-2: no published segment is written while earlier bytes of it are not synced, unless [`SimDisk::relax`]
//!   was called.
//! - SIM-3: no byte of a published segment that is not zero is ever changed.

mod file;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::random::SplitMix64;
use crate::disk::{Access, Disk, DiskFile, LockGuard, folder_of};
use file::{SimFile, SimLock};
use state::{Inode, NameChange, Outcome, State, put, survive};

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashImage {
    /// The process was killed: everything is there, as far from durable as it was, and the machine runs on.
    Killed,
    /// Power was lost; nothing of it survived.
    Nothing,
    /// Power was lost; all of it survived.
    Everything,
    /// Power was lost; all of it survived but for the last write, of which these first bytes did.
    LastWritePrefix(usize),
    /// Power was lost; a random choice of sectors and names survived.
    Sectors(u64),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device failed; nothing was done.
    Device,
    /// No space; a write did its first half.
    Full,
}

/// A simulated folder. Clones are the same folder.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// An empty folder whose random bytes follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let state = State {
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            last_write: None,
            locked: BTreeSet::new(),
            calls: 0,
            crash_at: None,
            crashed: false,
            fault: None,
            boot: 1,
            process: 1,
            relaxed: false,
            random: SplitMix64::new(seed),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Lets several writes wait for one sync, as relaxed durability does (SIM-2 is not asserted).
    pub fn relax(&self) {
        self.state.lock().relaxed = true;
    }

    /// Calls that changed or synced something so far.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Crashes in the `call`-th changing or syncing call (the first is 1): that call may have taken effect or not,
    /// and it and all later calls fail.
    pub fn crash_at(&self, call: u64) {
        self.state.lock().crash_at = Some(call);
    }

    /// Lets the `call`-th changing or syncing call fail once.
    pub fn fail_at(&self, call: u64, fault: Fault) {
        self.state.lock().fault = Some((call, fault));
    }

    /// Whether the crash has come.
    pub fn is_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Makes the calls come from another process, as after a fork.
    pub fn set_process(&self, process: u32) {
        self.state.lock().process = process;
    }

    /// Lets the machine start again in good order: everything becomes durable.
    pub fn reboot(&self) {
        let mut state = self.state.lock();
        for inode in &mut state.inodes {
            for (offset, bytes) in std::mem::take(&mut inode.pending) {
                put(&mut inode.durable, offset, &bytes);
            }
            inode.current.clone_from(&inode.durable);
        }
        state.pending_names.clear();
        state.durable_names = state.names.clone();
        state.boot = state.boot.wrapping_add(1).max(1);
    }

    /// Bytes of the last write that is not synced; 0 if there is none.
    pub fn last_write_bytes(&self) -> usize {
        let state = self.state.lock();
        let inode = state
            .last_write
            .and_then(|inode| state.inodes[inode].pending.last());
        inode.map_or(0, |(_, bytes)| bytes.len())
    }

    /// The folder as it may be found after a crash now; independent of this one.
    #[must_use]
    pub fn crash_image(&self, image: CrashImage) -> Self {
        let mut state = self.state.lock().clone();
        if image == CrashImage::Killed {
            state.start_again();
            return Self {
                state: Arc::new(Mutex::new(state)),
            };
        }
        let mut random = SplitMix64::new(match image {
            CrashImage::Sectors(seed) => seed,
            _ => 0,
        });
        let last_write = state.last_write;
        for (number, inode) in state.inodes.iter_mut().enumerate() {
            let pending = std::mem::take(&mut inode.pending);
            let count = pending.len();
            for (index, (offset, bytes)) in pending.into_iter().enumerate() {
                let is_last = last_write == Some(number) && index + 1 == count;
                survive(&mut inode.durable, offset, &bytes, image, is_last, &mut random);
            }
            inode.current.clone_from(&inode.durable);
        }
        let changes = std::mem::take(&mut state.pending_names);
        let keep_order = random.one_in(2);
        let prefix = random.below(changes.len() + 1);
        for (index, change) in changes.iter().enumerate() {
            let survives = match image {
                CrashImage::Nothing => false,
                CrashImage::Sectors(_) if keep_order => index < prefix,
                CrashImage::Sectors(_) => random.one_in(2),
                _ => true,
            };
            if survives {
                change.apply(&mut state.durable_names);
            }
        }
        state.names = state.durable_names.clone();
        state.last_write = None;
        state.boot = state.boot.wrapping_add(1).max(1);
        state.start_again();
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The folder as it is; independent of this one.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.crash_image(CrashImage::Killed)
    }

    /// Names and contents as reads see them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state.lock();
        state
            .names
            .iter()
            .map(|(name, inode)| (name.clone(), state.inodes[*inode].current.clone()))
            .collect()
    }

    /// Replaces the content of a file, durably; creates it if it is not there.
    pub fn put_file(&self, name: &str, content: Vec<u8>) {
        let mut state = self.state.lock();
        state.inodes.push(Inode {
            durable: content.clone(),
            current: content,
            pending: Vec::new(),
        });
        let inode = state.inodes.len() - 1;
        state.names.insert(name.to_owned(), inode);
        state.durable_names.insert(name.to_owned(), inode);
    }

    /// Removes a file, durably.
    pub fn remove_file(&self, name: &str) {
        let mut state = self.state.lock();
        state.names.remove(name);
        state.durable_names.remove(name);
    }

    /// Overwrites bytes of a file, durably, behind everybody's back.
    pub fn overwrite(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        let inode = state.names[name];
        let inode = &mut state.inodes[inode];
        change(&mut inode.current);
        inode.durable.clone_from(&inode.current);
        inode.pending.clear();
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let inode = self.state.lock().find(name)?;
        let name = name.to_owned();
        Ok(Arc::new(SimFile {
            state: Arc::clone(&self.state),
            inode,
            name,
            access,
        }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        if state.find(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.change_name(NameChange::Set(name.to_owned(), inode))?;
        drop(state);
        self.open(name, Access::ReadWrite)
    }

    fn create_dir(&self, _name: &str) -> io::Result<()> {
        self.state.lock().check_alive()
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.rename(from, to)
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        self.state.lock().rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.find(name)?;
        state.change_name(NameChange::Clear(name.to_owned()))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        state.check_alive()?;
        let inside = state.names.keys().filter(|name| folder_of(name) == folder);
        Ok(inside
            .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
            .collect())
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.count()? {
            Outcome::Done => {}
            Outcome::Crashed => return state.check_alive(),
            Outcome::Failed(fault) => return Err(fault.error()),
        }
        let changes = std::mem::take(&mut state.pending_names);
        let (synced, rest): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.folder() == folder);
        for change in synced {
            change.apply(&mut state.durable_names);
        }
        state.pending_names = rest;
        Ok(())
    }

    fn sync_parent(&self) -> io::Result<()> {
        self.state.lock().check_alive()
    }

    fn try_lock(&self, name: &str, _holder: &str) -> io::Result<Option<Box<dyn LockGuard>>> {
        let mut state = self.state.lock();
        state.check_alive()?;
        if !state.locked.insert(name.to_owned()) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimLock {
            state: Arc::clone(&self.state),
            name: name.to_owned(),
        })))
    }

    fn boot_id(&self) -> [u8; 16] {
        [self.state.lock().boot; 16]
    }

    fn process(&self) -> u32 {
        self.state.lock().process
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        bytes.fill_with(|| state.random.byte());
        Ok(())
    }

    fn identity(&self) -> (u64, u64) {
        (u64::MAX - 1, Arc::as_ptr(&self.state).addr() as u64)
    }

    fn describe(&self) -> String {
        "a simulated store".to_owned()
    }
}
