//! SQLite through rusqlite, with `journal_mode=WAL` and `synchronous=FULL`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::Connection;
use treering::{Id, NewObject};

use super::{Peer, Store};
use crate::objects::{Seen, encode};

pub const PEER: Peer = Peer {
    name: "SQLite",
    create: |path| {
        let store = of(path);
        let tables = "CREATE TABLE versions (digest BLOB PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
                      CREATE TABLE current (id TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;";
        store.with_connection(|connection| connection.execute_batch(tables).unwrap());
        Box::new(store)
    },
    open: |path| Box::new(of(path)),
};

struct Sqlite {
    file: PathBuf,
    /// The connections that no thread uses.
    idle: Mutex<Vec<Connection>>,
}

fn of(path: &Path) -> Sqlite {
    Sqlite {
        file: path.join("sqlite"),
        idle: Mutex::new(Vec::new()),
    }
}

impl Sqlite {
    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.file).unwrap();
        connection
            .busy_timeout(std::time::Duration::from_secs(60))
            .unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.pragma_update(None, "synchronous", "FULL").unwrap();
        connection
    }

    fn with_connection<T>(&self, work: impl FnOnce(&mut Connection) -> T) -> T {
        let idle = self.idle.lock().unwrap().pop();
        let mut connection = idle.unwrap_or_else(|| self.connect());
        let result = work(&mut connection);
        self.idle.lock().unwrap().push(connection);
        result
    }
}

impl Store for Sqlite {
    fn put(&self, objects: Vec<NewObject>) {
        self.with_connection(|connection| {
            let begin = rusqlite::TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(begin).unwrap();
            {
                let insert = "INSERT OR IGNORE INTO versions VALUES (?1, ?2)";
                let mut versions = transaction.prepare_cached(insert).unwrap();
                let replace = "INSERT OR REPLACE INTO current VALUES (?1, ?2)";
                let mut current = transaction.prepare_cached(replace).unwrap();
                for object in objects {
                    let encoded = encode(&object);
                    let digest = encoded.digest.as_bytes();
                    versions.execute((digest, &encoded.bytes)).unwrap();
                    current.execute((object.id.as_str(), digest)).unwrap();
                }
            }
            transaction.commit().unwrap();
        });
    }

    fn read(&self, ids: &[Id]) -> Seen {
        self.with_connection(|connection| {
            let transaction = connection.transaction().unwrap();
            let select = "SELECT bytes FROM current JOIN versions USING (digest) WHERE id = ?1";
            let mut statement = transaction.prepare_cached(select).unwrap();
            let mut seen = Seen::default();
            for id in ids {
                let add = |row: &rusqlite::Row<'_>| Ok(seen.add_canonical(row.get_ref(0)?.as_blob()?));
                statement.query_row([id.as_str()], add).unwrap();
            }
            seen
        })
    }

    fn scan(&self) -> Seen {
        self.with_connection(|connection| {
            let mut statement = connection.prepare("SELECT bytes FROM versions").unwrap();
            let mut rows = statement.query(()).unwrap();
            let mut seen = Seen::default();
            while let Some(row) = rows.next().unwrap() {
                seen.add_canonical(row.get_ref(0).unwrap().as_blob().unwrap());
            }
            seen
        })
    }

    fn close(self: Box<Self>) {}
}
