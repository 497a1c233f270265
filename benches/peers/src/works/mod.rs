//! The works, in groups that share stores or maps.

mod agent;
mod commits;
mod durable;
mod finding;
mod git;
mod history;
mod load;
mod maps;
mod opening;
pub mod ram;
mod reads;
mod snapshots;
mod stores;
mod threads;

use std::path::{Path, PathBuf};

use crate::progress::Progress;
use crate::table::Table;

/// What all works of a run share.
pub struct Run {
    /// The folder for the files of the stores.
    pub folder: PathBuf,
    pub progress: Progress,
    pub table: Table,
}

impl Run {
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
        name: "ram",
        measure: ram::measure,
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
