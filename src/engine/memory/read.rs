//! Reading a memory: states, commits, differences, histories.
//!
//! # Layer
//! Layer 5.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::Memory;
use crate::bytes::Bytes;
use crate::digest::{ObjectDigest, TextDigest};
use crate::engine::opened::done_anyway;
use crate::engine::read::change::Change;
use crate::engine::read::erased::erased_by;
use crate::engine::read::history::{self, Commits, HistoryEntry};
use crate::engine::read::revision::{self, Revision};
use crate::engine::read::stats::Containment;
use crate::engine::read::view::{CommitInfo, View};
use crate::engine::upkeep::derived_files::derived_content;
use crate::engine::write::request::Committed;
use crate::error::{Error, Result};
use crate::object::{Id, Object, Time};
use crate::store::ChangeCounts;
use crate::trie::Entry;

impl Memory {
    /// Returns the state that `revision` names, for example `memory.at("before")?`. `snap:0` is the newest automatic
    /// snapshot of the lane `default`; [`Self::snapshots`] lists those of every lane.
    ///
    /// # Errors
    /// `NotFound` if there is no such commit; `InvalidInput` if the text is not a revision, or a prefix matches several.
    pub fn at(&self, revision: impl TryInto<Revision, Error: Into<Error>>) -> Result<View> {
        let revision = revision.try_into().map_err(Into::into)?;
        self.view_at(&revision, crate::store::lane_of(None, None))
    }

    /// As [`Self::at`], for a writer in `lane`.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub(crate) fn view_at(&self, revision: &Revision, lane: &str) -> Result<View> {
        let store = self.inner.store();
        let entry = revision::resolve(&store, revision, lane)?;
        View::new(Arc::clone(&self.inner.source), store, entry)
    }

    /// Returns the commit that `revision` names for a writer in `lane`.
    ///
    /// # Errors
    /// The errors of [`Self::at`].
    pub(crate) fn resolve(&self, revision: &Revision, lane: &str) -> Result<CommitInfo> {
        Ok(self.view_at(revision, lane)?.commit())
    }

    /// Returns the version with this digest, current or past, if history keeps it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn version(&self, digest: ObjectDigest) -> Result<Option<Object>> {
        Ok(self
            .inner
            .store()
            .records
            .find_object(digest)?
            .map(|(_, object)| object))
    }

    /// Returns the text of a reason or source.
    ///
    /// # Errors
    /// `NotFound` if the text is not kept, with the code `erased` or `lost` if it once was.
    pub fn text(&self, digest: &TextDigest) -> Result<String> {
        let store = self.inner.store();
        if let Some(text) = store.records.find_text(*digest)? {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        match store.records.erasure(digest.as_bytes())? {
            Some(by) => Err(erased_by(&store, &format!("the text {digest}"), Some(by))),
            None => Err(Error::not_found(format!("the text {digest} is not kept"))),
        }
    }

    /// Refuses a version that was erased and not written again.
    ///
    /// # Errors
    /// `NotFound` with the code `erased`, naming the author of the erasure; `Corrupt` or `Io` if a record cannot be
    /// read.
    pub(crate) fn check_kept(&self, version: ObjectDigest) -> Result<()> {
        let store = self.inner.store();
        if store.records.find_place(version)?.is_some() {
            return Ok(());
        }
        match store.records.erasure(version.as_bytes())? {
            Some(by) => Err(erased_by(&store, &format!("version {version}"), Some(by))),
            None => Ok(()),
        }
    }

    /// Iterates the kept commits, newest first, from the present head.
    pub fn commits(&self) -> Commits {
        history::commits(self.inner.store())
    }

    /// Returns the state of a commit.
    ///
    /// # Errors
    /// `NotFound` if the commit is not kept; `Corrupt` or `Io` if it cannot be read.
    pub(crate) fn view_of(&self, commit: &CommitInfo) -> Result<View> {
        let store = self.inner.store();
        let Some(entry) = store.by_digest(commit.digest)? else {
            return Err(Error::not_found(format!("commit {} is not kept", commit.digest)));
        };
        View::new(Arc::clone(&self.inner.source), store, entry)
    }

    /// Returns the state of the kept commit before this one, which is its parent unless that was thinned.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be read.
    pub(crate) fn view_before(&self, commit: &CommitInfo) -> Result<Option<View>> {
        let store = self.inner.store();
        let Some(entry) = store.by_digest(commit.digest)? else {
            return Ok(None);
        };
        let before = store.before(&entry)?;
        let view = before.map(|before| View::new(Arc::clone(&self.inner.source), store, before));
        view.transpose()
    }

    /// Returns every change of `id` between kept commits, newest first; empty if no kept commit ever had it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    ///
    /// # Example
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("facts/tea")?;
    /// memory.put(NewObject::new(id.clone(), Kind::new("fact")?), &Writer::user())?;
    /// memory.remove(&id, &Writer::user().reason("out of date"))?;
    ///
    /// let history = memory.history(&id)?;
    /// assert_eq!(history.len(), 2);
    /// assert_eq!(history[0].digest, None, "the newest change removed it");
    /// let reason = history[0].commit.commit.reason.unwrap();
    /// assert_eq!(memory.text(&reason)?, "out of date");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn history(&self, id: &Id) -> Result<Vec<HistoryEntry>> {
        self.changes_of(id).collect()
    }

    /// As [`Self::history`], one change at a time: reads commits only as far back as the caller iterates.
    pub(crate) fn changes_of(&self, id: &Id) -> impl Iterator<Item = Result<HistoryEntry>> + use<> {
        let store = self.inner.store();
        let key = store.suite.key_path(id.as_str());
        history::changes_of(Arc::clone(&self.inner.source), store, key)
    }

    /// Returns the differences from `older` to `newer`, sorted by id. The cost grows with the number of differences
    /// only. If all versions of an id were erased, its id is given as `erased:` and its key path.
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

    /// Passes each difference from `older` to `newer` to `visit`, in no fixed order, until `visit` ends the walk.
    ///
    /// # Errors
    /// As [`Self::diff`], and the errors of `visit`.
    pub(crate) fn each_change(
        &self,
        older: &View,
        newer: &View,
        visit: &mut dyn FnMut(Change) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (older, newer) = (older.state(), newer.state());
        let (most, nodes) = (older.trie.len() + newer.trie.len(), older.nodes_with(&newer));
        for (done, change) in (1..).zip(older.diff(&newer, &nodes)) {
            self.inner.settings().step("diff", done, most)?;
            let change = change?;
            let mut object = match (&change.new, &change.old) {
                (Some(entry), _) => newer.load(entry)?,
                (None, Some(entry)) => older.load(entry)?,
                (None, None) => return Err(Error::internal("a difference has neither side")),
            };
            // An erased version has no id, but the other version may have it.
            if let Some(entry) = change.old.as_ref().filter(|_| object.is_placeholder()) {
                object = older.load(entry)?;
            }
            let (id, erased) = (object.id().clone(), object.is_placeholder());
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

    /// Returns the number of differences from `older` to `newer`.
    ///
    /// # Errors
    /// The errors of [`Self::diff`].
    pub(crate) fn counts(older: &View, newer: &View) -> Result<ChangeCounts> {
        let (older, newer) = (older.state(), newer.state());
        let mut counts = ChangeCounts::default();
        for change in older.diff(&newer, &older.nodes_with(&newer)) {
            let change = change?;
            counts.add(change.old.is_some(), change.new.is_some());
        }
        Ok(counts)
    }

    /// Returns the counts of changes of a commit, compared with the kept commit before it, which is its parent unless
    /// that was thinned. The first call computes them.
    ///
    /// # Errors
    /// `NotFound` if the commit is not kept, and as [`Self::diff`].
    pub(crate) fn commit_counts(&self, commit: &CommitInfo) -> Result<ChangeCounts> {
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

    /// Returns the counts of drafted changes that the commit left out, because other writers had already made them.
    ///
    /// # Errors
    /// As [`Self::commit_counts`]. The error states that the commit is done.
    pub(crate) fn done_by_others(
        &self,
        drafted: ChangeCounts,
        committed: &Committed,
    ) -> Result<ChangeCounts> {
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

    /// Returns the number of thinned commits among those with these seqs.
    pub(crate) fn thinned_in(&self, numbers: Range<u64>) -> u64 {
        let gaps = self.inner.store().gaps();
        let within = gaps.iter().map(|gap| {
            let (first, end) = (
                gap.first.max(numbers.start),
                (gap.first + gap.count).min(numbers.end),
            );
            end.saturating_sub(first)
        });
        within.sum()
    }

    /// Returns the number of versions of objects that history keeps.
    pub(crate) fn history_len(&self) -> u64 {
        self.inner.store().records.versions()
    }

    /// Returns whether this history has a commit or root whose digest starts with these 8 to 64 digits.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not such a prefix; `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn contains(&self, prefix: &str) -> Result<Containment> {
        if !(8..=64).contains(&prefix.len()) || revision::digest_range(prefix).is_none() {
            return Err(Error::invalid(format!(
                "`{prefix}` is not 8 to 64 hexadecimal digits"
            )));
        }
        let (store, prefix) = (self.inner.store(), prefix.to_ascii_lowercase());
        if !revision::by_prefix(&store, &prefix)?.is_empty() {
            return Ok(Containment::Kept);
        }
        for gap in store.gaps() {
            let digests = store.records.gap(gap.place)?;
            if digests.iter().any(|digest| digest.to_hex().starts_with(&prefix)) {
                return Ok(Containment::Thinned);
            }
        }
        Ok(Containment::Absent)
    }

    /// Returns the newest time given to [`Self::touch`] for the object that this handle knows of; [`Self::refresh`]
    /// reads the times of other processes. Returns `None` if no use was recorded, or the record was dropped since.
    ///
    /// # Errors
    /// `Io` if the last-access times cannot be read.
    pub fn last_used(&self, id: &Id) -> Result<Option<Time>> {
        self.inner.source.last_used(id)
    }

    /// Returns the bytes last written as the derived file `name`. Returns `None` if there is no file, or it is damaged
    /// or from another store.
    ///
    /// # Errors
    /// `InvalidInput` if the name is not 1 to 32 of the characters `a` to `z`, digits and `-`; `Io`.
    pub(crate) fn derived(&self, name: &str) -> Result<Option<Bytes>> {
        derived_content(self.inner.opened(), name)
    }
}
