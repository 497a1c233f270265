//! Tests the memory cost of nodes: their sizes, and the bytes that an update allocates while snapshots exist.

use std::mem::size_of;

use super::*;
use crate::trie::node::{Branch, Kind};

/// The bytes of a leaf besides its entry: the number of its owners.
const OWNERS: usize = 8;

#[test]
fn sizes_of_nodes() {
    assert_eq!(size_of::<Trie>(), 8);
    assert_eq!(size_of::<Option<Child>>(), 8);
    assert_eq!(size_of::<Entry>(), 80);
    let bytes = |children: u8| {
        let mut random = Random::new(8);
        let entries = (0..children).map(|digit| {
            let mut entry = random.entry();
            entry.key = KeyPath::from_bytes([digit << 4; 32]);
            entry
        });
        match trie_of(entries).top.as_ref().map(Child::get) {
            Some(Kind::Branch(branch)) => branch.bytes(),
            _ => panic!("{children} entries are below a branch"),
        }
    };
    // The head and the digest need 48 bytes. An even number of children leaves a slot free.
    assert_eq!([2, 3, 4, 5, 15, 16].map(bytes), [72, 72, 88, 88, 168, 176]);
}

#[test]
fn tries_and_what_walks_them_go_from_thread_to_thread() {
    fn assert_send_and_sync<T: Send + Sync>() {}
    assert_send_and_sync::<Trie>();
    assert_send_and_sync::<Iter<NoSource>>();
    assert_send_and_sync::<Diff<'static>>();
}

/// Returns the number of bytes allocated for nodes of `new` that its origin `old` does not share.
fn bytes_not_shared(old: Option<&Child>, new: &Child) -> usize {
    if old.is_some_and(|old| old.is_same(new)) {
        return 0;
    }
    match new.get() {
        Kind::Leaf(_) => size_of::<Entry>() + OWNERS,
        Kind::Stored(_) => panic!("the trie is completely in memory"),
        Kind::Branch(branch) => {
            let old = match old.map(Child::get) {
                Some(Kind::Branch(old)) => Some(old),
                _ => None,
            };
            let below: usize = branch
                .digits()
                .map(|(digit, child)| bytes_not_shared(old.and_then(|old| old.child(digit)), child))
                .sum();
            branch.bytes() + below
        }
    }
}

#[test]
fn an_update_under_a_snapshot_costs_less_than_380_bytes() {
    const ENTRIES: usize = 1_000_000;
    let mut random = Random::new(9);
    let all = random.entries(ENTRIES);
    let mut trie = trie_of(all.iter().copied());
    let (mut bytes, mut updates) = (0, 0);
    for _ in 0..5 {
        let snapshot = trie.clone();
        for _ in 0..ENTRIES / 100 {
            let digest = random.bytes();
            let entry = Entry {
                digest,
                ..all[random.below(ENTRIES)]
            };
            trie.insert(entry, &NoSource).unwrap();
            updates += 1;
        }
        bytes += bytes_not_shared(snapshot.top.as_ref(), trie.top.as_ref().unwrap());
    }
    let each = bytes / updates;
    println!("{each} bytes an update");
    assert!((250..380).contains(&each), "{each} bytes an update");
}

#[test]
fn ptr_2_a_branch_keeps_at_most_one_free_slot() {
    fn check(branch: Branch<'_>) {
        let children = branch.slots().len();
        assert_eq!(children, branch.bitmap().count_ones() as usize);
        assert!(branch.bytes() <= 48 + 8 * (children + 1), "{children} children");
        for child in branch.slots() {
            if let Kind::Branch(branch) = child.get() {
                check(branch);
            }
        }
    }
    let mut random = Random::new(10);
    let all = random.entries(500);
    let mut trie = trie_of(all.iter().copied());
    for entry in &all[..400] {
        trie.remove(&entry.key, &NoSource).unwrap();
    }
    let Some(Kind::Branch(top)) = trie.top.as_ref().map(Child::get) else {
        panic!("a hundred entries are below a branch");
    };
    check(top);
}

#[test]
fn ptr_1_threads_that_share_nodes_free_each_node_once() {
    let mut random = Random::new(11);
    let all = random.entries(300);
    let trie = trie_of(all.iter().copied());
    let shared = entries(&trie);
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (mut mine, all) = (trie.clone(), &all);
            scope.spawn(move || {
                for round in 0..50 {
                    let before = mine.clone();
                    for entry in all.iter().skip(first).step_by(4) {
                        let changed = Entry {
                            place: round,
                            ..*entry
                        };
                        mine.insert(changed, &NoSource).unwrap();
                        root(&mine);
                    }
                    assert_eq!(root(&before), root(&mine), "no digest covers a place");
                    assert_eq!(mine.len(), before.len());
                }
            });
        }
    });
    assert_eq!(entries(&trie), shared);
}
