//! The staged changes of a draft.
//!
//! # Layer
//! Layer 5. Part of a draft.

use std::collections::HashMap;

use super::draft::StagedChange;
use crate::digest::{DigestHash, KeyPath};

/// Staged changes by key path, in no order. A bulk load stages far more often than it needs the order.
#[derive(Default)]
pub(crate) struct Changes {
    all: Vec<(KeyPath, StagedChange)>,
    /// The index of each change in `all`.
    places: HashMap<KeyPath, usize, DigestHash>,
}

impl Changes {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Makes room for this number of further changes.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.all.reserve(count);
        self.places.reserve(count);
    }

    pub(crate) fn contains_key(&self, key: &KeyPath) -> bool {
        self.places.contains_key(key)
    }

    pub(crate) fn get(&self, key: &KeyPath) -> Option<&StagedChange> {
        self.places.get(key).map(|place| &self.all[*place].1)
    }

    /// Adds a change, and returns the change of the same id that it replaces.
    pub(crate) fn insert(&mut self, key: KeyPath, change: StagedChange) -> Option<StagedChange> {
        let place = *self.places.entry(key).or_insert(self.all.len());
        match self.all.get_mut(place) {
            Some((_, known)) => Some(std::mem::replace(known, change)),
            None => {
                self.all.push((key, change));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &KeyPath) -> Option<StagedChange> {
        let place = self.places.remove(key)?;
        let (_, removed) = self.all.swap_remove(place);
        if let Some((moved, _)) = self.all.get(place) {
            self.places.insert(*moved, place);
        }
        Some(removed)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &StagedChange> {
        self.all.iter().map(|(_, change)| change)
    }

    /// Iterates the changes in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeyPath, &StagedChange)> {
        self.all.iter().map(|(key, change)| (*key, change))
    }

    /// Returns the changes in the order of their key paths.
    pub(crate) fn sorted(&self) -> Vec<(KeyPath, &StagedChange)> {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::object::Id;
    use crate::testing::random::SplitMix64;

    #[test]
    fn staged_changes_are_a_map_whatever_replaces_and_removes_them() {
        let (mut changes, mut model, mut random) = (Changes::default(), BTreeMap::new(), SplitMix64::new(3));
        for round in 0..2_000 {
            let key = KeyPath::from_bytes([random.below(40) as u8; 32]);
            let id = Id::new(&format!("in round {round}")).unwrap();
            let change = StagedChange {
                id: id.clone(),
                old: None,
                old_parent: None,
                new: None,
            };
            let id_of = |change: StagedChange| change.id;
            if random.below(3) == 0 {
                assert_eq!(changes.remove(&key).map(id_of), model.remove(&key));
            } else {
                assert_eq!(changes.insert(key, change).map(id_of), model.insert(key, id));
            }
            assert_eq!(changes.get(&key).map(|change| &change.id), model.get(&key));
            assert_eq!(
                (changes.len(), changes.is_empty()),
                (model.len(), model.is_empty())
            );
        }
        let sorted = changes
            .sorted()
            .into_iter()
            .map(|(key, change)| (key, &change.id));
        assert!(sorted.eq(model.iter().map(|(key, id)| (*key, id))));
    }
}
