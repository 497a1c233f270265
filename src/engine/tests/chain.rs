//! The store refuses a log if its batches are complete and have valid checksums, but contain a wrong commit.

use std::sync::Arc;
use std::time::Duration;

use crate::digest::{HashAlgorithm, HashSuite, HistoryRoot};
use crate::disk::{Disk, MemDisk};
use crate::engine::{Memory, Options};
use crate::error::ErrorKind;
use crate::log::{self, BatchBuilder, HeadMark, Log, LogOptions, RecordKind};
use crate::object::{Commit, HistoryTree, Id, Kind, NewObject, Op, Origin, Time};
use crate::trie::{Entry, NoSource, Shape, Trie};

const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);

type Change = fn(&mut Commit);

fn commit(seq: u64, trie: &Trie, history_root: HistoryRoot) -> Commit {
    Commit {
        parents: Vec::new(),
        root: trie.root(SUITE, Shape::State, &NoSource).unwrap(),
        seq,
        history_root,
        time: Time::from_micros(1_000_000 + seq.cast_signed()),
        op: Op::new(if seq == 0 { "init" } else { "put" }).unwrap(),
        target: None,
        actor: None,
        session: None,
        source: None,
        trust: Origin::DirectUser,
        reason: None,
        reserved: std::collections::BTreeMap::new(),
    }
}

fn add_commit(batch: &mut BatchBuilder, commit: &Commit) -> HeadMark {
    let bytes = commit.encode().unwrap();
    batch.add(RecordKind::Commit, 0, &bytes);
    HeadMark {
        commit: Commit::hash(&bytes, SUITE),
        root: commit.root,
        seq: commit.seq,
    }
}

/// Opens a store of two commits. `change` alters the second commit before that commit is written.
fn open_with_second(change: impl FnOnce(&mut Commit)) -> crate::Result<Memory> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let empty = Trie::new();
    let mut history = HistoryTree::new(SUITE);
    let mut batch = BatchBuilder::new();
    let first = add_commit(&mut batch, &commit(0, &empty, history.root()));
    let mut log = Log::create(
        Arc::clone(&disk),
        HashAlgorithm::Blake3,
        batch,
        first,
        LogOptions::default(),
    )
    .unwrap();

    let object = NewObject::new(Id::new("a").unwrap(), Kind::new("note").unwrap());
    let encoded = object.encode(Origin::DirectUser, SUITE).unwrap();
    let mut trie = empty;
    let entry = Entry {
        key: SUITE.key_path("a"),
        digest: *encoded.digest.as_bytes(),
        place: 0,
        created: 1,
    };
    trie.insert(entry, &NoSource).unwrap();
    history.append(&first.commit);
    let mut second = commit(1, &trie, history.root());
    second.parents = vec![first.commit];
    change(&mut second);
    let mut batch = BatchBuilder::new();
    batch.add(RecordKind::Object, 0, &encoded.bytes);
    let mark = add_commit(&mut batch, &second);
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    log.append(&lock, vec![(batch, mark)], log::Durability::Synced)
        .unwrap();
    drop(lock);
    drop(log);
    Memory::on_disk(disk, Options::new(), false, None)
}

#[test]
fn sto_1_a_commit_that_does_not_follow_is_not_believed() {
    let memory = open_with_second(|_| {}).unwrap();
    assert_eq!(memory.view().len(), 1);
    let changes: [(&str, Change); 5] = [
        ("its parent is not the previous commit", |commit| {
            commit.parents = vec![crate::digest::CommitDigest::from_bytes([7; 32])];
        }),
        ("its seq does not follow", |commit| commit.seq = 2),
        ("its time is not after", |commit| {
            commit.time = Time::from_micros(1_000_000);
        }),
        ("its history root does not match", |commit| {
            commit.history_root = HistoryTree::new(SUITE).root();
        }),
        ("root", |commit| {
            commit.root = Trie::new().root(SUITE, Shape::State, &NoSource).unwrap();
        }),
    ];
    for (rule, change) in changes {
        let refused = open_with_second(change).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
        assert!(refused.to_string().contains(rule), "{rule}: {refused}");
    }
}
