//! The works, in groups that share stores or maps.

mod agent;
mod commits;
mod durable;
mod finding;
mod forks;
mod git;
mod history;
mod load;
mod maps;
#[cfg(feature = "memvid")]
mod memvid;
mod opening;
pub mod ram;
mod reads;
mod remote;
mod roots;
mod snapshots;
mod stores;
mod threads;

use std::path::{Path, PathBuf};

use crate::maps::{Kind, PERSISTENT, PLAIN};
use crate::peers::{PEERS, Peer};
use crate::progress::Progress;
use crate::table::Table;

/// Returns the names of all peers: stores and maps.
pub fn peer_names() -> impl Iterator<Item = &'static str> {
    let maps = PLAIN.iter().chain(PERSISTENT).map(|kind| kind.name);
    PEERS.iter().map(|peer| peer.name).chain(maps)
}

/// The size from which only one map takes part beside Treering, so that all fit in 24 GiB.
const MAPS_MAX: u64 = 1_000_000;
/// The map with which gets are compared.
const YARDSTICK: &str = "hashbrown";

/// What all works of a run share.
pub struct Run {
    /// The folder for the files of the stores.
    pub folder: PathBuf,
    /// The names of the peers that take part; all if it is empty.
    pub only: Vec<String>,
    pub progress: Progress,
    pub table: Table,
}

impl Run {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Returns the durable stores that take part beside Treering.
    fn peers(&self) -> Vec<Peer> {
        PEERS
            .iter()
            .copied()
            .filter(|peer| self.wants(peer.name))
            .collect()
    }

    /// Returns those of `kinds` that take part at the size `n` beside Treering.
    fn maps(&self, kinds: &[&[Kind]], n: u64) -> Vec<Kind> {
        let fits = |kind: &Kind| n <= MAPS_MAX || kind.name == YARDSTICK;
        let kinds = kinds.concat().into_iter();
        kinds.filter(|kind| self.wants(kind.name) && fits(kind)).collect()
    }

    /// Makes an empty folder for a work. It is removed with the returned value.
    pub fn folder(&self, work: &str) -> tempfile::TempDir {
        tempfile::Builder::new()
            .prefix(work)
            .tempdir_in(&self.folder)
            .unwrap()
    }
}

/// A group of works.
pub struct Group {
    pub name: &'static str,
    measure: fn(&mut Run, u64),
    /// The maximum size. Larger sizes are left out.
    most: u64,
}

/// All groups.
pub const GROUPS: &[Group] = &[
    // First, because this process keeps the memory of the other groups, and each map has a process of its own here.
    Group {
        name: "ram",
        measure: ram::measure,
        most: u64::MAX,
    },
    Group {
        name: "durable",
        measure: durable::measure,
        most: u64::MAX,
    },
    Group {
        name: "maps",
        measure: maps::measure,
        most: u64::MAX,
    },
    Group {
        name: "root",
        measure: roots::measure,
        most: u64::MAX,
    },
    Group {
        name: "history",
        measure: history::measure,
        most: 100_000,
    },
    Group {
        name: "agent",
        measure: agent::measure,
        most: 100_000,
    },
    Group {
        name: "git",
        measure: git::measure,
        most: 100_000,
    },
    Group {
        name: "forks",
        measure: forks::measure,
        most: 1_000_000,
    },
    Group {
        name: "remote",
        measure: remote::measure,
        most: 1_000_000,
    },
    #[cfg(feature = "memvid")]
    Group {
        name: "memvid",
        measure: memvid::measure,
        most: 10_000,
    },
];

impl Group {
    /// Measures the works of the group at the size `n`.
    pub fn measure(&self, run: &mut Run, n: u64) {
        if n <= self.most {
            (self.measure)(run, n);
        }
    }
}

/// Returns how many bytes of the device the files under `path` occupy.
fn disk_bytes(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let size = |file: PathBuf| {
        if file.is_dir() {
            disk_bytes(&file)
        } else {
            file.metadata().unwrap().blocks() * 512
        }
    };
    files.map(size).sum()
}
