//! A state, with the store that contains its records. A cache may contain a state without keeping the memory open.
//!
//! # Layer
//! Layer 5.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest, Root};
use crate::error::Result;
use crate::object::Object;
use crate::store::{BothStores, CommitEntry, Store};
use crate::trie::{Diff, Entry, Trie};

/// The number of entries whose records [`State::entries`] touches at once. More misses of the cache than that do not
/// overlap.
const AHEAD: usize = 16;

/// The map of one commit, and the store with its records and nodes.
#[derive(Clone)]
pub(crate) struct State {
    /// The digest and the number of the commit.
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    pub(crate) root: Root,
    pub(crate) trie: Trie,
    pub(crate) store: Arc<Store>,
}

/// States are equal if they have the same objects and read them from the same store.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && Arc::ptr_eq(&self.store, &other.store)
    }
}

impl State {
    /// Returns the state of a commit of `store`.
    pub(crate) fn of(store: &Arc<Store>, commit: &CommitEntry) -> Result<Self> {
        Ok(Self {
            commit: commit.digest,
            seq: commit.seq(),
            root: commit.commit.root,
            trie: store.state(commit)?,
            store: Arc::clone(store),
        })
    }

    pub(crate) fn entry_at(&self, key: &KeyPath) -> Result<Option<Entry>> {
        self.trie.get(key, &*self.store)
    }

    /// Returns the entries at `keys`, in their order, for a caller that reads the object of each entry. Touches the
    /// records of many entries at once.
    pub(crate) fn entries_at(&self, keys: &[KeyPath]) -> Result<Vec<Option<Entry>>> {
        let entries = self.trie.get_all(keys, &*self.store)?;
        let places = entries.iter().flatten().map(|entry| entry.place);
        self.store.records.touch(places);
        Ok(entries)
    }

    /// Returns the object at `key`, or its placeholder if the object was erased.
    pub(crate) fn object_at(&self, key: &KeyPath) -> Result<Option<Object>> {
        let entry = self.entry_at(key)?;
        entry.map(|entry| self.load(&entry)).transpose()
    }

    /// Iterates the entries in the order of the trie, for a caller that reads the object of each entry. Touches the
    /// records of the next [`AHEAD`] entries at once. The iterator ends after an error.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Result<Entry>> + Send + use<> {
        let store = Arc::clone(&self.store);
        let mut entries = self.trie.iter(Arc::clone(&self.store));
        let mut ahead = VecDeque::with_capacity(AHEAD);
        std::iter::from_fn(move || {
            if ahead.is_empty() {
                ahead.extend(entries.by_ref().take(AHEAD));
                store
                    .records
                    .touch(ahead.iter().flatten().map(|entry: &Entry| entry.place));
            }
            ahead.pop_front()
        })
    }

    pub(crate) fn load(&self, entry: &Entry) -> Result<Object> {
        let digest = ObjectDigest::from_bytes(entry.digest);
        self.store.records.object_at(entry.place, digest)
    }

    /// Returns the object of an entry, and whether its record is at the place of the entry and limits no class.
    pub(crate) fn load_placed(&self, entry: &Entry) -> Result<(Object, bool)> {
        let digest = ObjectDigest::from_bytes(entry.digest);
        self.store.records.object_placed(entry.place, digest)
    }

    /// Returns a source of the trie nodes of both states. One state may precede a rewrite of the log, and the other
    /// state may follow that rewrite.
    pub(crate) fn nodes_with<'a>(&'a self, other: &'a Self) -> BothStores<'a> {
        BothStores(&self.store, &other.store)
    }

    /// Returns the changes from this state to `newer`.
    pub(crate) fn diff<'a>(&'a self, newer: &'a Self, nodes: &'a BothStores<'a>) -> Diff<'a> {
        self.trie.diff(&newer.trie, nodes)
    }

    /// Returns the number of differences from this state to `newer`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read.
    pub(crate) fn distance(&self, newer: &Self) -> Result<u64> {
        let nodes = self.nodes_with(newer);
        self.diff(newer, &nodes)
            .try_fold(0, |sum, change| change.map(|_| sum + 1))
    }
}
