//! Proofs: every true statement has a proof, and a false statement has no proof.

use super::*;

fn verify(proof: &Proof, root: &[u8; 32], key: &KeyPath) -> Result<Proven, ProofError> {
    verify_proof(proof, BLAKE3, &Root::from_bytes(*root), key)
}

fn prove(trie: &Trie, key: &KeyPath) -> Proof {
    trie.prove(key, BLAKE3, &NoSource).unwrap()
}

/// Returns keys close to the keys of `entries`: each key with one bit changed, for every sixth bit.
fn near(entries: &[Entry]) -> Vec<KeyPath> {
    let flipped = |entry: &Entry, bit: usize| {
        let mut path = *entry.key.as_bytes();
        path[bit / 8] ^= 0x80 >> (bit % 8);
        KeyPath::from_bytes(path)
    };
    entries
        .iter()
        .flat_map(|entry| (0..256).step_by(6).map(move |bit| flipped(entry, bit)))
        .collect()
}

#[test]
fn presence_and_absence_are_proved_for_both_hashes() {
    for (seed, size, shared) in [
        (40, 0, 0),
        (41, 1, 0),
        (42, 2, 0),
        (43, 2, 252),
        (44, 16, 252),
        (45, 30, 40),
        (46, 400, 0),
    ] {
        let mut random = Random::new(seed);
        let trie = trie_of((0..size).map(|_| random.entry_sharing(shared)));
        let present = entries(&trie);
        for suite in [BLAKE3, SHA256] {
            let root = trie.root(suite, Shape::State, &NoSource).unwrap();
            let check = |key: &KeyPath, expected| {
                let proof = trie.prove(key, suite, &NoSource).unwrap();
                assert_eq!(verify_proof(&proof, suite, &root, key), Ok(expected));
                assert_eq!(Proof::decode(&proof.encode()), Ok(proof));
            };
            for entry in &present {
                check(&entry.key, Proven::Present(entry.digest));
            }
            for key in near(&present).into_iter().chain([random.entry().key]) {
                if trie.get(&key, &NoSource).unwrap().is_none() {
                    check(&key, Proven::Absent);
                }
            }
        }
    }
}

#[test]
fn a_proof_is_of_one_key_one_root_and_one_hash() {
    let mut random = Random::new(47);
    let all = random.entries(200);
    let trie = trie_of(all.iter().copied());
    let good = root(&trie);
    for pair in all.windows(2) {
        let proof = prove(&trie, &pair[0].key);
        // The proof does not hold for a neighbouring key.
        assert!(verify(&proof, &good, &pair[1].key).is_err());
        assert_eq!(
            verify(&proof, &random.bytes(), &pair[0].key),
            Err(ProofError::Root)
        );
        let other = verify_proof(&proof, SHA256, &Root::from_bytes(good), &pair[0].key);
        assert_eq!(other, Err(ProofError::Algorithm));
    }
    // The same nodes under the other shape have another root.
    let subtree = trie.root(BLAKE3, Shape::Subtree, &NoSource).unwrap();
    assert_eq!(
        verify(&prove(&trie, &all[0].key), subtree.as_bytes(), &all[0].key),
        Err(ProofError::Root)
    );
}

/// Returns proofs of each kind with their keys, for tries of different depths.
fn samples() -> Vec<(Proof, [u8; 32], KeyPath)> {
    let mut samples = Vec::new();
    for (seed, size, shared) in [
        (50, 0, 0),
        (51, 1, 0),
        (52, 3, 0),
        (53, 6, 252),
        (54, 12, 40),
        (55, 300, 0),
    ] {
        let mut random = Random::new(seed);
        let trie = trie_of((0..size).map(|_| random.entry_sharing(shared)));
        let root = root(&trie);
        let present = entries(&trie);
        let absent = near(&present[..present.len().min(1)]);
        for key in present
            .iter()
            .map(|entry| entry.key)
            .take(2)
            .chain(absent.into_iter().step_by(9))
        {
            samples.push((prove(&trie, &key), root, key));
        }
        let far = random.entry().key;
        samples.push((prove(&trie, &far), root, far));
    }
    samples
}

/// Asserts that a changed encoding proves no other statement. If it proves the same statement, it must be the same
/// proof.
fn assert_rejected(bytes: &[u8], sample: &(Proof, [u8; 32], KeyPath)) {
    let (proof, root, key) = sample;
    if let Ok(changed) = Proof::decode(bytes) {
        assert_ne!(&changed, proof, "PRF-1: a proof has one encoding");
        let verdict = verify(&changed, root, key);
        assert!(verdict.is_err(), "{verdict:?} by {changed:?}");
    }
}

#[test]
fn prf_1_two_hundred_thousand_changed_proofs_are_rejected() {
    let samples = samples();
    let mut random = Random::new(60);
    let mut tried = 0;
    for sample in &samples {
        assert!(verify(&sample.0, &sample.1, &sample.2).is_ok());
        let good = sample.0.encode();
        for at in 0..good.len() {
            // Changes every byte in three ways: one bit, all bits, and to another random value.
            for change in [1 << random.below(8), 0xff, 1 + random.below(255) as u8] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                assert_rejected(&bytes, sample);
            }
            assert_rejected(&good[..at], sample);
            tried += 4;
        }
        for more in 1..40 {
            let longer = [&good[..], &random.bytes()[..], &[0; 40]].concat();
            assert_rejected(&longer[..good.len() + more], sample);
            assert_rejected(&[&good[..], &vec![0; more]].concat(), sample);
            tried += 2;
        }
    }
    while tried < 200_000 {
        // Changes two or three random bytes at once, moves ranges, and copies ranges of another proof.
        let sample = &samples[random.below(samples.len())];
        let good = sample.0.encode();
        let mut bytes = good.clone();
        match random.below(3) {
            0 => (0..2 + random.below(2)).for_each(|_| bytes[random.below(good.len())] = random.next() as u8),
            1 => {
                let (from, to) = (random.below(good.len()), random.below(good.len()));
                let length = random.below(33).min(good.len() - from.max(to));
                bytes.copy_within(from..from + length, to);
            }
            _ => {
                let other = samples[random.below(samples.len())].0.encode();
                let at = random.below(good.len().min(other.len()));
                bytes.truncate(at);
                bytes.extend_from_slice(&other[at..]);
            }
        }
        if bytes != good {
            assert_rejected(&bytes, sample);
            tried += 1;
        }
    }
}

#[test]
fn swapped_siblings_levels_and_ends_are_rejected() {
    for (proof, root, key) in &samples() {
        let mut lies: Vec<Proof> = Vec::new();
        let mut lie = |change: &dyn Fn(&mut Proof)| {
            let mut changed = proof.clone();
            change(&mut changed);
            if changed != *proof {
                lies.push(changed);
            }
        };
        let depth = proof.levels.len();
        for level in 0..depth {
            for one in 1..proof.levels[level].siblings.len() {
                lie(&|proof| proof.levels[level].siblings.swap(0, one));
            }
            lie(&|proof| proof.levels.swap(0, level));
            lie(&|proof| drop(proof.levels.remove(level)));
            lie(&|proof| proof.levels.truncate(level));
            lie(&|proof| proof.levels[level].siblings.truncate(1));
            lie(&|proof| proof.levels[level].siblings.clear());
            lie(&|proof| proof.levels[level].siblings.push([0; 32]));
            lie(&|proof| proof.levels[level].count += 1);
            lie(&|proof| proof.levels[level].count = u64::MAX);
            lie(&|proof| proof.levels[level].count = 0);
            lie(&|proof| proof.levels.insert(level, proof.levels[level].clone()));
        }
        for end in [
            Terminal::EmptySlot,
            Terminal::EmptyTrie,
            Terminal::Leaf {
                key: *key,
                digest: [0; 32],
            },
            Terminal::Leaf {
                key: *key,
                digest: *root,
            },
        ] {
            lie(&|proof| proof.terminal = end);
            lie(&|proof| {
                proof.terminal = end;
                proof.levels.clear();
            });
        }
        if let Terminal::Leaf { key: found, digest } = proof.terminal {
            lie(&|proof| {
                proof.terminal = Terminal::Leaf {
                    key: KeyPath::from_bytes(digest),
                    digest: *found.as_bytes(),
                }
            });
        }
        for lie in lies {
            let verdict = verify(&lie, root, key);
            assert!(verdict.is_err(), "{verdict:?} by {lie:?}");
            assert!(Proof::decode(&lie.encode()).is_err() || Proof::decode(&lie.encode()) == Ok(lie));
        }
    }
}

/// The preimage of a branch with two children is as long as the preimage of two leaves. If both had the same domain, a
/// verifier could mistake a leaf for a branch.
#[test]
fn a_leaf_does_not_pass_as_a_branch_nor_a_branch_as_a_leaf() {
    let mut random = Random::new(61);
    let trie = trie_of(random.entries(2));
    let good = root(&trie);
    let all = entries(&trie);
    let proof = prove(&trie, &all[0].key);
    let [branch] = &proof.levels[..] else {
        panic!("two random keys differ in their first digit")
    };
    let as_leaf = Proof {
        levels: Vec::new(),
        terminal: Terminal::Leaf {
            key: all[0].key,
            digest: branch.siblings[0],
        },
        ..proof.clone()
    };
    assert_eq!(verify(&as_leaf, &good, &all[0].key), Err(ProofError::Root));
    let single = trie_of([all[0]]);
    let as_branch = Proof {
        terminal: Terminal::EmptySlot,
        ..proof.clone()
    };
    assert!(verify(&as_branch, &root(&single), &all[0].key).is_err());
}

/// Each root is the root of a trie with a wrong shape or wrong counts. All digests match, so only the checks of shape
/// and counts can refuse the proofs.
#[test]
fn shapes_that_no_trie_has_are_rejected_even_under_their_own_root() {
    let mut random = Random::new(62);
    let (one, two) = (random.entry_sharing(4), random.entry_sharing(4));
    let hasher = NodeHasher::new(BLAKE3, Shape::State);
    let digests = [one, two].map(|entry| hasher.leaf(&entry.key, &entry.digest));
    let bit = |digit: usize| 1_u16 << digit;
    let leaf = Terminal::Leaf {
        key: one.key,
        digest: one.digest,
    };
    let proof = |levels: Vec<ProofLevel>, terminal| Proof {
        algorithm: HashAlgorithm::Blake3,
        levels,
        terminal,
    };
    let level = |bitmap, count, siblings| ProofLevel {
        bitmap,
        count,
        siblings,
    };

    // A branch whose only child is a leaf, with a claimed count of one or two leaves.
    for count in [1, 2] {
        let root = hasher.branch(0, bit(0), count, &[digests[0]]);
        let lie = proof(vec![level(bit(0), count, vec![])], leaf);
        assert_eq!(verify(&lie, &root, &one.key), Err(ProofError::Count { level: 0 }));
    }
    // A branch with two leaves that claims no leaf or one leaf.
    let (bitmap, other) = (bit(0) | bit(9), digests[1]);
    for count in [0, 1] {
        let root = hasher.branch(0, bitmap, count, &[digests[0], other]);
        let lie = proof(vec![level(bitmap, count, vec![other])], leaf);
        assert_eq!(verify(&lie, &root, &one.key), Err(ProofError::Count { level: 0 }));
    }
    // A branch whose count does not fit the count of its parent.
    let inner = hasher.branch(
        1,
        bit(one.key.nibble(1)) | bit((one.key.nibble(1) + 1) % 16),
        9,
        &[digests[0], other],
    );
    for (count, siblings) in [(8, vec![]), (9, vec![other]), (10, vec![])] {
        let bitmap = if siblings.is_empty() {
            bit(0)
        } else {
            bit(0) | bit(4)
        };
        let children: Vec<[u8; 32]> = [inner].into_iter().chain(siblings.iter().copied()).collect();
        let root = hasher.branch(0, bitmap, count, &children);
        let below = level(
            bit(one.key.nibble(1)) | bit((one.key.nibble(1) + 1) % 16),
            9,
            vec![other],
        );
        let lie = proof(vec![level(bitmap, count, siblings), below], leaf);
        assert_eq!(verify(&lie, &root, &one.key), Err(ProofError::Count { level: 0 }));
    }
    // An empty slot without a branch before it; a branch without children.
    assert_eq!(
        verify(&proof(vec![], Terminal::EmptySlot), &[0; 32], &one.key),
        Err(ProofError::Length)
    );
    let root = hasher.branch(0, 0, 2, &[]);
    let lie = proof(vec![level(0, 2, vec![])], Terminal::EmptySlot);
    assert_eq!(verify(&lie, &root, &one.key), Err(ProofError::Count { level: 0 }));
    let empty_with_levels = proof(vec![level(0, 2, vec![])], Terminal::EmptyTrie);
    assert_eq!(
        verify(&empty_with_levels, &hasher.empty(), &one.key),
        Err(ProofError::Length)
    );
    // A leaf that is not on the key's path. If the verifier accepted it, the key's own slot could contain anything.
    let stray = Entry {
        key: KeyPath::from_bytes([0xff; 32]),
        ..one
    };
    let digest = hasher.leaf(&stray.key, &stray.digest);
    let root = hasher.branch(0, bit(0) | bit(9), 2, &[digest, other]);
    let end = Terminal::Leaf {
        key: stray.key,
        digest: stray.digest,
    };
    let lie = proof(vec![level(bit(0) | bit(9), 2, vec![other])], end);
    assert_eq!(verify(&lie, &root, &one.key), Err(ProofError::Leaf));
}

#[test]
fn a_path_of_more_than_64_branches_is_refused_by_decoder_and_verifier() {
    let level = ProofLevel {
        bitmap: 1,
        count: 2,
        siblings: Vec::new(),
    };
    let zero = KeyPath::from_bytes([0; 32]);
    let end = Terminal::Leaf {
        key: zero,
        digest: [1; 32],
    };
    let deep = |depth| Proof {
        algorithm: HashAlgorithm::Blake3,
        levels: vec![level.clone(); depth],
        terminal: end,
    };
    assert_eq!(Proof::decode(&deep(64).encode()), Ok(deep(64)));
    assert!(Proof::decode(&deep(65).encode()).is_err());
    assert_eq!(verify(&deep(65), &[0; 32], &zero), Err(ProofError::Length));
}

#[test]
fn on_the_last_levels_a_branch_has_no_more_leaves_than_room() {
    let mut random = Random::new(63);
    let trie = trie_of((0..16).map(|_| random.entry_sharing(252)));
    let all = entries(&trie);
    let hasher = NodeHasher::new(BLAKE3, Shape::State);
    let proof = prove(&trie, &all[0].key);
    assert_eq!(proof.levels.len(), LEVELS);
    assert!(verify(&proof, &root(&trie), &all[0].key).is_ok());
    // A count that is one leaf too high at every level, with matching digests.
    let mut lie = proof.clone();
    let mut below = hasher.leaf(&all[0].key, &all[0].digest);
    for (level, branch) in lie.levels.iter_mut().enumerate().rev() {
        branch.count += 1;
        let children: Vec<[u8; 32]> = [below]
            .into_iter()
            .chain(branch.siblings.iter().copied())
            .collect();
        below = hasher.branch(level, branch.bitmap, branch.count, &children);
    }
    assert_eq!(
        verify(&lie, &below, &all[0].key),
        Err(ProofError::Count { level: LEVELS - 1 })
    );
}

proptest! {
    #[test]
    fn decoding_accepts_only_what_it_would_write(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = bytes;
        for (at, most) in [(0, 1), (1, 2), (2, 3), (3, 65)] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = 1 + *byte % most;
            }
        }
        if let Ok(proof) = Proof::decode(&bytes) {
            prop_assert_eq!(proof.encode(), bytes);
        }
    }
}
