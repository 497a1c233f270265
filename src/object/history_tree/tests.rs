//! Tests of the history tree against its definition.

use super::*;
use crate::digest::{HashAlgorithm, from_hex, sha256, to_hex};

/// The hashes of the leaves and inner nodes of a tree in the shape of RFC 6962.
trait TreeHasher {
    fn empty(&self) -> Node;
    fn leaf(&self, data: &[u8]) -> Node;
    fn node(&self, left: &Node, right: &Node) -> Node;
}

impl TreeHasher for HashSuite {
    fn empty(&self) -> Node {
        self.hash_fixed(Domain::HistoryNode, &[])
    }

    fn leaf(&self, data: &[u8]) -> Node {
        self.hash_fixed(Domain::HistoryLeaf, &[data])
    }

    fn node(&self, left: &Node, right: &Node) -> Node {
        self.hash_fixed(Domain::HistoryNode, &[left, right])
    }
}

/// The hasher of RFC 6962: plain SHA-256, with the byte 0x00 before a leaf and 0x01 before a node.
#[derive(Clone, Copy)]
struct PlainHasher;

impl TreeHasher for PlainHasher {
    fn empty(&self) -> Node {
        sha256(&[])
    }

    fn leaf(&self, data: &[u8]) -> Node {
        sha256(&[&[0], data].concat())
    }

    fn node(&self, left: &Node, right: &Node) -> Node {
        sha256(&[&[1], &left[..], right].concat())
    }
}

/// Computes the root by the definition in RFC 6962: splits the leaves at the largest power of two below their number.
fn reference_root<H: TreeHasher>(hasher: &H, leaves: &[Vec<u8>]) -> Node {
    match leaves {
        [] => hasher.empty(),
        [leaf] => hasher.leaf(leaf),
        _ => {
            let split = 1 << (leaves.len() - 1).ilog2();
            let (left, right) = leaves.split_at(split);
            hasher.node(&reference_root(hasher, left), &reference_root(hasher, right))
        }
    }
}

/// The leaves that implementations of Certificate Transparency use as a common test, with their roots for sizes 0 to 8.
const LEAVES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
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

#[test]
fn tree_and_definition_have_the_published_roots_of_rfc_6962() {
    let leaves: Vec<_> = LEAVES.iter().map(|leaf| from_hex(leaf).unwrap()).collect();
    let node = |left: &Node, right: &Node| PlainHasher.node(left, right);
    let mut peaks = Vec::new();
    for (size, root) in (0..).zip(ROOTS) {
        let so_far = &leaves[..usize::try_from(size).unwrap()];
        assert_eq!(to_hex(&reference_root(&PlainHasher, so_far)), root, "size {size}");
        let grown = root_of(&peaks, node).unwrap_or_else(|| PlainHasher.empty());
        assert_eq!(to_hex(&grown), root, "size {size}");
        if let Some(leaf) = leaves.get(so_far.len()) {
            append_leaf(&mut peaks, size, PlainHasher.leaf(leaf), node);
        }
    }
}

#[test]
fn every_size_agrees_with_the_definition() {
    for algorithm in [HashAlgorithm::Blake3, HashAlgorithm::Sha256] {
        let suite = HashSuite::new(algorithm);
        let mut tree = HistoryTree::new(suite);
        let mut leaves = Vec::new();
        for size in 0..130_u64 {
            assert_eq!(tree.size(), size);
            assert_eq!(
                tree.root().as_bytes(),
                &reference_root(&suite, &leaves),
                "size {size}"
            );
            // Tests HIS-1: the tree has one peak for each bit that is set in its size, the largest subtree first.
            assert_eq!(tree.peaks().len(), size.count_ones() as usize);
            let commit = CommitDigest::from_bytes(sha256(&size.to_le_bytes()));
            tree.append(&commit);
            leaves.push(commit.as_bytes().to_vec());
        }
    }
}

#[test]
fn a_tree_goes_on_from_its_peaks() {
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let mut tree = HistoryTree::new(suite);
    for index in 0..77_u8 {
        let mut again = HistoryTree::from_peaks(suite, tree.size(), tree.peaks().to_vec()).unwrap();
        assert_eq!(again.root(), tree.root());
        let commit = CommitDigest::from_bytes([index; 32]);
        tree.append(&commit);
        again.append(&commit);
        assert_eq!(again.root(), tree.root());
    }
    assert!(HistoryTree::from_peaks(suite, 5, vec![[0; 32]]).is_none());
}
