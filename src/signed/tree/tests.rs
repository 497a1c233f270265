//! Tests of the tree against published vectors, and against its definition.

use super::*;
use crate::digest::to_hex;
use crate::testing::random::SplitMix64;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

/// The roots of the first 0 to 8 of the leaves that implementations of Certificate Transparency use as a common test.
const LEAVES: [&[u8]; 8] = [
    b"",
    b"\0",
    b"\x10",
    b" !",
    b"01",
    b"@ABC",
    b"PQRSTUVW",
    b"`abcdefghijklmno",
];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/// The naive second implementation: the definition in RFC 6962, 2.1, without shared code.
fn defined_root(leaves: &[TreeRoot]) -> TreeRoot {
    match leaves.len() {
        0 => sha256(b""),
        1 => leaves[0],
        count => {
            let mut half = 1;
            while half * 2 < count {
                half *= 2;
            }
            let (left, right) = (defined_root(&leaves[..half]), defined_root(&leaves[half..]));
            sha256(&[&[1], &left[..], &right].concat())
        }
    }
}

/// `PROOF` of RFC 6962, 2.1.2, and `PATH` of 2.1.1.
fn defined_prefix(old: usize, leaves: &[TreeRoot], is_known: bool) -> Vec<TreeRoot> {
    if old == leaves.len() {
        return if is_known {
            Vec::new()
        } else {
            vec![defined_root(leaves)]
        };
    }
    let half = leaves.len().next_power_of_two() / 2;
    let mut proof;
    if old <= half {
        proof = defined_prefix(old, &leaves[..half], is_known);
        proof.push(defined_root(&leaves[half..]));
    } else {
        proof = defined_prefix(old - half, &leaves[half..], false);
        proof.push(defined_root(&leaves[..half]));
    }
    proof
}

fn defined_path(index: usize, leaves: &[TreeRoot]) -> Vec<TreeRoot> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let half = leaves.len().next_power_of_two() / 2;
    let (mut proof, other) = if index < half {
        (defined_path(index, &leaves[..half]), &leaves[half..])
    } else {
        (defined_path(index - half, &leaves[half..]), &leaves[..half])
    };
    proof.push(defined_root(other));
    proof
}

fn commit(number: u64) -> CommitDigest {
    CommitDigest::from_bytes(sha256(&number.to_le_bytes()))
}

fn tree_of(size: u64) -> CommitTree {
    let mut tree = CommitTree::default();
    (0..size).for_each(|number| tree.append(&commit(number)));
    tree
}

#[test]
fn the_published_roots_and_196_published_proofs_are_judged_alike() {
    for (size, root) in ROOTS.iter().enumerate() {
        let leaves = LEAVES[..size].iter().map(|leaf| sha256(&[&[0], *leaf].concat()));
        let leaves: Vec<_> = leaves.collect();
        assert_eq!(to_hex(&subtree(&leaves)), *root, "size {size}");
        assert_eq!(to_hex(&defined_root(&leaves)), *root, "size {size}");
    }
    let vectors: Json = serde_json::from_str(include_str!("../../../tests/vectors/rfc6962.json")).unwrap();
    let list = |value: &Json| value.as_array().unwrap().clone();
    let bytes: Vec<Vec<u8>> = list(&vectors["nodes"])
        .iter()
        .map(|node| STANDARD.decode(node.as_str().unwrap()).unwrap())
        .collect();
    let bytes = |value: &Json| bytes[usize::try_from(value.as_u64().unwrap()).unwrap()].clone();
    // Some vectors have short roots, and only compare them.
    let root = |value: &Json| {
        let (mut root, bytes) = ([0; DIGEST_LEN], bytes(value));
        root[..bytes.len()].copy_from_slice(&bytes);
        root
    };
    let mut count = 0;
    for (kind, vector) in ["consistency", "inclusion"].iter().flat_map(|kind| {
        list(&vectors[kind])
            .into_iter()
            .map(move |vector| (*kind, vector))
    }) {
        let case = &vector["case"];
        let numbers = (case[0].as_u64().unwrap(), case[1].as_u64().unwrap());
        let proof = list(&case[4])
            .iter()
            .map(|node| bytes(node).try_into().ok())
            .collect::<Option<Vec<_>>>();
        let (first, second) = (root(&case[2]), root(&case[3]));
        let is_empty = |value: &Json| bytes(value).is_empty();
        let proof = proof.filter(|_| !is_empty(&case[2]) && !is_empty(&case[3]));
        let holds = proof.is_some_and(|proof| {
            if kind == "consistency" {
                verify_consistency((numbers.0, &first), (numbers.1, &second), &proof).is_ok()
            } else {
                has_leaf((numbers.1, &second), (numbers.0, first), &proof)
            }
        });
        assert_eq!(Some(holds), vector["holds"].as_bool(), "{kind}: {vector}");
        count += 1;
    }
    assert_eq!(count, 196);
}

#[test]
fn every_proof_of_every_small_tree_is_the_defined_one_and_holds() {
    let tree = tree_of(70);
    for size in 0..=70 {
        let leaves = &tree.leaves[..usize::try_from(size).unwrap()];
        let root = defined_root(leaves);
        assert_eq!(tree.root_at(size), Some(root));
        assert_eq!(tree_of(size).root(), root);
        for old in 0..=size {
            let proof = tree.consistency(old, size).unwrap();
            if old > 0 {
                assert_eq!(proof, defined_prefix(usize::try_from(old).unwrap(), leaves, true));
            }
            let old_root = tree.root_at(old).unwrap();
            let holds = verify_consistency((old, &old_root), (size, &root), &proof).is_ok();
            assert_eq!(holds, old > 0 || size == 0, "{old} {size}");
        }
        for index in 0..size {
            let proof = tree.inclusion(index, size).unwrap();
            assert_eq!(proof, defined_path(usize::try_from(index).unwrap(), leaves));
            assert_eq!(
                verify_inclusion((index, &commit(index)), (size, &root), &proof),
                Ok(())
            );
        }
        assert_eq!(
            (tree.consistency(size + 1, size), tree.inclusion(size, size)),
            (None, None)
        );
    }
    assert_eq!(
        (tree.root_at(71), tree.consistency(1, 71), tree.inclusion(1, 71)),
        (None, None, None)
    );
}

#[test]
fn ten_thousand_changed_proofs_do_not_hold() {
    let mut random = SplitMix64::new(47);
    let tree = tree_of(300);
    let flip = |random: &mut SplitMix64, root: &mut TreeRoot| root[random.below(32)] ^= 1 << random.below(8);
    for round in 0..10_000 {
        let size = 2 + random.below(298) as u64;
        let is_prefix = round % 2 == 0;
        // The size of the old tree, or the index of the commit.
        let mut number = random.below(size as usize - 1) as u64 + u64::from(is_prefix);
        let (mut old, mut new) = (tree.root_at(number).unwrap(), tree.root_at(size).unwrap());
        let honest_commit = commit(number);
        let made = if is_prefix {
            tree.consistency(number, size)
        } else {
            tree.inclusion(number, size)
        };
        let mut proof = made.unwrap();
        let honest = (number, old, new, proof.clone());
        let at = random.below(proof.len() + 1);
        match random.below(6) {
            0 => flip(&mut random, &mut new),
            1 if is_prefix => flip(&mut random, &mut old),
            2 if at < proof.len() => flip(&mut random, &mut proof[at]),
            3 if at < proof.len() => drop(proof.remove(at)),
            4 => proof.insert(at, *random.pick(&[old, new, [0; 32]])),
            // The head states the size of the new tree, which the proof alone does not bind.
            _ => number ^= 1 << random.below(9),
        }
        assert_ne!((number, old, new, proof.clone()), honest);
        let holds = if is_prefix {
            verify_consistency((number, &old), (size, &new), &proof)
        } else {
            verify_inclusion((number, &honest_commit), (size, &new), &proof)
        };
        assert_eq!(holds, Err(NoteError::Proof), "round {round}: {honest:?}");
    }
}
