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

use triomphe::Arc;

use super::node::{Branch, Child, Kind};
use super::stored::loaded_branch;
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
    pairs: Vec<Pair>,
    /// The number of branches that the diff opened in both tries. The cost of the diff is proportional to this number.
    pub(super) visited: u64,
}

/// The two children at one position of the trie. At least one of the two children exists, and the two children are not
/// the same node.
#[derive(Clone)]
struct Pair {
    old: Option<Child>,
    new: Option<Child>,
    level: usize,
}

impl<'a> Diff<'a> {
    pub(super) fn new(old: Option<&Child>, new: Option<&Child>, source: &'a dyn NodeSource) -> Self {
        let mut diff = Self {
            source,
            pairs: Vec::new(),
            visited: 0,
        };
        diff.push(old, new, 0);
        diff
    }

    fn push(&mut self, old: Option<&Child>, new: Option<&Child>, level: usize) {
        let differ = match (old, new) {
            (Some(old), Some(new)) => !old.is_same(new),
            (None, None) => false,
            _ => true,
        };
        if differ {
            old.into_iter().chain(new).for_each(Child::touch);
            self.pairs.push(Pair {
                old: old.cloned(),
                new: new.cloned(),
                level,
            });
        }
    }

    fn step(&mut self) -> Result<Option<Change>> {
        while let Some(pair) = self.pairs.pop() {
            if let (Some(old), Some(new)) = (&pair.old, &pair.new)
                && let (Kind::Branch(old), Kind::Branch(new)) = (old.get(), new.get())
                && old.has_same_digest(new)
            {
                continue;
            }
            if is_branch(pair.old.as_ref()) || is_branch(pair.new.as_ref()) {
                self.open(&pair)?;
                continue;
            }
            let (old, new) = (entry_of(pair.old.as_ref()), entry_of(pair.new.as_ref()));
            match (old, new) {
                (Some(one), Some(two)) if one.key != two.key => {
                    // Two leaves with different keys at one position mean a removal and an addition.
                    let removed = Pair {
                        new: None,
                        ..pair.clone()
                    };
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
    fn open(&mut self, pair: &Pair) -> Result<()> {
        let Pair { old, new, level } = pair;
        let old_branch = self.branch(old.as_ref(), *level)?;
        let new_branch = self.branch(new.as_ref(), *level)?;
        for digit in (0..16).rev() {
            let old = match &old_branch {
                Some(branch) => branch.child(digit),
                None => old.as_ref().filter(|leaf| leads_to(leaf, *level, digit)),
            };
            let new = match &new_branch {
                Some(branch) => branch.child(digit),
                None => new.as_ref().filter(|leaf| leads_to(leaf, *level, digit)),
            };
            self.push(old, new, level + 1);
        }
        Ok(())
    }

    fn branch(&mut self, child: Option<&Child>, level: usize) -> Result<Option<Arc<Branch>>> {
        let Some(child) = child else { return Ok(None) };
        let branch = loaded_branch(child, level, self.source)?;
        self.visited += u64::from(branch.is_some());
        Ok(branch)
    }
}

fn is_branch(child: Option<&Child>) -> bool {
    child.is_some_and(Child::is_branch)
}

fn leads_to(child: &Child, level: usize, digit: usize) -> bool {
    matches!(child.get(), Kind::Leaf(entry) if entry.key.nibble(level) == digit)
}

fn entry_of(child: Option<&Child>) -> Option<Entry> {
    match child?.get() {
        Kind::Leaf(entry) => Some(*entry),
        Kind::Branch(_) => None,
    }
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
