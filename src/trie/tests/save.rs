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
                    Step::Insert(entry) => drop(trie.insert(*entry, &storage).unwrap()),
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

#[test]
fn a_node_is_shared_while_it_has_two_owners() {
    let trie = trie_of(Random::new(61).entries(50));
    let is_shared = || trie.top.as_ref().unwrap().is_shared();
    assert!(!is_shared());
    let other = trie.clone();
    assert!(is_shared());
    drop(other);
    assert!(!is_shared());
}
