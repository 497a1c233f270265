//! Nodes in storage: their bytes, their strict decoding, and loading them at the first access.
//!
//! A branch in storage contains its leaves completely. Of each child branch, it contains the digest, count and place. A
//! loaded node stays in memory as long as its parent, and every trie that shares the parent uses it.
//!
//! # Layer
//! Layer 3. Part of trie/. Knows bytes, but not where they are stored: the caller chooses `place`.
//!
//! # Invariants
//! See TRI-4 in trie/mod.rs. The digest covers key paths, object digests, the shape and the count of each node, but not
//! `place` and `created`. A wrong place leads to a node or record with another digest, which the reader refuses.
//! `created` is only as reliable as the storage.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::ops::Deref;
use std::sync::OnceLock;

use super::digest::{Gathered, HashKind, NodeHasher};
use super::entry::{Entry, LEVELS, Shape};
use super::node::{COUNT_MAX, Child, Children, Kind};
use crate::codec::{DecodeError, Reader};
use crate::digest::{DIGEST_LEN, HashAlgorithm, HashSuite, KeyPath, to_hex};
use crate::error::{Error, ErrorCode, Result};

/// The first byte of a leaf in storage. Zero is unused.
pub(super) const LEAF: u8 = 1;
/// The first byte of a branch in storage.
pub(super) const BRANCH: u8 = 2;

/// The handle of a node in storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredNode {
    /// The digest of the node.
    pub digest: [u8; 32],
    /// The number of leaves at and below the node.
    pub count: u64,
    /// The place of the node's bytes, as returned by the writer of a [`super::Saver`].
    pub place: u64,
}

/// Loads the bytes of stored nodes.
pub trait NodeSource: Sync {
    /// Returns the bytes that were written at `stored.place`. The trie verifies them.
    ///
    /// # Errors
    /// The error of the failed read.
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>>;

    /// Returns the hash of the stored nodes' digests.
    fn suite(&self) -> HashSuite;

    /// Returns the shape of the stored nodes' digests.
    fn shape(&self) -> Shape {
        Shape::State
    }
}

/// A reference or a shared pointer to a source is a source.
impl<P: Deref<Target: NodeSource> + Send + Sync> NodeSource for P {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        P::Target::load(self, stored)
    }

    fn suite(&self) -> HashSuite {
        P::Target::suite(self)
    }

    fn shape(&self) -> Shape {
        P::Target::shape(self)
    }
}

/// The source for a trie that is completely in memory, which loads nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl NodeSource for NoSource {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        Err(Error::internal(format!(
            "a trie that is completely in memory refers to the stored node {} at place {}",
            to_hex(&stored.digest),
            stored.place
        )))
    }

    fn suite(&self) -> HashSuite {
        HashSuite::new(HashAlgorithm::Blake3)
    }
}

/// A branch in storage, which its first access loads.
pub(super) struct StoredBranch {
    node: StoredNode,
    /// The kind of the digest in `node`.
    kind: HashKind,
    loaded: OnceLock<Child>,
}

impl StoredBranch {
    pub(super) fn node(&self) -> StoredNode {
        self.node
    }

    pub(super) fn kind(&self) -> HashKind {
        self.kind
    }

    /// Returns the branch if it is loaded.
    pub(super) fn loaded(&self) -> Option<&Child> {
        self.loaded.get()
    }

    /// Returns the branch; the first call loads and verifies it.
    #[inline]
    pub(super) fn load(&self, level: usize, source: &dyn NodeSource) -> Result<&Child> {
        if let Some(branch) = self.loaded.get() {
            return Ok(branch);
        }
        let branch = self.load_apart(level, source)?;
        Ok(self.loaded.get_or_init(|| branch))
    }

    /// Loads and verifies the branch without keeping it.
    pub(super) fn load_apart(&self, level: usize, source: &dyn NodeSource) -> Result<Child> {
        let branch = load_node(&self.node, level, source)?;
        if branch.is_leaf() {
            return Err(damaged(&self.node, "the node is a leaf instead of a branch"));
        }
        Ok(branch)
    }
}

pub(super) fn restore(stored: StoredNode, source: &dyn NodeSource) -> Result<Option<Child>> {
    let hasher = NodeHasher::of(source);
    match stored.count {
        0 if stored.digest == hasher.empty() => Ok(None),
        0 => Err(damaged(
            &stored,
            "the node has no entry and is not the empty trie",
        )),
        1 => {
            let child = load_node(&stored, 0, source)?;
            if !child.is_leaf() {
                return Err(damaged(&stored, "the node is a branch instead of a leaf"));
            }
            Ok(Some(child))
        }
        2..=COUNT_MAX => Ok(Some(stored_child(stored, hasher))),
        _ => Err(damaged(&stored, "the node counts too many entries for a trie")),
    }
}

fn stored_child(node: StoredNode, hasher: NodeHasher) -> Child {
    Child::stored(StoredBranch {
        node,
        kind: hasher.kind(),
        loaded: OnceLock::new(),
    })
}

fn damaged(node: &StoredNode, what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!(
        "the trie node at place {} is damaged: {what}",
        node.place
    ))
    .with_code(ErrorCode::CheckpointDamaged)
    .with_hint("rebuild the stored nodes from the log: the log contains all data of these nodes")
}

/// Loads a node and verifies it (TRI-4).
fn load_node(node: &StoredNode, level: usize, source: &dyn NodeSource) -> Result<Child> {
    let hasher = NodeHasher::of(source);
    let bytes = source.load(node)?;
    let (child, digest) = decode(&bytes, level, hasher).map_err(|error| damaged(node, error))?;
    compare(node, &digest, child.count())?;
    Ok(child)
}

/// Checks that the loaded node is the requested node.
pub(super) fn compare(node: &StoredNode, digest: &[u8; DIGEST_LEN], count: u64) -> Result<()> {
    if *digest != node.digest {
        let what = format!(
            "the digest of the node is {} instead of {}",
            to_hex(digest),
            to_hex(&node.digest)
        );
        return Err(damaged(node, what));
    }
    if count != node.count {
        let what = format!("the node counts {count} leaves instead of {}", node.count);
        return Err(damaged(node, what));
    }
    Ok(())
}

/// The number of bytes of a branch in a branch.
const NODE_BYTES: usize = DIGEST_LEN + 16;

/// Loads a branch and returns the branches directly below it, by digit. Verifies no digest, so the caller must only
/// compare the digests of these branches.
pub(super) fn branches_below(
    node: &StoredNode,
    level: usize,
    source: &dyn NodeSource,
) -> Result<[Option<StoredNode>; 16]> {
    let bytes = source.load(node)?;
    let mut below = [None; 16];
    let mut read = || {
        let mut reader = Reader::new(&bytes);
        if reader.u8()? != BRANCH || usize::from(reader.u8()?) != level {
            return Err(DecodeError::Invalid("the node is not a branch of this level"));
        }
        let (bitmap, leaves) = (reader.u16()?, reader.u16()?);
        for digit in (0..16).filter(|digit| bitmap & (1 << digit) != 0) {
            if leaves & (1 << digit) != 0 {
                reader.bytes(ENTRY_BYTES)?;
                continue;
            }
            let mut branch = Reader::new(reader.bytes(NODE_BYTES)?);
            below[digit] = Some(take_node(&mut branch)?);
        }
        Ok(())
    };
    read().map_err(|error| damaged(node, error))?;
    Ok(below)
}

fn take_node(reader: &mut Reader<'_>) -> Result<StoredNode, DecodeError> {
    Ok(StoredNode {
        digest: reader.array()?,
        count: reader.u64()?,
        place: reader.u64()?,
    })
}

/// The number of bytes of a leaf in a branch.
pub(super) const ENTRY_BYTES: usize = 80;

pub(super) fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    out.extend_from_slice(entry.key.as_bytes());
    out.extend_from_slice(&entry.digest);
    out.extend_from_slice(&entry.place.to_le_bytes());
    out.extend_from_slice(&entry.created.to_le_bytes());
}

fn take_entry(reader: &mut Reader<'_>) -> Result<Entry, DecodeError> {
    Ok(Entry {
        key: KeyPath::from_bytes(reader.array()?),
        digest: reader.array()?,
        place: reader.u64()?,
        created: reader.i64()?,
    })
}

/// Computes the digest of a node from its bytes in storage; returns `None` if the bytes are not a node.
pub fn stored_digest(bytes: &[u8], suite: HashSuite) -> Option<[u8; DIGEST_LEN]> {
    // A stored branch contains its level. Only its parent could verify the level, so this function trusts the level.
    let level = bytes.get(1).copied().unwrap_or_default();
    let hasher = NodeHasher::new(suite, Shape::State);
    let decoded = decode(bytes, usize::from(level), hasher).ok()?;
    Some(decoded.1)
}

/// Decodes a node at `level` and computes its digest.
fn decode(bytes: &[u8], level: usize, hasher: NodeHasher) -> Result<(Child, [u8; DIGEST_LEN]), DecodeError> {
    let mut reader = Reader::new(bytes);
    let decoded = match reader.u8()? {
        LEAF => {
            let entry = take_entry(&mut reader)?;
            let digest = hasher.leaf(&entry.key, &entry.digest);
            (Child::leaf(entry), digest)
        }
        BRANCH => decode_branch(&mut reader, level, hasher)?,
        other => return Err(DecodeError::Version(other)),
    };
    reader.finish()?;
    Ok(decoded)
}

fn decode_branch(
    reader: &mut Reader<'_>,
    level: usize,
    hasher: NodeHasher,
) -> Result<(Child, [u8; DIGEST_LEN]), DecodeError> {
    let mut children = Children::default();
    let (read, digest) = read_branch(reader, level, hasher, &mut |digit, slot| {
        let child = match slot {
            Slot::Leaf(entry) => Child::leaf(entry),
            Slot::Branch(node) => stored_child(node, hasher),
        };
        children.put(digit, Some(child));
    })?;
    let child = children.into_branch(read.count);
    if let Kind::Branch(branch) = child.get() {
        branch.cache_digest(hasher.kind(), &digest);
    }
    Ok((child, digest))
}

/// The child at one digit of a branch in storage.
pub(super) enum Slot {
    Leaf(Entry),
    Branch(StoredNode),
}

/// The header of a branch in storage.
pub(super) struct ReadBranch {
    pub(super) bitmap: u16,
    pub(super) count: u64,
}

/// Decodes the bytes of a branch after its kind byte. Passes each child with its digit to `visit`, and computes the
/// digest of the branch.
fn read_branch(
    reader: &mut Reader<'_>,
    level: usize,
    hasher: NodeHasher,
    visit: &mut dyn FnMut(usize, Slot),
) -> Result<(ReadBranch, [u8; DIGEST_LEN]), DecodeError> {
    let mut digests = Gathered::new();
    let read = read_slots(reader, level, &mut |digit, slot| {
        digests.push(match &slot {
            Slot::Leaf(entry) => hasher.leaf(&entry.key, &entry.digest),
            Slot::Branch(node) => node.digest,
        });
        visit(digit, slot);
    })?;
    let digest = hasher.branch(level, read.bitmap, read.count, digests.as_slice());
    Ok((read, digest))
}

/// Decodes a whole branch, and passes each child with its digit to `visit`. Verifies no digest.
pub(super) fn read_whole(
    node: &StoredNode,
    level: usize,
    bytes: &[u8],
    visit: &mut dyn FnMut(usize, Slot),
) -> Result<ReadBranch> {
    let mut reader = Reader::new(bytes);
    let mut read = || {
        if reader.u8()? != BRANCH {
            return Err(DecodeError::Invalid("the node is not a branch"));
        }
        read_slots(&mut reader, level, visit)
    };
    let read = read().and_then(|read| reader.finish().map(|()| read));
    read.map_err(|error| damaged(node, error))
}

/// Decodes the bytes of a branch after its kind byte. Passes each child with its digit to `visit`.
fn read_slots(
    reader: &mut Reader<'_>,
    level: usize,
    visit: &mut dyn FnMut(usize, Slot),
) -> Result<ReadBranch, DecodeError> {
    if usize::from(reader.u8()?) != level || level >= LEVELS {
        return Err(DecodeError::Invalid("a branch is at the wrong level"));
    }
    let bitmap = reader.u16()?;
    let leaves = reader.u16()?;
    if leaves & !bitmap != 0 {
        return Err(DecodeError::Invalid("a branch has a leaf outside of its bitmap"));
    }
    let mut count = 0_u64;
    for digit in (0..16).filter(|digit| bitmap & (1 << digit) != 0) {
        if leaves & (1 << digit) != 0 {
            let entry = take_entry(reader)?;
            if entry.key.nibble(level) != digit {
                return Err(DecodeError::Invalid(
                    "a branch has a leaf at a digit that differs from the key path of the leaf",
                ));
            }
            count += 1;
            visit(digit, Slot::Leaf(entry));
        } else {
            let node = take_node(reader)?;
            if level + 1 >= LEVELS || !(2..=COUNT_MAX).contains(&node.count) {
                return Err(DecodeError::Invalid(
                    "a branch is too deep, or counts too few or impossibly many leaves",
                ));
            }
            count += node.count;
            visit(digit, Slot::Branch(node));
        }
    }
    if !(2..=COUNT_MAX).contains(&count) {
        return Err(DecodeError::Invalid(
            "a branch has fewer than two leaves, or impossibly many",
        ));
    }
    Ok(ReadBranch { bitmap, count })
}
