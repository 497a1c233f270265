//! Iterates all entries in the order of their key paths. Uses a stack and no recursion.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! The stack is at most as long as the trie is deep. The stack owns its nodes, so the iterator may outlive the trie.
//!
//! # Format
//! None, because nothing here is stored.

use triomphe::Arc;

use super::node::{Branch, Child, Kind};
use super::stored::loaded_branch;
use super::{Entry, NodeSource};
use crate::error::Result;

/// The entries of a trie; see [`super::Trie::iter`]. The iterator ends after an error.
pub struct Iter<S> {
    source: S,
    /// The top of the trie. The first call moves it to the stack.
    top: Option<Child>,
    /// The branches on the path to the current entry, each with the position of the child to visit next.
    path: Vec<(Arc<Branch>, usize)>,
}

impl<S: NodeSource> Iter<S> {
    pub(super) fn new(top: Option<Child>, source: S) -> Self {
        Self {
            source,
            top,
            path: Vec::new(),
        }
    }

    fn enter(&mut self, branch: Arc<Branch>) {
        branch.touch_children();
        self.path.push((branch, 0));
    }

    fn step(&mut self) -> Result<Option<Entry>> {
        if let Some(top) = self.top.take() {
            match loaded_branch(&top, 0, &self.source)? {
                Some(branch) => self.enter(branch),
                None => return Ok(leaf_of(&top)),
            }
        }
        loop {
            let level = self.path.len();
            let Some((branch, position)) = self.path.last_mut() else {
                return Ok(None);
            };
            let Some(child) = branch.slots().get(*position) else {
                self.path.pop();
                continue;
            };
            *position += 1;
            match loaded_branch(child, level, &self.source)? {
                Some(branch) => self.enter(branch),
                None => return Ok(leaf_of(child)),
            }
        }
    }
}

fn leaf_of(child: &Child) -> Option<Entry> {
    match child.get() {
        Kind::Leaf(entry) => Some(*entry),
        Kind::Branch(_) => None,
    }
}

impl<S: NodeSource> Iterator for Iter<S> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.path.clear();
        }
        step.transpose()
    }
}

impl<S: NodeSource> std::iter::FusedIterator for Iter<S> {}
