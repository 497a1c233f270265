//! Nodes in memory: the children of a branch by their digits, and the digest that a branch caches.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-1 to TRI-3 in trie/mod.rs.
//!
//! # Format
//! None: storage uses another layout.

use std::sync::atomic::Ordering;

use super::digest::HashKind;
use super::entry::Entry;
use super::pointer::digits_of;
pub(super) use super::pointer::{Branch, Child, Children, Kind};
use super::stored::NodeSource;
use crate::digest::DIGEST_LEN;
use crate::error::Result;

/// The maximal number of entries in a trie.
pub(super) const COUNT_MAX: u64 = (1 << 40) - 1;

/// No digest is cached.
const UNKNOWN: u8 = 0;
/// A thread is writing the digest. Until it finishes, other threads compute the digest themselves.
const WRITING: u8 = 1;

impl Child {
    /// Returns the number of leaves at or below this child.
    pub(super) fn count(&self) -> u64 {
        match self.get() {
            Kind::Leaf(_) => 1,
            Kind::Branch(branch) => branch.count(),
            Kind::Stored(stored) => stored.node().count,
        }
    }

    /// Returns the entry, if this child is a leaf.
    pub(super) fn entry(&self) -> Option<&Entry> {
        match self.get() {
            Kind::Leaf(entry) => Some(entry),
            _ => None,
        }
    }

    /// Returns the branch in memory, or `None` for a leaf. Loads a stored branch at its first access.
    ///
    /// # Errors
    /// `Corrupt`, or the error of `source`, if the branch cannot be loaded.
    #[inline]
    pub(super) fn branch(&self, level: usize, source: &dyn NodeSource) -> Result<Option<Branch<'_>>> {
        match self.get() {
            Kind::Leaf(_) => Ok(None),
            Kind::Branch(branch) => Ok(Some(branch)),
            Kind::Stored(stored) => stored.load(level, source)?.branch(level, source),
        }
    }

    /// Returns the branch if it is in memory; `None` for a leaf, too.
    pub(super) fn loaded_branch(&self) -> Option<Branch<'_>> {
        match self.get() {
            Kind::Leaf(_) => None,
            Kind::Branch(branch) => Some(branch),
            Kind::Stored(stored) => stored.loaded()?.loaded_branch(),
        }
    }

    /// Visits the entries at and below this child that are in memory.
    pub(super) fn visit_in_memory(&self, visit: &mut dyn FnMut(&Entry)) {
        if let Some(entry) = self.entry() {
            visit(entry);
        }
        for child in self.loaded_branch().map(Branch::slots).unwrap_or_default() {
            child.visit_in_memory(visit);
        }
    }

    /// Returns this child with its branch in memory.
    ///
    /// # Errors
    /// The errors of [`Self::branch`].
    pub(super) fn in_memory(self, level: usize, source: &dyn NodeSource) -> Result<Self> {
        match self.get() {
            Kind::Stored(stored) => Ok(stored.load(level, source)?.clone()),
            _ => Ok(self),
        }
    }

    /// Returns whether this child is a leaf, or a branch whose digest is known for `kind`.
    #[inline]
    pub(super) fn is_known(&self, kind: HashKind) -> bool {
        match self.get() {
            Kind::Leaf(_) => true,
            Kind::Branch(branch) => branch.has_digest(kind),
            Kind::Stored(stored) => stored.kind() == kind,
        }
    }

    /// Returns the digest of a branch, if it is known for `kind`.
    #[inline]
    pub(super) fn known_digest(&self, kind: HashKind) -> Option<[u8; DIGEST_LEN]> {
        match self.get() {
            Kind::Leaf(_) => None,
            Kind::Branch(branch) => branch.cached_digest(kind),
            Kind::Stored(stored) => (stored.kind() == kind).then(|| stored.node().digest),
        }
    }

    /// Returns whether both are branches with equal known digests of the same kind, so nothing below them differs.
    pub(super) fn has_same_digest(&self, other: &Self) -> bool {
        let kind = match self.get() {
            Kind::Leaf(_) => return false,
            Kind::Branch(branch) => branch.digest_kind(),
            Kind::Stored(stored) => Some(stored.kind()),
        };
        kind.is_some_and(|kind| {
            let digest = self.known_digest(kind);
            digest.is_some() && digest == other.known_digest(kind)
        })
    }
}

impl<'a> Branch<'a> {
    /// Returns the child at the digit `nibble`, if there is one.
    #[inline]
    pub(super) fn child(self, nibble: usize) -> Option<&'a Child> {
        let (bitmap, bit) = (self.bitmap(), 1_u16 << nibble);
        let place = (bitmap & (bit - 1)).count_ones() as usize;
        if bitmap & bit == 0 {
            None
        } else {
            self.slots().get(place)
        }
    }

    /// Touches every child; see [`Child::touch`].
    #[inline]
    pub(super) fn touch_children(self) {
        self.slots().iter().for_each(Child::touch);
    }

    /// Iterates the children with their digits.
    pub(super) fn digits(self) -> impl Iterator<Item = (usize, &'a Child)> {
        digits_of(self.bitmap()).zip(self.slots())
    }

    /// Returns the digest, if it was computed for `kind` since the last edit.
    #[inline]
    pub(super) fn cached_digest(self, kind: HashKind) -> Option<[u8; DIGEST_LEN]> {
        self.has_digest(kind).then(|| self.digest_bytes())
    }

    #[inline]
    fn has_digest(self, kind: HashKind) -> bool {
        self.head().state.load(Ordering::Acquire) == kind.number()
    }

    /// Returns the kind of the cached digest.
    fn digest_kind(self) -> Option<HashKind> {
        let state = self.head().state.load(Ordering::Acquire);
        (state > WRITING).then(|| HashKind::from_number(state))
    }

    /// Caches the digest. If two threads call this at once, only one of them writes. Readers use the digest only after
    /// the state names its kind, so they never read a partly written digest.
    pub(super) fn cache_digest(self, kind: HashKind, digest: &[u8; DIGEST_LEN]) {
        let state = &self.head().state;
        let begun = state.compare_exchange(UNKNOWN, WRITING, Ordering::Acquire, Ordering::Relaxed);
        if begun.is_err() {
            return;
        }
        for (word, bytes) in self.head().digest.iter().zip(digest.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        state.store(kind.number(), Ordering::Release);
    }

    fn digest_bytes(self) -> [u8; DIGEST_LEN] {
        let mut bytes = [0; DIGEST_LEN];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.head().digest) {
            *chunk = word.load(Ordering::Relaxed).to_le_bytes();
        }
        bytes
    }
}

impl Children {
    /// Returns the number of leaves below these children.
    pub(super) fn count(&self) -> u64 {
        self.iter().map(Child::count).sum()
    }

    /// Returns the node of these children, with `count` leaves: a branch, the only leaf, or `None`.
    pub(super) fn into_node(mut self, count: u64) -> Option<Child> {
        match count {
            0 => None,
            // INVARIANT TRI-1: a branch has two or more leaves below it.
            1 => self.take_only(),
            _ => Some(self.into_branch(count)),
        }
    }
}
