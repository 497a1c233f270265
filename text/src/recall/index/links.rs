//! Links from documents to the documents that they supersede.
//!
//! # Layer
//! Uses only keys, so a link may be added before its document.

use std::sync::Arc;

use super::key::Key;
use super::layout::Section;
use crate::tables::{Builder, Image, SortedRows, begin_with, row};

/// The links, stored as the same pairs in both directions.
#[derive(Clone, Default)]
pub(crate) struct Links {
    olds: SortedRows<32>,
    news: SortedRows<32>,
}

/// Returns the second keys of the pairs whose first key is `first`, in order.
fn seconds(pairs: &SortedRows<32>, first: Key) -> impl Iterator<Item = Key> + '_ {
    let (least, most) = begin_with(&first.0);
    let pairs = pairs.range(least, most);
    pairs.map(|pair| Key(row([&pair[Key::BYTES..]])))
}

impl Links {
    /// Returns the links in an image.
    pub(super) fn of(image: &Arc<Image>, first: usize) -> Self {
        Self {
            olds: SortedRows::of(image, first + Section::Olds as usize),
            news: SortedRows::of(image, first + Section::News as usize),
        }
    }

    /// Appends the links to an image.
    pub(super) fn write(&self, image: &mut Builder) {
        self.olds.write(image);
        self.news.write(image);
    }

    /// Records that `new` supersedes `old`.
    pub(crate) fn insert(&mut self, new: Key, old: Key) {
        self.olds.insert(row([&new.0, &old.0]));
        self.news.insert(row([&old.0, &new.0]));
    }

    /// Removes the links of `new`.
    pub(crate) fn remove(&mut self, new: &Key) {
        let olds: Vec<Key> = seconds(&self.olds, *new).collect();
        for old in olds {
            self.olds.remove(&row([&new.0, &old.0]));
            self.news.remove(&row([&old.0, &new.0]));
        }
    }

    /// Returns the keys that supersede `old`, in order.
    pub(crate) fn news_of(&self, old: Key) -> impl Iterator<Item = Key> + '_ {
        seconds(&self.news, old)
    }
}
