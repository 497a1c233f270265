//! RocksDB, an LSM tree, with `sync = true` for each commit. It compresses with LZ4.

use std::path::Path;

use rocksdb::{
    ColumnFamily, DB, DBCompressionType, IteratorMode, Options, ReadOptions, WriteBatch, WriteOptions,
};
use treering::{Id, NewObject};

use super::{Peer, Store};
use crate::objects::{Seen, encode};

pub const PEER: Peer = Peer {
    name: "RocksDB",
    create: open,
    open,
};

struct RocksDb(DB);

fn open(path: &Path) -> Box<dyn Store> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(DBCompressionType::Lz4);
    let families = ["versions", "current"].map(|name| (name, options.clone()));
    Box::new(RocksDb(DB::open_cf_with_opts(&options, path, families).unwrap()))
}

impl RocksDb {
    fn family(&self, name: &str) -> &ColumnFamily {
        self.0.cf_handle(name).expect("the families were created")
    }
}

impl Store for RocksDb {
    fn put(&self, objects: Vec<NewObject>) {
        let (versions, current) = (self.family("versions"), self.family("current"));
        let mut batch = WriteBatch::default();
        for object in objects {
            let encoded = encode(&object);
            let digest = encoded.digest.as_bytes();
            batch.put_cf(versions, digest, &encoded.bytes);
            batch.put_cf(current, object.id.as_str(), digest);
        }
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        self.0.write_opt(batch, &durable).unwrap();
    }

    fn read(&self, ids: &[Id]) -> Seen {
        let (versions, current) = (self.family("versions"), self.family("current"));
        let snapshot = self.0.snapshot();
        let options = || {
            let mut options = ReadOptions::default();
            options.set_snapshot(&snapshot);
            options
        };
        let (of_current, of_versions) = (options(), options());
        let mut seen = Seen::default();
        for id in ids {
            let digest = self
                .0
                .get_pinned_cf_opt(current, id.as_str(), &of_current)
                .unwrap()
                .unwrap();
            seen.add_canonical(
                &self
                    .0
                    .get_pinned_cf_opt(versions, digest, &of_versions)
                    .unwrap()
                    .unwrap(),
            );
        }
        seen
    }

    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        for version in self.0.iterator_cf(self.family("versions"), IteratorMode::Start) {
            seen.add_canonical(&version.unwrap().1);
        }
        seen
    }

    fn close(self: Box<Self>) {}
}
