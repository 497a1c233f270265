//! The children of objects in a state, from the index of children or from the checkpoint and the changes since. If the
//! checkpoint is damaged, the index is built.
//!
//! A short-lived process, such as each command of the program, should not read every object to find some children.
//!
//! # Layer
//! Layer 5.

use std::collections::HashSet;
use std::sync::Arc;

use crate::digest::{KeyPath, Root};
use crate::error::Result;
use crate::object::Id;
use crate::store::Store;
use crate::threads::Mutex;

use super::index::{self, Family, Index, IndexCache};
use super::state::State;
use crate::engine::opened::Opened;

/// The maximal number of changes since the checkpoint to read; above it, the index is built.
const CHANGES_MAX: usize = 1 << 16;

/// The children of the objects of one state.
pub(crate) struct Children<'a> {
    opened: &'a Opened,
    indexes: &'a IndexCache,
    state: State,
    /// The changes since the checkpoint; `None` if the index is used.
    newer: Option<Arc<Newer>>,
}

/// The difference between the state of the checkpoint and another state.
pub(crate) struct Newer {
    root: Root,
    /// The store of the checkpoint.
    store: Arc<Store>,
    /// Objects that differ between the two states.
    changed: HashSet<KeyPath>,
    /// The children of the other state that are among the changed objects.
    children: Index,
}

impl<'a> Children<'a> {
    /// Returns the children in a state. Reads few objects if the state is close to that of the checkpoint.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn of_state(
        opened: &'a Opened,
        indexes: &'a IndexCache,
        kept: &Mutex<Option<Arc<Newer>>>,
        state: State,
    ) -> Result<Self> {
        let newer = match indexes.at_hand(Family::Children, state.root) {
            Some(_) => None,
            None => newer(opened, kept, &state)?,
        };
        Ok(Self {
            opened,
            indexes,
            state,
            newer,
        })
    }

    /// Returns the children of `id` in their order.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn of(&self, id: &Id) -> Result<Box<dyn Iterator<Item = Id> + Send>> {
        let (opened, state, group) = (self.opened, &self.state, id.as_str().as_bytes());
        let covered = match &self.newer {
            Some(_) => state
                .store
                .covered_children(&state.store.suite.key_path(id.as_str()))?,
            None => None,
        };
        let (Some(newer), Some(covered)) = (&self.newer, covered) else {
            let index = self.indexes.get(Family::Children, opened, state.clone())?;
            return Ok(Box::new(index.group(group)));
        };
        let mut found: Vec<_> = newer.children.keys_from(group, &[]).collect();
        for key in covered.into_iter().filter(|key| !newer.changed.contains(key)) {
            let Some(entry) = state.entry_at(&key)? else {
                continue;
            };
            let Some(object) = opened.or_passed_over(key, state.load(&entry))? else {
                continue;
            };
            if object.parent() == Some(id.as_str()) {
                found.extend(index::keys_of(Family::Children, &object)?);
            }
        }
        found.sort_unstable();
        Ok(Box::new(found.into_iter().filter_map(|key| index::id_of(&key))))
    }
}

/// Returns the changes since the checkpoint; `None` without a checkpoint, or after too many changes.
fn newer(opened: &Opened, kept: &Mutex<Option<Arc<Newer>>>, state: &State) -> Result<Option<Arc<Newer>>> {
    let mut kept = kept.lock();
    if let Some(known) = kept
        .as_ref()
        .filter(|known| known.root == state.root && Arc::ptr_eq(&known.store, &state.store))
    {
        return Ok(Some(Arc::clone(known)));
    }
    // Asks for an absent key, to learn whether the checkpoint can answer.
    let nothing = KeyPath::from_bytes([0; 32]);
    let covered = match state.store.covered_children(&nothing)? {
        Some(_) => state.store.covered_head()?,
        None => None,
    };
    let Some(covered) = covered else {
        return Ok(None);
    };
    let mut newer = Newer {
        root: state.root,
        store: Arc::clone(&state.store),
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
            && let Some(object) = opened.or_passed_over(new.key, state.load(new))?
        {
            newer.children.add_object(&object)?;
        }
    }
    let newer = Arc::new(newer);
    *kept = Some(Arc::clone(&newer));
    Ok(Some(newer))
}
