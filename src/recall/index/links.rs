//! Links from documents to the documents that they supersede.
//!
//! # Layer
//! Uses only keys, so a link may be added before its document.

use std::collections::BTreeSet;

use super::key::Key;

/// The links, stored as the same pairs in both directions.
#[derive(Clone, Default)]
pub(crate) struct Links {
    olds: BTreeSet<(Key, Key)>,
    news: BTreeSet<(Key, Key)>,
}

/// Returns the second keys of the pairs whose first key is `first`, in order.
fn seconds(pairs: &BTreeSet<(Key, Key)>, first: Key) -> impl Iterator<Item = Key> {
    let least = Key([0; Key::BYTES]);
    let most = Key([0xFF; Key::BYTES]);
    pairs
        .range((first, least)..=(first, most))
        .map(|&(_, second)| second)
}

impl Links {
    /// Records that `new` supersedes `old`.
    pub(crate) fn insert(&mut self, new: Key, old: Key) {
        self.olds.insert((new, old));
        self.news.insert((old, new));
    }

    /// Removes the links of `new`.
    pub(crate) fn remove(&mut self, new: &Key) {
        let olds: Vec<Key> = self.olds_of(*new).collect();
        for old in olds {
            self.olds.remove(&(*new, old));
            self.news.remove(&(old, *new));
        }
    }

    /// Returns the keys that `new` supersedes, in order.
    pub(crate) fn olds_of(&self, new: Key) -> impl Iterator<Item = Key> {
        seconds(&self.olds, new)
    }

    /// Returns the keys that supersede `old`, in order.
    pub(crate) fn news_of(&self, old: Key) -> impl Iterator<Item = Key> {
        seconds(&self.news, old)
    }
}
