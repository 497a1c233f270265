//! Durable stores that keep every version by its digest and a pointer to the current version of each id.
//!
//! Every commit writes both in one transaction, and is durable when it returns.

mod fjall;
mod lmdb;
pub mod raw;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;
mod treering;

use std::path::{Path, PathBuf};

use ::treering::{Id, NewObject};

use crate::objects::Seen;

pub use self::treering::{Treering, put, read};

/// A durable store.
pub trait Store: Send + Sync {
    /// Commits these versions.
    fn put(&self, objects: Vec<NewObject>);
    /// Reads the current versions of these ids, all in one state.
    fn read(&self, ids: &[Id]) -> Seen;
    /// Reads all versions. They are all current after a load.
    fn scan(&self) -> Seen;
    /// Makes a durable snapshot of the state. Returns false if the store has no lasting snapshots.
    fn snapshot(&mut self) -> bool {
        false
    }
    /// Goes back to the last snapshot, durably.
    fn roll_back(&mut self) {
        unreachable!("the store has no snapshots");
    }
    /// Closes the store.
    fn close(self: Box<Self>);
}

/// A kind of durable store.
#[derive(Clone, Copy)]
pub struct Peer {
    pub name: &'static str,
    create: fn(&Path) -> Box<dyn Store>,
    open: fn(&Path) -> Box<dyn Store>,
}

/// All peers of Treering.
pub const PEERS: &[Peer] = &[
    redb::PEER,
    fjall::PEER,
    lmdb::PEER,
    sqlite::PEER,
    #[cfg(feature = "rocksdb")]
    rocksdb::PEER,
];

impl Peer {
    /// Returns the path of the peer's files in `folder`.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name.to_lowercase())
    }

    pub fn create(&self, folder: &Path) -> Box<dyn Store> {
        let path = self.path(folder);
        std::fs::create_dir_all(&path).unwrap();
        (self.create)(&path)
    }

    pub fn open(&self, folder: &Path) -> Box<dyn Store> {
        (self.open)(&self.path(folder))
    }
}
