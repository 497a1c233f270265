//! Inserting and removing: one map, one root; clones never change; sizes of nodes.

use proptest::prelude::*;

use super::*;
use crate::trie::node::{Branch, Kind};

/// Every branch below, with its level: has it the shape that TRI-1 demands, and the count?
fn check_canonical(child: &Child, level: usize, prefix: &mut Vec<usize>) -> u64 {
    match child.get() {
        Kind::Leaf(entry) => {
            assert!(prefix.iter().enumerate().all(|(level, &digit)| entry.key.nibble(level) == digit));
            1
        }
        Kind::Branch(branch) => {
            assert!(level < LEVELS);
            let mut count = 0;
            for (digit, child) in branch.digits() {
                prefix.push(digit);
                count += check_canonical(child, level + 1, prefix);
                prefix.pop();
            }
            assert_eq!(count, branch.count());
            assert!(count >= 2, "TRI-1");
            if let [only] = branch.slots() {
                assert!(only.is_branch(), "TRI-1");
            }
            count
        }
    }
}

fn check_against(trie: &Trie, model: &Model) {
    if let Some(top) = &trie.top {
        check_canonical(top, 0, &mut Vec::new());
    }
    assert_eq!(trie.len(), model.len() as u64);
    assert_eq!(trie.is_empty(), model.is_empty());
    assert_eq!(entries(trie), model.values().copied().collect::<Vec<_>>());
    assert_eq!(root(trie), model_root(model));
}

#[test]
fn empty_and_single_roots_are_those_of_the_format() {
    let mut trie = Trie::new();
    assert_eq!(root(&trie), BLAKE3.hash_fixed(Domain::Branch, &[&[0; 64]]));
    assert_eq!(
        *trie.root(BLAKE3, Shape::Subtree, &NoSource).unwrap().as_bytes(),
        BLAKE3.hash_fixed(Domain::SubtreeBranch, &[&[0; 64]])
    );
    let entry = Random::new(1).entry();
    trie.insert(entry, &NoSource).unwrap();
    assert_eq!(root(&trie), BLAKE3.hash_fixed(Domain::Leaf, &[entry.key.as_bytes(), &entry.digest]));
}

#[test]
fn tri_1_ten_thousand_histories_in_two_orders_have_one_root() {
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let size = random.below(24);
        let shared = [0, 0, 4, 40, 252][random.below(5)];
        let kept: Vec<Entry> = (0..size).map(|_| random.entry_sharing(shared.min(248))).collect();
        let gone: Vec<Entry> = (0..random.below(12)).map(|_| random.entry_sharing(shared)).collect();
        let model: Model = kept.iter().map(|entry| (entry.key, *entry)).collect();
        let gone: Vec<Entry> = gone.into_iter().filter(|entry| !model.contains_key(&entry.key)).collect();

        let one = trie_of(model.values().copied());
        // The other order: with entries that go again, with values that are replaced, shuffled.
        let mut steps: Vec<Entry> = model.values().chain(&gone).copied().collect();
        for last in (1..steps.len()).rev() {
            steps.swap(last, random.below(last + 1));
        }
        let mut two = Trie::new();
        for entry in &steps {
            let early = Entry { digest: random.bytes(), ..*entry };
            two.insert(early, &NoSource).unwrap();
            if random.below(4) == 0 {
                root(&two);
            }
        }
        for entry in &steps {
            if model.contains_key(&entry.key) {
                two.insert(*entry, &NoSource).unwrap();
            } else {
                two.remove(&entry.key, &NoSource).unwrap();
            }
        }
        assert_eq!(root(&one), root(&two), "seed {seed}");
        assert_eq!(root(&one), model_root(&model), "seed {seed}");
        check_against(&two, &model);
    }
}
