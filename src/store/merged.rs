//! What merges brought into a line: the commits of other lines that wrote it.
//!
//! # Layer
//! Layer 4.

use std::collections::HashSet;
use std::sync::Arc;

use super::commits::CommitEntry;
use super::{IdChanges, Store};
use crate::digest::{CommitDigest, KeyPath};
use crate::error::Result;
use crate::log::Locator;
use crate::trie::Entry;

impl CommitEntry {
    /// Returns whether the commit merges another line.
    pub(crate) fn is_merge(&self) -> bool {
        self.commit.parents.len() > 1
    }
}

/// What a walk over merges has met.
#[derive(Default)]
pub(crate) struct Brought {
    commits: HashSet<CommitDigest>,
    /// The lines. They stay open during the walk, so each is read once.
    lines: Vec<Arc<Store>>,
}

impl Store {
    /// Returns the commits of other lines that a merge brought in, and those that their own merges brought in. Leaves out
    /// those that `known` has, and adds them to it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn brought_by(
        self: &Arc<Self>,
        merge: &CommitEntry,
        known: &mut Brought,
    ) -> Result<Vec<Arc<CommitEntry>>> {
        let mut found = Vec::new();
        let mut open: Vec<CommitDigest> = merge.commit.parents.iter().skip(1).copied().collect();
        while let Some(newest) = open.pop() {
            // The line of a dropped fork may be collected.
            let Some((line, newest)) = self.commit_of_any(newest)? else {
                continue;
            };
            let mut next = Some(newest);
            known.lines.push(Arc::clone(&line));
            while let Some(commit) = next.take() {
                if !known.commits.insert(commit.digest) || self.by_digest(commit.digest)?.is_some() {
                    break;
                }
                open.extend(commit.commit.parents.iter().skip(1));
                next = line.before(&commit)?;
                found.push(commit);
            }
        }
        Ok(found)
    }

    /// Returns the commits of other lines that merges after commit `from` brought in, and no earlier merge.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn brought_after(self: &Arc<Self>, from: u64) -> Result<Vec<Arc<CommitEntry>>> {
        let (mut known, mut found) = (Brought::default(), Vec::new());
        if !self.has_lines() {
            return Ok(found);
        }
        let (Ok(first) | Err(first)) = self.position(from + 1)?;
        let merges = |range: std::ops::Range<usize>| {
            let commits = range.map(|index| self.commit_at(index).transpose());
            commits.flatten().filter(|commit| match commit {
                Ok(commit) => commit.is_merge(),
                Err(_) => true,
            })
        };
        let newer = merges(first..self.kept()).collect::<Result<Vec<_>>>()?;
        if newer.is_empty() {
            return Ok(found);
        }
        for merge in merges(0..first) {
            let merge = merge?;
            self.brought_by(&merge, &mut known)?;
        }
        for merge in newer {
            found.extend(self.brought_by(&merge, &mut known)?);
        }
        Ok(found)
    }

    /// Returns the commit that wrote the version which a merge made current: of another line, or the merge itself. Without a
    /// version, returns the commit of another line that removed the id. Returns `None` if it was thinned, or if the other
    /// line was collected.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit, record or state cannot be read.
    pub(crate) fn maker_behind(
        self: &Arc<Self>,
        merge: &CommitEntry,
        key: &KeyPath,
        version: Option<Entry>,
    ) -> Result<Option<Arc<CommitEntry>>> {
        if let Some(version) = version {
            let Some((_, maker)) = self.commit_behind(Locator::from_u64(version.place))? else {
                // A draft has the record, and a commit of the other line linked it.
                return self.linked_behind(merge, &version);
            };
            // A collection moves the versions of a collected line to the batch of the merge.
            let is_known = maker.digest != merge.digest || self.has_sides(merge)?;
            return Ok(is_known.then_some(maker));
        }
        let (mut line, mut merge) = (Arc::clone(self), merge.commit.clone());
        loop {
            let Some(newest) = merge.parents.get(1) else {
                return Ok(None);
            };
            let Some((side, newest)) = line.commit_of_any(*newest)? else {
                return Ok(None);
            };
            let newest = IdChanges::until(Arc::clone(&side), *key, &newest)?.next()?;
            let Some(removal) = newest.filter(|change| change.entry.is_none() && !change.is_behind_gap)
            else {
                return Ok(None);
            };
            if !removal.commit.is_merge() {
                return Ok(Some(removal.commit));
            }
            // The other line got the removal by a merge, too.
            (line, merge) = (side, removal.commit.commit.clone());
        }
    }

    /// Returns whether the other lines of a merge were not collected.
    fn has_sides(self: &Arc<Self>, merge: &CommitEntry) -> Result<bool> {
        for parent in merge.commit.parents.iter().skip(1) {
            if self.commit_of_any(*parent)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the commit of another line that made a version current, before a merge brought it in.
    fn linked_behind(
        self: &Arc<Self>,
        merge: &CommitEntry,
        version: &Entry,
    ) -> Result<Option<Arc<CommitEntry>>> {
        for parent in merge.commit.parents.iter().skip(1) {
            let Some((side, _)) = self.commit_of_any(*parent)? else {
                continue;
            };
            let made = side.made_current(version)?;
            if let Some((_, commit)) = made.filter(|(time, commit)| commit.commit.time == *time) {
                return if commit.is_merge() {
                    side.linked_behind(&commit, version)
                } else {
                    Ok(Some(commit))
                };
            }
        }
        Ok(None)
    }
}
