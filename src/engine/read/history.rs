//! Looking back: commits, changes of an id, differences of two states.
//!
//! # Layer
//! L5.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::error::{Error, Result};
use crate::object::{Id, Time};
use crate::store::{ChangeCounts, CommitEntry, Store};
use crate::trie::Entry;

use super::view::{CommitInfo, View};
use crate::engine::memory::{Inner, Memory};
use crate::engine::upkeep::gc::done_anyway;
use crate::engine::write::commit::Committed;

/// How an id differs between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
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
    /// Whether only digests are left of its versions, because they were erased or lost: `id` is then `erased:` and the key
    /// path, because nothing says it.
    pub erased: bool,
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
    /// Whether that version was erased since.
    pub erased: bool,
    /// Whether that version was lost, and could not be salvaged.
    pub lost: bool,
    /// The first kept commit that has it so.
    pub commit: CommitInfo,
    /// Whether a commit made the change, or may have, that was thinned since: then who made it and why is not known.
    pub thinned: bool,
    /// When the change was made; of a removal by a thinned commit, when the first kept commit was that has it so.
    pub time: Time,
}

impl HistoryEntry {
    /// The commit that made the change, if that is known: it was not thinned.
    pub fn maker(&self) -> Option<&CommitInfo> {
        (!self.thinned).then_some(&self.commit)
    }
}

/// The kept commits, newest first; see [`Memory::commits`]. Stops for good after an error.
pub struct Commits {
    store: Arc<Store>,
    /// How many are left.
    left: usize,
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

/// The changes of an id, newest first; see [`Memory::changes_of`]. Stops for good after an error.
pub struct ChangesOf {
    inner: Arc<Inner>,
    store: Arc<Store>,
    key: KeyPath,
    /// How many commits were not looked at.
    left: usize,
    /// The commit that was looked at last.
    later: Option<Standing>,
}

/// What a commit has for an id.
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
    /// The next change into the past.
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

    /// What the commit before has.
    fn earlier(&mut self) -> Result<Option<Standing>> {
        let Some(index) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = index;
        let total = self.store.kept() as u64;
        self.inner.options.step("commits", total - index as u64, total)?;
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

impl Memory {
    /// The kept commits, newest first, from the head of this moment on.
    pub fn commits(&self) -> Commits {
        let store = self.inner.store();
        Commits {
            left: store.kept(),
            store,
        }
    }

    /// The state of a commit.
    ///
    /// # Errors
    /// `NotFound` if it is not kept; `Corrupt` or `Io` if it cannot be read.
    pub fn view_of(&self, commit: &CommitInfo) -> Result<View> {
        let store = self.inner.store();
        let Some(entry) = store.by_digest(commit.digest)? else {
            return Err(Error::not_found(format!("commit {} is not kept", commit.digest)));
        };
        View::new(Arc::clone(&self.inner), store, entry)
    }

    /// The state of the commit kept before this one: its parent, unless that was thinned.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be read.
    pub fn view_before(&self, commit: &CommitInfo) -> Result<Option<View>> {
        let store = self.inner.store();
        let Some(entry) = store.by_digest(commit.digest)? else {
            return Ok(None);
        };
        let before = store.before(&entry)?;
        let view = before.map(|before| View::new(Arc::clone(&self.inner), store, before));
        view.transpose()
    }

    /// Every change of `id` between kept commits, newest first. Empty if no kept commit ever had it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    pub fn history(&self, id: &Id) -> Result<Vec<HistoryEntry>> {
        self.changes_of(id).collect()
    }

    /// As [`Self::history`], a change at a time: who wants the newest ones reads the commits back to them only.
    pub fn changes_of(&self, id: &Id) -> ChangesOf {
        let store = self.inner.store();
        ChangesOf {
            key: self.suite().key_path(id.as_str()),
            left: store.kept(),
            inner: Arc::clone(&self.inner),
            store,
            later: None,
        }
    }

    /// What differs from `older` to `newer`, sorted by id. Costs what differs, not what there is. An id of which both
    /// versions were erased is `erased:` and its key path.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object or node cannot be read.
    pub fn diff(&self, older: &View, newer: &View) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        self.each_change(older, newer, &mut |change| {
            changes.push(change);
            Ok(ControlFlow::Continue(()))
        })?;
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(changes)
    }

    /// Hands what differs from `older` to `newer` to `visit`, in no order that means anything, until it breaks off.
    ///
    /// # Errors
    /// As [`Self::diff`]; what `visit` returns.
    pub fn each_change(
        &self,
        older: &View,
        newer: &View,
        visit: &mut dyn FnMut(Change) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (older, newer) = (older.state(), newer.state());
        let (most, nodes) = (older.trie.len() + newer.trie.len(), older.nodes_with(&newer));
        for (done, change) in (1..).zip(older.diff(&newer, &nodes)) {
            self.inner.options.step("diff", done, most)?;
            let change = change?;
            let mut object = match (&change.new, &change.old) {
                (Some(entry), _) => newer.load(entry)?,
                (None, Some(entry)) => older.load(entry)?,
                (None, None) => return Err(Error::internal("a difference with neither side")),
            };
            // Nobody knows the id of a version that was erased; another version of it may tell.
            if let Some(entry) = change.old.as_ref().filter(|_| object.is_placeholder()) {
                object = older.load(entry)?;
            }
            let (id, erased) = (Id::new(object.id())?, object.is_placeholder());
            let digest = |entry: Option<Entry>| entry.map(|e| ObjectDigest::from_bytes(e.digest));
            let visited = visit(Change {
                id,
                old: digest(change.old),
                new: digest(change.new),
                erased,
            })?;
            if visited.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How much differs from `older` to `newer`.
    ///
    /// # Errors
    /// As [`Self::diff`].
    pub fn counts(&self, older: &View, newer: &View) -> Result<ChangeCounts> {
        let (older, newer) = (older.state(), newer.state());
        let mut counts = ChangeCounts::default();
        for change in older.diff(&newer, &older.nodes_with(&newer)) {
            let change = change?;
            counts.add(change.old.is_some(), change.new.is_some());
        }
        Ok(counts)
    }

    /// How much a commit changed against the commit kept before it: its parent, unless that was thinned. Counted when
    /// first asked for.
    ///
    /// # Errors
    /// `NotFound` if the commit is not kept, and as [`Self::diff`].
    pub fn commit_counts(&self, commit: &CommitInfo) -> Result<ChangeCounts> {
        let store = self.inner.store();
        let entry = store.by_digest(commit.digest)?;
        let entry = entry.ok_or_else(|| Error::not_found(format!("commit {} is not kept", commit.digest)))?;
        if let Some(counts) = entry.counts.get() {
            return Ok(*counts);
        }
        let counts = match store.before(&entry)? {
            Some(before) => store.count(&before, &entry)?,
            None => ChangeCounts {
                added: store.state(&entry)?.len(),
                ..ChangeCounts::default()
            },
        };
        Ok(*entry.counts.get_or_init(|| counts))
    }

    /// How much of what a draft was to change its commit left out, because others did the same meanwhile.
    ///
    /// # Errors
    /// As [`Self::commit_counts`]; the commit is done all the same, and the error says so.
    pub fn done_by_others(&self, drafted: ChangeCounts, committed: &Committed) -> Result<ChangeCounts> {
        let own = if committed.changed {
            let counts = self.commit_counts(&committed.commit);
            counts.map_err(done_anyway)?
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
