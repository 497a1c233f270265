//! fjall, an LSM tree, with `PersistMode::SyncData` for each commit. It compresses with LZ4, its default.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use treering::{Id, NewObject};

use super::{Peer, Store};
use crate::objects::{Seen, encode};

pub const PEER: Peer = Peer {
    name: "fjall",
    create: open,
    open,
};

struct Fjall {
    versions: Keyspace,
    current: Keyspace,
    database: Database,
}

fn open(path: &Path) -> Box<dyn Store> {
    let database = Database::builder(path).open().unwrap();
    let keyspace = |name| database.keyspace(name, KeyspaceCreateOptions::default).unwrap();
    Box::new(Fjall {
        versions: keyspace("versions"),
        current: keyspace("current"),
        database,
    })
}

impl Store for Fjall {
    fn put(&self, objects: Vec<NewObject>) {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for object in objects {
            let encoded = encode(&object);
            let digest = encoded.digest.as_bytes();
            batch.insert(&self.versions, digest.as_slice(), encoded.bytes);
            batch.insert(&self.current, object.id.as_str(), digest.as_slice());
        }
        batch.commit().unwrap();
    }

    fn read(&self, ids: &[Id]) -> Seen {
        let snapshot = self.database.snapshot();
        let mut seen = Seen::default();
        for id in ids {
            let digest = snapshot.get(&self.current, id.as_str()).unwrap().unwrap();
            seen.add_canonical(&snapshot.get(&self.versions, digest).unwrap().unwrap());
        }
        seen
    }

    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        for version in self.database.snapshot().iter(&self.versions) {
            seen.add_canonical(&version.value().unwrap());
        }
        seen
    }

    fn close(self: Box<Self>) {}
}
