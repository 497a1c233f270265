//! Tests of the trie, one file per subject; this file contains the helpers of these tests.

mod check;
mod diff;
mod edit;
mod inspect;
mod memory;
mod parts;
mod proof;
mod save;
mod stored;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::digest::{Domain, HashAlgorithm};

const BLAKE3: HashSuite = HashSuite::new(HashAlgorithm::Blake3);
const SHA256: HashSuite = HashSuite::new(HashAlgorithm::Sha256);

/// Computes the root of a map by the definition in docs/format.md, as the specification of the trie. `leaves` must be
/// sorted by key path.
fn naive_root(suite: HashSuite, leaves: &[(KeyPath, [u8; 32])]) -> [u8; 32] {
    if leaves.is_empty() {
        suite.hash_fixed(Domain::Branch, &[&[0; 64]])
    } else {
        naive_node(suite, leaves, 0)
    }
}

fn naive_node(suite: HashSuite, leaves: &[(KeyPath, [u8; 32])], level: usize) -> [u8; 32] {
    if let [(key, digest)] = leaves {
        return suite.hash_fixed(Domain::Leaf, &[key.as_bytes(), digest]);
    }
    let mut bitmap = 0_u16;
    let mut digests = Vec::new();
    for digit in 0..16 {
        let start = leaves.partition_point(|(key, _)| key.nibble(level) < digit);
        let end = leaves.partition_point(|(key, _)| key.nibble(level) <= digit);
        if start < end {
            bitmap |= 1 << digit;
            digests.extend(naive_node(suite, &leaves[start..end], level + 1));
        }
    }
    let mut header = [0; 64];
    header[..2].copy_from_slice(&bitmap.to_le_bytes());
    header[2..4].copy_from_slice(&(level as u16).to_le_bytes());
    header[8..16].copy_from_slice(&(leaves.len() as u64).to_le_bytes());
    suite.hash_fixed(Domain::Branch, &[&header, &digests])
}

/// A map as the model of a trie.
type Model = BTreeMap<KeyPath, Entry>;

fn model_root(model: &Model) -> [u8; 32] {
    let leaves: Vec<_> = model.values().map(|entry| (entry.key, entry.digest)).collect();
    naive_root(BLAKE3, &leaves)
}

fn root(trie: &Trie) -> [u8; 32] {
    *trie.root(BLAKE3, Shape::State, &NoSource).unwrap().as_bytes()
}

fn entries(trie: &Trie) -> Vec<Entry> {
    trie.iter(&NoSource).map(Result::unwrap).collect()
}

fn trie_of(entries: impl IntoIterator<Item = Entry>) -> Trie {
    let mut trie = Trie::new();
    for entry in entries {
        trie.insert(entry, &NoSource).unwrap();
    }
    trie
}

/// A small generator of repeatable random numbers (xorshift64*): the seed reproduces every failure.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.as_chunks_mut::<8>().0 {
            *chunk = self.next().to_le_bytes();
        }
        bytes
    }

    fn entry(&mut self) -> Entry {
        let (key, digest) = (KeyPath::from_bytes(self.bytes()), self.bytes());
        Entry {
            key,
            digest,
            place: self.next(),
            created: self.next().cast_signed(),
        }
    }

    fn entries(&mut self, count: usize) -> Vec<Entry> {
        (0..count).map(|_| self.entry()).collect()
    }

    /// Returns an entry whose key shares the first `bits` bits with all other entries from this function.
    fn entry_sharing(&mut self, bits: usize) -> Entry {
        let mut entry = self.entry();
        let mut path = *entry.key.as_bytes();
        for bit in 0..bits {
            path[bit / 8] &= !(0x80 >> (bit % 8));
        }
        entry.key = KeyPath::from_bytes(path);
        entry
    }
}

/// A step of a random history. Many of the keys share long prefixes.
#[derive(Clone, Debug)]
enum Step {
    Insert(Entry),
    Remove(KeyPath),
}

/// Generates keys that first differ at level 0, 1, 10 or 63. There are few such keys, so a history repeats keys.
fn key_path() -> impl Strategy<Value = KeyPath> {
    (0..4_usize, 0..4_u8, 0..4_u8).prop_map(|(place, one, two)| {
        let mut path = [0x5a; 32];
        path[[0, 0, 5, 31][place]] ^= if place == 0 { one << 4 } else { one };
        path[31] ^= two << 4;
        KeyPath::from_bytes(path)
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    (key_path(), 0..3_u8, 0..100_u64).prop_map(|(key, digest, place)| Entry {
        key,
        digest: [digest; 32],
        place,
        created: place.cast_signed() + 1,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![3 => entry().prop_map(Step::Insert), 2 => key_path().prop_map(Step::Remove)]
}

/// Applies a step to the trie and its model, and compares the results.
fn take(step: &Step, trie: &mut Trie, model: &mut Model, source: &dyn NodeSource) {
    match step {
        Step::Insert(entry) => {
            assert_eq!(
                trie.insert(*entry, source).unwrap(),
                model.insert(entry.key, *entry)
            );
        }
        Step::Remove(key) => assert_eq!(trie.remove(key, source).unwrap(), model.remove(key)),
    }
}
