//! Tests that the check verifies every node of stored tries once, with the same result for any number of threads.

use super::stored::Storage;
use super::*;
use crate::error::ErrorCode;
use crate::trie::check::{Verified, check_stored};

/// Returns two states that share most nodes, large enough for three threads.
fn two_states() -> (Storage, Vec<StoredNode>) {
    let mut random = Random::new(77);
    let older = trie_of(random.entries(40_000));
    let mut newer = older.clone();
    for entry in random.entries(50) {
        newer.insert(entry, &NoSource).unwrap();
    }
    let mut storage = Storage::default();
    let tops = storage.save_all(&[&older, &newer]);
    (storage, tops)
}

fn check(tops: &[StoredNode], storage: &Storage, threads: usize) -> Result<()> {
    check_stored(tops, storage, &|_| false, &mut Verified::default(), threads)
}

#[test]
fn nodes_that_were_verified_before_are_not_loaded_again() {
    let (mut storage, tops) = two_states();
    let mut verified = Verified::default();
    for top in &tops {
        check_stored(&[*top], &storage, &|_| false, &mut verified, 2).unwrap();
    }
    assert_eq!(storage.loads(), storage.nodes.len());
    // A check that fails leaves nothing verified, because it did not reach all nodes below those that it met.
    let leaves_only = |bytes: &&mut Vec<u8>| bytes[4..6] == bytes[2..4];
    storage.nodes.values_mut().find(leaves_only).unwrap()[6 + 40] ^= 1;
    let mut verified = Verified::default();
    for _ in 0..2 {
        assert!(check_stored(&tops, &storage, &|_| false, &mut verified, 2).is_err());
    }
}

#[test]
fn a_damaged_top_of_any_size_leaves_nothing_verified() {
    let (mut storage, tops) = two_states();
    let leaves_only = |bytes: &&mut Vec<u8>| bytes[4..6] == bytes[2..4];
    storage.nodes.values_mut().find(leaves_only).unwrap()[6 + 40] ^= 1;
    for count in [0, 1, 2] {
        let damaged = StoredNode {
            digest: [1; 32],
            count,
            ..tops[0]
        };
        let mut verified = Verified::default();
        // The first check fails at the top that it reads last, so it verifies nothing below the others.
        for tops in [&[tops[0], tops[1], damaged][..], &tops] {
            let found = check_stored(tops, &storage, &|_| false, &mut verified, 2);
            assert!(found.is_err(), "a top of {count} entries");
        }
    }
}

#[test]
fn each_node_is_loaded_once_on_any_number_of_threads() {
    let (storage, tops) = two_states();
    for (round, threads) in (1..).zip([0, 1, 2, 3, 16, 1_000]) {
        check(&tops, &storage, threads).unwrap();
        assert_eq!(storage.loads(), storage.nodes.len() * round, "{threads} threads");
    }
}

#[test]
fn damage_gets_the_same_answer_on_any_number_of_threads() {
    let (mut storage, tops) = two_states();
    let places: Vec<u64> = storage.nodes.keys().copied().collect();
    for pair in places.chunks(2).step_by(places.len() / 24) {
        for place in pair {
            *storage.nodes.get_mut(place).unwrap().last_mut().unwrap() ^= 1;
        }
        let damage = [1, 2, 16].map(|threads| check(&tops, &storage, threads));
        for place in pair {
            *storage.nodes.get_mut(place).unwrap().last_mut().unwrap() ^= 1;
        }
        // The last bytes of a node are the time of a leaf or the place of a branch. No digest covers the time, but a
        // changed place leads to another node.
        let messages = damage.map(|found| found.map_err(|error| error.to_string()));
        assert_eq!(messages[0], messages[1]);
        assert_eq!(messages[0], messages[2]);
    }
}

#[test]
fn a_changed_leaf_and_a_wrong_count_are_found_anywhere() {
    let (mut storage, mut tops) = two_states();
    // After the header, a branch has its first leaf: a key path, then a digest.
    let of_leaves: Vec<u64> = storage
        .nodes
        .iter()
        .filter(|(_, bytes)| bytes[4..6] == bytes[2..4])
        .map(|(place, _)| *place)
        .collect();
    assert!(of_leaves.len() > 1_000);
    for place in of_leaves.into_iter().step_by(211) {
        storage.nodes.get_mut(&place).unwrap()[6 + 40] ^= 1;
        let error = check(&tops, &storage, 2).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointDamaged);
        assert!(error.message().contains(&format!("place {place} ")), "{error}");
        storage.nodes.get_mut(&place).unwrap()[6 + 40] ^= 1;
    }
    tops[1].count += 1;
    assert_eq!(
        check(&tops, &storage, 2).unwrap_err().code(),
        ErrorCode::CheckpointDamaged
    );
}

#[test]
fn tries_of_one_entry_and_of_none_are_checked_too() {
    let mut storage = Storage::default();
    let one = trie_of(Random::new(3).entries(1));
    let tops = storage.save_all(&[&Trie::new(), &one]);
    check(&tops, &storage, 1).unwrap();
    storage.nodes.get_mut(&tops[1].place).unwrap()[40] ^= 1;
    assert_eq!(
        check(&tops, &storage, 1).unwrap_err().code(),
        ErrorCode::CheckpointDamaged
    );
}
