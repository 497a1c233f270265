//! Tests of padding, domains and text forms of digests.

use super::*;

const BOTH: [HashAlgorithm; 2] = [HashAlgorithm::Blake3, HashAlgorithm::Sha256];

#[test]
fn blake3_digest_is_derive_key_of_the_padded_preimage() {
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let mut padded = 5_u64.to_le_bytes().to_vec();
    padded.extend_from_slice(b"hello");
    padded.resize(64, 0);
    assert_eq!(
        suite.hash_bytes(Domain::Content, b"hello"),
        blake3::derive_key("treering v1 content", &padded)
    );
}

#[test]
fn sha256_digest_starts_with_the_domain_block() {
    let suite = HashSuite::new(HashAlgorithm::Sha256);
    let mut block = b"treering v1 content".to_vec();
    block.resize(64, 0);
    let mut padded = 5_u64.to_le_bytes().to_vec();
    padded.extend_from_slice(b"hello");
    padded.resize(64, 0);
    assert_eq!(
        suite.hash_bytes(Domain::Content, b"hello"),
        sha256(&[&block[..], &padded].concat())
    );
}

#[test]
fn dig_2_length_prefix_keeps_padding_injective() {
    for algorithm in BOTH {
        let suite = HashSuite::new(algorithm);
        let mut seen = std::collections::HashSet::new();
        for zeros in 0..200 {
            assert!(
                seen.insert(suite.hash_bytes(Domain::Object, &vec![0; zeros])),
                "{algorithm} {zeros}"
            );
        }
    }
}

#[test]
fn domains_are_apart() {
    const ALL: [Domain; 14] = [
        Domain::Key,
        Domain::Object,
        Domain::Content,
        Domain::Text,
        Domain::Leaf,
        Domain::Branch,
        Domain::Subtree,
        Domain::SubtreeLeaf,
        Domain::SubtreeBranch,
        Domain::HistoryLeaf,
        Domain::HistoryNode,
        Domain::Commit,
        Domain::Reference,
        Domain::Batch,
    ];
    // DIG-1: the same bytes have another digest in each domain.
    for algorithm in BOTH {
        let suite = HashSuite::new(algorithm);
        let digests: std::collections::HashSet<_> =
            ALL.iter().map(|&d| suite.hash_bytes(d, b"same")).collect();
        assert_eq!(digests.len(), ALL.len());
    }
    assert!(Domain::ALL.iter().all(|domain| domain.context().len() < 64));
}

#[test]
fn hex_round_trip_and_refusals() {
    let digest = ObjectDigest::from_bytes([0xab; 32]);
    assert_eq!(digest.to_hex().parse::<ObjectDigest>(), Ok(digest));
    assert_eq!("ab".parse::<ObjectDigest>(), Err(DigestTextError));
    assert_eq!("zz".repeat(32).parse::<ObjectDigest>(), Err(DigestTextError));
    assert!(from_hex("abc").is_none());
    assert!(from_hex("é0").is_none());
}

#[test]
fn weak_keys_keep_only_leading_bits() {
    let suite = HashSuite::with_weak_keys(HashAlgorithm::Blake3, 12);
    let path = suite.key_path("some id");
    let full = HashSuite::new(HashAlgorithm::Blake3).key_path("some id");
    assert_eq!(path.as_bytes()[0], full.as_bytes()[0]);
    assert_eq!(path.as_bytes()[1], full.as_bytes()[1] & 0xf0);
    assert!(path.as_bytes()[2..].iter().all(|&byte| byte == 0));
    assert_eq!(path.nibble(0), usize::from(full.as_bytes()[0] >> 4));
    assert_eq!(path.nibble(1), usize::from(full.as_bytes()[0] & 15));
}

/// Returns a message of `length` bytes, which differs for each `seed`.
fn message(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|index| (seed * 31 + index * 7) as u8).collect()
}

#[test]
fn a_short_preimage_has_the_digest_of_the_library_at_every_length() {
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    for length in 0..1_300 {
        let bytes = message(length, length);
        let mut padded = bytes.clone();
        padded.resize(length.next_multiple_of(64), 0);
        let expected = blake3::derive_key(Domain::Branch.context(), &padded);
        assert_eq!(suite.hash_fixed(Domain::Branch, &[&bytes]), expected, "{length}");
        let (low, high) = bytes.split_at(length / 3);
        assert_eq!(
            suite.hash_fixed(Domain::Branch, &[low, &[], high]),
            expected,
            "{length}"
        );
    }
}

#[test]
fn btc_1_a_batch_returns_the_digests_of_single_hashes() {
    for suite in BOTH.map(HashSuite::new) {
        for count in (0..40).chain([1_000]) {
            let mut batch = HashBatch::new(suite, Domain::Object);
            let (mut expected, mut found) = (vec![[7; 32]], vec![[7; 32]]);
            // Two rounds, because a batch is used again after its end.
            for round in 0..2 {
                for number in 0..count {
                    let bytes = message(number, (number * number * 37 + round) % 1_500);
                    batch.push_bytes(&bytes);
                    expected.push(suite.hash_bytes(Domain::Object, &bytes));
                }
                batch.finish(&mut found);
                assert_eq!(found, expected);
            }
        }
        let mut leaves = HashBatch::new(suite, Domain::Leaf);
        leaves.push_fixed(&[&[1; 32], &[2; 32]]);
        leaves.push_fixed(&[]);
        let mut found = Vec::new();
        leaves.finish(&mut found);
        let alone = |parts: &[&[u8]]| suite.hash_fixed(Domain::Leaf, parts);
        assert_eq!(found, [alone(&[&[1; 32], &[2; 32]]), alone(&[])]);
    }
}

#[test]
fn btc_1_messages_that_are_written_in_place_have_the_digests_of_single_hashes() {
    for suite in BOTH.map(HashSuite::new) {
        let (mut batch, mut places) = (HashBatch::new(suite, Domain::Object), Vec::new());
        let texts = [0, 55, 70, 1_500].map(|length| message(5, length));
        for text in &texts {
            let refused = batch.push_bytes_with(|out| {
                out.push(1);
                Err::<(), u8>(7)
            });
            assert_eq!(refused, Err(7));
            let written = batch.push_bytes_with(|out| {
                out.extend_from_slice(text);
                Ok::<_, u8>(text.len())
            });
            places.push(written.unwrap());
        }
        let (digests, bytes) = batch.finish_all();
        for ((text, (range, length)), digest) in texts.iter().zip(places).zip(digests) {
            assert_eq!((&bytes[range], length), (&text[..], text.len()));
            assert_eq!(digest, suite.hash_bytes(Domain::Object, text));
        }
    }
}

#[test]
fn btc_1_messages_that_are_hashed_in_groups_have_the_digests_of_single_hashes() {
    for suite in BOTH.map(HashSuite::new) {
        for count in [0, 1, 127, 128, 129, 300] {
            let all: Vec<_> = (0..count)
                .map(|number| message(number, number * 37 % 1_500))
                .collect();
            let found = hash_each(suite, Domain::Object, all.iter().map(|bytes| &bytes[..]));
            let alone = all.iter().map(|bytes| suite.hash_bytes(Domain::Object, bytes));
            assert_eq!(found, alone.collect::<Vec<_>>(), "{count}");
        }
    }
}

#[test]
fn the_key_paths_of_many_ids_are_those_of_each_id() {
    for suite in [
        HashSuite::new(HashAlgorithm::Blake3),
        HashSuite::new(HashAlgorithm::Sha256),
        HashSuite::with_weak_keys(HashAlgorithm::Blake3, 11),
    ] {
        let ids: Vec<String> = (0..100).map(|number| "x".repeat(number)).collect();
        let expected: Vec<_> = ids.iter().map(|id| suite.key_path(id)).collect();
        assert_eq!(suite.key_paths(ids.iter().map(String::as_str)), expected);
    }
}

#[test]
fn digests_sort_as_their_bytes_do() {
    let mut random = crate::testing::random::SplitMix64::new(5);
    let digests: Vec<_> = (0..200)
        .map(|_| {
            // Many digests share their first eight bytes.
            let mut bytes = [(random.next_u64() % 3) as u8; DIGEST_LEN];
            bytes[random.below(DIGEST_LEN)] = random.next_u64() as u8;
            ObjectDigest::from_bytes(bytes)
        })
        .collect();
    for one in &digests {
        for two in &digests {
            assert_eq!(one.cmp(two), one.as_bytes().cmp(two.as_bytes()));
        }
    }
}

#[test]
fn a_table_of_digests_spreads_those_with_equal_starts_and_ends() {
    let hash = |number: u64, place: usize| {
        let mut bytes = [0; DIGEST_LEN];
        bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
        DigestHash::default().hash_one(ObjectDigest::from_bytes(bytes))
    };
    // Random numbers, because equal steps between them meet in few buckets for some seeds of the process.
    let mut random = crate::testing::random::SplitMix64::new(3);
    for shift in [0, 20, 40] {
        let buckets: std::collections::HashSet<_> = (1..=1_000)
            .map(|_| hash((random.next_u64() >> 40) << shift, 0) % 4_096)
            .collect();
        assert!(
            buckets.len() > 600,
            "{} buckets, shifted by {shift}",
            buckets.len()
        );
    }
    assert_eq!(hash(1, 8), hash(2, 8), "only the first eight bytes count");
}
