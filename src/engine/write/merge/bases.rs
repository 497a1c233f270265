//! The version of an object from which both sides of a merge come. If there are several bases, merges theirs first.
//!
//! # Layer
//! Layer 5.

use std::collections::BTreeSet;

use super::base::common_ancestors;
use super::fields::{Base, MergedFields, Side, decide_fields, merge_fields};
use super::graph::{Commit, Commits, state_of};
use crate::digest::{CommitDigest, KeyPath, ObjectDigest};
use crate::engine::read::State;
use crate::engine::write::settle::{is_erased, is_same};
use crate::error::Result;
use crate::object::NewObject;
use crate::trie::{Change, Entry};

/// How often bases of bases are merged. A history with more crossings has more conflicts.
const DEPTH_MAX: usize = 8;

/// The objects that a side changed since a base, in the order of their key paths. With several bases, `old` is the version of
/// one of them.
pub(super) struct ChangedIn(Vec<Change>);

impl ChangedIn {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Change> {
        self.0.iter()
    }

    pub(super) fn has(&self, key: &KeyPath) -> bool {
        self.0.binary_search_by_key(key, |change| change.key).is_ok()
    }
}

/// What is known of the common version of an object.
#[derive(Clone)]
pub(super) enum Was {
    /// The object was not there.
    Absent,
    Version(Entry),
    /// Versions of several bases as one. The fields in conflict are unknown.
    Merged(Box<MergedFields>),
    Unknown,
}

impl Was {
    fn of(entry: Option<Entry>) -> Self {
        entry.map_or(Self::Absent, Self::Version)
    }

    /// Returns whether the side has the common version, or lacks the object as the base did.
    pub(super) fn is(&self, side: Option<Entry>) -> bool {
        match self {
            Self::Absent => side.is_none(),
            Self::Version(entry) => is_same(Some(*entry), side),
            Self::Merged(_) | Self::Unknown => false,
        }
    }

    /// Returns the digest of the common version, if it is one version.
    pub(super) fn digest(&self) -> Option<ObjectDigest> {
        match self {
            Self::Version(entry) => Some(ObjectDigest::from_bytes(entry.digest)),
            _ => None,
        }
    }

    /// Returns the common version, if it is one version.
    pub(super) fn entry(&self) -> Option<Entry> {
        match self {
            Self::Version(entry) => Some(*entry),
            _ => None,
        }
    }

    /// Merges the fields of two versions that come from this one.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(super) fn merge(
        &self,
        state: &State,
        [ours, theirs]: [&NewObject; 2],
        preferred: Side,
    ) -> Result<MergedFields> {
        self.as_base(state, |base| merge_fields(base, ours, theirs, preferred))
    }

    /// Merges as [`Self::merge`] does, after a decision for a side.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version cannot be read.
    pub(super) fn decide(
        &self,
        state: &State,
        [ours, theirs]: [&NewObject; 2],
        side: Side,
    ) -> Result<MergedFields> {
        self.as_base(state, |base| decide_fields(base, ours, theirs, side))
    }

    fn as_base<R>(&self, state: &State, merge: impl FnOnce(Base<'_>) -> R) -> Result<R> {
        Ok(match self {
            Self::Absent => merge(Base::Absent),
            Self::Unknown => merge(Base::Unknown),
            Self::Merged(base) => merge(Base::Known(&base.object, &base.conflicts)),
            Self::Version(entry) if is_erased(state, entry)? => merge(Base::Unknown),
            Self::Version(entry) => {
                let base = state.load(entry)?.to_new()?;
                merge(Base::Known(&base, &BTreeSet::new()))
            }
        })
    }
}

/// The commits from which both sides come.
pub(super) struct Bases<'a> {
    commits: &'a Commits,
    pub(super) all: Vec<Commit>,
    states: Vec<State>,
}

impl<'a> Bases<'a> {
    pub(super) fn new(commits: &'a Commits, all: Vec<Commit>) -> Result<Self> {
        let states = all.iter().map(state_of).collect::<Result<_>>()?;
        Ok(Self { commits, all, states })
    }

    /// Returns the objects in which `theirs` differs from a base.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read. The host may stop it.
    pub(super) fn changed_in(&self, theirs: &State) -> Result<ChangedIn> {
        let mut changed: Vec<Change> = Vec::new();
        for base in &self.states {
            for change in base.diff(theirs, &base.nodes_with(theirs)) {
                changed.push(change?);
            }
        }
        if self.states.len() > 1 {
            changed.sort_by_key(|change| change.key);
            changed.dedup_by(|later, kept| {
                let is_same = later.key == kept.key;
                if is_same {
                    *kept = *later;
                }
                is_same
            });
        }
        Ok(ChangedIn(changed))
    }

    /// Returns the common version of an object that they changed.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or version cannot be read.
    pub(super) fn before(&self, change: &Change) -> Result<Was> {
        match self.states.as_slice() {
            [_] => Ok(Was::of(change.old)),
            _ => self.merged_of_all(&change.key),
        }
    }

    /// Returns the common version of any object.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or version cannot be read.
    pub(super) fn was(&self, key: &KeyPath) -> Result<Was> {
        match self.states.as_slice() {
            [base] => Ok(Was::of(base.entry_at(key)?)),
            _ => self.merged_of_all(key),
        }
    }

    fn merged_of_all(&self, key: &KeyPath) -> Result<Was> {
        let all: Vec<CommitDigest> = self.all.iter().map(|(_, entry)| entry.digest).collect();
        self.merged(key, &all, DEPTH_MAX)
    }

    /// Merges the versions of an object in several commits.
    fn merged(&self, key: &KeyPath, commits: &[CommitDigest], depth: usize) -> Result<Was> {
        let mut all = Vec::with_capacity(commits.len());
        for commit in commits {
            let state = state_of(&self.commits.known(*commit)?)?;
            let entry = state.entry_at(key)?;
            all.push((*commit, state, entry));
        }
        let mut versions = all.iter();
        let Some((first, state, entry)) = versions.next() else {
            return Ok(Was::Unknown);
        };
        let mut merged = Was::of(*entry);
        for (commit, _, entry) in versions {
            let other = Was::of(*entry);
            if merged.is(*entry) {
                continue;
            }
            if depth == 0 {
                return Ok(Was::Unknown);
            }
            let above = common_ancestors(self.commits, *first, *commit)?;
            let above = self.merged(key, &above, depth - 1)?;
            merged = both(state, &above, &merged, &other)?;
        }
        Ok(merged)
    }
}

/// Returns the version that two bases have together. `above` is the one from which both come.
fn both(state: &State, above: &Was, one: &Was, other: &Was) -> Result<Was> {
    let is_above = |version: &Was| match (above, version) {
        (Was::Absent, Was::Absent) => true,
        (Was::Version(above), Was::Version(entry)) => is_same(Some(*above), Some(*entry)),
        _ => false,
    };
    if is_above(one) {
        return Ok(other.clone());
    }
    if is_above(other) {
        return Ok(one.clone());
    }
    let (Some(one), Some(other)) = (fields_of(state, one)?, fields_of(state, other)?) else {
        return Ok(Was::Unknown);
    };
    let mut merged = above.merge(state, [&one.object, &other.object], Side::Ours)?;
    merged.conflicts.extend(one.conflicts);
    merged.conflicts.extend(other.conflicts);
    Ok(Was::Merged(Box::new(merged)))
}

/// Returns the fields of a version; `None` if they are not known.
fn fields_of(state: &State, version: &Was) -> Result<Option<MergedFields>> {
    match version {
        Was::Absent | Was::Unknown => Ok(None),
        Was::Merged(merged) => Ok(Some((**merged).clone())),
        Was::Version(entry) if is_erased(state, entry)? => Ok(None),
        Was::Version(entry) => Ok(Some(MergedFields {
            object: state.load(entry)?.to_new()?,
            conflicts: BTreeSet::new(),
        })),
    }
}
