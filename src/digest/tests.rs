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
