//! Tests the memory cost of nodes: their sizes, and the bytes that an update allocates while snapshots exist.

use std::mem::size_of;

use super::*;
use crate::trie::node::{Branch, Children, Kind};

/// The bytes of a shared node besides its content: its reference count.
const OWNERS: usize = size_of::<usize>();

#[test]
fn sizes_of_nodes() {
    assert_eq!(size_of::<Trie>(), 16);
    assert_eq!(size_of::<Child>(), 8);
    assert_eq!(size_of::<Entry>(), 80);
    assert_eq!(size_of::<Children>(), 16);
    assert_eq!(size_of::<Branch>() + OWNERS, 64);
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
        Kind::Branch(branch) => {
            let old = match old.map(Child::get) {
                Some(Kind::Branch(old)) => Some(old),
                _ => None,
            };
            let below: usize = branch
                .digits()
                .map(|(digit, child)| bytes_not_shared(old.and_then(|old| old.child(digit)), child))
                .sum();
            size_of::<Branch>() + OWNERS + size_of_val(branch.slots()) + below
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
fn children_lie_in_boxes_of_their_exact_number() {
    // A `Box<[Child]>` cannot have spare capacity. So the test only compares its length with the bitmap.
    let mut random = Random::new(10);
    let all = random.entries(500);
    let mut trie = trie_of(all.iter().copied());
    for entry in &all[..400] {
        trie.remove(&entry.key, &NoSource).unwrap();
    }
    let mut waiting = vec![trie.top.clone().unwrap()];
    while let Some(child) = waiting.pop() {
        if let Some(branch) = child.share_branch() {
            assert_eq!(branch.slots().len(), branch.bitmap().count_ones() as usize);
            waiting.extend(branch.slots().iter().cloned());
        }
    }
}
