//! The parts of a trie by the first digit are the trie (PRT-1).

use super::*;
use crate::trie::parts::{PARTS, PartDigests, roots_of};

#[test]
fn prt_1_the_parts_of_a_trie_give_the_trie_and_its_root() {
    let mut random = Random::new(11);
    let suite = NoSource.suite();
    let tries: Vec<Trie> = [0, 1, 2, 3, 17, 500]
        .map(|count| trie_of(random.entries(count)))
        .into();
    let mut all = Vec::new();
    for trie in &tries {
        let parts: [Trie; PARTS] = std::array::from_fn(|digit| trie.part(digit, &NoSource).unwrap());
        let digits: PartDigests =
            std::array::from_fn(|digit| parts[digit].part_digest(suite, &NoSource).unwrap());
        let joined = Trie::joined(&parts, &NoSource).unwrap();
        let entries = |trie: &Trie| trie.iter(NoSource).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!(entries(&joined), entries(trie));
        assert_eq!(joined.len(), trie.len());
        for (digit, part) in parts.iter().enumerate() {
            assert!(entries(part).iter().all(|entry| entry.key.nibble(0) == digit));
        }
        all.push(digits);
    }
    let roots: Vec<_> = tries
        .iter()
        .map(|trie| trie.root(suite, Shape::State, &NoSource).unwrap())
        .collect();
    assert_eq!(roots_of(&all, suite), roots);
    let largest = tries.last().unwrap();
    // A trie whose keys share the first digit has one branch at its top.
    let part = largest.part(3, &NoSource).unwrap();
    let mut alone = PartDigests::default();
    alone[3] = part.part_digest(suite, &NoSource).unwrap();
    assert!(part.len() > 2);
    assert_eq!(
        roots_of(&[alone], suite),
        [part.root(suite, Shape::State, &NoSource).unwrap()]
    );
    assert!(largest.part_digest(suite, &NoSource).is_err());
}
