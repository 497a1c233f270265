//! The differences of two tries, compared with the differences of two maps, and the cost of finding them.

use super::*;
use crate::trie::node::Branch;

fn changes(old: &Trie, new: &Trie) -> Vec<Change> {
    old.diff(new, &NoSource).map(Result::unwrap).collect()
}

/// Returns the changes between two maps, computed by their definition.
fn model_changes(old: &Model, new: &Model) -> Vec<Change> {
    let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
    keys.into_iter()
        .map(|key| Change {
            key,
            old: old.get(&key).copied(),
            new: new.get(&key).copied(),
        })
        .filter(|change| change.old.map(|entry| entry.digest) != change.new.map(|entry| entry.digest))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn a_diff_is_that_of_the_maps(
        before in prop::collection::vec(step(), 0..50),
        after in prop::collection::vec(step(), 0..30),
        fresh in any::<bool>(),
        hashed in any::<[bool; 2]>(),
    ) {
        let (mut old, mut old_model) = (Trie::new(), Model::new());
        for step in &before {
            take(step, &mut old, &mut old_model, &NoSource);
        }
        // The new trie is either an edited clone, which shares nodes, or a separate trie, which shares only digests.
        let (mut new, mut new_model) =
            if fresh { (Trie::new(), Model::new()) } else { (old.clone(), old_model.clone()) };
        for step in &after {
            take(step, &mut new, &mut new_model, &NoSource);
        }
        for (trie, hashed) in [(&old, hashed[0]), (&new, hashed[1])] {
            if hashed {
                root(trie);
            }
        }
        prop_assert_eq!(changes(&old, &new), model_changes(&old_model, &new_model));
        prop_assert_eq!(changes(&new, &old), model_changes(&new_model, &old_model));
        prop_assert_eq!(changes(&old, &old), vec![]);
    }
}

#[test]
fn a_diff_visits_the_paths_of_the_changes_only() {
    let mut random = Random::new(11);
    let all = random.entries(50_000);
    let old = trie_of(all.iter().copied());
    // Measures the length of the paths in a copy. Measuring it in `old` would cache digests there, and the diff skips
    // nodes with equal cached digests.
    let copy = trie_of(all.iter().copied());
    for count in [1, 10, 100] {
        let mut new = old.clone();
        let mut on_paths = 0;
        for entry in &all[..count] {
            new.insert(
                Entry {
                    digest: random.bytes(),
                    ..*entry
                },
                &NoSource,
            )
            .unwrap();
            on_paths += copy.prove(&entry.key, BLAKE3, &NoSource).unwrap().levels.len() as u64;
        }
        let mut diff = old.diff(&new, &NoSource);
        assert_eq!(diff.by_ref().count(), count);
        assert!(diff.visited <= 2 * on_paths, "{} for {count}", diff.visited);
    }
}

#[test]
fn equal_digests_are_not_visited_even_if_no_node_is_shared() {
    let mut random = Random::new(12);
    let all = random.entries(20_000);
    let (old, mut new) = (trie_of(all.iter().copied()), trie_of(all.iter().copied()));
    assert!(!old.top.as_ref().unwrap().is_same(new.top.as_ref().unwrap()));
    let visited = |old: &Trie, new: &Trie| {
        let mut diff = old.diff(new, &NoSource);
        let count = diff.by_ref().count();
        (count, diff.visited)
    };
    let (changed, branches) = visited(&old, &new);
    assert_eq!(changed, 0);
    assert!(
        branches > 5_000,
        "no digest is cached yet, so the diff visits all {branches} branches"
    );
    root(&old);
    root(&new);
    assert_eq!(visited(&old, &new), (0, 0));
    new.insert(
        Entry {
            digest: [5; 32],
            ..all[0]
        },
        &NoSource,
    )
    .unwrap();
    root(&new);
    let (changed, branches) = visited(&old, &new);
    assert_eq!(changed, 1);
    assert!(branches <= 12, "{branches}");
}

#[test]
fn digests_of_different_kinds_are_not_compared() {
    let all = Random::new(13).entries(300);
    let (old, new) = (trie_of(all.iter().copied()), trie_of(all[1..].iter().copied()));
    old.root(BLAKE3, Shape::State, &NoSource).unwrap();
    new.root(SHA256, Shape::State, &NoSource).unwrap();
    assert_eq!(
        changes(&old, &new),
        [Change {
            key: all[0].key,
            old: Some(all[0]),
            new: None
        }]
    );
}

/// Counts the branches whose digest is not known.
fn unknown(child: Option<&Child>) -> usize {
    let kind = NodeHasher::new(BLAKE3, Shape::State).kind();
    let unknown = child.filter(|child| !child.is_known(kind));
    let below = unknown
        .and_then(Child::loaded_branch)
        .map_or(&[][..], Branch::slots);
    usize::from(unknown.is_some())
        + below
            .iter()
            .map(|child| self::unknown(Some(child)))
            .sum::<usize>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn a_trie_takes_digests_of_another_one_only_where_both_are_alike(
        before in prop::collection::vec(step(), 0..50),
        ours in prop::collection::vec(step(), 0..20),
        theirs in prop::collection::vec(step(), 0..20),
        also_ours in any::<bool>(),
    ) {
        let (mut base, mut model) = (Trie::new(), Model::new());
        for step in &before {
            take(step, &mut base, &mut model, &NoSource);
        }
        root(&base);
        let (mut other, mut other_model) = (base.clone(), model.clone());
        for step in &theirs {
            take(step, &mut other, &mut other_model, &NoSource);
        }
        root(&other);
        let (mut merged, mut merged_model) = (base, model);
        for step in theirs.iter().chain(ours.iter().filter(|_| also_ours)) {
            take(step, &mut merged, &mut merged_model, &NoSource);
        }
        merged.take_digests(&other, BLAKE3, Shape::State);
        if !also_ours {
            prop_assert_eq!(unknown(merged.top.as_ref()), 0);
        }
        prop_assert_eq!(root(&merged), model_root(&merged_model));
    }
}

#[test]
fn after_a_merge_only_the_paths_of_our_changes_are_hashed() {
    let mut random = Random::new(7);
    let all = random.entries(20_000);
    let base = trie_of(all.iter().copied());
    root(&base);
    let (mut theirs, mut merged) = (base.clone(), base);
    let change = |trie: &mut Trie, entry: &Entry, digest: [u8; 32]| {
        trie.insert(Entry { digest, ..*entry }, &NoSource).unwrap();
    };
    for (number, entry) in all.iter().step_by(40).enumerate() {
        let digest = [number as u8; 32];
        change(&mut theirs, entry, digest);
        change(&mut merged, entry, digest);
    }
    root(&theirs);
    change(&mut merged, &all[1], [255; 32]);
    let of_all = unknown(merged.top.as_ref());
    merged.take_digests(&theirs, BLAKE3, Shape::State);
    let left = unknown(merged.top.as_ref());
    assert!(of_all > 500 && left <= 6, "{left} of {of_all} are hashed");
    assert_eq!(root(&merged), root(&trie_of(entries(&merged))));
}
