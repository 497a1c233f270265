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

use super::node::{Child, Kind};
use super::{Entry, NodeSource};
use crate::error::Result;

/// The entries of a trie; see [`super::Trie::iter`]. The iterator ends after an error.
pub struct Iter<S> {
    source: S,
    /// The top of the trie. The first call moves it to the stack.
    top: Option<Child>,
    /// The branches on the path to the current entry, each with the position of the child to visit next.
    path: Vec<(Child, usize)>,
}

impl<S: NodeSource> Iter<S> {
    pub(super) fn new(top: Option<Child>, source: S) -> Self {
        Self {
            source,
            top,
            path: Vec::new(),
        }
    }

    fn step(&mut self) -> Result<Option<Entry>> {
        let mut next = self.top.take();
        loop {
            if let Some(child) = next.take() {
                if let Some(entry) = child.entry() {
                    return Ok(Some(*entry));
                }
                let branch = child.in_memory(self.path.len(), &self.source)?;
                if let Kind::Branch(branch) = branch.get() {
                    branch.touch_children();
                }
                self.path.push((branch, 0));
            }
            let Some((branch, position)) = self.path.last_mut() else {
                return Ok(None);
            };
            let slots = match branch.get() {
                Kind::Branch(branch) => branch.slots(),
                _ => &[],
            };
            let child = slots.get(*position);
            *position += 1;
            match child.map(|child| (child.entry(), child)) {
                Some((Some(entry), _)) => return Ok(Some(*entry)),
                Some((None, child)) => next = Some(child.clone()),
                None => drop(self.path.pop()),
            }
        }
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
