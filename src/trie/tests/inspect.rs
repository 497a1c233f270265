//! Inspection of single nodes.

use super::*;

#[test]
fn walking_node_by_node_finds_every_entry_and_every_digest_again() {
    for suite in [BLAKE3, SHA256] {
        for count in [0_u8, 1, 2, 200] {
            let mut trie = Trie::new();
            for number in 0..count {
                let key = suite.key_path(&number.to_string());
                let entry = Entry {
                    key,
                    digest: [number; 32],
                    place: 0,
                    created: 0,
                };
                trie.insert(entry, &NoSource).unwrap();
            }
            let mut waiting = vec![(
                Vec::new(),
                trie.root(suite, Shape::State, &NoSource)
                    .unwrap()
                    .as_bytes()
                    .to_owned(),
                u64::from(count),
            )];
            let mut found = Vec::new();
            while let Some((path, digest, count)) = waiting.pop() {
                let Some(node) = trie.node(&path, suite, Shape::State, &NoSource).unwrap() else {
                    assert_eq!(count, 0, "only the empty trie has no top");
                    continue;
                };
                assert_eq!((node.digest, node.count), (digest, count));
                let domain = match &node.kind {
                    NodeKind::Leaf(entry) => {
                        found.push(*entry);
                        Domain::Leaf
                    }
                    NodeKind::Branch(children) => {
                        for child in children {
                            let path = [&path[..], &[child.digit]].concat();
                            waiting.push((path, child.digest, child.count));
                        }
                        Domain::Branch
                    }
                };
                assert_eq!(suite.hash_fixed(domain, &[&node.preimage]), digest);
            }
            found.sort_by_key(|entry| entry.key);
            let all: Vec<_> = trie.iter(&NoSource).map(Result::unwrap).collect();
            assert_eq!(found, all);
        }
    }
}

#[test]
fn a_path_to_nowhere_has_no_node() {
    let mut trie = Trie::new();
    for id in ["a", "b", "c"] {
        let entry = Entry {
            key: BLAKE3.key_path(id),
            digest: [1; 32],
            place: 0,
            created: 0,
        };
        trie.insert(entry, &NoSource).unwrap();
    }
    let at = |path: &[u8]| trie.node(path, BLAKE3, Shape::State, &NoSource).unwrap();
    assert!(at(&[16]).is_none());
    assert!(at(&[0; 65]).is_none());
    let leaf = BLAKE3.key_path("a");
    let path: Vec<u8> = (0..64).map(|level| leaf.nibble(level) as u8).collect();
    assert!(
        at(&path).is_none(),
        "the path to the leaf is much shorter than its key path"
    );
}
