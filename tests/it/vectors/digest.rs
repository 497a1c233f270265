//! Test vectors of the digests of every domain.

use serde_json::{Value as Json, json};
use treering::inspect::digest::{Domain, to_hex};

use super::{check_file, for_each_hash};

/// Returns the vectors of domains whose preimage has a length prefix. The inputs have about the block size of the hash.
fn variable() -> Json {
    let domains = [
        (Domain::Key, "a"),
        (Domain::Object, "b"),
        (Domain::Content, "c"),
        (Domain::Text, "d"),
        (Domain::Commit, "e"),
        (Domain::Reference, "f"),
    ];
    let lengths = [0, 1, 55, 56, 57, 120, 121, 5000];
    domains
        .iter()
        .flat_map(|(domain, text)| lengths.map(|length| (*domain, text.repeat(length))))
        .map(|(domain, input)| {
            let digests = for_each_hash(|suite| to_hex(&suite.hash_bytes(domain, input.as_bytes())).into());
            json!({"context": domain.context(), "input": to_hex(input.as_bytes()), "digest": digests})
        })
        .collect()
}

/// Returns the vectors of domains whose preimage has a fixed length.
fn fixed() -> Json {
    let node: Vec<u8> = (0..=63).collect();
    let branch: Vec<u8> = (0..=127).collect();
    let inputs = [
        (Domain::Leaf, node.clone()),
        (Domain::Branch, branch.clone()),
        (Domain::Subtree, node.clone()),
        (Domain::SubtreeLeaf, node.clone()),
        (Domain::SubtreeBranch, branch),
        (Domain::HistoryLeaf, node[..32].to_vec()),
        (Domain::HistoryNode, Vec::new()),
        (Domain::HistoryNode, node),
    ];
    inputs
        .iter()
        .map(|(domain, input)| {
            let digests = for_each_hash(|suite| to_hex(&suite.hash_fixed(*domain, &[input])).into());
            json!({"context": domain.context(), "preimage": to_hex(input), "digest": digests})
        })
        .collect()
}

fn key_paths() -> Json {
    [
        "a",
        "project:demo/fact-1",
        "na\u{ef}ve",
        "\u{4f60}\u{597d}",
        "\u{1f332}",
    ]
    .iter()
    .map(|id| json!({"id": id, "key_path": for_each_hash(|suite| suite.key_path(id).to_hex().into())}))
    .collect()
}

#[test]
fn digest_vectors() {
    check_file(
        "digest.json",
        &json!({"length_prefixed": variable(), "fixed": fixed(), "key_paths": key_paths()}),
    );
}
