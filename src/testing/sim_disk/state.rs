//! The contents of a simulated folder, and which contents are durable.
//!
//! Copies of a folder share each content until it changes. So the thousands of images of one workload use little more
//! memory than their differences.
//!
//! # Layer
//! For tests; uses L1 only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::fault::{Faults, Outcome, ReadFault, Space};
use super::{CrashImage, Observer};
use crate::disk::{Holder, folder_of};
use crate::testing::random::SplitMix64;

const SECTOR: usize = 512;

#[derive(Clone, Default)]
pub(super) struct Inode {
    /// The bytes that are durable on the device.
    pub(super) durable: Arc<Vec<u8>>,
    /// The bytes that reads return.
    pub(super) current: Arc<Vec<u8>>,
    pub(super) pending: Vec<(usize, Arc<[u8]>)>,
}

#[derive(Clone)]
pub(super) enum NameChange {
    Set(String, usize),
    Clear(String),
    Move(String, String, usize),
}

impl NameChange {
    pub(super) fn folder(&self) -> &str {
        folder_of(self.name())
    }

    /// Returns the name that the change sets or removes.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Set(name, _) | Self::Clear(name) | Self::Move(_, name, _) => name,
        }
    }

    pub(super) fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Set(name, inode) => drop(names.insert(name.clone(), *inode)),
            Self::Clear(name) => drop(names.remove(name)),
            Self::Move(from, to, inode) => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }
}

#[derive(Clone)]
pub(super) struct State {
    pub(super) inodes: Vec<Inode>,
    pub(super) names: BTreeMap<String, usize>,
    pub(super) durable_names: BTreeMap<String, usize>,
    pub(super) pending_names: Vec<NameChange>,
    pub(super) last_write: Option<usize>,
    /// Whether the last write is still in progress.
    pub(super) is_writing: bool,
    pub(super) locked: BTreeSet<String>,
    /// The last holder of each lock.
    pub(super) holders: BTreeMap<String, Holder>,
    pub(super) calls: u64,
    pub(super) reads: u64,
    pub(super) crash_at: Option<u64>,
    pub(super) crashed: bool,
    pub(super) faults: Faults,
    /// The number of bytes of files for which the disk has room.
    pub(super) capacity: Option<usize>,
    /// The files without permission to open them.
    pub(super) denied: BTreeSet<usize>,
    /// The bytes of files that the device cannot read.
    pub(super) broken: BTreeMap<usize, Range<usize>>,
    pub(super) observer: Option<Observer>,
    pub(super) boot: u8,
    pub(super) process: u32,
    /// Whether several writes may wait for one sync.
    pub(super) relaxed: bool,
    pub(super) random: SplitMix64,
}

impl Inode {
    /// Applies the part of one write that survives.
    fn survive(
        &mut self,
        offset: usize,
        bytes: &[u8],
        image: CrashImage,
        is_last: bool,
        random: &mut SplitMix64,
    ) {
        let end = offset + bytes.len();
        match image {
            CrashImage::Nothing | CrashImage::ShutDown | CrashImage::NamesWithoutContents => {}
            CrashImage::LastWritePrefix(count) if is_last => {
                put(&mut self.durable, offset, &bytes[..count.min(bytes.len())]);
            }
            CrashImage::Killed
            | CrashImage::KilledInWrite(_)
            | CrashImage::Everything
            | CrashImage::ContentsWithoutNames
            | CrashImage::LastWritePrefix(_) => put(&mut self.durable, offset, bytes),
            CrashImage::ExtentWithoutData => grow(&mut self.durable, end),
            CrashImage::DataWithoutExtent => {
                let inside = end.min(self.durable.len()).saturating_sub(offset);
                if inside > 0 {
                    put(&mut self.durable, offset, &bytes[..inside]);
                }
            }
            CrashImage::Sectors(_) => {
                // The new length may survive without the data.
                if random.one_in(2) {
                    grow(&mut self.durable, end);
                }
                let mut at = 0;
                while at < bytes.len() {
                    let end = ((offset + at) / SECTOR + 1) * SECTOR - offset;
                    let end = end.min(bytes.len());
                    if random.one_in(2) {
                        put(&mut self.durable, offset + at, &bytes[at..end]);
                    }
                    at = end;
                }
            }
        }
    }
}

fn grow(content: &mut Arc<Vec<u8>>, length: usize) {
    if content.len() < length {
        Arc::make_mut(content).resize(length, 0);
    }
}

pub(super) fn put(content: &mut Arc<Vec<u8>>, offset: usize, bytes: &[u8]) {
    let content = Arc::make_mut(content);
    if content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            last_write: None,
            is_writing: false,
            locked: BTreeSet::new(),
            holders: BTreeMap::new(),
            calls: 0,
            reads: 0,
            crash_at: None,
            crashed: false,
            faults: Faults::default(),
            capacity: None,
            denied: BTreeSet::new(),
            broken: BTreeMap::new(),
            observer: None,
            boot: 1,
            process: 1,
            relaxed: false,
            random: SplitMix64::new(seed),
        }
    }

    /// Starts new processes: removes locks and faults, and resets the counters.
    pub(super) fn start_again(&mut self) {
        self.locked.clear();
        self.holders.clear();
        self.crash_at = None;
        self.faults = Faults::default();
        self.observer = None;
        (self.calls, self.reads, self.crashed) = (0, 0, false);
    }

    /// Restarts the machine with the part of the unsynced bytes that survives.
    pub(super) fn lose_power(&mut self, image: CrashImage) {
        let mut random = SplitMix64::new(match image {
            CrashImage::Sectors(seed) => seed,
            _ => 0,
        });
        let last_write = self.last_write.take();
        for (number, inode) in self.inodes.iter_mut().enumerate() {
            let pending = std::mem::take(&mut inode.pending);
            let count = pending.len();
            for (index, (offset, bytes)) in pending.into_iter().enumerate() {
                let is_last = last_write == Some(number) && index + 1 == count;
                inode.survive(offset, &bytes, image, is_last, &mut random);
            }
            inode.current = Arc::clone(&inode.durable);
        }
        let changes = std::mem::take(&mut self.pending_names);
        let keep_order = random.one_in(2);
        let prefix = random.below(changes.len() + 1);
        for (index, change) in changes.iter().enumerate() {
            let survives = match image {
                CrashImage::Nothing | CrashImage::ShutDown | CrashImage::ContentsWithoutNames => false,
                CrashImage::Sectors(_) if keep_order => index < prefix,
                CrashImage::Sectors(_) => random.one_in(2),
                _ => true,
            };
            if survives {
                change.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
        if image != CrashImage::ShutDown {
            self.next_boot();
        }
    }

    pub(super) fn next_boot(&mut self) {
        self.boot = self.boot.wrapping_add(1).max(1);
    }

    /// Reverts the last write except its first `count` bytes, because the process was killed in the middle of the
    /// write.
    pub(super) fn cut_last_write(&mut self, count: usize) {
        let Some(inode) = self.last_write.and_then(|inode| self.inodes.get_mut(inode)) else {
            return;
        };
        let Some((offset, bytes)) = inode.pending.pop() else {
            return;
        };
        let count = count.min(bytes.len());
        if count > 0 {
            inode.pending.push((offset, bytes[..count].into()));
        }
        // The bytes that reads return from now on: the durable bytes, with all remaining unsynced writes applied.
        let mut before = Arc::clone(&inode.durable);
        for (offset, bytes) in &inode.pending {
            put(&mut before, *offset, bytes);
        }
        inode.current = before;
    }

    pub(super) fn check_alive(&self) -> io::Result<()> {
        if self.crashed {
            Err(io::Error::other("the simulated machine has crashed"))
        } else {
            Ok(())
        }
    }

    pub(super) fn count(&mut self, space: Space, name: &str) -> io::Result<Outcome> {
        self.check_alive()?;
        self.calls += 1;
        self.is_writing = false;
        if self.crash_at == Some(self.calls) {
            self.crashed = true;
            return Ok(Outcome::Crashed);
        }
        Ok(self.faults.of_call(self.calls, space, name))
    }

    /// Counts a reading call. Returns the fault if it only shortens the call.
    pub(super) fn count_read(&mut self) -> io::Result<Option<ReadFault>> {
        self.check_alive()?;
        self.reads += 1;
        match self.faults.of_read(self.reads) {
            Some(ReadFault::Device) => Err(io::Error::other("simulated device error")),
            other => Ok(other),
        }
    }

    /// Returns the number of bytes that files can still grow. Returns `None` if the disk has no limit.
    pub(super) fn free_bytes(&self) -> Option<usize> {
        let used: usize = self
            .names
            .values()
            .map(|inode| self.inodes[*inode].current.len())
            .sum();
        self.capacity.map(|capacity| capacity.saturating_sub(used))
    }

    /// Returns an error if the device cannot read these bytes of a file.
    pub(super) fn check_bytes(&self, inode: usize, wanted: Range<usize>) -> io::Result<()> {
        let broken = self.broken.get(&inode);
        if broken.is_some_and(|broken| broken.start < wanted.end && wanted.start < broken.end) {
            return Err(io::Error::other("simulated device error"));
        }
        Ok(())
    }

    pub(super) fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        match self.count(
            Space::needed(matches!(change, NameChange::Set(..))),
            change.name(),
        )? {
            Outcome::Failed(fault) => return Err(fault.error()),
            Outcome::Crashed | Outcome::Done => {}
        }
        change.apply(&mut self.names);
        self.pending_names.push(change);
        self.check_alive()
    }

    pub(super) fn find(&self, name: &str) -> io::Result<usize> {
        self.check_alive()?;
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.find(from)?;
        assert!(
            self.inodes[inode].pending.is_empty(),
            "SIM-1: {from} is renamed before it was synced"
        );
        self.change_name(NameChange::Move(from.to_owned(), to.to_owned(), inode))
    }

    /// Panics if a published segment is removed while its replacement may still be lost.
    pub(super) fn check_removal(&self, name: &str) {
        let is_segment = name.strip_suffix(".seg").is_some();
        let manifest = self.names.get("manifest").copied();
        if !is_segment || manifest.is_none() {
            return;
        }
        assert!(
            manifest == self.durable_names.get("manifest").copied(),
            "SIM-4: {name} is removed before the manifest that replaces it is durable"
        );
        assert!(
            !self.is_listed(name),
            "SIM-4: {name} is removed and the manifest lists it"
        );
    }

    /// Returns whether the durable manifest lists the number in the name of a segment. The manifest has a header of 40
    /// bytes, then entries of 64 bytes.
    fn is_listed(&self, name: &str) -> bool {
        let number = name
            .rsplit('/')
            .next()
            .and_then(|file| file.split('.').next()?.parse().ok());
        let manifest = self.durable_names.get("manifest");
        let entries = manifest.and_then(|inode| self.inodes[*inode].durable.get(40..));
        let listed = entries.unwrap_or_default().chunks_exact(64);
        number.is_some_and(|number: u64| listed.into_iter().any(|entry| entry[..8] == number.to_le_bytes()))
    }

    /// Returns the published files whose bytes or names a power loss may lose.
    pub(super) fn unsynced(&self) -> Vec<String> {
        let counts = |name: &str| {
            let is_derived = matches!(name, "live" | "lock" | "compact.lock")
                || name.starts_with("checkpoint/")
                || name.starts_with("derived/");
            !is_derived && name.strip_suffix(".tmp").is_none()
        };
        let is_pending = |inode: usize| !self.inodes[inode].pending.is_empty();
        let bytes = self.names.iter().filter(|(_, inode)| is_pending(**inode));
        let names = self
            .pending_names
            .iter()
            .filter(|change| !matches!(change, NameChange::Clear(_)));
        let mut found: Vec<_> = bytes
            .map(|(name, _)| name.as_str())
            .chain(names.map(NameChange::name))
            .filter(|name| counts(name))
            .map(str::to_owned)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
