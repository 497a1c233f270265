//! Inspects a store: reads its files even if the store does not open, and finds the possible meanings of the digits of
//! a digest.
//!
//! # Layer
//! Layer 5. Reads only.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest, to_hex};
use crate::disk::{Disk, FileDisk};
use crate::error::Result;
use crate::log::{Inspection, Log, LogOptions, Mode};
use crate::object::Id;
use crate::store::{self, CheckpointInfo, LogId};
use crate::trie::{Entry, NodeKind};

use super::{CommitInfo, View};
use crate::engine::inner::Inner;
use crate::engine::upkeep::places_of;

/// A possible meaning of the first digits of a digest.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// The digest of a kept commit.
    Commit(CommitInfo),
    /// A root, with the newest commit whose state has this root.
    Root(CommitInfo),
    /// A version of an object, with the newest commit that made it the current version of its id.
    Version(ObjectDigest, Id, CommitInfo),
    /// The digest of an erased version, with the commit that erased it; `None` if the version was lost and not
    /// salvaged.
    Erased([u8; 32], Option<CommitDigest>),
    /// The key path of an object of the state.
    KeyPath(KeyPath, Id),
    /// The digest of a node on the top levels of the state's trie, with the path of digits to the node.
    Node([u8; 32], Vec<u8>),
}

/// The search covers the nodes of this many top levels of the trie.
const NODE_LEVELS: usize = 3;

impl Inner {
    pub(super) fn commits_and_roots(
        &self,
        low: [u8; 32],
        high: [u8; 32],
        limit: usize,
    ) -> Result<Vec<Meaning>> {
        let store = self.store();
        let meanings: [fn(CommitInfo) -> Meaning; 2] = [Meaning::Commit, Meaning::Root];
        let mut found = Vec::new();
        for (by_root, meaning) in [false, true].into_iter().zip(meanings) {
            let indexes = store.commits_between(by_root, low, high)?;
            for index in indexes.into_iter().take(limit) {
                let entry = store.commit_at(index)?;
                found.extend(entry.map(|entry| meaning(CommitInfo::of(&entry))));
            }
        }
        Ok(found)
    }

    pub(super) fn versions_between(
        &self,
        low: [u8; 32],
        high: [u8; 32],
        limit: usize,
    ) -> Result<Vec<Meaning>> {
        let store = self.store();
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let total = store.kept() as u64;
        let mut newer = self.view();
        for (done, index) in (1..).zip((0..store.kept()).rev()) {
            self.settings().step("history", done, total)?;
            let Some(entry) = store.commit_at(index)? else {
                break;
            };
            let older = View::new(&self.source, &store, entry)?;
            let nodes = older.state.nodes_with(&newer.state);
            for change in older.state.diff(&newer.state, &nodes) {
                let Some(entry) = change?.new.filter(|entry| (low..=high).contains(&entry.digest)) else {
                    continue;
                };
                if found.len() < limit && seen.insert(entry.digest) {
                    let object = newer.state.load(&entry)?;
                    found.push(match object.erased_by().filter(|_| object.is_placeholder()) {
                        Some(by) => erased(entry.digest, by),
                        None => Meaning::Version(object.digest(), object.id().clone(), newer.commit()),
                    });
                }
            }
            newer = older;
        }
        Ok(found)
    }
}

pub(super) fn erased(digest: [u8; 32], by: CommitDigest) -> Meaning {
    Meaning::Erased(digest, Some(by).filter(|by| *by != CommitDigest::NOBODY))
}

impl View {
    /// Returns the digits of the key path of `id`, one for each level of the trie.
    #[doc(hidden)]
    pub fn path_of(&self, id: &Id) -> Vec<u8> {
        let key = self.key(id);
        (0..64).map(|level| key.nibble(level) as u8).collect()
    }

    /// Returns the entries whose key path starts with these digits, in order.
    pub(super) fn entries_below(&self, digits: &str, limit: usize) -> Result<Vec<Entry>> {
        let is_below = |entry: &Result<Entry>| {
            let key = entry.as_ref().map(|entry| entry.key.to_hex());
            key.map_or(true, |key| key.starts_with(digits))
        };
        let entries = self.state.trie.iter(&*self.state.store);
        entries.filter(is_below).take(limit).collect()
    }

    /// Adds the nodes of the top levels whose digests start with these digits.
    pub(super) fn nodes_named(
        &self,
        digits: &str,
        path: &mut Vec<u8>,
        limit: usize,
        found: &mut Vec<Meaning>,
    ) -> Result<()> {
        let Some(node) = self.trie_node(path)? else {
            return Ok(());
        };
        if found.len() < limit && to_hex(&node.digest).starts_with(digits) {
            found.push(Meaning::Node(node.digest, path.clone()));
        }
        if let NodeKind::Branch(children) = node.kind
            && path.len() < NODE_LEVELS
        {
            for child in children {
                path.push(child.digit);
                self.nodes_named(digits, path, limit, found)?;
                path.pop();
            }
        }
        Ok(())
    }
}

/// Returns a handle for inspecting the files of the store in the folder `path`, even if the store does not open. Reads
/// no file yet.
///
/// # Errors
/// `NotFound` if there is no such folder; `Io` if the folder cannot be opened.
pub fn inspection(path: impl AsRef<Path>) -> Result<Inspection> {
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(path)?);
    let places = places_of(&disk);
    Ok(Inspection::new(disk).asking(places))
}

/// Returns the checkpoints of the store in the folder `path`, newest first, even if the store does not open. Opening
/// the store uses the first usable checkpoint of the list.
///
/// # Errors
/// `NotFound` if there is no such folder; `Io` if the folder cannot be listed.
pub fn checkpoints_in(path: impl AsRef<Path>) -> Result<Vec<CheckpointInfo>> {
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(path)?);
    // If the log does not open, the checkpoints cannot be compared with the log.
    let log = Log::open(Arc::clone(&disk), Mode::ReadOnly, LogOptions::default()).ok();
    store::checkpoint_infos(&*disk, log.as_ref().map(LogId::of))
}
