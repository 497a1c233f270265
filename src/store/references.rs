//! References, which name commits: snapshots, drafts, rejected changes and pins. Also maintains the ring of automatic
//! snapshots of each lane.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening. Stores references, but does not load the commits and
//! versions that they name.
//!
//! # Invariants
//! - CTL-2: the ring of a lane contains the newest [`RING`] automatic snapshots of the lane, oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::digest::CommitDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Reference, ReferenceName};

/// The maximal number of automatic snapshots in a lane's ring.
pub(crate) const RING: usize = 20;

/// A reference, and the number of the batch that contains it.
#[derive(Clone)]
pub(crate) struct ReferenceEntry {
    pub(crate) reference: Reference,
    pub(crate) batch: u64,
}

/// The current references by name, and the rings of the lanes.
#[derive(Clone, Default)]
pub(crate) struct References {
    by_name: BTreeMap<ReferenceName, ReferenceEntry>,
    rings: BTreeMap<String, VecDeque<ReferenceName>>,
}

impl References {
    pub(crate) fn get(&self, name: &ReferenceName) -> Option<&ReferenceEntry> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ReferenceEntry> {
        self.by_name.values()
    }

    /// Iterates the commits that must be kept because a reference names them. The commit of a taint need not be kept
    /// (REF-4).
    pub(crate) fn kept_commits(&self) -> impl Iterator<Item = (u64, CommitDigest)> {
        let kept = self.iter().filter(|entry| !entry.reference.name.is_taint());
        kept.filter_map(|entry| Some((entry.batch, entry.reference.commit?)))
    }

    /// Returns whether this session is tainted. The engine's `session.rs` describes taints.
    pub(crate) fn is_tainted(&self, session: &str) -> bool {
        ReferenceName::of_taint(session).is_ok_and(|name| self.by_name.contains_key(&name))
    }

    /// Iterates the automatic snapshots of a lane, newest first.
    pub(crate) fn ring(&self, lane: &str) -> impl Iterator<Item = &ReferenceEntry> {
        let names = self.rings.get(lane).into_iter();
        let names = names.flat_map(|names| names.iter().rev());
        names.filter_map(|name| self.by_name.get(name))
    }

    /// Adds a reference. Replaces an earlier reference with the same name. A reference without a commit removes the
    /// name.
    pub(super) fn push(&mut self, reference: Reference, batch: u64) {
        let name = reference.name.clone();
        if reference.commit.is_none() {
            self.by_name.remove(&name);
            for names in self.rings.values_mut() {
                names.retain(|known| *known != name);
            }
            return;
        }
        if let Some(lane) = &reference.lane {
            let names = self.rings.entry(lane.clone()).or_default();
            names.push_back(name.clone());
            // CTL-2: if the ring is full, drops its oldest snapshot.
            if names.len() > RING
                && let Some(oldest) = names.pop_front()
            {
                self.by_name.remove(&oldest);
            }
        }
        self.by_name.insert(name, ReferenceEntry { reference, batch });
    }
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
