//! The chain of commits and the references, in memory.
//!
//! # Layer
//! L4. Derived: rebuilt from the log at open. Knows commits and names, not objects.
//!
//! # Invariants
//! - CTL-1: `commits[n]` has seq n, and its first parent is `commits[n - 1]`.
//! - CTL-2: a lane's ring holds its newest [`RING`] automatic snapshots, oldest first.
//! - CTL-3: `unlinked` with what rollbacks left behind knows every id that some state had and the newest has not;
//!   a rollback costs the same at any size, so what it took away is looked up at the next commit that links something.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use crate::digest::{CommitDigest, KeyPath, Root};
use crate::error::{Error, Result};
use crate::object::{Commit, Reference, ReferenceClass, ReferenceName};
use crate::trie::{NoSource, Trie};

/// How many automatic snapshots a lane keeps, and how many rejected changes a store keeps.
pub(crate) const RING: usize = 20;

/// The lane of commits without session and actor.
pub(super) const DEFAULT_LANE: &str = "default";

/// How many ids differ between two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Ids that only the newer state has.
    pub added: u64,
    /// Ids with another version in the newer state.
    pub changed: u64,
    /// Ids that only the older state has.
    pub removed: u64,
}

impl ChangeCounts {
    /// What ids come to, each given as whether the older and the newer state have it.
    pub(crate) fn of(changes: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        changes.for_each(|(old, new)| counts.add(old, new));
        counts
    }

    /// Counts one id whose versions in the two states differ.
    pub(crate) fn add(&mut self, old: bool, new: bool) {
        match (old, new) {
            (false, _) => self.added += 1,
            (true, true) => self.changed += 1,
            (true, false) => self.removed += 1,
        }
    }

    /// All of them together.
    pub fn total(self) -> u64 {
        self.added + self.changed + self.removed
    }
}

/// A kept commit with the state it names.
pub(crate) struct CommitEntry {
    pub(crate) digest: CommitDigest,
    pub(crate) commit: Commit,
    pub(crate) trie: Trie,
    /// The batch that holds the commit.
    pub(crate) batch: u64,
    /// What it changed, counted when first asked for.
    pub(crate) counts: OnceLock<ChangeCounts>,
}

/// The lane of a commit or reference: its session, else its actor, else `default`.
pub(crate) fn lane_of<'a>(session: Option<&'a str>, actor: Option<&'a str>) -> &'a str {
    session.or(actor).unwrap_or(DEFAULT_LANE)
}

impl CommitEntry {
    pub(crate) fn lane(&self) -> &str {
        lane_of(self.commit.session.as_deref(), self.commit.actor.as_deref())
    }

    pub(crate) fn seq(&self) -> u64 {
        self.commit.seq
    }
}

/// What a lane may undo and redo, as commit numbers, newest last.
#[derive(Clone, Default)]
pub(crate) struct Lane {
    pub(crate) undo: Vec<u64>,
    pub(crate) redo: Vec<u64>,
}

/// A reference as the log has it.
pub(crate) struct ReferenceEntry {
    pub(crate) reference: Reference,
    pub(crate) batch: u64,
}

/// Commits by number, digest and root; references by name.
#[derive(Default)]
pub(crate) struct Catalog {
    commits: Vec<Arc<CommitEntry>>,
    by_digest: BTreeMap<CommitDigest, u64>,
    /// The newest commit with each root.
    by_root: BTreeMap<Root, u64>,
    references: BTreeMap<ReferenceName, ReferenceEntry>,
    rings: BTreeMap<String, VecDeque<ReferenceName>>,
    rejected: VecDeque<ReferenceName>,
    lanes: HashMap<String, Lane>,
    /// The number of the commit that first wrote an id, for ids that were unlinked since.
    unlinked: HashMap<KeyPath, u32>,
    /// Commits whose state was left by a rollback, and whose ids are not in `unlinked` yet.
    left: Vec<u64>,
}

impl Catalog {
    pub(crate) fn commits(&self) -> &[Arc<CommitEntry>] {
        &self.commits
    }

    pub(crate) fn head(&self) -> Option<&Arc<CommitEntry>> {
        self.commits.last()
    }

    pub(crate) fn by_seq(&self, seq: u64) -> Option<&Arc<CommitEntry>> {
        self.commits.get(usize::try_from(seq).ok()?)
    }

    pub(crate) fn by_digest(&self, digest: CommitDigest) -> Option<&Arc<CommitEntry>> {
        self.by_seq(*self.by_digest.get(&digest)?)
    }

    pub(crate) fn by_root(&self, root: Root) -> Option<&Arc<CommitEntry>> {
        self.by_seq(*self.by_root.get(&root)?)
    }

    /// The commits whose digest starts with the bytes from `low` to `high`.
    pub(crate) fn commits_between(&self, low: CommitDigest, high: CommitDigest) -> Vec<u64> {
        self.by_digest.range(low..=high).map(|(_, &seq)| seq).collect()
    }

    /// For each root from `low` to `high`, the newest commit that has it.
    pub(crate) fn roots_between(&self, low: Root, high: Root) -> Vec<u64> {
        self.by_root.range(low..=high).map(|(_, &seq)| seq).collect()
    }

    pub(crate) fn reference(&self, name: &ReferenceName) -> Option<&ReferenceEntry> {
        self.references.get(name)
    }

    pub(crate) fn references(&self) -> impl Iterator<Item = &ReferenceEntry> {
        self.references.values()
    }

    /// The automatic snapshots of a lane, newest first.
    pub(crate) fn ring(&self, lane: &str) -> impl Iterator<Item = &ReferenceEntry> {
        let names = self
            .rings
            .get(lane)
            .into_iter()
            .flat_map(|names| names.iter().rev());
        names.filter_map(|name| self.references.get(name))
    }

    pub(crate) fn lane(&self, lane: &str) -> Lane {
        self.lanes.get(lane).cloned().unwrap_or_default()
    }

    /// The number of the commit that first wrote an id that the newest state does not have; CTL-3 must be
    /// settled.
    pub(crate) fn first_written(&self, key: &KeyPath) -> Option<u32> {
        debug_assert!(self.left.is_empty(), "CTL-3");
        self.unlinked.get(key).copied()
    }

    /// Whether [`Self::taken_away`] has something to tell.
    pub(super) fn is_settled(&self) -> bool {
        self.left.is_empty()
    }

    /// The ids that rollbacks took away and that are not noted yet, for [`Self::settle`]: costs what the rollbacks
    /// changed.
    pub(super) fn taken_away(&self) -> Result<Vec<(KeyPath, u32)>> {
        let mut gone = Vec::new();
        for &seq in &self.left {
            let after = seq.checked_add(1).and_then(|next| self.by_seq(next));
            let (Some(left), Some(after)) = (self.by_seq(seq), after) else {
                return Err(Error::internal(format!(
                    "no commit follows {seq}, which was left"
                )));
            };
            for change in left.trie.diff(&after.trie, &NoSource) {
                let change = change?;
                if let (Some(old), None) = (change.old, change.new) {
                    gone.push((change.key, old.since));
                }
            }
        }
        Ok(gone)
    }

    /// Notes what [`Self::taken_away`] told (CTL-3).
    pub(super) fn settle(&mut self, gone: Vec<(KeyPath, u32)>) {
        for (key, since) in gone {
            self.note_unlinked(key, since);
        }
        self.left.clear();
    }

    pub(super) fn note_unlinked(&mut self, key: KeyPath, since: u32) {
        let known = self.unlinked.entry(key).or_insert(since);
        *known = (*known).min(since);
    }

    pub(super) fn note_left(&mut self, seq: u64) {
        self.left.push(seq);
    }

    pub(super) fn push_commit(&mut self, entry: Arc<CommitEntry>) {
        let seq = entry.seq();
        debug_assert_eq!(seq, self.commits.len() as u64, "CTL-1");
        let lane = self.lanes.entry(entry.lane().to_owned()).or_default();
        let target = entry
            .commit
            .target
            .and_then(|digest| self.by_digest.get(&digest).copied());
        match (entry.commit.op.as_str(), target) {
            ("init", _) => {}
            ("undo", Some(target)) => {
                lane.undo.retain(|&seq| seq != target);
                lane.redo.push(target);
            }
            ("redo", Some(target)) => {
                lane.redo.retain(|&seq| seq != target);
                lane.undo.push(target);
            }
            _ => {
                lane.undo.push(seq);
                lane.redo.clear();
            }
        }
        self.by_digest.insert(entry.digest, seq);
        self.by_root.insert(entry.commit.root, seq);
        self.commits.push(entry);
    }

    /// Takes in a reference record; the newest of a name counts, and capped classes drop their oldest.
    pub(super) fn push_reference(&mut self, reference: Reference, batch: u64) {
        let name = reference.name.clone();
        if reference.commit.is_none() {
            self.references.remove(&name);
            self.rings
                .values_mut()
                .for_each(|names| names.retain(|known| *known != name));
            self.rejected.retain(|known| *known != name);
            return;
        }
        let capped = if let Some(lane) = &reference.lane {
            Some(self.rings.entry(lane.clone()).or_default())
        } else if name.class() == ReferenceClass::Rejected {
            Some(&mut self.rejected)
        } else {
            None
        };
        let dropped = capped.and_then(|names| {
            names.push_back(name.clone());
            // CTL-2: the oldest leaves when the ring is full.
            if names.len() > RING {
                names.pop_front()
            } else {
                None
            }
        });
        if let Some(dropped) = dropped {
            self.references.remove(&dropped);
        }
        self.references.insert(name, ReferenceEntry { reference, batch });
    }
}
