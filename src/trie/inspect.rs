//! Nodes for inspection: their content, their digest, and the bytes that the digest covers.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-2 in trie/mod.rs.
//!
//! # Format
//! docs/format.md, "The state trie".

use super::digest::{HEADER_PARTS, NodeHasher, child_digest};
use super::entry::LEVELS;
use super::{Entry, NodeSource, Shape, Trie};
use crate::digest::{DIGEST_LEN, HashSuite};
use crate::error::Result;

/// One node of a trie; see [`Trie::node`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The digest of the node.
    pub digest: [u8; 32],
    /// The bytes that the digest covers, without the context.
    pub preimage: Vec<u8>,
    /// The number of leaves at and below the node.
    pub count: u64,
    /// The kind of the node.
    pub kind: NodeKind,
}

/// The kind and content of a [`Node`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A leaf with its entry.
    Leaf(Entry),
    /// A branch with up to sixteen children, in the order of their digits.
    Branch(Vec<ChildNode>),
}

/// A child of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChildNode {
    /// The digit of the key path that leads to the child, below 16.
    pub digit: u8,
    /// The digest of the child.
    pub digest: [u8; 32],
    /// The number of leaves at and below the child.
    pub count: u64,
}

impl Node {
    /// Splits the preimage into its parts, each with a name.
    pub fn parts(&self) -> Vec<(&'static str, &[u8])> {
        const CHILDREN: [&str; 16] = [
            "child 0", "child 1", "child 2", "child 3", "child 4", "child 5", "child 6", "child 7",
            "child 8", "child 9", "child a", "child b", "child c", "child d", "child e", "child f",
        ];
        let names: Vec<(&'static str, usize)> = match &self.kind {
            NodeKind::Leaf(_) => vec![("key path", DIGEST_LEN), ("version", DIGEST_LEN)],
            NodeKind::Branch(children) => {
                let names = children
                    .iter()
                    .filter_map(|child| CHILDREN.get(usize::from(child.digit)));
                let children = names.map(|name| (*name, DIGEST_LEN));
                HEADER_PARTS.into_iter().chain(children).collect()
            }
        };
        let mut rest = self.preimage.as_slice();
        let parts = names.into_iter().map(|(name, length)| {
            let (bytes, others) = rest.split_at(length.min(rest.len()));
            rest = others;
            (name, bytes)
        });
        parts.collect()
    }
}

impl Trie {
    /// Returns the node at `path`, a list of digits below 16; the empty path leads to the top. Returns `None` if the
    /// path ends earlier or the trie is empty.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a stored node cannot be read.
    ///
    /// ```
    /// use treering::inspect::digest::{HashAlgorithm, HashSuite, KeyPath};
    /// use treering::inspect::trie::{Entry, NoSource, NodeKind, Shape, Trie};
    ///
    /// let suite = HashSuite::new(HashAlgorithm::Blake3);
    /// let mut trie = Trie::new();
    /// for id in ["one", "two"] {
    ///     let entry = Entry { key: suite.key_path(id), digest: [7; 32], place: 0, created: 0 };
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
            let Some(branch) = child.branch(level, source)? else {
                return Ok(None);
            };
            let mut children = branch.digits();
            let Some((_, next)) = children.find(|(known, _)| *known == usize::from(digit)) else {
                return Ok(None);
            };
            child = next;
        }
        let level = path.len();
        let digest = child_digest(child, level, hasher, source)?;
        let (count, kind, preimage) = match (child.entry(), child.branch(level, source)?) {
            (Some(entry), _) => {
                let preimage = [entry.key.as_bytes().as_slice(), &entry.digest].concat();
                (1, NodeKind::Leaf(*entry), preimage)
            }
            (None, None) => unreachable!("a node is either a leaf or a branch"),
            (None, Some(branch)) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Domain, HashAlgorithm};
    use crate::trie::NoSource;

    #[test]
    fn the_parts_of_a_preimage_are_what_the_hasher_wrote() {
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let mut trie = Trie::new();
        for number in 0..300_u32 {
            let entry = Entry {
                key: suite.key_path(&number.to_string()),
                digest: [7; DIGEST_LEN],
                place: 0,
                created: 0,
            };
            trie.insert(entry, &NoSource).unwrap();
        }
        let top = trie.node(&[], suite, Shape::State, &NoSource).unwrap().unwrap();
        let NodeKind::Branch(children) = &top.kind else {
            panic!("300 entries share a branch");
        };
        let below = trie
            .node(&[children[1].digit], suite, Shape::State, &NoSource)
            .unwrap()
            .unwrap();
        for (level, node) in [(0_u16, &top), (1, &below)] {
            let NodeKind::Branch(children) = &node.kind else {
                panic!("300 entries fill two levels");
            };
            let parts = node.parts();
            let bytes: Vec<u8> = parts.iter().flat_map(|(_, bytes)| *bytes).copied().collect();
            assert_eq!(bytes, node.preimage);
            assert_eq!(suite.hash_fixed(Domain::Branch, &[&bytes]), node.digest);
            let part = |name: &str| parts.iter().find(|(known, _)| *known == name).unwrap().1;
            let bitmap = children
                .iter()
                .fold(0_u16, |bitmap, child| bitmap | 1 << child.digit);
            assert_eq!(part("bitmap"), bitmap.to_le_bytes());
            assert_eq!(part("level"), level.to_le_bytes());
            assert_eq!(part("leaves"), node.count.to_le_bytes());
            let zeros = parts.iter().filter(|(name, _)| *name == "zeros");
            assert!(zeros.flat_map(|(_, bytes)| *bytes).all(|byte| *byte == 0));
            for child in children {
                assert_eq!(part(&format!("child {:x}", child.digit)), child.digest);
            }
        }
        let path: Vec<u8> = suite
            .key_path("0")
            .as_bytes()
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .collect();
        let leaf = (0..path.len())
            .find_map(|level| {
                let node = trie.node(&path[..level], suite, Shape::State, &NoSource).unwrap();
                node.filter(|node| node.count == 1)
            })
            .unwrap();
        let key = suite.key_path("0");
        assert_eq!(
            leaf.parts(),
            [
                ("key path", key.as_bytes().as_slice()),
                ("version", &[7; DIGEST_LEN])
            ]
        );
    }
}
