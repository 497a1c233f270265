//! The difference of two tries, at a cost proportional to the changes.
//!
//! The diff walks both tries in step. The diff skips a pair of nodes that are the same node in memory or have equal
//! cached digests, because their subtrees are equal. After one update among a million entries, the diff visits only the
//! five or six branches on the path, in each trie.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! Changes come in the order of their key paths. The stack contains at most sixteen pairs for each level.
//!
//! # Format
//! None, because nothing here is stored.

use super::node::{Branch, Child};
use super::{Entry, NodeSource};
use crate::digest::KeyPath;
use crate::error::Result;

/// The change of one key between two tries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The key path.
    pub key: KeyPath,
    /// The entry before the change; `None` if the key was added.
    pub old: Option<Entry>,
    /// The entry after the change; `None` if the key was removed.
    pub new: Option<Entry>,
}

/// The changes between two tries; see [`super::Trie::diff`]. The iterator ends after an error.
pub struct Diff<'a> {
    source: &'a dyn NodeSource,
    /// The pairs still to compare; the pair with the smallest key paths is last.
    pairs: Vec<Pair<'a>>,
    /// The number of branches that the diff opened in both tries. The cost of the diff is proportional to this number.
    pub(super) visited: u64,
}

/// The two children at one position of the trie. At least one of the two children exists, and the two children are not
/// the same node.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: Option<&'a Child>,
    new: Option<&'a Child>,
    level: usize,
}

impl<'a> Diff<'a> {
    pub(super) fn new(old: Option<&'a Child>, new: Option<&'a Child>, source: &'a dyn NodeSource) -> Self {
        let mut diff = Self {
            source,
            pairs: Vec::new(),
            visited: 0,
        };
        diff.push(old, new, 0);
        diff
    }

    fn push(&mut self, old: Option<&'a Child>, new: Option<&'a Child>, level: usize) {
        let differ = match (old, new) {
            (Some(old), Some(new)) => !old.is_same(new),
            (None, None) => false,
            _ => true,
        };
        if differ {
            old.into_iter().chain(new).for_each(Child::touch);
            self.pairs.push(Pair { old, new, level });
        }
    }

    fn step(&mut self) -> Result<Option<Change>> {
        while let Some(pair) = self.pairs.pop() {
            if let (Some(old), Some(new)) = (pair.old, pair.new)
                && old.has_same_digest(new)
            {
                continue;
            }
            let is_leaf = |child: Option<&Child>| child.is_none_or(Child::is_leaf);
            if !is_leaf(pair.old) || !is_leaf(pair.new) {
                self.open(pair)?;
                continue;
            }
            let (old, new) = (entry_of(pair.old), entry_of(pair.new));
            match (old, new) {
                (Some(one), Some(two)) if one.key != two.key => {
                    // Two leaves with different keys at one position mean a removal and an addition.
                    let removed = Pair { new: None, ..pair };
                    let added = Pair { old: None, ..pair };
                    self.pairs.extend(if one.key < two.key {
                        [added, removed]
                    } else {
                        [removed, added]
                    });
                }
                (Some(one), Some(two)) if one.digest == two.digest => {}
                _ => {
                    if let Some(Entry { key, .. }) = old.or(new) {
                        return Ok(Some(Change { key, old, new }));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Pushes the children of a pair onto the stack. At least one node of the pair is a branch. If the other node is a
    /// leaf, it is paired with the child on its key path.
    fn open(&mut self, pair: Pair<'a>) -> Result<()> {
        let Pair { old, new, level } = pair;
        let old_branch = self.branch(old, level)?;
        let new_branch = self.branch(new, level)?;
        let child = |branch: Option<Branch<'a>>, node: Option<&'a Child>, digit| match branch {
            Some(branch) => branch.child(digit),
            None => node.filter(|leaf| leads_to(leaf, level, digit)),
        };
        for digit in (0..16).rev() {
            let (old, new) = (child(old_branch, old, digit), child(new_branch, new, digit));
            self.push(old, new, level + 1);
        }
        Ok(())
    }

    fn branch(&mut self, child: Option<&'a Child>, level: usize) -> Result<Option<Branch<'a>>> {
        let Some(child) = child else { return Ok(None) };
        let branch = child.branch(level, self.source)?;
        self.visited += u64::from(branch.is_some());
        Ok(branch)
    }
}

fn leads_to(child: &Child, level: usize, digit: usize) -> bool {
    child
        .entry()
        .is_some_and(|entry| entry.key.nibble(level) == digit)
}

fn entry_of(child: Option<&Child>) -> Option<Entry> {
    child?.entry().copied()
}

impl Iterator for Diff<'_> {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.pairs.clear();
        }
        step.transpose()
    }
}

impl std::iter::FusedIterator for Diff<'_> {}
