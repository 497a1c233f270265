//! LMDB through heed, with its default synchronous commits.

use std::path::Path;

use heed::types::{Bytes, Str};
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions};
use treering::{Id, NewObject};

use super::{Peer, Store};
use crate::objects::{Seen, encode};

/// The size of the map in the address space, which bounds the size of the file.
const MAP_BYTES: usize = 64 << 30;

pub const PEER: Peer = Peer {
    name: "LMDB",
    create: open,
    open,
};

struct Lmdb {
    env: Env,
    versions: Database<'static, Bytes, Bytes>,
    current: Database<'static, Str, Bytes>,
}

#[expect(
    unsafe_code,
    reason = "nothing else opens or changes the file while the map exists"
)]
fn open(path: &Path) -> Box<dyn Store> {
    let env = unsafe { EnvOpenOptions::new().map_size(MAP_BYTES).max_dbs(2).open(path) }.unwrap();
    let transaction = env.write_txn().unwrap();
    let made = env.create_databases_and_commit(transaction, |opener, transaction| {
        let versions = opener.create_database(transaction, Some("versions"))?;
        let current = opener.create_database(transaction, Some("current"))?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit((versions, current)))
    });
    let (versions, current) = made.unwrap().unwrap_commit();
    Box::new(Lmdb {
        env,
        versions,
        current,
    })
}

impl Store for Lmdb {
    fn put(&self, objects: Vec<NewObject>) {
        let mut transaction = self.env.write_txn().unwrap();
        for object in objects {
            let encoded = encode(&object);
            let digest = encoded.digest.as_bytes();
            self.versions
                .put(&mut transaction, digest, &encoded.bytes)
                .unwrap();
            self.current
                .put(&mut transaction, object.id.as_str(), digest)
                .unwrap();
        }
        transaction.commit().unwrap();
    }

    fn read(&self, ids: &[Id]) -> Seen {
        let transaction = self.env.read_txn().unwrap();
        let mut seen = Seen::default();
        for id in ids {
            let digest = self.current.get(&transaction, id.as_str()).unwrap().unwrap();
            seen.add_canonical(self.versions.get(&transaction, digest).unwrap().unwrap());
        }
        seen
    }

    fn scan(&self) -> Seen {
        let transaction = self.env.read_txn().unwrap();
        let mut seen = Seen::default();
        for version in self.versions.iter(&transaction).unwrap() {
            seen.add_canonical(version.unwrap().1);
        }
        seen
    }

    fn close(self: Box<Self>) {
        self.env.prepare_for_closing().wait();
    }
}
