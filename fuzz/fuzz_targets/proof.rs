//! The decoder of proofs is strict. Verification rejects mutated proofs and random bytes.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treering::testing::digest::{HashAlgorithm, HashSuite, KeyPath};
use treering::testing::trie::{Entry, NoSource, Proof, Proven, Shape, Trie, verify_proof};

#[derive(Arbitrary, Debug)]
struct Input {
    /// The first bytes of the keys of the state. Their other bytes are equal, so deep paths are likely.
    keys: Vec<[u8; 2]>,
    asked: [u8; 2],
    changes: Vec<(u16, u8)>,
    raw: Vec<u8>,
    sha: bool,
}

fn key(start: [u8; 2]) -> KeyPath {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&start);
    KeyPath::from_bytes(bytes)
}

fuzz_target!(|input: Input| {
    let suite = HashSuite::new(if input.sha {
        HashAlgorithm::Sha256
    } else {
        HashAlgorithm::Blake3
    });
    let mut trie = Trie::new();
    for start in &input.keys {
        let entry = Entry {
            key: key(*start),
            digest: [start[0] ^ start[1]; 32],
            place: 0,
            created: 0,
        };
        trie.insert(entry, &NoSource).expect("the trie is in memory");
    }
    let asked = key(input.asked);
    let root = trie
        .root(suite, Shape::State, &NoSource)
        .expect("the trie is in memory");
    let proof = trie
        .prove(&asked, suite, &NoSource)
        .expect("the trie is in memory");
    let expected = if input.keys.contains(&input.asked) {
        Proven::Present([input.asked[0] ^ input.asked[1]; 32])
    } else {
        Proven::Absent
    };
    assert_eq!(verify_proof(&proof, suite, &root, &asked), Ok(expected));

    let bytes = proof.encode();
    assert_eq!(Proof::decode(&bytes).as_ref(), Ok(&proof));
    let mut changed = bytes.clone();
    for (at, mask) in &input.changes {
        let at = usize::from(*at) % changed.len();
        changed[at] ^= mask;
    }
    for candidate in [&changed, &input.raw] {
        let Ok(decoded) = Proof::decode(candidate) else {
            continue;
        };
        assert_eq!(
            &decoded.encode(),
            candidate,
            "an accepted proof must encode to the same bytes"
        );
        if decoded != proof {
            assert!(
                verify_proof(&decoded, suite, &root, &asked).is_err(),
                "two proofs of one fact"
            );
        }
    }
});
