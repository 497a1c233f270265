//! Looking back: commits, changes of an id, differences of two states.
//!
//! # Layer
//! L5.

use std::sync::Arc;

use crate::digest::ObjectDigest;
use crate::error::{Error, Result};
use crate::object::Id;
use crate::store::{ChangeCounts, CommitEntry};
use crate::trie::NoSource;

use super::commit::Committed;
use super::memory::{Inner, Memory};
use super::view::{CommitInfo, View};

/// How an id differs between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the newer state has it.
    Added,
    /// The newer state has another version.
    Changed,
    /// Only the older state has it.
    Removed,
}

impl ChangeKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// One id that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The id.
    pub id: Id,
    /// Its version in the older state.
    pub old: Option<ObjectDigest>,
    /// Its version in the newer state.
    pub new: Option<ObjectDigest>,
}

impl Change {
    /// How it differs.
    pub fn kind(&self) -> ChangeKind {
        match (self.old, self.new) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
        }
    }
}

/// One change of an id, with the commit that made it.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// The version from then on; `None` where the id was removed.
    pub digest: Option<ObjectDigest>,
    /// The commit.
    pub commit: CommitInfo,
}

/// The kept commits, newest first; see [`Memory::commits`].
pub struct Commits {
    inner: Arc<Inner>,
    next: Option<u64>,
}

impl Iterator for Commits {
    type Item = CommitInfo;

    fn next(&mut self) -> Option<CommitInfo> {
        let seq = self.next?;
        self.next = seq.checked_sub(1);
        let catalog = self.inner.store.catalog.read();
        catalog.by_seq(seq).map(|entry| CommitInfo::of(entry))
    }
}

pub(super) fn count(older: &CommitEntry, newer: &CommitEntry) -> Result<ChangeCounts> {
    let mut counts = ChangeCounts::default();
    for change in older.trie.diff(&newer.trie, &NoSource) {
        let change = change?;
        counts.add(change.old.is_some(), change.new.is_some());
    }
    Ok(counts)
}

impl Memory {
    /// The commits, newest first, from the head of this moment on.
    pub fn commits(&self) -> Commits {
        let next = self.inner.store.catalog.read().head().map(|head| head.seq());
        Commits {
            inner: Arc::clone(&self.inner),
            next,
        }
    }

    /// Every change of `id`, newest first. Empty if no commit ever had it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    pub fn history(&self, id: &Id) -> Result<Vec<HistoryEntry>> {
        let key = self.suite().key_path(id.as_str());
        let commits = self.inner.store.catalog.read().commits().to_vec();
        let mut entries = Vec::new();
        let mut before = None;
        let total = commits.len() as u64;
        for (done, commit) in (1..).zip(commits) {
            self.inner.options.step("commits", done, total)?;
            let now = commit
                .trie
                .get(&key, &NoSource)?
                .map(|entry| ObjectDigest::from_bytes(entry.digest));
            if now != before {
                entries.push(HistoryEntry {
                    digest: now,
                    commit: CommitInfo::of(&commit),
                });
                before = now;
            }
        }
        entries.reverse();
        Ok(entries)
    }

    /// What differs from `older` to `newer`, sorted by id. Costs what differs, not what there is.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object or node cannot be read.
    pub fn diff(&self, older: &View, newer: &View) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for change in older.entry.trie.diff(&newer.entry.trie, &NoSource) {
            self.inner
                .options
                .step("diff", changes.len() as u64 + 1, older.len() + newer.len())?;
            let change = change?;
            let either = change.new.or(change.old);
            let either = either.ok_or_else(|| Error::internal("a difference with neither side"))?;
            let id = Id::new(self.view().load(&either)?.id())?;
            let digest =
                |entry: Option<crate::trie::Entry>| entry.map(|e| ObjectDigest::from_bytes(e.digest));
            changes.push(Change {
                id,
                old: digest(change.old),
                new: digest(change.new),
            });
        }
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(changes)
    }

    /// How much differs from `older` to `newer`.
    ///
    /// # Errors
    /// As [`Self::diff`].
    pub fn counts(&self, older: &View, newer: &View) -> Result<ChangeCounts> {
        count(&older.entry, &newer.entry)
    }

    /// How much a commit changed against its first parent. Counted when first asked for.
    ///
    /// # Errors
    /// `NotFound` if the commit is not kept, and as [`Self::diff`].
    pub fn commit_counts(&self, commit: &CommitInfo) -> Result<ChangeCounts> {
        let (entry, parent) = {
            let catalog = self.inner.store.catalog.read();
            let entry = catalog.by_digest(commit.digest).cloned();
            let entry =
                entry.ok_or_else(|| Error::not_found(format!("commit {} is not kept", commit.digest)))?;
            let parent = entry
                .seq()
                .checked_sub(1)
                .and_then(|seq| catalog.by_seq(seq).cloned());
            (entry, parent)
        };
        if let Some(counts) = entry.counts.get() {
            return Ok(*counts);
        }
        let counts = match &parent {
            Some(parent) => count(parent, &entry)?,
            None => ChangeCounts {
                added: entry.trie.len(),
                ..ChangeCounts::default()
            },
        };
        Ok(*entry.counts.get_or_init(|| counts))
    }

    /// How much of what a draft was to change its commit left out, because others did the same meanwhile.
    ///
    /// # Errors
    /// As [`Self::commit_counts`].
    pub fn done_by_others(&self, drafted: ChangeCounts, committed: &Committed) -> Result<ChangeCounts> {
        let own = if committed.changed {
            self.commit_counts(&committed.commit)?
        } else {
            ChangeCounts::default()
        };
        Ok(ChangeCounts {
            added: drafted.added.saturating_sub(own.added),
            changed: drafted.changed.saturating_sub(own.changed),
            removed: drafted.removed.saturating_sub(own.removed),
        })
    }
}
