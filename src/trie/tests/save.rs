//! Copies of tries that share nodes with each other and with a storage.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use crate::error::ErrorCode;

/// A storage in memory that counts its reads.
#[derive(Default)]
struct Storage {
    nodes: HashMap<u64, Vec<u8>>,
    loads: Mutex<usize>,
}

impl NodeSource for Storage {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        *self.loads.lock().unwrap() += 1;
        Ok(self.nodes[&stored.place].clone())
    }

    fn suite(&self) -> HashSuite {
        BLAKE3
    }
}

/// Copies the tries into a new storage.
fn copy(tries: &[&Trie], source: &dyn NodeSource) -> (Vec<StoredNode>, Storage) {
    let mut storage = Storage::default();
    let mut write = |bytes: &[u8]| {
        let place = 7 + 2 * storage.nodes.len() as u64;
        storage.nodes.insert(place, bytes.to_vec());
        Ok(place)
    };
    let mut saver = Saver::new(source, &mut write);
    let tops = tries.iter().map(|trie| saver.save(trie).unwrap()).collect();
    (tops, storage)
}

/// Changes `trie` at one key, and returns how many new nodes the change makes.
fn change(trie: &mut Trie, key: KeyPath, source: &dyn NodeSource) -> usize {
    let old = trie.get(&key, source).unwrap().unwrap();
    let digest = [9; 32];
    trie.insert(Entry { digest, ..old }, source).unwrap();
    trie.prove(&key, BLAKE3, source).unwrap().levels.len()
}

fn assert_same(stored: StoredNode, storage: &Storage, expected: &Trie, source: &dyn NodeSource) {
    let found = Trie::from_stored(stored, storage).unwrap();
    let found: Vec<Entry> = found.iter(storage).map(Result::unwrap).collect();
    let expected_entries: Vec<Entry> = expected.iter(source).map(Result::unwrap).collect();
    assert_eq!(found, expected_entries);
    let root = expected.root(BLAKE3, Shape::State, source).unwrap();
    assert_eq!(stored.digest, *root.as_bytes());
}

#[test]
fn nodes_that_tries_share_are_written_once() {
    let all = Random::new(60).entries(2_000);
    let first = trie_of(all.iter().copied());
    let mut second = first.clone();
    let new = change(&mut second, all[5].key, &NoSource);
    let alone = copy(&[&first], &NoSource).1.nodes.len();
    let (tops, storage) = copy(&[&first, &second, &first, &Trie::new()], &NoSource);
    assert_eq!(storage.nodes.len(), alone + new);
    assert_eq!(tops[0], tops[2]);
    assert_same(tops[0], &storage, &first, &NoSource);
    assert_same(tops[1], &storage, &second, &NoSource);
    assert_same(tops[3], &storage, &Trie::new(), &NoSource);
}

#[test]
fn sav_1_stored_nodes_are_copied_once_and_not_kept_in_memory() {
    let all = Random::new(61).entries(2_000);
    let (tops, old) = copy(&[&trie_of(all.iter().copied())], &NoSource);
    let count = old.nodes.len();
    // Two tries share stored nodes, but no nodes in memory. One of them is edited later.
    let one = Trie::from_stored(tops[0], &old).unwrap();
    let two = Trie::from_stored(tops[0], &old).unwrap();
    let mut edited = one.clone();
    let new = change(&mut edited, all[5].key, &old);
    *old.loads.lock().unwrap() = 0;
    let (copied, storage) = copy(&[&two, &edited, &one], &old);
    let loads = *old.loads.lock().unwrap();
    assert!(loads <= count, "{loads} loads of {count} nodes");
    assert_eq!(storage.nodes.len(), count + new);
    for (stored, trie) in copied.iter().zip([&two, &edited, &one]) {
        assert_same(*stored, &storage, trie, &old);
    }
    let untouched = Trie::from_stored(tops[0], &old).unwrap();
    for _ in 0..2 {
        *old.loads.lock().unwrap() = 0;
        copy(&[&untouched], &old);
        assert_eq!(
            *old.loads.lock().unwrap(),
            count,
            "the previous copy kept no node in memory"
        );
    }
}

#[test]
fn places_that_two_parents_call_by_different_digests_are_both_verified() {
    let all = Random::new(62).entries(500);
    let (tops, old) = copy(&[&trie_of(all.iter().copied())], &NoSource);
    let wrong = StoredNode {
        digest: [1; 32],
        ..tops[0]
    };
    let tries = [tops[0], wrong].map(|top| Trie::from_stored(top, &old).unwrap());
    let mut write = |_: &[u8]| Ok(0);
    let mut saver = Saver::new(&old, &mut write);
    saver.save(&tries[0]).unwrap();
    let error = saver.save(&tries[1]).unwrap_err();
    assert!(
        error.is_corruption() && error.code() == ErrorCode::CheckpointDamaged,
        "{error:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn histories_are_copied_from_copy_to_copy(
        histories in prop::collection::vec(prop::collection::vec(step(), 0..20), 1..6),
    ) {
        let mut tries: Vec<Trie> = Vec::new();
        let mut storage = Storage::default();
        for steps in &histories {
            let mut trie = tries.last().cloned().unwrap_or_default();
            for step in steps {
                match step {
                    // The saver may write either of two nodes of one digest, so the other fields must depend on the digest.
                    Step::Insert(entry) => {
                        let place = u64::from(entry.digest[0]);
                        let entry = Entry { place, created: 0, ..*entry };
                        trie.insert(entry, &storage).unwrap();
                    }
                    Step::Remove(key) => drop(trie.remove(key, &storage).unwrap()),
                }
            }
            tries.push(trie);
            let (tops, copied) = copy(&tries.iter().collect::<Vec<_>>(), &storage);
            for (top, trie) in tops.iter().zip(&tries) {
                assert_same(*top, &copied, trie, &storage);
            }
            // Every other round continues with the stored trie. The comparison has loaded a part of that trie.
            if tries.len().is_multiple_of(2) {
                tries = tops.iter().map(|top| Trie::from_stored(*top, &copied).unwrap()).collect();
                storage = copied;
            }
        }
    }
}

/// Adds the nodes of a trie to a storage that has the trie `kept`. Returns the top node, and the number of new nodes.
fn add(trie: &Trie, storage: &mut Storage, kept: Option<StoredNode>) -> (StoredNode, usize) {
    let before = storage.nodes.len();
    let mut new = Vec::new();
    let top = {
        let mut write = |bytes: &[u8]| {
            new.push(bytes.to_vec());
            Ok((before + new.len()) as u64)
        };
        let is_kept = |node: &StoredNode| node.place <= before as u64;
        let mut saver = Saver::new(&*storage, &mut write);
        if let Some(top) = kept {
            saver = saver.beside(Kept {
                source: &*storage,
                top,
                holds: &is_kept,
            });
        }
        saver.save(trie).unwrap()
    };
    let added = new.len();
    storage.nodes.extend((before as u64 + 1..).zip(new));
    (top, added)
}

#[test]
fn sav_1_a_change_beside_a_kept_trie_writes_its_path_only() {
    let all = Random::new(63).entries(3_000);
    let mut trie = trie_of(all.iter().copied());
    let mut storage = Storage::default();
    let (mut top, _) = add(&trie, &mut storage, None);
    for entry in all.iter().step_by(100) {
        let new = change(&mut trie, entry.key, &NoSource);
        let (next, added) = add(&trie, &mut storage, Some(top));
        assert_eq!(added, new);
        assert_same(next, &storage, &trie, &NoSource);
        top = next;
    }
    // The same trie again, in memory and from the storage.
    let stored = Trie::from_stored(top, &storage).unwrap();
    for trie in [&trie, &stored] {
        assert_eq!(add(trie, &mut storage, Some(top)), (top, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn histories_grow_in_one_storage(
        histories in prop::collection::vec((prop::collection::vec(step(), 0..20), any::<bool>()), 1..8),
    ) {
        let (mut trie, mut model) = (Trie::new(), Trie::new());
        let (mut storage, mut top) = (Storage::default(), None);
        let mut tops = Vec::new();
        for (steps, continues_stored) in &histories {
            for step in steps {
                match step {
                    Step::Insert(entry) => {
                        let entry = Entry { place: u64::from(entry.digest[0]), created: 0, ..*entry };
                        trie.insert(entry, &storage).unwrap();
                        model.insert(entry, &NoSource).unwrap();
                    }
                    Step::Remove(key) => {
                        trie.remove(key, &storage).unwrap();
                        model.remove(key, &NoSource).unwrap();
                    }
                }
            }
            trie.root(BLAKE3, Shape::State, &storage).unwrap();
            let (next, _) = add(&trie, &mut storage, top);
            top = Some(next);
            tops.push((next, model.clone()));
            if *continues_stored {
                trie = Trie::from_stored(next, &storage).unwrap();
            }
        }
        for (top, model) in tops {
            assert_same(top, &storage, &model, &NoSource);
        }
    }
}
