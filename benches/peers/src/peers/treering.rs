//! Treering as a store.

use std::path::{Path, PathBuf};

use treering::{Id, Memory, NewObject, Options, Writer};

use super::Store;
use crate::objects::Seen;

pub struct Treering {
    pub memory: Memory,
    snapshots: usize,
}

impl Treering {
    /// Returns the path of the store in `folder`.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("treering")
    }

    pub fn create(folder: &Path) -> Self {
        Self::of(Memory::create(Self::path(folder)).unwrap())
    }

    pub fn open(folder: &Path) -> Self {
        Self::of(Memory::open(Self::path(folder)).unwrap())
    }

    /// Opens a store without reading its checkpoints, as after a crash before the first of them.
    pub fn open_without_checkpoint(folder: &Path) -> Self {
        Self::of(
            Options::new()
                .checkpoints(false)
                .open(Self::path(folder))
                .unwrap(),
        )
    }

    pub fn of(memory: Memory) -> Self {
        Self { memory, snapshots: 0 }
    }

    /// Returns the name of the last snapshot.
    pub fn last_snapshot(&self) -> String {
        format!("turn-{}", self.snapshots)
    }
}

/// Commits these versions.
pub fn put(memory: &Memory, objects: Vec<NewObject>) {
    let mut draft = memory.draft(&Writer::user());
    draft.put_all(objects).unwrap();
    memory.commit(draft, "put").unwrap();
}

/// Reads the versions of these ids in the state of `view`.
pub fn read(view: &treering::View, ids: &[Id]) -> Seen {
    let mut seen = Seen::default();
    for id in ids {
        seen.add_object(&view.get(id).unwrap().unwrap());
    }
    seen
}

impl Store for Treering {
    fn put(&self, objects: Vec<NewObject>) {
        put(&self.memory, objects);
    }

    fn read(&self, ids: &[Id]) -> Seen {
        read(&self.memory.view(), ids)
    }

    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        for object in self.memory.view().objects() {
            seen.add_object(&object.unwrap());
        }
        seen
    }

    fn snapshot(&mut self) -> bool {
        self.snapshots += 1;
        self.memory
            .snapshot(Some(&self.last_snapshot()), &Writer::user())
            .unwrap();
        true
    }

    fn roll_back(&mut self) {
        self.memory
            .rollback(self.last_snapshot().as_str())
            .by(&Writer::user())
            .unwrap();
    }

    fn close(self: Box<Self>) {
        self.memory.close().unwrap();
    }
}
