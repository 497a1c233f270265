//! Tries of which a part is in storage.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use crate::error::ErrorKind;

/// A source of nodes in memory that counts its reads.
#[derive(Default)]
pub(super) struct Storage {
    pub(super) nodes: HashMap<u64, Vec<u8>>,
    loads: Mutex<Vec<u64>>,
    sha256: bool,
}

impl NodeSource for Storage {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        self.loads.lock().unwrap().push(stored.place);
        let bytes = self.nodes.get(&stored.place);
        bytes
            .cloned()
            .ok_or_else(|| Error::corrupt(format!("no node at place {}", stored.place)))
    }

    fn suite(&self) -> HashSuite {
        if self.sha256 { SHA256 } else { BLAKE3 }
    }
}

impl Storage {
    fn save(&mut self, trie: &Trie) -> StoredNode {
        self.save_all(&[trie])[0]
    }

    /// Replaces the nodes of this storage by the nodes of `tries`. Loads stored nodes of `tries` from the old nodes.
    pub(super) fn save_all(&mut self, tries: &[&Trie]) -> Vec<StoredNode> {
        let source = Self {
            nodes: std::mem::take(&mut self.nodes),
            loads: Mutex::default(),
            sha256: self.sha256,
        };
        let mut write = |bytes: &[u8]| {
            let place = 1_000 + self.nodes.len() as u64;
            self.nodes.insert(place, bytes.to_vec());
            Ok(place)
        };
        let mut saver = Saver::new(&source, &mut write);
        tries.iter().map(|trie| saver.save(trie).unwrap()).collect()
    }

    pub(super) fn loads(&self) -> usize {
        self.loads.lock().unwrap().len()
    }
}

#[test]
fn what_was_saved_is_loaded_on_touch_only() {
    for size in [0, 1, 2, 17, 3_000] {
        let all = Random::new(20 + size as u64).entries(size);
        let trie = trie_of(all.iter().copied());
        let mut storage = Storage::default();
        let top = storage.save(&trie);
        let stored = Trie::from_stored(top, &storage).unwrap();
        assert_eq!(stored.len(), size as u64);
        assert_eq!(
            *stored.root(BLAKE3, Shape::State, &storage).unwrap().as_bytes(),
            root(&trie)
        );
        assert_eq!(storage.loads(), usize::from(size == 1), "a root needs no node");
        if let Some(entry) = all.last() {
            for _ in 0..2 {
                assert_eq!(stored.get(&entry.key, &storage).unwrap(), Some(*entry));
            }
            let levels = trie.prove(&entry.key, BLAKE3, &NoSource).unwrap().levels.len();
            assert_eq!(
                storage.loads(),
                levels.max(1),
                "each node on the path is loaded once"
            );
        }
        let found: Vec<Entry> = stored.clone().iter(&storage).map(Result::unwrap).collect();
        assert_eq!(found, entries(&trie));
        let loads = storage.loads();
        assert_eq!(stored.iter(&storage).count(), size);
        assert_eq!(storage.loads(), loads, "what was loaded stays");
    }
}

#[test]
fn a_root_of_another_hash_loads_the_nodes() {
    let trie = trie_of(Random::new(30).entries(100));
    let mut storage = Storage::default();
    let top = storage.save(&trie);
    let stored = Trie::from_stored(top, &storage).unwrap();
    let expected = trie_of(Random::new(30).entries(100))
        .root(SHA256, Shape::State, &NoSource)
        .unwrap();
    assert_eq!(stored.root(SHA256, Shape::State, &storage).unwrap(), expected);
    assert_eq!(
        *stored.root(BLAKE3, Shape::State, &storage).unwrap().as_bytes(),
        root(&trie)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn stored_children_behave_like_loaded_ones(
        before in prop::collection::vec(step(), 0..50),
        after in prop::collection::vec(step(), 0..30),
    ) {
        let (mut trie, mut model) = (Trie::new(), Model::new());
        for step in &before {
            take(step, &mut trie, &mut model, &NoSource);
        }
        let mut storage = Storage::default();
        let top = storage.save(&trie);
        let mut stored = Trie::from_stored(top, &storage).unwrap();
        for step in &after {
            take(step, &mut trie, &mut model.clone(), &NoSource);
            take(step, &mut stored, &mut model, &storage);
        }
        prop_assert_eq!(*stored.root(BLAKE3, Shape::State, &storage).unwrap().as_bytes(), model_root(&model));
        for key in model.keys() {
            let proofs = [&trie, &stored].map(|trie| trie.prove(key, BLAKE3, &storage).unwrap());
            prop_assert_eq!(&proofs[0], &proofs[1]);
        }
        // INVARIANT LKP-1, for nodes that are still stored.
        let unread = Trie::from_stored(storage.save(&stored), &storage).unwrap();
        let keys: Vec<_> = model.keys().copied().collect();
        let expected: Vec<_> = model.values().copied().map(Some).collect();
        prop_assert_eq!(unread.get_all(&keys, &storage).unwrap(), expected);
        let changes: Vec<_> = stored.diff(&trie, &storage).collect();
        prop_assert!(changes.is_empty());
        let found: Vec<Entry> = stored.iter(&storage).map(Result::unwrap).collect();
        prop_assert_eq!(found, model.values().copied().collect::<Vec<_>>());
    }
}

/// Returns the entries before the first error, and the error.
fn read(top: StoredNode, storage: &Storage) -> (Vec<Entry>, Option<Error>) {
    let trie = match Trie::from_stored(top, storage) {
        Ok(trie) => trie,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut found = Vec::new();
    let mut iter = trie.iter(storage);
    let mut failed = None;
    for result in iter.by_ref() {
        match result {
            Ok(entry) => found.push(entry),
            Err(error) => failed = Some(error),
        }
    }
    assert!(
        iter.next().is_none() && iter.next().is_none(),
        "an iterator returns nothing after an error"
    );
    (found, failed)
}

/// Marks the bytes of an encoded branch that no digest covers: `place` and `created` of its leaves, `place` of its
/// branches.
fn uncovered(bytes: &[u8]) -> Vec<bool> {
    if bytes[0] == 1 {
        return (0..bytes.len()).map(|at| at >= 65).collect();
    }
    let bitmap = u16::from_le_bytes([bytes[2], bytes[3]]);
    let leaves = u16::from_le_bytes([bytes[4], bytes[5]]);
    let mut marks = vec![false; 6];
    for digit in (0..16).filter(|digit| bitmap & (1 << digit) != 0) {
        let (covered, length) = if leaves & (1 << digit) != 0 {
            (64, 80)
        } else {
            (40, 48)
        };
        marks.extend((0..length).map(|at| at >= covered));
    }
    marks
}

#[test]
fn tri_4_every_damaged_byte_of_a_stored_node_is_found() {
    for size in [1, 40] {
        let all = Random::new(32).entries(size);
        let mut storage = Storage::default();
        let top = storage.save(&trie_of(all.iter().copied()));
        let whole = read(top, &storage).0;
        assert_eq!(whole.len(), size);
        let places: Vec<u64> = storage.nodes.keys().copied().collect();
        for place in places {
            let good = storage.nodes[&place].clone();
            let marks = uncovered(&good);
            assert_eq!(marks.len(), good.len());
            for (at, &uncovered) in marks.iter().enumerate() {
                storage.nodes.get_mut(&place).unwrap()[at] ^= 0x10;
                let (found, failed) = read(top, &storage);
                if uncovered {
                    let keys = |all: &[Entry]| all.iter().map(|e| (e.key, e.digest)).collect::<Vec<_>>();
                    // A wrong place of a branch leads to bytes that are not that node. The caller detects a wrong place
                    // of a leaf.
                    assert!(
                        failed.is_some() || keys(&found) == keys(&whole),
                        "place {place} byte {at}"
                    );
                } else {
                    assert_eq!(failed.expect("damage is found").kind(), ErrorKind::Corrupt);
                    assert!(whole.starts_with(&found));
                }
                storage.nodes.insert(place, good.clone());
            }
            for length in 0..good.len() {
                storage.nodes.insert(place, good[..length].to_vec());
                assert!(read(top, &storage).1.unwrap().is_corruption());
            }
            let longer = [&good[..], &[0]].concat();
            storage.nodes.insert(place, longer);
            assert!(read(top, &storage).1.unwrap().is_corruption());
            storage.nodes.insert(place, good);
        }
    }
}

#[test]
fn tri_4_what_a_parent_says_of_a_node_is_checked() {
    let mut storage = Storage::default();
    let top = storage.save(&trie_of(Random::new(33).entries(300)));
    for wrong in [
        StoredNode { count: 299, ..top },
        StoredNode { count: 1, ..top },
        StoredNode { count: 0, ..top },
        StoredNode {
            count: u64::MAX,
            ..top
        },
        StoredNode { place: 77, ..top },
        StoredNode {
            place: top.place - 1,
            ..top
        },
        StoredNode {
            digest: [0; 32],
            ..top
        },
    ] {
        let error = read(wrong, &storage).1.expect("refused");
        assert!(error.is_corruption(), "{error:?}");
    }
    let single = storage.save(&trie_of(Random::new(34).entries(1)));
    assert!(
        read(StoredNode { count: 2, ..single }, &storage)
            .1
            .unwrap()
            .is_corruption()
    );
    storage.sha256 = true;
    assert!(
        read(top, &storage).1.unwrap().is_corruption(),
        "nodes do not verify under another hash"
    );
}

/// The nodes match their digest, but no trie would contain them.
#[test]
fn tri_1_nodes_that_no_trie_has_are_refused_even_under_their_own_digest() {
    let mut random = Random::new(37);
    let hasher = NodeHasher::new(BLAKE3, Shape::State);
    let refused = |bitmap: u16, leaves: u16, count: u64, children: &[([u8; 32], Vec<u8>)]| {
        let digests: Vec<[u8; 32]> = children.iter().map(|(digest, _)| *digest).collect();
        let mut bytes = vec![2, 0];
        bytes.extend_from_slice(&bitmap.to_le_bytes());
        bytes.extend_from_slice(&leaves.to_le_bytes());
        for (_, child) in children {
            bytes.extend_from_slice(child);
        }
        let top = StoredNode {
            digest: hasher.branch(0, bitmap, count, &digests),
            count,
            place: 5,
        };
        let storage = Storage {
            nodes: HashMap::from([(5, bytes)]),
            ..Storage::default()
        };
        let trie = Trie::from_stored(top, &storage).unwrap();
        trie.get(&KeyPath::from_bytes([0xff; 32]), &storage)
            .err()
            .map(|error| error.message().to_owned())
    };
    let mut leaf = |digit: u8| {
        let mut path = random.bytes();
        path[0] = digit << 4;
        let digest = random.bytes();
        let bytes = [&path[..], &digest, &[0; 16]].concat();
        (hasher.leaf(&KeyPath::from_bytes(path), &digest), bytes)
    };
    let branch = |count: u64| {
        let bytes = [&[7; 32][..], &count.to_le_bytes(), &[0; 8]].concat();
        ([7; 32], bytes)
    };
    assert_eq!(
        refused(0b110, 0b110, 2, &[leaf(1), leaf(2)]),
        None,
        "a correct branch with two leaves is accepted"
    );
    assert_eq!(
        refused(0b110, 0b100, 4, &[branch(3), leaf(2)]),
        None,
        "a correct branch with a branch and a leaf is accepted"
    );
    let message = refused(0b110, 0b110, 2, &[leaf(1), leaf(3)]).unwrap();
    assert!(message.contains("a leaf at a digit that differs"), "{message}");
    for count in [0, 1, 1 << 40, u64::MAX] {
        let message = refused(0b110, 0b100, 2, &[branch(count), leaf(2)]).unwrap();
        assert!(message.contains("impossibly many"), "{message}");
    }
    assert!(
        refused(0b010, 0b010, 2, &[leaf(1)])
            .unwrap()
            .contains("fewer than two leaves")
    );
    assert!(
        refused(0b010, 0b110, 2, &[leaf(1)])
            .unwrap()
            .contains("outside of its bitmap")
    );
}

#[test]
fn a_failed_edit_leaves_the_trie_as_it_was() {
    let mut random = Random::new(35);
    let all = random.entries(2_000);
    let mut storage = Storage::default();
    let top = storage.save(&trie_of(all.iter().copied()));
    let nodes = storage.nodes.clone();
    // Removes all stored nodes except the top.
    storage.nodes.retain(|place, _| *place == top.place);
    let mut trie = Trie::from_stored(top, &storage).unwrap();
    for entry in &all[..50] {
        let changed = Entry {
            digest: [1; 32],
            ..*entry
        };
        assert!(trie.insert(changed, &storage).unwrap_err().is_corruption());
        assert!(trie.remove(&entry.key, &storage).unwrap_err().is_corruption());
        assert!(trie.get(&entry.key, &storage).unwrap_err().is_corruption());
        assert!(
            trie.prove(&entry.key, BLAKE3, &storage)
                .unwrap_err()
                .is_corruption()
        );
    }
    let empty = Trie::new();
    let mut diff = trie.diff(&empty, &storage);
    assert!(diff.next().unwrap().is_err());
    assert!(
        diff.next().is_none() && diff.next().is_none(),
        "a diff stops for good"
    );
    storage.nodes = nodes;
    assert_eq!(trie.len(), 2_000);
    let mut sorted = all.clone();
    sorted.sort_by_key(|entry| entry.key);
    assert_eq!(
        trie.iter(&storage).map(Result::unwrap).collect::<Vec<_>>(),
        sorted
    );
    trie.insert(
        Entry {
            digest: [1; 32],
            ..all[0]
        },
        &storage,
    )
    .unwrap();
    let model: Model = all.iter().map(|entry| (entry.key, *entry)).collect();
    let changed: Model = model
        .values()
        .map(|e| {
            (
                e.key,
                if e.key == all[0].key {
                    Entry {
                        digest: [1; 32],
                        ..*e
                    }
                } else {
                    *e
                },
            )
        })
        .collect();
    assert_eq!(
        *trie.root(BLAKE3, Shape::State, &storage).unwrap().as_bytes(),
        model_root(&changed)
    );
}

#[test]
fn a_trie_in_memory_has_nothing_to_load() {
    let mut storage = Storage::default();
    let top = storage.save(&trie_of(Random::new(36).entries(20)));
    let trie = Trie::from_stored(top, &storage).unwrap();
    let error = trie.get(&KeyPath::from_bytes([0; 32]), &NoSource).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}
