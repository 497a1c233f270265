//! What a simulated folder holds, and what of it is durable.
//!
//! # Layer
//! For tests; uses L1 only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{CrashImage, Fault};
use crate::disk::folder_of;
use crate::testing::random::SplitMix64;

const SECTOR: usize = 512;

#[derive(Clone, Default)]
pub(super) struct Inode {
    /// What is on the device for certain.
    pub(super) durable: Vec<u8>,
    /// What reads see.
    pub(super) current: Vec<u8>,
    pub(super) pending: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone)]
pub(super) enum NameChange {
    Set(String, usize),
    Clear(String),
    Move(String, String, usize),
}

impl NameChange {
    pub(super) fn folder(&self) -> &str {
        match self {
            Self::Set(name, _) | Self::Clear(name) | Self::Move(_, name, _) => folder_of(name),
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
    pub(super) locked: BTreeSet<String>,
    pub(super) calls: u64,
    pub(super) crash_at: Option<u64>,
    pub(super) crashed: bool,
    pub(super) fault: Option<(u64, Fault)>,
    pub(super) boot: u8,
    pub(super) process: u32,
    /// Whether several writes may wait for one sync.
    pub(super) relaxed: bool,
    pub(super) random: SplitMix64,
}

/// Applies what survives of one write.
pub(super) fn survive(
    durable: &mut Vec<u8>,
    offset: usize,
    bytes: &[u8],
    image: CrashImage,
    is_last: bool,
    random: &mut SplitMix64,
) {
    match image {
        CrashImage::Nothing => {}
        CrashImage::LastWritePrefix(count) if is_last => {
            put(durable, offset, &bytes[..count.min(bytes.len())]);
        }
        CrashImage::Killed | CrashImage::Everything | CrashImage::LastWritePrefix(_) => {
            put(durable, offset, bytes);
        }
        CrashImage::Sectors(_) => {
            // The length may survive without the data.
            if random.one_in(2) && durable.len() < offset + bytes.len() {
                durable.resize(offset + bytes.len(), 0);
            }
            let mut at = 0;
            while at < bytes.len() {
                let end = ((offset + at) / SECTOR + 1) * SECTOR - offset;
                let end = end.min(bytes.len());
                if random.one_in(2) {
                    put(durable, offset + at, &bytes[at..end]);
                }
                at = end;
            }
        }
    }
}

pub(super) fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Whether and how far a call takes effect.
pub(super) enum Outcome {
    Done,
    Crashed,
    Failed(Fault),
}

impl State {
    /// New processes, no locks, and the counting of calls starts anew.
    pub(super) fn start_again(&mut self) {
        self.locked.clear();
        (self.crash_at, self.fault) = (None, None);
        (self.calls, self.crashed) = (0, false);
    }

    pub(super) fn check_alive(&self) -> io::Result<()> {
        if self.crashed {
            Err(io::Error::other("the simulated machine has crashed"))
        } else {
            Ok(())
        }
    }

    pub(super) fn count(&mut self) -> io::Result<Outcome> {
        self.check_alive()?;
        self.calls += 1;
        if self.crash_at == Some(self.calls) {
            self.crashed = true;
            return Ok(Outcome::Crashed);
        }
        Ok(match self.fault {
            Some((call, fault)) if call == self.calls => Outcome::Failed(fault),
            _ => Outcome::Done,
        })
    }

    pub(super) fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        match self.count()? {
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
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Device => io::Error::other("simulated device error"),
            Self::Full => io::ErrorKind::StorageFull.into(),
        }
    }
}
