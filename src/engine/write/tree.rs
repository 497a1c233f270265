//! The tree of parents: each parent exists, no object is its own ancestor, and no removal leaves children without a
//! parent.
//!
//! The check uses the state after the commit, which also includes the commits of other writers.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - TRE-1: in every committed state, the parent of each object exists.
//! - TRE-2: in every committed state, no chain of parents is a cycle.

use std::collections::{BTreeMap, HashSet};

use crate::digest::KeyPath;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};

use super::named;
use crate::engine::read::{Source, State};

/// An id that a commit creates, changes or removes, with its parent after the commit.
#[derive(Clone)]
pub(crate) struct Placed {
    pub(crate) id: Id,
    /// Whether the id exists after the commit.
    pub(crate) exists: bool,
    pub(crate) parent: Option<Id>,
    /// Whether the commit creates or removes the id, or gives it another parent.
    pub(crate) moved: bool,
}

/// Checks TRE-1 and TRE-2 for the state after a commit. `placed` contains the ids that the commit changes.
///
/// # Errors
/// `InvalidInput`, naming the affected ids.
pub(crate) fn check(source: &Source, before: &State, placed: &BTreeMap<KeyPath, Placed>) -> Result<()> {
    let tree = Tree {
        source,
        before,
        placed,
    };
    tree.check_parents()?;
    tree.check_orphans()?;
    tree.check_cycles()
}

/// The state before a commit, with the ids that the commit changes.
struct Tree<'a> {
    source: &'a Source,
    before: &'a State,
    placed: &'a BTreeMap<KeyPath, Placed>,
}

impl Tree<'_> {
    fn check_parents(&self) -> Result<()> {
        for Placed { id, parent, .. } in self.placed.values() {
            if let Some(parent) = parent
                && !self.exists(parent)?
            {
                return Err(
                    Error::invalid(format!("the parent '{parent}' of '{id}' does not exist"))
                        .with_code(ErrorCode::NoParent)
                        .with_ids(vec![id.to_string(), parent.to_string()])
                        .with_hint("put the parent first, or in the same commit"),
                );
            }
        }
        Ok(())
    }

    fn key(&self, id: &Id) -> KeyPath {
        self.before.store.suite.key_path(id.as_str())
    }

    fn exists(&self, id: &Id) -> Result<bool> {
        let key = self.key(id);
        match self.placed.get(&key) {
            Some(placed) => Ok(placed.exists),
            None => Ok(self.before.entry_at(&key)?.is_some()),
        }
    }

    fn parent_after(&self, key: &KeyPath) -> Result<Option<KeyPath>> {
        match self.placed.get(key) {
            Some(placed) => Ok(placed.parent.as_ref().map(|parent| self.key(parent))),
            None => {
                let object = self.before.object_at(key)?;
                let parent = object.as_ref().and_then(Object::parent);
                Ok(parent.map(|parent| self.before.store.suite.key_path(parent)))
            }
        }
    }

    fn check_orphans(&self) -> Result<()> {
        for Placed { id, .. } in self.placed.values().filter(|placed| !placed.exists) {
            // Skips children in `placed`, because `check_parents` checks their parent after the commit.
            let children = self.source.children(self.before, id)?;
            let left: Vec<_> = children
                .filter(|child| !self.placed.contains_key(&self.key(child)))
                .take(10)
                .map(|child| child.to_string())
                .collect();
            if !left.is_empty() {
                return Err(Error::invalid(format!("'{id}' has children: {}", named(&left)))
                    .with_code(ErrorCode::HasChildren)
                    .with_ids(left)
                    .with_hint(
                        "remove the children too (`remove --recursive`), or give the children another parent",
                    ));
            }
        }
        Ok(())
    }

    /// Follows the parents of each id that got another parent, because every new cycle contains such an id. Skips a new
    /// id whose parent was not moved, because a cycle through it also contains an id that was moved.
    fn check_cycles(&self) -> Result<()> {
        let mut ends = HashSet::new();
        for (key, placed) in self.placed.iter().filter(|(_, placed)| placed.moved) {
            let Some(parent) = &placed.parent else { continue };
            if !self.placed.contains_key(&self.key(parent)) && self.before.entry_at(key)?.is_none() {
                continue;
            }
            let mut walked = HashSet::new();
            let mut next = Some(*key);
            while let Some(key) = next.filter(|key| !ends.contains(key)) {
                if !walked.insert(key) {
                    let id = placed.id.to_string();
                    return Err(Error::invalid(format!("'{id}' would be its own ancestor"))
                        .with_code(ErrorCode::ParentCycle)
                        .with_ids(vec![id]));
                }
                next = self.parent_after(&key)?;
            }
            ends.extend(walked);
        }
        Ok(())
    }
}
