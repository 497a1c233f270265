//! Nodes as people look at them: what one holds, its digest, and the bytes that the digest covers.
//!
//! # Layer
//! L3. Part of trie/.
//!
//! # Invariants
//! TRI-2; see trie/mod.rs.
//!
//! # Format
//! docs/format.md, "The state trie".

use super::digest::{NodeHasher, child_digest};
use super::node::Kind;
use super::{Entry, LEVELS, NodeSource, Shape, Trie};
use crate::digest::HashSuite;
use crate::error::Result;

/// One node of a trie; see [`Trie::node`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its digest.
    pub digest: [u8; 32],
    /// The bytes that the digest covers, without the context.
    pub preimage: Vec<u8>,
    /// Leaves at and below it.
    pub count: u64,
    /// What it is.
    pub kind: NodeKind,
}

/// What a [`Node`] is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An entry.
    Leaf(Entry),
    /// Up to sixteen children, by rising digit.
    Branch(Vec<ChildNode>),
}

/// A child of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChildNode {
    /// The digit of the key path that leads to it, below 16.
    pub digit: u8,
    /// Its digest.
    pub digest: [u8; 32],
    /// Leaves at and below it.
    pub count: u64,
}

impl Trie {
    /// The node that the digits of `path` (each below 16) lead to from the top; the empty path is the top. `None` if
    /// the path ends earlier, and in an empty trie.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a stored node cannot be read.
    ///
    /// ```
    /// use treering::digest::{HashAlgorithm, HashSuite, KeyPath};
    /// use treering::trie::{Entry, NoSource, NodeKind, Shape, Trie};
    ///
    /// let suite = HashSuite::new(HashAlgorithm::Blake3);
    /// let mut trie = Trie::new();
    /// for id in ["one", "two"] {
    ///     let entry = Entry { key: suite.key_path(id), digest: [7; 32], place: 0, since: 0 };
    ///     trie.insert(entry, &NoSource)?;
    /// }
    /// let top = trie.node(&[], suite, Shape::State, &NoSource)?.expect("two entries have a top");
    /// assert_eq!(&top.digest, trie.root(suite, Shape::State, &NoSource)?.as_bytes());
    /// assert_eq!(top.count, 2);
    /// assert!(matches!(top.kind, NodeKind::Branch(_)));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn node(
        &self,
        path: &[u8],
        suite: HashSuite,
        shape: Shape,
        source: &dyn NodeSource,
    ) -> Result<Option<Node>> {
        let hasher = NodeHasher::new(suite, shape);
        let Some(mut child) = self.top.as_ref().filter(|_| path.len() <= LEVELS) else {
            return Ok(None);
        };
        for (level, &digit) in path.iter().enumerate() {
            let Kind::Branch(branch) = child.get() else {
                return Ok(None);
            };
            let branch = branch.loaded(level, source)?;
            let mut children = branch.digits();
            let Some((_, next)) = children.find(|(known, _)| *known == usize::from(digit)) else {
                return Ok(None);
            };
            child = next;
        }
        let level = path.len();
        let digest = child_digest(child, level, hasher, source)?;
        let (count, kind, preimage) = match child.get() {
            Kind::Leaf(entry) => {
                let preimage = [entry.key.as_bytes().as_slice(), &entry.digest].concat();
                (1, NodeKind::Leaf(*entry), preimage)
            }
            Kind::Branch(branch) => {
                let branch = branch.loaded(level, source)?;
                let mut children = Vec::with_capacity(branch.slots().len());
                for (digit, child) in branch.digits() {
                    children.push(ChildNode {
                        digit: digit as u8,
                        digest: child_digest(child, level + 1, hasher, source)?,
                        count: child.count(),
                    });
                }
                let mut preimage = NodeHasher::header(level, branch.bitmap(), branch.count()).to_vec();
                preimage.extend(children.iter().flat_map(|child| child.digest));
                (branch.count(), NodeKind::Branch(children), preimage)
            }
        };
        Ok(Some(Node {
            digest,
            preimage,
            count,
            kind,
        }))
    }
}
