//! A disk that can lose data: it tracks the durable bytes, crashes at a chosen call, and fails on demand.
//!
//! After a power loss, any subset of the 512-byte sectors of an unsynced write may survive. A created, renamed or
//! removed name survives only if its folder was synced, independently of contents. A failed sync loses its bytes
//! permanently while reads still return them, as with a page cache.
//!
//! # Layer
//! For tests; uses L1 only.
//!
//! # Invariants
//! Every call asserts these, so every test on this disk checks them:
//! - SIM-1: a file is renamed only after all of its bytes are synced.
//! - SIM-2: a published segment is written only after its earlier bytes are synced, unless [`SimDisk::relax`] was
//!   called.
//! - SIM-3: in a published segment, only zero bytes are ever overwritten.
//! - SIM-4: a published segment is removed only after the manifest that replaces it is durable.

mod fault;
mod file;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::disk::{Access, Disk, DiskFile, Holder, LockGuard, folder_of};
use crate::threads::{Mutex, MutexGuard};
pub use fault::{Fault, ReadFault};
use fault::{Outcome, Space};
use file::{SimFile, SimLock};
use state::{Inode, NameChange, State};

/// The unsynced bytes and names that survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashImage {
    /// The process was killed and the machine runs on. Reads still return everything, and unsynced bytes stay unsynced.
    Killed,
    /// As `Killed`, but only this many of the first bytes of the last write reached the system.
    KilledInWrite(usize),
    /// Power was lost; no unsynced byte or name survived.
    Nothing,
    /// As `Nothing`, but the machine runs on: only the file system was shut down.
    ShutDown,
    /// Power was lost; everything unsynced survived.
    Everything,
    /// Power was lost; everything survived, except that only this many of the first bytes of the last write survived.
    LastWritePrefix(usize),
    /// Power was lost; names and lengths survived, but no unsynced bytes: new parts of files read as zeros.
    ExtentWithoutData,
    /// Power was lost; names and bytes survived, but no new lengths: files end at their last durable length.
    DataWithoutExtent,
    /// Power was lost; names survived, but no contents.
    NamesWithoutContents,
    /// Power was lost; contents survived, but no names.
    ContentsWithoutNames,
    /// Power was lost; a random choice of sectors and names survived.
    Sectors(u64),
}

/// Gets the folder during each changing or syncing call, when the effect of the call is not yet durable.
pub type Observer = Arc<dyn Fn(&SimDisk) + Send + Sync>;

/// A simulated folder. Clones share the same folder.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// Passes the folder to its observer.
fn tell(state: MutexGuard<'_, State>) {
    let Some(observer) = state.observer.clone() else {
        return;
    };
    let mut copy = State::clone(&state);
    copy.observer = None;
    drop(state);
    observer(&SimDisk::of(copy));
}

impl SimDisk {
    /// Creates an empty folder. `seed` determines its random bytes.
    pub fn new(seed: u64) -> Self {
        Self::of(State::new(seed))
    }

    fn of(state: State) -> Self {
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn file(&self, inode: usize, name: &str, access: Access) -> Arc<dyn DiskFile> {
        Arc::new(SimFile {
            state: Arc::clone(&self.state),
            inode,
            name: name.to_owned(),
            access,
        })
    }

    /// Allows several writes to wait for one sync, as with relaxed durability (SIM-2 is not asserted).
    pub fn relax(&self) {
        self.state.lock().relaxed = true;
    }

    /// Returns the number of calls so far that changed or synced something.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Returns the number of reading calls so far: reads of bytes, lengths or names, and calls that opened or mapped a
    /// file.
    pub fn reads(&self) -> u64 {
        self.state.lock().reads
    }

    /// Crashes in the changing or syncing call number `call`, counted from 1. That call may take effect, but it and all
    /// later calls fail.
    pub fn crash_at(&self, call: u64) {
        self.state.lock().crash_at = Some(call);
    }

    /// Calls `observer` at every changing or syncing call from now on, with the folder that a crash in the call would
    /// leave.
    pub fn observe(&self, observer: Observer) {
        self.state.lock().observer = Some(observer);
    }

    /// Stops the calls that [`Self::observe`] started.
    pub fn observe_no_more(&self) {
        self.state.lock().observer = None;
    }

    /// Makes the changing or syncing call number `call` fail once.
    pub fn fail_at(&self, call: u64, fault: Fault) {
        self.state.lock().faults.set(call, 0, fault);
    }

    /// Makes the changing or syncing call number `first`, and the `lasting` calls after it, fail. A lack of space does
    /// not affect calls that need no space.
    pub fn fail_from(&self, first: u64, lasting: u64, fault: Fault) {
        self.state.lock().faults.set(first, lasting, fault);
    }

    /// Makes the reading call number `read` fail once.
    pub fn fail_read_at(&self, read: u64, fault: ReadFault) {
        self.state.lock().faults.set_read(read, fault);
    }

    /// Returns whether a call failed in a way that the engine must report. The engine may ignore failures of
    /// checkpoints and derived files. The engine may also ignore a lack of space for a segment, because it then tries a
    /// smaller segment.
    pub fn has_failed(&self) -> bool {
        self.state.lock().faults.met_primary
    }

    /// Ends all faults, so the device works and has space. Returns whether a fault occurred.
    pub fn heal(&self) -> bool {
        self.state.lock().faults.heal()
    }

    /// Returns whether the crash has happened.
    pub fn is_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Returns the published files that a power loss may change or remove, except derived files.
    pub fn unsynced(&self) -> Vec<String> {
        self.state.lock().unsynced()
    }

    /// Makes all calls appear to come from another process, as after a fork.
    pub fn set_process(&self, process: u32) {
        self.state.lock().process = process;
    }

    /// Restarts the machine after an orderly shutdown, which makes everything durable.
    pub fn reboot(&self) {
        let mut state = self.state.lock();
        state.holders.clear();
        state.lose_power(CrashImage::Everything);
    }

    /// Returns the number of bytes in the last unsynced write; 0 if there is no such write.
    pub fn last_write_bytes(&self) -> usize {
        let state = self.state.lock();
        let inode = state
            .last_write
            .and_then(|inode| state.inodes[inode].pending.last());
        inode.map_or(0, |(_, bytes)| bytes.len())
    }

    /// Returns whether the observed call is a write, because only a write can be cut by a kill.
    pub fn is_writing(&self) -> bool {
        self.state.lock().is_writing
    }

    /// Returns whether nothing waits for a sync, so every crash would leave the same folder.
    pub fn is_durable(&self) -> bool {
        let state = self.state.lock();
        state.pending_names.is_empty() && state.inodes.iter().all(|inode| inode.pending.is_empty())
    }

    /// Returns an independent copy of the folder as a crash now would leave it.
    #[must_use]
    pub fn crash_image(&self, image: CrashImage) -> Self {
        let mut state = self.state.lock().clone();
        match image {
            CrashImage::Killed => {}
            CrashImage::KilledInWrite(count) => state.cut_last_write(count),
            _ => state.lose_power(image),
        }
        state.start_again();
        Self::of(state)
    }

    /// Returns an independent copy of the folder.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.crash_image(CrashImage::Killed)
    }

    /// Returns names and contents as reads return them. The contents are shared and not copied.
    pub fn contents(&self) -> BTreeMap<String, Arc<Vec<u8>>> {
        let state = self.state.lock();
        let content = |inode: usize| Arc::clone(&state.inodes[inode].current);
        let names = state.names.iter();
        names
            .map(|(name, inode)| (name.clone(), content(*inode)))
            .collect()
    }

    /// Returns names and contents as reads return them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let contents = self.contents().into_iter();
        contents.map(|(name, content)| (name, content.to_vec())).collect()
    }

    /// Leaves room for this many more bytes of files.
    pub fn leave_room(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.capacity = Some(usize::MAX);
        let used = usize::MAX - state.free_bytes().unwrap_or_default();
        state.capacity = Some(used + bytes);
    }

    /// Makes every later call that opens this file fail for lack of permission.
    pub fn deny(&self, name: &str) {
        let mut state = self.state.lock();
        let inode = state.names[name];
        state.denied.insert(inode);
    }

    /// Makes every later read of these bytes of a file fail (EIO).
    pub fn break_bytes(&self, name: &str, bytes: Range<usize>) {
        let mut state = self.state.lock();
        let inode = state.names[name];
        state.broken.insert(inode, bytes);
    }

    /// Replaces the content of a file, or creates the file. The change is durable.
    pub fn put_file(&self, name: &str, content: Vec<u8>) {
        let mut state = self.state.lock();
        let content = Arc::new(content);
        state.inodes.push(Inode {
            durable: Arc::clone(&content),
            current: content,
            pending: Vec::new(),
        });
        let inode = state.inodes.len() - 1;
        state.names.insert(name.to_owned(), inode);
        state.durable_names.insert(name.to_owned(), inode);
    }

    /// Removes a file. The removal is durable.
    pub fn remove_file(&self, name: &str) {
        let mut state = self.state.lock();
        state.names.remove(name);
        state.durable_names.remove(name);
    }

    /// Overwrites bytes of a file. The change is durable, and open handles do not notice it.
    pub fn overwrite(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        let inode = state.names[name];
        let inode = &mut state.inodes[inode];
        change(Arc::make_mut(&mut inode.current));
        inode.durable = Arc::clone(&inode.current);
        inode.pending.clear();
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.count_read()?;
        let inode = state.find(name)?;
        if state.denied.contains(&inode) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(self.file(inode, name, access))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        if state.find(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.change_name(NameChange::Set(name.to_owned(), inode))?;
        tell(state);
        self.state.lock().check_alive()?;
        Ok(self.file(inode, name, Access::ReadWrite))
    }

    fn create_dir(&self, _name: &str) -> io::Result<()> {
        self.state.lock().check_alive()
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.rename(from, to)?;
        tell(state);
        Ok(())
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.rename(from, to)?;
        tell(state);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.find(name)?;
        state.check_removal(name);
        state.change_name(NameChange::Clear(name.to_owned()))?;
        tell(state);
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.count_read()?;
        let inside = state.names.keys().filter(|name| folder_of(name) == folder);
        Ok(inside
            .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
            .collect())
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.is_writing = false;
        tell(state);
        let mut state = self.state.lock();
        match state.count(Space::None, folder)? {
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

    fn try_lock(&self, name: &str, holder: &Holder) -> io::Result<Option<Box<dyn LockGuard>>> {
        let mut state = self.state.lock();
        state.check_alive()?;
        if !state.locked.insert(name.to_owned()) {
            return Ok(None);
        }
        let before = state.holders.insert(name.to_owned(), holder.clone());
        Ok(Some(Box::new(SimLock {
            state: Arc::clone(&self.state),
            name: name.to_owned(),
            had_no_other_holder: before.as_ref() == Some(holder),
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

    fn free_bytes(&self) -> Option<u64> {
        self.state.lock().free_bytes().map(|free| free as u64)
    }

    fn identity(&self) -> (u64, u64) {
        (u64::MAX - 1, Arc::as_ptr(&self.state).addr() as u64)
    }

    fn describe(&self) -> String {
        "a simulated store".to_owned()
    }
}
