//! References, which name commits: snapshots, drafts, rejected changes and pins. Also maintains the ring of automatic
//! snapshots of each lane.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening. Stores references, but does not load the commits and
//! versions that they name.
//!
//! # Invariants
//! - CTL-2: the ring of a lane contains the newest [`RING`] automatic snapshots of the lane, oldest first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::digest::CommitDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Reference, ReferenceName};

/// The maximal number of automatic snapshots in a lane's ring.
pub(crate) const RING: usize = 20;

/// A reference, and the number of the batch that contains it.
#[derive(Clone)]
pub(crate) struct ReferenceEntry {
    pub(crate) reference: Arc<Reference>,
    pub(crate) batch: u64,
}

/// The current references by name, and the rings of the lanes.
#[derive(Clone, Default)]
pub(crate) struct References {
    by_name: BTreeMap<ReferenceName, ReferenceEntry>,
    /// The rings by line, empty for the main one, and by lane.
    rings: BTreeMap<(String, String), VecDeque<ReferenceName>>,
    /// The number of references that name each commit, without those of taints and signatures.
    named: HashMap<CommitDigest, usize>,
    /// The commits that lost their last name, until [`Self::take_released`] returns them.
    released: Vec<CommitDigest>,
}

impl References {
    pub(crate) fn get(&self, name: &ReferenceName) -> Option<&ReferenceEntry> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ReferenceEntry> {
        self.by_name.values()
    }

    /// Iterates the commits that must be kept because a reference names them.
    pub(crate) fn kept_commits(&self) -> impl Iterator<Item = (u64, CommitDigest)> {
        self.iter()
            .filter_map(|entry| Some((entry.batch, kept_commit(&entry.reference)?)))
    }

    /// Returns whether this session is tainted. The engine's `session.rs` describes taints.
    pub(crate) fn is_tainted(&self, session: &str) -> bool {
        ReferenceName::of_taint(session).is_ok_and(|name| self.by_name.contains_key(&name))
    }

    /// Iterates the automatic snapshots of a lane of a line, newest first. `None` is the main line.
    pub(crate) fn ring(&self, line: Option<&str>, lane: &str) -> impl Iterator<Item = &ReferenceEntry> {
        let names = self.rings.get(&ring_of(line, lane)).into_iter();
        let names = names.flat_map(|names| names.iter().rev());
        names.filter_map(|name| self.by_name.get(name))
    }

    /// Returns whether a reference names the commit, so that it must be kept.
    pub(super) fn names(&self, commit: &CommitDigest) -> bool {
        self.named.contains_key(commit)
    }

    /// Returns the commits that lost their last name since the previous call.
    pub(super) fn take_released(&mut self) -> Vec<CommitDigest> {
        std::mem::take(&mut self.released)
    }

    /// Adds a reference. Replaces an earlier reference with the same name. A reference without a commit removes the
    /// name.
    pub(super) fn push(&mut self, reference: Arc<Reference>, batch: u64) {
        let name = reference.name.clone();
        if reference.commit.is_none() {
            self.remove(&name);
            for names in self.rings.values_mut() {
                names.retain(|known| *known != name);
            }
            return;
        }
        if let Some(lane) = &reference.lane {
            let ring = ring_of(reference.line.as_deref(), lane);
            let names = self.rings.entry(ring).or_default();
            names.push_back(name.clone());
            // CTL-2: if the ring is full, drops its oldest snapshot.
            if names.len() > RING
                && let Some(oldest) = names.pop_front()
            {
                self.remove(&oldest);
            }
        }
        if let Some(commit) = kept_commit(&reference) {
            *self.named.entry(commit).or_default() += 1;
        }
        let replaced = self.by_name.insert(name, ReferenceEntry { reference, batch });
        self.released(replaced);
    }

    /// Removes the automatic snapshots of a line.
    pub(super) fn forget_rings(&mut self, line: &str) {
        let rings = std::mem::take(&mut self.rings);
        for (ring, names) in rings {
            if ring.0 == line {
                for name in &names {
                    self.remove(name);
                }
            } else {
                self.rings.insert(ring, names);
            }
        }
    }

    fn remove(&mut self, name: &ReferenceName) {
        let removed = self.by_name.remove(name);
        self.released(removed);
    }

    /// Notes that a reference no longer names its commit.
    fn released(&mut self, entry: Option<ReferenceEntry>) {
        let Some(commit) = entry.and_then(|entry| kept_commit(&entry.reference)) else {
            return;
        };
        if let Some(count) = self.named.get_mut(&commit) {
            *count -= 1;
            if *count == 0 {
                self.named.remove(&commit);
                self.released.push(commit);
            }
        }
    }
}

fn ring_of(line: Option<&str>, lane: &str) -> (String, String) {
    (line.unwrap_or_default().to_owned(), lane.to_owned())
}

/// Returns the commit that must be kept because the reference names it (REF-4).
pub(crate) fn kept_commit(reference: &Reference) -> Option<CommitDigest> {
    reference.commit.filter(|_| reference.name.keeps_commit())
}

/// Decodes a reference of a checkpoint.
///
/// # Errors
/// `Corrupt` (code `checkpoint_damaged`) if the bytes are not a reference.
pub(super) fn decode_reference(bytes: &[u8]) -> Result<Reference> {
    Reference::decode(bytes).map_err(|error| {
        Error::corrupt(format!("a checkpoint contains a damaged reference: {error}"))
            .with_code(ErrorCode::CheckpointDamaged)
    })
}
