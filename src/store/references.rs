//! Names for commits: snapshots with their rings, drafts, rejected changes and pins.
//!
//! # Layer
//! Layer 4. Derived: built again from the log at each opening. Knows names, not the commits and versions that they
//! refer to.
//!
//! # Invariants
//! - CTL-2: a lane's ring contains its newest [`RING`] automatic snapshots, oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::object::{Reference, ReferenceName};

/// The number of automatic snapshots that a lane keeps.
pub(crate) const RING: usize = 20;

/// A reference with the number of its batch in the log.
pub(crate) struct ReferenceEntry {
    pub(crate) reference: Reference,
    pub(crate) batch: u64,
}

/// References by name.
#[derive(Default)]
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

    /// Iterates the automatic snapshots of a lane, newest first.
    pub(crate) fn ring(&self, lane: &str) -> impl Iterator<Item = &ReferenceEntry> {
        let names = self.rings.get(lane).into_iter();
        let names = names.flat_map(|names| names.iter().rev());
        names.filter_map(|name| self.by_name.get(name))
    }

    /// Adds a reference record. It replaces an earlier one of the same name. A full ring drops its oldest snapshot.
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
            // CTL-2: a full ring drops its oldest snapshot.
            if names.len() > RING
                && let Some(oldest) = names.pop_front()
            {
                self.by_name.remove(&oldest);
            }
        }
        self.by_name.insert(name, ReferenceEntry { reference, batch });
    }
}
