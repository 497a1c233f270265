//! The commits of a store as a graph, and the bases of a merge.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - MGR-1: a merge that a side undid, or rolled back over, counts as not made on that side, so merging again brings the
//!   same work. A redo makes it count again.
//! - MGR-2: a commit comes from the thinned commits before it, also if only the line of a remote still has them.
//! - MGR-3: if a push brought a commit of ours to the line of a remote, the commit of the push is the base of a merge. What the
//!   push left out is what the remote had, and what we have merged: nobody changed it there.
//! - MGR-4: a commit is known by its digest. Two remotes may bring it twice, in two batches of the log.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::base::{Edge, Graph, Sides, common_ancestors};
use crate::digest::CommitDigest;
use crate::engine::inner::Inner;
use crate::engine::read::State;
use crate::error::{Error, Result};
use crate::object::{Op, Time};
use crate::store::{CommitEntry, LineInfo, REMOTE, Store};

/// The most bases of one merge. Older ones of a history with more crossings are left out, which costs conflicts only.
const BASES_MAX: usize = 8;

/// A commit, with the store of a line that contains it.
pub(in crate::engine::write) type Commit = (Arc<Store>, Arc<CommitEntry>);

/// The commits that two lines come from. The lines of two remotes may each have a copy of a commit (MGR-4).
pub(super) struct Commits {
    known: RefCell<BTreeMap<CommitDigest, Commit>>,
    /// The merges that do not count, for our side and for theirs.
    not_made: [BTreeSet<CommitDigest>; 2],
    /// A commit of ours, and the newest commit of theirs that was thinned before it (MGR-2).
    thinned: Option<(CommitDigest, Commit)>,
}

impl Graph for Commits {
    type Commit = CommitDigest;

    fn time(&self, commit: CommitDigest) -> Result<Time> {
        Ok(self.known(commit)?.1.commit.time)
    }

    fn parents(&self, commit: CommitDigest) -> Result<Vec<Edge<CommitDigest>>> {
        let (store, entry) = self.known(commit)?;
        let before = store.before(&entry)?;
        let first = before.map(|before| Edge::of_both(self.note((Arc::clone(&store), before))));
        let mut edges: Vec<_> = first.into_iter().collect();
        let thinned = self.thinned.as_ref().filter(|(after, _)| *after == commit);
        edges.extend(thinned.map(|(_, newest)| Edge::of_both(self.note(newest.clone()))));
        // MGR-1
        let [ours, theirs] = &self.not_made;
        let sides = Sides {
            ours: !ours.contains(&commit),
            theirs: !theirs.contains(&commit),
        };
        for parent in entry.commit.parents.iter().skip(1) {
            // The line of a dropped fork may be collected. Then an older commit is the base.
            if let Some(found) = store.commit_of_any(*parent)? {
                let parent = self.note(found);
                edges.push(Edge { parent, sides });
            }
        }
        Ok(edges)
    }
}

impl Commits {
    /// Makes the graph of two lines.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(super) fn of(ours: &Commit, theirs: &Commit) -> Result<Self> {
        let since = newest_shared(ours, theirs)?.map_or(0, |shared| shared.seq());
        Ok(Self {
            known: RefCell::default(),
            not_made: [not_made(ours, since)?, not_made(theirs, since)?],
            thinned: thinned_here(&ours.0, &theirs.0)?,
        })
    }

    fn note(&self, commit: Commit) -> CommitDigest {
        let name = commit.1.digest;
        self.known.borrow_mut().entry(name).or_insert(commit);
        name
    }

    pub(super) fn known(&self, commit: CommitDigest) -> Result<Commit> {
        let known = self.known.borrow().get(&commit).cloned();
        known.ok_or_else(|| Error::internal("a commit of a merge is not known"))
    }

    /// Returns the newest commits that both sides come from, newest first.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(super) fn bases(&self, ours: &Commit, theirs: &Commit) -> Result<Vec<Commit>> {
        let [ours, theirs] = [ours, theirs].map(|side| self.note(side.clone()));
        let found = common_ancestors(self, ours, theirs)?;
        found
            .into_iter()
            .take(BASES_MAX)
            .map(|commit| self.known(commit))
            .collect()
    }

    /// Returns the bases of a merge for the newest commits that both sides come from (MGR-3).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(super) fn as_pushed(&self, newest: Vec<Commit>, theirs: &Commit) -> Result<Vec<Commit>> {
        let pushed = newest.into_iter().map(|commit| {
            let pushed = pushed_from(theirs, commit)?;
            self.note(pushed.clone());
            Ok(pushed)
        });
        pushed.collect()
    }
}

/// Returns whether a commit is on a line of a remote.
pub(super) fn is_of_remote((store, _): &Commit) -> bool {
    store.line_name().is_some_and(|name| name.starts_with(REMOTE))
}

/// Returns the commit with which a push brought a commit of ours to their line, or that commit itself (MGR-3).
///
/// # Errors
/// `Corrupt` or `Io` if a commit cannot be read.
pub(in crate::engine::write) fn pushed_from(theirs: &Commit, ours: Commit) -> Result<Commit> {
    let (store, head) = theirs;
    let mut at = is_of_remote(theirs).then(|| Arc::clone(head));
    while let Some(commit) = at.take().filter(|commit| commit.commit.time > ours.1.commit.time) {
        let is_push = commit.commit.op.as_str() == Op::PUSH;
        if is_push && commit.commit.parents.get(1) == Some(&ours.1.digest) {
            return Ok((Arc::clone(store), commit));
        }
        at = store.before(&commit)?;
    }
    Ok(ours)
}

/// Returns the newest commit that both have on their chains of first parents.
pub(super) fn newest_shared(ours: &Commit, theirs: &Commit) -> Result<Option<Arc<CommitEntry>>> {
    let (ours, theirs) = (&ours.0, &theirs.0);
    if ours.line_name().is_none() && theirs.line_name().is_none() {
        return ours.head().map(Some);
    }
    ours.newest_shared(theirs)
}

/// Returns the newest commit of the line of a remote that was thinned on our line, and our next kept commit.
fn thinned_here(ours: &Arc<Store>, theirs: &Arc<Store>) -> Result<Option<(CommitDigest, Commit)>> {
    let base = theirs
        .base()
        .filter(|_| theirs.line_name().is_some_and(|name| name.starts_with(REMOTE)));
    let Some(base) = base.map_or(Ok(None), |base| ours.by_digest(base.digest))? else {
        return Ok(None);
    };
    let first = base.seq() + 1;
    let (Ok(next) | Err(next)) = ours.position(first)?;
    let Some(next) = ours.commit_at(next)? else {
        return Ok(None);
    };
    let thinned: HashSet<_> = ours.thinned_before(first, next.seq())?.into_iter().collect();
    let (mut newest, Ok(mut index) | Err(mut index)) = (None, theirs.position(first)?);
    while let Some(commit) = theirs
        .commit_at(index)?
        .filter(|commit| thinned.contains(&commit.digest))
    {
        newest = Some((next.digest, (Arc::clone(theirs), commit)));
        index += 1;
    }
    Ok(newest)
}

/// Returns the merges of a line after commit `since` that were taken back (MGR-1).
fn not_made((store, head): &Commit, since: u64) -> Result<BTreeSet<CommitDigest>> {
    let (mut merges, mut at) = (BTreeSet::new(), Some(Arc::clone(head)));
    while let Some(commit) = at.take().filter(|commit| commit.seq() > since) {
        if commit.commit.parents.len() > 1 {
            merges.insert(commit.digest);
        }
        at = store.before(&commit)?;
    }
    if merges.is_empty() {
        return Ok(merges);
    }
    let (mut is_undone, mut at) = (HashMap::<CommitDigest, bool>::new(), Some(Arc::clone(head)));
    while let Some(commit) = at.take().filter(|commit| commit.seq() > since) {
        let stands = !is_undone.get(&commit.digest).copied().unwrap_or_default();
        let target = commit.commit.target;
        if stands {
            merges.remove(&commit.digest);
        }
        // The newest undo or redo of a commit decides, and it is met first.
        match (commit.commit.op.as_str(), target) {
            (Op::UNDO, Some(target)) => drop(is_undone.entry(target).or_insert(true)),
            (Op::REDO, Some(target)) => drop(is_undone.entry(target).or_insert(false)),
            (Op::ROLLBACK, Some(target)) if stands => {
                at = store
                    .by_digest(target)?
                    .filter(|target| target.seq() < commit.seq());
            }
            _ => {}
        }
        if at.is_none() {
            at = store.before(&commit)?;
        }
    }
    Ok(merges)
}

/// Returns the newest commits from which both come, newest first.
///
/// # Errors
/// `Corrupt` or `Io` if a commit cannot be read.
#[cfg(feature = "remote")]
pub(in crate::engine::write) fn common_with(ours: &Commit, theirs: &Commit) -> Result<Vec<Commit>> {
    Commits::of(ours, theirs)?.bases(ours, theirs)
}

impl Inner {
    /// Returns whether another live line contains the newest commit of a line, because it merged it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(in crate::engine::write) fn is_merged(&self, line: &LineInfo) -> Result<bool> {
        let main = self.main().store();
        let Some(store) = main.line(&line.name)? else {
            return Ok(false);
        };
        let head = store.head()?;
        // A merge is later than what it brings in (CMT-3), so most lines need not be opened.
        let newer: Vec<_> = {
            let lines = main.lines();
            let newer = lines.live().filter(|other| other.time > head.commit.time);
            newer.map(|other| Arc::clone(&other.name)).collect()
        };
        let theirs = (store, head);
        let others = newer.iter().filter(|name| **name != line.name);
        for into in std::iter::once(None).chain(others.map(Some)) {
            let into = into.map_or(Ok(Some(Arc::clone(&main))), |name| main.line(name))?;
            // A line that begins in the fork has its commits, but merged nothing.
            let Some(into) = into.filter(|into| !into.begins_in(&theirs.0)) else {
                continue;
            };
            let head = into.head()?;
            let ours = (into, head);
            let bases = Commits::of(&ours, &theirs)?.bases(&ours, &theirs)?;
            if bases.first().is_some_and(|base| base.1.digest == theirs.1.digest) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the state of a commit.
///
/// # Errors
/// `Corrupt` or `Io` if it cannot be read.
pub(super) fn state_of((store, entry): &Commit) -> Result<State> {
    State::of(store, entry)
}
