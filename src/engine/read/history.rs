//! History: commits, changes of an id, differences of two states.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::error::Result;
use crate::object::Time;
use crate::store::{CommitEntry, Store};
use crate::trie::Entry;

use super::source::Source;
use super::view::CommitInfo;

/// One change of an id, with the commit that made the change.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// The version after the change; `None` if the id was removed.
    pub digest: Option<ObjectDigest>,
    /// Whether that version was erased since.
    pub erased: bool,
    /// Whether that version was lost in damage and not salvaged.
    pub lost: bool,
    /// The first kept commit with that version.
    pub commit: CommitInfo,
    /// Whether the change was, or may have been, made by a thinned commit, so its author and reason are unknown.
    pub thinned: bool,
    /// The time of the change. If a thinned commit removed the id, the time of the first kept commit after it.
    pub time: Time,
}

impl HistoryEntry {
    /// Returns the commit that made the change, if it was not thinned.
    pub(crate) fn maker(&self) -> Option<&CommitInfo> {
        (!self.thinned).then_some(&self.commit)
    }
}

/// The kept commits, newest first; see [`Memory::commits`](crate::Memory::commits). The iterator ends after an error.
pub struct Commits {
    store: Arc<Store>,
    /// The number of commits not yet returned.
    left: usize,
}

impl Commits {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            left: store.kept(),
            store,
        }
    }
}

impl Iterator for Commits {
    type Item = Result<CommitInfo>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let found = self.store.commit_at(self.left).transpose()?;
        if found.is_err() {
            self.left = 0;
        }
        Some(found.map(|entry| CommitInfo::of(&entry)))
    }
}

/// The changes of an id, newest first; see `Memory::changes_of`. The iterator ends after
/// an error.
pub struct ChangesOf {
    source: Arc<Source>,
    store: Arc<Store>,
    key: KeyPath,
    /// The number of commits not yet compared.
    left: usize,
    /// The version in the commit that was compared last.
    later: Option<Standing>,
}

/// The version of an id in a commit.
struct Standing {
    commit: Arc<CommitEntry>,
    entry: Option<Entry>,
}

impl Standing {
    fn digest(&self) -> Option<ObjectDigest> {
        self.entry.map(|entry| ObjectDigest::from_bytes(entry.digest))
    }
}

impl Iterator for ChangesOf {
    type Item = Result<HistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.find().transpose()?;
        if found.is_err() {
            (self.left, self.later) = (0, None);
        }
        Some(found)
    }
}

impl ChangesOf {
    pub(crate) fn new(source: Arc<Source>, store: Arc<Store>, key: KeyPath) -> Self {
        Self {
            source,
            key,
            left: store.kept(),
            store,
            later: None,
        }
    }

    /// Returns the next older change of the id.
    fn find(&mut self) -> Result<Option<HistoryEntry>> {
        if self.later.is_none() {
            self.later = self.earlier()?;
        }
        while let Some(later) = self.later.take() {
            self.later = self.earlier()?;
            let before = self.later.as_ref();
            if later.digest() != before.and_then(Standing::digest) {
                let follows = before.map_or(0, |before| before.commit.seq() + 1);
                return self.entry_of(&later, later.commit.seq() > follows).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the version in the commit before the one compared last.
    fn earlier(&mut self) -> Result<Option<Standing>> {
        let Some(index) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = index;
        let total = self.store.kept() as u64;
        self.source
            .opened
            .settings
            .step("commits", total - index as u64, total)?;
        let Some(commit) = self.store.commit_at(index)? else {
            return Ok(None);
        };
        let entry = self.store.state(&commit)?.get(&self.key, &*self.store)?;
        Ok(Some(Standing { commit, entry }))
    }

    fn entry_of(&self, found: &Standing, is_behind_gap: bool) -> Result<HistoryEntry> {
        let (store, commit, digest) = (&self.store, &found.commit, found.digest());
        let by = match digest.filter(|_| store.records.erased() > 0) {
            Some(digest) if store.records.find_place(digest)?.is_none() => {
                store.records.erasure(digest.as_bytes())?
            }
            _ => None,
        };
        let lost = by == Some(CommitDigest::NOBODY);
        let made = match found.entry.filter(|_| is_behind_gap) {
            Some(entry) => store.updated(&entry)?,
            None => None,
        };
        let time = made.unwrap_or(commit.commit.time);
        Ok(HistoryEntry {
            digest,
            erased: by.is_some() && !lost,
            lost,
            thinned: is_behind_gap && (digest.is_none() || time != commit.commit.time),
            time,
            commit: CommitInfo::of(commit),
        })
    }
}
