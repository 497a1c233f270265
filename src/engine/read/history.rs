//! History: the kept commits, and the changes of an id.
//!
//! # Layer
//! Layer 5.

use std::ops::Range;
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::error::Result;
use crate::object::Time;
use crate::store::{IdChange, IdChanges, Store};

use super::{CommitInfo, Source, until_error};

/// One change of an id, with the commit that made the change.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// The version after the change; `None` if the id was removed.
    pub digest: Option<ObjectDigest>,
    /// Whether the version after the change was erased since.
    pub erased: bool,
    /// Whether the version after the change was lost to damage and not salvaged.
    pub lost: bool,
    /// The first kept commit whose state has the change.
    pub commit: CommitInfo,
    /// The commit of another line that made the change, if `commit` is a merge that brought it.
    pub from: Option<CommitInfo>,
    /// Whether the change was, or may have been, made by a thinned commit, so its author and reason are unknown.
    pub thinned: bool,
    /// The time of the change. If a thinned commit removed the id, this is the time of the first kept commit after the
    /// thinned commit.
    pub time: Time,
}

impl HistoryEntry {
    /// Returns the commit that made the change, of this line or of another one, if that commit was not thinned.
    #[doc(hidden)]
    pub fn maker(&self) -> Option<&CommitInfo> {
        (!self.thinned).then_some(self.from.as_ref().unwrap_or(&self.commit))
    }
}

/// The kept commits, newest first; see [`Memory::commits`](crate::Memory::commits). The iterator ends after an error.
pub type Commits = Box<dyn Iterator<Item = Result<CommitInfo>> + Send>;

/// Returns the kept commits of a store, newest first.
pub(crate) fn commits(store: Arc<Store>) -> Commits {
    let indexes = (0..store.kept()).rev();
    let found = indexes.filter_map(move |index| store.commit_at(index).transpose());
    let infos = found.map(|entry| Ok(CommitInfo::of(&*entry?)));
    Box::new(until_error(infos))
}

/// Returns the number of thinned commits whose seq is in `numbers`.
pub(crate) fn thinned_in(store: &Store, numbers: &Range<u64>) -> u64 {
    store.thinned_in(numbers)
}

/// Iterates the changes of an id, newest first. The iterator ends after an error.
pub(crate) fn changes_of(
    source: Arc<Source>,
    store: Arc<Store>,
    key: KeyPath,
) -> impl Iterator<Item = Result<HistoryEntry>> + use<> {
    let total = store.kept() as u64;
    let mut search = None;
    let mut next = move || -> Result<Option<HistoryEntry>> {
        let search = match &mut search {
            Some(search) => search,
            none => none.insert(IdChanges::new(Arc::clone(&store), key)?),
        };
        let Some(change) = search.next()? else {
            return Ok(None);
        };
        let done = total.saturating_sub(change.commit.seq());
        source.opened.settings.step("commits", done, total)?;
        entry_of(&store, key, &change).map(Some)
    };
    until_error(std::iter::from_fn(move || next().transpose()))
}

fn entry_of(store: &Arc<Store>, key: KeyPath, change: &IdChange) -> Result<HistoryEntry> {
    let commit = &change.commit;
    let digest = change.entry.map(|entry| ObjectDigest::from_bytes(entry.digest));
    let by = match digest.filter(|_| store.records.erased() > 0) {
        Some(digest) if store.records.find_place(digest)?.is_none() => {
            store.records.erasure(digest.as_bytes())?
        }
        _ => None,
    };
    let lost = by == Some(CommitDigest::NOBODY);
    let made = match change.entry.filter(|_| change.is_behind_gap) {
        Some(entry) => store.updated(&entry)?,
        None => None,
    };
    let time = made.unwrap_or(commit.commit.time);
    let maker = if commit.is_merge() {
        store.maker_behind(commit, &key, change.entry)?
    } else {
        None
    };
    let is_unknown = commit.is_merge() && digest.is_some() && maker.is_none();
    let from = maker.filter(|maker| maker.digest != commit.digest);
    Ok(HistoryEntry {
        digest,
        erased: by.is_some() && !lost,
        lost,
        thinned: is_unknown || change.is_behind_gap && (digest.is_none() || time != commit.commit.time),
        time,
        from: from.map(|from| CommitInfo::of(&from)),
        commit: CommitInfo::of(commit),
    })
}
