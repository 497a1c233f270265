//! Insertion and removal: a map always has the same shape and root, and clones never change.

use super::*;
use crate::trie::node::{Branch, Kind};

/// Checks the shape (TRI-1) and the count of every branch below `child`, with its level.
fn check_canonical(child: &Child, level: usize, prefix: &mut Vec<usize>) -> u64 {
    match child.get() {
        Kind::Leaf(entry) => {
            assert!(
                prefix
                    .iter()
                    .enumerate()
                    .all(|(level, &digit)| entry.key.nibble(level) == digit)
            );
            1
        }
        Kind::Stored(_) => panic!("the trie is completely in memory"),
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
                assert!(!only.is_leaf(), "TRI-1");
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
    // INVARIANT LKP-1: looking up keys together finds what `get` finds for each, present or not.
    let mut keys: Vec<KeyPath> = model.keys().copied().take(40).collect();
    keys.extend(
        Random::new(model.len() as u64)
            .entries(5)
            .iter()
            .map(|entry| entry.key),
    );
    let one_by_one: Vec<_> = keys.iter().map(|key| trie.get(key, &NoSource).unwrap()).collect();
    assert_eq!(trie.get_all(&keys, &NoSource).unwrap(), one_by_one);
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
    assert_eq!(
        root(&trie),
        BLAKE3.hash_fixed(Domain::Leaf, &[entry.key.as_bytes(), &entry.digest])
    );
}

#[test]
fn tri_1_ten_thousand_histories_in_two_orders_have_one_root() {
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let size = random.below(24);
        let shared = [0, 0, 4, 40, 252][random.below(5)];
        let kept: Vec<Entry> = (0..size).map(|_| random.entry_sharing(shared.min(248))).collect();
        let gone: Vec<Entry> = (0..random.below(12))
            .map(|_| random.entry_sharing(shared))
            .collect();
        let model: Model = kept.iter().map(|entry| (entry.key, *entry)).collect();
        let gone: Vec<Entry> = gone
            .into_iter()
            .filter(|entry| !model.contains_key(&entry.key))
            .collect();

        let one = trie_of(model.values().copied());
        // Builds the same map by another history: shuffled, with entries that are removed again and values that are
        // replaced.
        let mut steps: Vec<Entry> = model.values().chain(&gone).copied().collect();
        for last in (1..steps.len()).rev() {
            steps.swap(last, random.below(last + 1));
        }
        let mut two = Trie::new();
        for entry in &steps {
            let early = Entry {
                digest: random.bytes(),
                ..*entry
            };
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

#[test]
fn entries_built_at_once_are_those_inserted() {
    for (seed, size, shared) in [
        (14, 0, 0),
        (15, 1, 0),
        (16, 2, 252),
        (17, 60, 40),
        (18, 16, 252),
        (19, 3_000, 0),
    ] {
        let mut random = Random::new(seed);
        let mut all: Vec<Entry> = (0..size).map(|_| random.entry_sharing(shared)).collect();
        // Some keys occur again later, with another digest.
        for index in 0..size / 10 {
            let again = Entry {
                digest: random.bytes(),
                ..all[index]
            };
            all.push(again);
        }
        let model: Model = all.iter().map(|entry| (entry.key, *entry)).collect();
        let built = Trie::from_entries(all.clone());
        check_against(&built, &model);
        assert_eq!(root(&built), root(&trie_of(all)));
    }
}

#[test]
fn unequal_maps_have_unequal_roots() {
    let mut random = Random::new(3);
    let base = random.entries(50);
    let mut roots = std::collections::HashSet::from([root(&trie_of(base.iter().copied()))]);
    for (index, entry) in base.iter().enumerate() {
        let mut one_less = base.clone();
        one_less.remove(index);
        assert!(roots.insert(root(&trie_of(one_less.iter().copied()))));
        for bit in [0, 7, 128, 255] {
            let mut other = *entry;
            other.digest[bit / 8] ^= 1 << (bit % 8);
            assert!(roots.insert(root(&trie_of(base.iter().copied().chain([other])))));
            let mut path = *entry.key.as_bytes();
            path[bit / 8] ^= 1 << (bit % 8);
            let moved = Entry {
                key: KeyPath::from_bytes(path),
                ..*entry
            };
            assert!(roots.insert(root(&trie_of(one_less.iter().copied().chain([moved])))));
        }
    }
}

#[test]
fn place_and_created_are_in_no_digest() {
    let mut random = Random::new(4);
    let base = random.entries(40);
    let trie = trie_of(base.iter().copied());
    let moved = trie_of(base.iter().map(|entry| Entry {
        place: entry.place ^ 1,
        created: 7,
        ..*entry
    }));
    assert_eq!(root(&trie), root(&moved));
}

#[test]
fn keys_that_share_40_and_252_bits_and_weak_keys() {
    let mut random = Random::new(5);
    for shared in [40, 252] {
        let steps = (0..300)
            .map(|_| Step::Insert(random.entry_sharing(shared)))
            .collect::<Vec<_>>();
        check_history(&steps);
    }
    for bits in [0, 4, 8, 16] {
        let weak = HashSuite::with_weak_keys(HashAlgorithm::Blake3, bits);
        let steps: Vec<_> = (0..400)
            .map(|number| {
                // With weak keys, ids collide. The later entry replaces the earlier entry, because the trie only knows
                // key paths.
                let key = weak.key_path(&format!("id-{number}"));
                let entry = Entry {
                    key,
                    digest: random.bytes(),
                    place: number,
                    created: 1,
                };
                if number % 5 == 4 {
                    Step::Remove(key)
                } else {
                    Step::Insert(entry)
                }
            })
            .collect();
        check_history(&steps);
    }
}

/// Applies the steps, then removes every entry.
fn check_history(steps: &[Step]) {
    let (mut trie, mut model) = (Trie::new(), Model::new());
    for (number, step) in steps.iter().enumerate() {
        take(step, &mut trie, &mut model, &NoSource);
        if number % 50 == 0 {
            check_against(&trie, &model);
        }
    }
    check_against(&trie, &model);
    for key in model.keys().copied().collect::<Vec<_>>() {
        take(&Step::Remove(key), &mut trie, &mut model, &NoSource);
    }
    check_against(&trie, &model);
    assert!(trie.is_empty());
}

#[test]
fn sixteen_leaves_on_the_last_level_are_64_branches_deep() {
    let last = (0..16_u8).map(|digit| {
        let mut path = [0xee; 32];
        path[31] = 0xe0 | digit;
        Entry {
            key: KeyPath::from_bytes(path),
            digest: [digit; 32],
            place: 0,
            created: 0,
        }
    });
    let trie = trie_of(last.clone());
    let mut depth = 0;
    let mut child = trie.top.as_ref();
    while let Some(Kind::Branch(branch)) = child.map(Child::get) {
        depth += 1;
        child = branch.slots().first();
    }
    assert_eq!(depth, LEVELS);
    check_against(&trie, &last.map(|entry| (entry.key, entry)).collect());
}

/// Returns the number of branches with a cached digest, and the number of all branches.
fn cached_and_all(trie: &Trie) -> (usize, usize) {
    fn count(branch: Branch<'_>, kind: digest::HashKind, sums: &mut (usize, usize)) {
        sums.0 += usize::from(branch.cached_digest(kind).is_some());
        sums.1 += 1;
        for child in branch.slots() {
            if let Kind::Branch(branch) = child.get() {
                count(branch, kind, sums);
            }
        }
    }
    let mut sums = (0, 0);
    if let Some(Kind::Branch(branch)) = trie.top.as_ref().map(Child::get) {
        count(branch, NodeHasher::new(BLAKE3, Shape::State).kind(), &mut sums);
    }
    sums
}

#[test]
fn tri_2_an_edit_forgets_the_digests_on_its_path_and_no_others() {
    let mut random = Random::new(6);
    let all = random.entries(2_000);
    let mut trie = trie_of(all.iter().copied());
    assert_eq!(cached_and_all(&trie).0, 0, "inserting hashes nothing");
    root(&trie);
    let (cached, branches) = cached_and_all(&trie);
    assert_eq!(cached, branches);

    let same = Entry {
        place: 99,
        created: 98,
        ..all[7]
    };
    assert_eq!(trie.insert(same, &NoSource).unwrap(), Some(all[7]));
    assert_eq!(trie.get(&same.key, &NoSource).unwrap(), Some(same));
    root(&trie);

    let with_another_digest = || {
        let mut trie = trie.clone();
        let digest = [1; 32];
        trie.insert(Entry { digest, ..same }, &NoSource).unwrap();
        trie
    };
    let other = with_another_digest();
    let on_path = other.prove(&same.key, BLAKE3, &NoSource).unwrap().levels.len();
    let (cached, _) = cached_and_all(&trie);
    assert_eq!(cached, branches, "TRI-3: the digests of a clone stay");
    let third = with_another_digest();
    assert_eq!(cached_and_all(&third), (branches - on_path, branches));
    assert_eq!(
        trie.remove(&KeyPath::from_bytes([3; 32]), &NoSource).unwrap(),
        None
    );
    assert_eq!(
        cached_and_all(&trie).0,
        branches,
        "removing an absent key changes nothing"
    );
}

#[test]
fn a_root_of_another_hash_or_shape_ignores_the_cached_digests() {
    let mut random = Random::new(7);
    let all = random.entries(200);
    let kinds = [BLAKE3, SHA256]
        .into_iter()
        .flat_map(|suite| [(suite, Shape::State), (suite, Shape::Subtree)]);
    let of = |trie: &Trie, (suite, shape)| trie.root(suite, shape, &NoSource).unwrap();
    let expected: Vec<Root> = kinds
        .clone()
        .map(|kind| of(&trie_of(all.iter().copied()), kind))
        .collect();
    let one = trie_of(all.iter().copied());
    for _ in 0..2 {
        assert_eq!(
            kinds.clone().map(|kind| of(&one, kind)).collect::<Vec<_>>(),
            expected
        );
    }
    let distinct: std::collections::HashSet<_> = expected.iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn threads_that_compute_one_root_at_once_agree() {
    let trie = trie_of(Random::new(8).entries(5_000));
    let expected = root(&trie_of(Random::new(8).entries(5_000)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut own = trie.clone();
                assert_eq!(root(&own), expected);
                own.remove(&Random::new(8).entry().key, &NoSource).unwrap();
                assert_ne!(root(&own), expected);
            });
        }
    });
    assert_eq!(root(&trie), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_history_behaves_like_a_map(steps in prop::collection::vec(step(), 0..80)) {
        let (mut trie, mut model) = (Trie::new(), Model::new());
        for step in &steps {
            take(step, &mut trie, &mut model, &NoSource);
        }
        check_against(&trie, &model);
        for step in &steps {
            let (Step::Insert(Entry { key, .. }) | Step::Remove(key)) = step;
            prop_assert_eq!(trie.get(key, &NoSource).unwrap(), model.get(key).copied());
        }
    }

    #[test]
    fn tri_3_snapshots_never_change(steps in prop::collection::vec(step(), 0..60)) {
        let (mut trie, mut model) = (Trie::new(), Model::new());
        let mut snapshots = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if number % 3 == 0 {
                snapshots.push((trie.clone(), model.clone()));
            }
            if number % 7 == 0 {
                root(&trie);
            }
            take(step, &mut trie, &mut model, &NoSource);
        }
        for (snapshot, model) in &snapshots {
            check_against(snapshot, model);
        }
    }
}

/// Applies steps to a trie with one call of `updated`. The last step of a key counts.
fn updated(trie: Trie, steps: &[Step], model: &mut Model, source: &dyn NodeSource) -> Trie {
    let mut last = BTreeMap::new();
    for step in steps {
        match step {
            Step::Insert(entry) => last.insert(entry.key, Some(*entry)),
            Step::Remove(key) => last.insert(*key, None),
        };
    }
    let keys: Vec<KeyPath> = last.keys().copied().collect();
    let mut visited = Vec::new();
    let trie = trie
        .updated(&keys, source, &mut |index, old| {
            assert_eq!(old, model.get(&keys[index]), "the entry before the edit");
            visited.push(index);
            Ok(last[&keys[index]])
        })
        .unwrap();
    assert!(visited.into_iter().eq(0..keys.len()), "each key once, in order");
    for (key, entry) in last {
        match entry {
            Some(entry) => drop(model.insert(key, entry)),
            None => drop(model.remove(&key)),
        }
    }
    trie
}

proptest! {
    /// Each element of `rounds` is one edit of many keys. Every older trie stays as it was (TRI-3).
    #[test]
    fn an_edit_of_many_keys_is_the_edits_of_each(
        rounds in prop::collection::vec(prop::collection::vec(step(), 0..20), 1..12),
        kept in any::<u16>(),
    ) {
        let (mut trie, mut model) = (Trie::new(), Model::new());
        let mut older = Vec::new();
        for (round, steps) in rounds.iter().enumerate() {
            // Some rounds edit a trie that nothing else shares, and some one whose digests are known.
            if kept >> round & 1 == 1 {
                root(&trie);
                older.push((trie.clone(), model.clone()));
            }
            trie = updated(trie, steps, &mut model, &NoSource);
            check_against(&trie, &model);
        }
        for (trie, model) in older {
            check_against(&trie, &model);
        }
    }
}

#[test]
fn an_edit_of_many_keys_of_a_large_trie_is_the_edits_of_each() {
    let mut random = Random::new(77);
    let mut model: Model = random
        .entries(5_000)
        .into_iter()
        .map(|entry| (entry.key, entry))
        .collect();
    let mut trie = Trie::from_entries(model.values().copied().collect());
    for round in 0..6 {
        let mut steps: Vec<Step> = random.entries(700).into_iter().map(Step::Insert).collect();
        let known: Vec<KeyPath> = model.keys().copied().collect();
        for _ in 0..700 {
            let key = known[random.below(known.len())];
            let entry = Entry {
                key,
                ..random.entry()
            };
            let changes = random.below(2) == 0;
            steps.push(if changes {
                Step::Insert(entry)
            } else {
                Step::Remove(key)
            });
        }
        let held = (round % 2 == 0).then(|| trie.clone());
        let before = model.clone();
        trie = updated(trie, &steps, &mut model, &NoSource);
        check_against(&trie, &model);
        if let Some(held) = held {
            check_against(&held, &before);
        }
    }
    let all: Vec<Step> = model.keys().copied().map(Step::Remove).collect();
    trie = updated(trie, &all, &mut model, &NoSource);
    check_against(&trie, &model);
    assert!(trie.is_empty());
}
