//! Nodes in storage: their bytes, their strict decoding, and loading them on first touch.
//!
//! A branch in storage holds its leaves whole and its branches by digest, count and place. What was loaded
//! stays in memory for as long as the node that led to it, for every trie that shares that node.
//!
//! # Layer
//! L3. Part of trie/. Knows bytes, not where they are: `place` is the caller's.
//!
//! # Invariants
//! TRI-4; see trie/mod.rs. The digest covers key paths, object digests, the shape and the count of each
//! node, but not `place` and `created`: a wrong place leads to a node or a record with another digest, which
//! is refused there; `created` is only as good as the storage.
//!
//! # Format
//! docs/proofs.md, "Nodes in storage".

use std::sync::OnceLock;

use triomphe::Arc;

use super::digest::{Gathered, NodeHasher};
use super::node::{Branch, COUNT_MAX, Child, Children};
use super::{Entry, LEVELS, Shape};
use crate::codec::{DecodeError, Reader};
use crate::digest::{DIGEST_LEN, HashAlgorithm, HashSuite, KeyPath, to_hex};
use crate::error::{Error, ErrorCode, Result};

/// Kinds of a node in storage. Zero is never one.
pub(super) const LEAF: u8 = 1;
pub(super) const BRANCH: u8 = 2;

/// What is known of a node that is in storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredNode {
    /// The digest of the node.
    pub digest: [u8; 32],
    /// Leaves at or below it.
    pub count: u64,
    /// Where its bytes are; what the writer of a [`super::Saver`] returned.
    pub place: u64,
}

/// Delivers the bytes of stored nodes.
pub trait NodeSource: Sync {
    /// The bytes that were written at `stored.place`. They need not be verified: the trie does that.
    ///
    /// # Errors
    /// Whatever kept the bytes from being read.
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>>;

    /// The hash of the stored nodes' digests.
    fn suite(&self) -> HashSuite;

    /// The shape of the stored nodes' digests.
    fn shape(&self) -> Shape {
        Shape::State
    }
}

impl<S: NodeSource + Send + ?Sized> NodeSource for std::sync::Arc<S> {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        S::load(self, stored)
    }

    fn suite(&self) -> HashSuite {
        S::suite(self)
    }

    fn shape(&self) -> Shape {
        S::shape(self)
    }
}

impl<S: NodeSource + ?Sized> NodeSource for &S {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        S::load(self, stored)
    }

    fn suite(&self) -> HashSuite {
        S::suite(self)
    }

    fn shape(&self) -> Shape {
        S::shape(self)
    }
}

/// The source of a trie that is wholly in memory: it has nothing to load.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl NodeSource for NoSource {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        Err(Error::internal(format!(
            "a trie in memory has a stored node, {}, at place {}",
            to_hex(&stored.digest),
            stored.place
        )))
    }

    fn suite(&self) -> HashSuite {
        HashSuite::new(HashAlgorithm::Blake3)
    }
}

/// The inside of a branch that is in storage.
#[derive(Clone)]
pub(super) struct StoredBranch {
    node: StoredNode,
    loaded: OnceLock<Arc<Branch>>,
}

impl StoredBranch {
    fn new(node: StoredNode) -> Self {
        Self {
            node,
            loaded: OnceLock::new(),
        }
    }

    pub(super) fn node(&self) -> StoredNode {
        self.node
    }

    /// The branch, if it was loaded.
    pub(super) fn in_memory(&self) -> Option<&Arc<Branch>> {
        self.loaded.get()
    }

    /// The branch, loaded and verified at the first call.
    fn load(&self, level: usize, source: &dyn NodeSource) -> Result<&Arc<Branch>> {
        if let Some(branch) = self.loaded.get() {
            return Ok(branch);
        }
        let branch = self.load_apart(level, source)?;
        Ok(self.loaded.get_or_init(|| branch))
    }

    /// The branch, loaded and verified, and not kept here.
    pub(super) fn load_apart(&self, level: usize, source: &dyn NodeSource) -> Result<Arc<Branch>> {
        let loaded = load_node(&self.node, level, source)?.share_branch();
        loaded.ok_or_else(|| damaged(&self.node, "it is a leaf where a branch has to be"))
    }
}

impl Branch {
    /// This branch with its children, loaded if it is stored.
    #[inline]
    pub(super) fn loaded(&self, level: usize, source: &dyn NodeSource) -> Result<&Self> {
        match self.children() {
            Children::Loaded(_) => Ok(self),
            Children::Stored(stored) => Ok(stored.load(level, source)?),
        }
    }
}

/// Replaces a stored branch by its loaded self.
pub(super) fn ensure_loaded(branch: &mut Arc<Branch>, level: usize, source: &dyn NodeSource) -> Result<()> {
    if let Children::Stored(stored) = branch.children() {
        *branch = stored.load(level, source)?.clone();
    }
    Ok(())
}

/// The branch that `child` is, shared and loaded; `None` for a leaf.
pub(super) fn loaded_branch(
    child: &Child,
    level: usize,
    source: &dyn NodeSource,
) -> Result<Option<Arc<Branch>>> {
    let Some(mut branch) = child.share_branch() else {
        return Ok(None);
    };
    ensure_loaded(&mut branch, level, source)?;
    Ok(Some(branch))
}

pub(super) fn restore(stored: StoredNode, source: &dyn NodeSource) -> Result<Option<Child>> {
    let hasher = NodeHasher::of(source);
    match stored.count {
        0 if stored.digest == hasher.empty() => Ok(None),
        0 => Err(damaged(&stored, "it has no entry and is not the empty trie")),
        1 => {
            let child = load_node(&stored, 0, source)?;
            if child.is_branch() {
                return Err(damaged(&stored, "it is a branch where a leaf has to be"));
            }
            Ok(Some(child))
        }
        2..=COUNT_MAX => Ok(Some(stored_child(stored, hasher))),
        _ => Err(damaged(&stored, "it counts more entries than a trie holds")),
    }
}

fn stored_child(node: StoredNode, hasher: NodeHasher) -> Child {
    Child::branch(Arc::new(Branch::stored(StoredBranch::new(node), hasher.kind())))
}

fn damaged(node: &StoredNode, what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!(
        "the trie node at place {} is damaged: {what}",
        node.place
    ))
    .with_code(ErrorCode::CheckpointDamaged)
    .with_hint("this copy of the nodes is derived: build it anew from the log")
}

/// Loads a node and verifies it (TRI-4).
fn load_node(node: &StoredNode, level: usize, source: &dyn NodeSource) -> Result<Child> {
    let hasher = NodeHasher::of(source);
    let bytes = source.load(node)?;
    let (child, digest) = decode(&bytes, level, hasher).map_err(|error| damaged(node, error))?;
    compare(node, &digest, child.count())?;
    Ok(child)
}

/// Whether a node is the one that was asked for.
fn compare(node: &StoredNode, digest: &[u8; DIGEST_LEN], count: u64) -> Result<()> {
    if *digest != node.digest {
        let what = format!(
            "its digest is {} instead of {}",
            to_hex(digest),
            to_hex(&node.digest)
        );
        return Err(damaged(node, what));
    }
    if count != node.count {
        let what = format!("it counts {count} leaves instead of {}", node.count);
        return Err(damaged(node, what));
    }
    Ok(())
}

/// Loads a branch, verifies it, and says which branches are right below it (TRI-4). Nothing of it stays in memory.
pub(super) fn verify_branch(
    node: &StoredNode,
    level: usize,
    source: &dyn NodeSource,
) -> Result<Vec<(usize, StoredNode)>> {
    let mut below = Vec::new();
    let bytes = source.load(node)?;
    let mut read = || {
        let mut reader = Reader::new(&bytes);
        if reader.u8()? != BRANCH {
            return Err(DecodeError::Invalid("it is no branch"));
        }
        let read = read_branch(&mut reader, level, NodeHasher::of(source), &mut |digit, slot| {
            if let Slot::Branch(node) = slot {
                below.push((digit, node));
            }
        })?;
        reader.finish()?;
        Ok(read)
    };
    let read = read().map_err(|error| damaged(node, error))?;
    compare(node, &read.digest, read.count)?;
    Ok(below)
}

/// Bytes of a leaf in a branch.
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

/// The digest of a node, from its bytes in storage; `None` if they are none.
pub fn stored_digest(bytes: &[u8], suite: HashSuite) -> Option<[u8; DIGEST_LEN]> {
    // A branch says its level itself; which one is right, its parent knows.
    let level = bytes.get(1).copied().unwrap_or_default();
    let hasher = NodeHasher::new(suite, Shape::State);
    let decoded = decode(bytes, usize::from(level), hasher).ok()?;
    Some(decoded.1)
}

/// Reads a node that stands at `level`, and computes its digest.
fn decode(bytes: &[u8], level: usize, hasher: NodeHasher) -> Result<(Child, [u8; DIGEST_LEN]), DecodeError> {
    let mut reader = Reader::new(bytes);
    let decoded = match reader.u8()? {
        LEAF => {
            let entry = take_entry(&mut reader)?;
            let digest = hasher.leaf(&entry.key, &entry.digest);
            (Child::leaf(Arc::new(entry)), digest)
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
    let mut slots = Vec::with_capacity(16);
    let read = read_branch(reader, level, hasher, &mut |_, slot| {
        slots.push(match slot {
            Slot::Leaf(entry) => Child::leaf(Arc::new(entry)),
            Slot::Branch(node) => stored_child(node, hasher),
        });
    })?;
    let branch = Branch::new(read.bitmap, read.count, slots.into_boxed_slice());
    branch.cache_digest(hasher.kind(), &read.digest);
    Ok((Child::branch(Arc::new(branch)), read.digest))
}

/// What a branch in storage holds on a digit.
enum Slot {
    Leaf(Entry),
    Branch(StoredNode),
}

/// A branch in storage, without what it holds.
struct ReadBranch {
    bitmap: u16,
    count: u64,
    digest: [u8; DIGEST_LEN],
}

/// Reads a branch behind its kind, hands out what is on each digit, and computes its digest.
fn read_branch(
    reader: &mut Reader<'_>,
    level: usize,
    hasher: NodeHasher,
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
    let mut digests = Gathered::new();
    let mut count = 0_u64;
    for digit in (0..16).filter(|digit| bitmap & (1 << digit) != 0) {
        if leaves & (1 << digit) != 0 {
            let entry = take_entry(reader)?;
            if entry.key.nibble(level) != digit {
                return Err(DecodeError::Invalid(
                    "a leaf hangs on another digit than its key path says",
                ));
            }
            digests.push(hasher.leaf(&entry.key, &entry.digest));
            count += 1;
            visit(digit, Slot::Leaf(entry));
        } else {
            let node = StoredNode {
                digest: reader.array()?,
                count: reader.u64()?,
                place: reader.u64()?,
            };
            if level + 1 >= LEVELS || !(2..=COUNT_MAX).contains(&node.count) {
                return Err(DecodeError::Invalid(
                    "a branch cannot be where it is, or counts impossibly many leaves",
                ));
            }
            digests.push(node.digest);
            count += node.count;
            visit(digit, Slot::Branch(node));
        }
    }
    if !(2..=COUNT_MAX).contains(&count) {
        return Err(DecodeError::Invalid(
            "a branch has fewer than two leaves, or impossibly many",
        ));
    }
    Ok(ReadBranch {
        bitmap,
        count,
        digest: hasher.branch(level, bitmap, count, digests.as_slice()),
    })
}
