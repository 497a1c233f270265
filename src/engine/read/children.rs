//! Finds the children of an object of a state. Uses the index of children, or the checkpoint and the changes since the
//! checkpoint. Builds the index if the checkpoint is damaged.
//!
//! The checkpoint lets a short-lived process, such as a command of the program, find some children without reading
//! every object.
//!
//! # Layer
//! Layer 5.

use std::collections::HashSet;

use crate::digest::KeyPath;
use crate::error::Result;
use crate::object::Id;

use super::{Family, Index, Source, State, index};

/// The maximal number of changes since the checkpoint that are read. If there are more changes, the index is built
/// instead.
const CHANGES_MAX: usize = 1 << 16;

/// The difference between the state of the checkpoint and another state.
pub(crate) struct Newer {
    /// The key paths of the objects that differ between the two states.
    changed: HashSet<KeyPath>,
    /// The index of children over the changed objects, as they are in the other state.
    children: Index,
}

impl Source {
    /// Returns the children of `id` in a state, in their order. Reads few objects if the state differs little from the
    /// state of the checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn children(&self, state: &State, id: &Id) -> Result<Box<dyn Iterator<Item = Id> + Send>> {
        let group = id.as_str().as_bytes();
        let is_indexed = self.index_at_hand(Family::Children, state).is_some();
        let key = state.store.suite.key_path(id.as_str());
        let covered = if is_indexed {
            None
        } else {
            state.store.covered_children(&key)?
        };
        let newer = match covered {
            Some(_) => Some(self.newer.get(state.clone(), || self.read_newer(state))?),
            None => None,
        };
        let newer = newer.as_deref().and_then(Option::as_ref);
        let (Some(newer), Some(covered)) = (newer, covered) else {
            let index = self.index(Family::Children, state)?;
            return Ok(Box::new(index.value().from(group, &[])));
        };
        let mut found: Vec<_> = newer.children.keys_from(group, &[]).collect();
        for key in covered.into_iter().filter(|key| !newer.changed.contains(key)) {
            let object = match state.entry_at(&key)? {
                Some(entry) => self.opened.or_passed_over(key, state.load(&entry))?,
                None => None,
            };
            if let Some(object) = object.filter(|object| object.parent() == Some(id.as_str())) {
                found.extend(index::keys_of(Family::Children, &object)?);
            }
        }
        found.sort_unstable();
        Ok(Box::new(found.into_iter().filter_map(|key| index::id_of(&key))))
    }

    /// Reads the changes since the checkpoint. Returns `None` if there is no checkpoint, or more than [`CHANGES_MAX`]
    /// changes.
    fn read_newer(&self, state: &State) -> Result<Option<Newer>> {
        let Some(covered) = state.store.covered_head()? else {
            return Ok(None);
        };
        let mut newer = Newer {
            changed: HashSet::new(),
            children: Index::new(Family::Children),
        };
        for change in covered.diff(&state.trie, &*state.store) {
            let change = change?;
            newer.changed.insert(change.key);
            if newer.changed.len() > CHANGES_MAX {
                return Ok(None);
            }
            if let Some(new) = &change.new
                && let Some(object) = self.opened.or_passed_over(new.key, state.load(new))?
            {
                newer.children.add_object(&object)?;
            }
        }
        Ok(Some(newer))
    }
}
