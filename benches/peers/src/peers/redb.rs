//! redb, with its default durability. Its snapshots are persistent savepoints.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use treering::{Id, NewObject};

use super::{Peer, Store};
use crate::objects::{Seen, encode};

const VERSIONS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("versions");
const CURRENT: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("current");

pub const PEER: Peer = Peer {
    name: "redb",
    create: |path| of(Database::create(file(path)).unwrap()),
    open: |path| of(Database::open(file(path)).unwrap()),
};

struct Redb {
    database: Database,
    savepoint: Option<u64>,
}

fn file(path: &Path) -> std::path::PathBuf {
    path.join("redb")
}

fn of(database: Database) -> Box<dyn Store> {
    Box::new(Redb {
        database,
        savepoint: None,
    })
}

impl Store for Redb {
    fn put(&self, objects: Vec<NewObject>) {
        let transaction = self.database.begin_write().unwrap();
        {
            let mut versions = transaction.open_table(VERSIONS).unwrap();
            let mut current = transaction.open_table(CURRENT).unwrap();
            for object in objects {
                let encoded = encode(&object);
                let digest = encoded.digest.as_bytes();
                versions.insert(digest, encoded.bytes.as_slice()).unwrap();
                current.insert(object.id.as_str(), digest).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn read(&self, ids: &[Id]) -> Seen {
        let transaction = self.database.begin_read().unwrap();
        let versions = transaction.open_table(VERSIONS).unwrap();
        let current = transaction.open_table(CURRENT).unwrap();
        let mut seen = Seen::default();
        for id in ids {
            let digest = current.get(id.as_str()).unwrap().unwrap();
            seen.add_canonical(versions.get(digest.value()).unwrap().unwrap().value());
        }
        seen
    }

    fn scan(&self) -> Seen {
        let transaction = self.database.begin_read().unwrap();
        let versions = transaction.open_table(VERSIONS).unwrap();
        let mut seen = Seen::default();
        for version in versions.iter().unwrap() {
            seen.add_canonical(version.unwrap().1.value());
        }
        seen
    }

    fn snapshot(&mut self) -> bool {
        let transaction = self.database.begin_write().unwrap();
        if let Some(old) = self.savepoint {
            transaction.delete_persistent_savepoint(old).unwrap();
        }
        self.savepoint = Some(transaction.persistent_savepoint().unwrap());
        transaction.commit().unwrap();
        true
    }

    fn roll_back(&mut self) {
        let mut transaction = self.database.begin_write().unwrap();
        let savepoint = self.savepoint.expect("a snapshot comes before a rollback");
        let savepoint = transaction.get_persistent_savepoint(savepoint).unwrap();
        transaction.restore_savepoint(&savepoint).unwrap();
        transaction.commit().unwrap();
    }

    fn close(self: Box<Self>) {}
}
