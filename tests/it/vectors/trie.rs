//! Test vectors of the state trie and its proofs, for other implementations: `tests/vectors/trie.json`.

use serde_json::{Value, json};
use treering::inspect::digest::{HashAlgorithm, HashSuite, KeyPath, Root, from_hex, to_hex};
use treering::inspect::trie::{Entry, NoSource, Proof, Proven, Shape, Terminal, Trie, verify_proof};

use super::{check_file, stored};

const ABOUT: [&str; 4] = [
    "Roots and proofs of the state trie: docs/format.md, 'The state trie', and docs/proofs.md.",
    "A key is the key path of its id where there is an id; other keys are chosen for the bits that they share.",
    "Object digests are arbitrary. The root is under the contexts of the state, subtree_root under those of a subtree.",
    "A proof is given as its bytes. Changing any bit of a proof, a key or a root must make it invalid.",
];

/// An entry of a map, with the id of its key path if the key path belongs to an id.
struct Named {
    id: Option<String>,
    entry: Entry,
}

fn entry(key: KeyPath, number: u8) -> Entry {
    Entry {
        key,
        digest: std::array::from_fn(|at| number.wrapping_mul(31).wrapping_add(at as u8)),
        place: 0,
        created: 0,
    }
}

/// Returns a key path. All key paths for the same `bits` share their first `bits` bits.
fn sharing(bits: usize, number: u8) -> KeyPath {
    let mut path = [0xc3; 32];
    if bits >= 252 {
        path[31] = path[31] & 0xf0 | number;
    } else {
        path[bits / 8..].fill(number.wrapping_mul(17).wrapping_add(9));
    }
    KeyPath::from_bytes(path)
}

/// Returns the maps of the vectors, each with a name and its entries.
fn maps(suite: HashSuite) -> Vec<(&'static str, Vec<Named>)> {
    let by_id = |count: u8| -> Vec<_> {
        (0..count)
            .map(|number| {
                let id = format!("id-{number}");
                let key = suite.key_path(&id);
                Named {
                    id: Some(id),
                    entry: entry(key, number),
                }
            })
            .collect()
    };
    let by_key = |bits: usize, count: u8| -> Vec<_> {
        (0..count)
            .map(|number| Named {
                id: None,
                entry: entry(sharing(bits, number), number),
            })
            .collect()
    };
    vec![
        ("empty", by_id(0)),
        ("one entry", by_id(1)),
        ("two entries", by_id(2)),
        ("twenty entries", by_id(20)),
        ("three keys that share 40 bits", by_key(40, 3)),
        ("sixteen keys that share 252 bits", by_key(252, 16)),
    ]
}

/// Returns the keys to prove: one that is present, one whose path ends at another leaf, and one whose path ends at an
/// empty slot.
fn questions(trie: &Trie, suite: HashSuite, entries: &[Named]) -> Vec<(&'static str, KeyPath)> {
    let mut questions = Vec::new();
    if let Some(Named { entry, .. }) = entries.first() {
        questions.push(("present", entry.key));
    }
    let ends_at_leaf = |key: &KeyPath| {
        let proof = trie.prove(key, suite, &NoSource).unwrap();
        matches!(proof.terminal, Terminal::Leaf { .. })
    };
    for (name, at_leaf) in [
        ("absent, another leaf is there", true),
        ("absent, the slot is empty", false),
    ] {
        let candidates = (0..)
            .map(|number| suite.key_path(&format!("absent-{number}")))
            .take(64);
        let nearby = entries.iter().map(|Named { entry, .. }| {
            let mut path = *entry.key.as_bytes();
            path[20] ^= 1;
            KeyPath::from_bytes(path)
        });
        let found = candidates.chain(nearby).find(|key| ends_at_leaf(key) == at_leaf);
        questions.extend(found.map(|key| (name, key)));
    }
    questions
}

fn vectors() -> Value {
    let mut tries = Vec::new();
    for algorithm in [HashAlgorithm::Blake3, HashAlgorithm::Sha256] {
        let suite = HashSuite::new(algorithm);
        for (name, entries) in maps(suite) {
            let mut trie = Trie::new();
            for Named { entry, .. } in &entries {
                trie.insert(*entry, &NoSource).unwrap();
            }
            let listed: Vec<Value> = entries
                .iter()
                .map(|Named { id, entry }| json!({"id": id, "key": entry.key.to_hex(), "digest": to_hex(&entry.digest)}))
                .collect();
            let proofs: Vec<Value> = questions(&trie, suite, &entries)
                .iter()
                .map(|(name, key)| {
                    let proof = trie.prove(key, suite, &NoSource).unwrap();
                    let digest = trie.get(key, &NoSource).unwrap().map(|entry| to_hex(&entry.digest));
                    json!({"name": name, "key": key.to_hex(), "digest": digest, "proof": to_hex(&proof.encode())})
                })
                .collect();
            tries.push(json!({
                "hash": algorithm.to_string(),
                "name": name,
                "entries": listed,
                "root": trie.root(suite, Shape::State, &NoSource).unwrap().to_hex(),
                "subtree_root": trie.root(suite, Shape::Subtree, &NoSource).unwrap().to_hex(),
                "proofs": proofs,
            }));
        }
    }
    json!({"about": ABOUT, "tries": tries})
}

#[test]
fn the_vectors_of_the_trie_are_what_this_version_computes() {
    check_file("trie.json", &vectors());
}

/// Verifies the vectors using only the content of the file, as another implementation would.
#[test]
fn the_vectors_of_the_trie_verify_from_their_texts() {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut kinds = std::collections::BTreeMap::new();
    for trie in stored("trie.json")["tries"].as_array().unwrap() {
        let named = |one: &HashAlgorithm| one.to_string() == text(&trie["hash"]);
        let algorithm = [HashAlgorithm::Blake3, HashAlgorithm::Sha256]
            .into_iter()
            .find(named)
            .unwrap();
        let suite = HashSuite::new(algorithm);
        let root: Root = text(&trie["root"]).parse().unwrap();
        for entry in trie["entries"].as_array().unwrap() {
            if let Some(id) = entry["id"].as_str() {
                assert_eq!(suite.key_path(id).to_hex(), text(&entry["key"]));
            }
        }
        for vector in trie["proofs"].as_array().unwrap() {
            let key: KeyPath = text(&vector["key"]).parse().unwrap();
            let bytes = from_hex(&text(&vector["proof"])).unwrap();
            let proof = Proof::decode(&bytes).unwrap();
            let expected = match vector["digest"].as_str() {
                Some(digest) => Proven::Present(from_hex(digest).unwrap().try_into().unwrap()),
                None => Proven::Absent,
            };
            assert_eq!(verify_proof(&proof, suite, &root, &key), Ok(expected));
            *kinds
                .entry((algorithm.to_string(), text(&vector["name"])))
                .or_insert(0) += 1;
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                let refused = Proof::decode(&changed).is_err()
                    || verify_proof(&Proof::decode(&changed).unwrap(), suite, &root, &key).is_err();
                assert!(refused, "byte {at} of {}", vector["name"]);
            }
        }
    }
    assert_eq!(
        kinds.len(),
        6,
        "each hash needs an inclusion proof and both kinds of exclusion proof: {kinds:?}"
    );
    assert!(kinds.values().all(|count| *count >= 2), "{kinds:?}");
}
