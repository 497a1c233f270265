//! Nodes in memory: the layout of leaves and branches, and the digest that a branch caches.
//!
//! A child is one word: a shared pointer to a leaf or a branch, which the lowest bit distinguishes. A branch has only
//! the children that exist, in a box of exactly that many words. With a million entries, an update copies about two
//! branches if a snapshot exists, so the size of a branch determines the cost of snapshots. Tests fix that size.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! See TRI-1 to TRI-3 in trie/mod.rs.
//!
//! # Format
//! None: storage uses another layout.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use triomphe::{Arc, ArcBorrow, ArcUnion, ArcUnionBorrow};

use super::digest::HashKind;
use super::entry::Entry;
use super::stored::StoredBranch;
use crate::digest::DIGEST_LEN;

/// The number of bytes for a branch's count of leaves. With this length, a branch and its reference count fill 64
/// bytes.
const COUNT_LEN: usize = 5;

/// The maximal number of entries in a trie, 2^40 - 1: the largest number in [`COUNT_LEN`] bytes.
pub(super) const COUNT_MAX: u64 = (1 << (8 * COUNT_LEN)) - 1;

/// A slot of a branch, or the top of a trie. The slot is empty only while an edit holds the branch that it took from
/// the slot.
#[derive(Clone)]
pub(super) struct Child(Option<ArcUnion<Entry, Branch>>);

/// The node to which a [`Child`] points.
pub(super) enum Kind<'a> {
    Leaf(&'a Entry),
    Branch(&'a Branch),
}

impl Child {
    pub(super) fn leaf(entry: Arc<Entry>) -> Self {
        Self(Some(ArcUnion::from_first(entry)))
    }

    pub(super) fn branch(branch: Arc<Branch>) -> Self {
        Self(Some(ArcUnion::from_second(branch)))
    }

    fn union(&self) -> &ArcUnion<Entry, Branch> {
        self.0
            .as_ref()
            .expect("a slot is empty only while the edit that emptied it runs")
    }

    #[inline]
    pub(super) fn get(&self) -> Kind<'_> {
        match self.union().borrow() {
            ArcUnionBorrow::First(entry) => Kind::Leaf(entry.get()),
            ArcUnionBorrow::Second(branch) => Kind::Branch(branch.get()),
        }
    }

    #[inline]
    pub(super) fn is_branch(&self) -> bool {
        self.union().is_second()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        ArcUnion::ptr_eq(self.union(), other.union())
    }

    /// Returns the number of leaves at or below this child.
    pub(super) fn count(&self) -> u64 {
        match self.get() {
            Kind::Leaf(_) => 1,
            Kind::Branch(branch) => branch.count(),
        }
    }

    /// Reads a word of the node, so that the processor loads the node into its cache. Nodes are scattered in memory.
    /// Touching all siblings first lets the processor load them at the same time.
    #[inline]
    pub(super) fn touch(&self) {
        std::hint::black_box(ArcUnion::strong_count(self.union()));
    }

    /// Returns a shared pointer to the branch, if this child is a branch.
    pub(super) fn share_branch(&self) -> Option<Arc<Branch>> {
        self.union().as_second().as_ref().map(ArcBorrow::clone_arc)
    }

    /// Removes the node from its slot. The caller must fill the slot again, or drop it.
    pub(super) fn take(&mut self) -> Self {
        Self(self.0.take())
    }

    /// Removes the branch from its slot, so an unshared branch can be edited in place. The caller must fill the slot
    /// again before it returns. Returns `None` for a leaf.
    pub(super) fn take_branch(&mut self) -> Option<Arc<Branch>> {
        let branch = self.share_branch()?;
        self.0 = None;
        Some(branch)
    }

    /// Replaces the leaf by `entry`. Uses the same memory if the leaf is not shared.
    pub(super) fn replace_leaf(&mut self, entry: Entry) {
        let shared = self.union().as_first().as_ref().map(ArcBorrow::clone_arc);
        self.0 = None;
        let leaf = match shared {
            Some(mut leaf) => match Arc::get_mut(&mut leaf) {
                Some(slot) => {
                    *slot = entry;
                    leaf
                }
                None => Arc::new(entry),
            },
            None => Arc::new(entry),
        };
        *self = Self::leaf(leaf);
    }
}

/// The children of a branch: in memory, or in storage.
#[derive(Clone)]
pub(super) enum Children {
    Loaded(Box<[Child]>),
    Stored(Box<StoredBranch>),
}

/// No digest is cached.
const UNKNOWN: u8 = 0;
/// A thread is writing the digest. Until it finishes, other threads compute the digest themselves.
const WRITING: u8 = 1;

/// A branch of the trie. It does not store its level, because every walk counts the levels from the top.
pub(super) struct Branch {
    /// The cached digest, valid if `state` contains the number of a [`HashKind`].
    digest: [AtomicU64; 4],
    children: Children,
    /// The number of leaves below the branch, in little-endian order.
    count: [u8; COUNT_LEN],
    state: AtomicU8,
    /// The digits for which a child exists, as bits; 0 while the branch is stored.
    bitmap: u16,
}

impl Branch {
    /// Makes a branch of these children, in the order of the bits of `bitmap`.
    pub(super) fn new(bitmap: u16, count: u64, children: Box<[Child]>) -> Self {
        debug_assert_eq!(bitmap.count_ones() as usize, children.len());
        Self::with(bitmap, count, Children::Loaded(children))
    }

    /// Makes a branch that is in storage, with the digest that its parent contains.
    pub(super) fn stored(stored: StoredBranch, kind: HashKind) -> Self {
        let node = stored.node();
        let branch = Self::with(0, node.count, Children::Stored(Box::new(stored)));
        branch.cache_digest(kind, &node.digest);
        branch
    }

    fn with(bitmap: u16, count: u64, children: Children) -> Self {
        // INVARIANT TRI-1: a branch has two or more leaves below it.
        debug_assert!(count >= 2);
        let mut branch = Self {
            digest: [const { AtomicU64::new(0) }; 4],
            children,
            count: [0; COUNT_LEN],
            state: AtomicU8::new(UNKNOWN),
            bitmap,
        };
        branch.set_count(count);
        branch
    }

    pub(super) fn bitmap(&self) -> u16 {
        self.bitmap
    }

    pub(super) fn count(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..COUNT_LEN].copy_from_slice(&self.count);
        u64::from_le_bytes(bytes)
    }

    pub(super) fn set_count(&mut self, count: u64) {
        assert!(count <= COUNT_MAX, "a trie has fewer than 2^40 entries");
        self.count.copy_from_slice(&count.to_le_bytes()[..COUNT_LEN]);
    }

    pub(super) fn children(&self) -> &Children {
        &self.children
    }

    /// Returns the children in ascending order of their bits. The result is empty for a stored branch that is not
    /// loaded.
    #[inline]
    pub(super) fn slots(&self) -> &[Child] {
        match &self.children {
            Children::Loaded(slots) => slots,
            Children::Stored(_) => &[],
        }
    }

    /// Returns the children of a loaded branch for editing.
    pub(super) fn slots_mut(&mut self) -> &mut Box<[Child]> {
        match &mut self.children {
            Children::Loaded(slots) => slots,
            Children::Stored(_) => unreachable!("an edit loads a branch before it touches the children"),
        }
    }

    /// Returns the position of the child of `nibble` and true, or the position at which to insert it and false.
    #[inline]
    pub(super) fn position(&self, nibble: usize) -> (usize, bool) {
        position_in(self.bitmap, nibble)
    }

    /// Returns the child at the digit `nibble`, if there is one.
    #[inline]
    pub(super) fn child(&self, nibble: usize) -> Option<&Child> {
        let (position, present) = self.position(nibble);
        if present { self.slots().get(position) } else { None }
    }

    /// Touches every child; see [`Child::touch`].
    #[inline]
    pub(super) fn touch_children(&self) {
        self.slots().iter().for_each(Child::touch);
    }

    /// Iterates the children with their digits.
    pub(super) fn digits(&self) -> impl Iterator<Item = (usize, &Child)> {
        (0..16)
            .filter(|digit| self.bitmap & (1 << digit) != 0)
            .zip(self.slots())
    }

    /// Returns copies of the children, with room for `new` more.
    pub(super) fn copied_children(&self, new: usize) -> Vec<Child> {
        self.touch_children();
        let slots = self.slots();
        let mut children = Vec::with_capacity(slots.len() + new);
        children.extend_from_slice(slots);
        children
    }

    /// Replaces the children of a loaded branch, and clears its digest (TRI-2).
    pub(super) fn replace(&mut self, bitmap: u16, count: u64, children: Box<[Child]>) {
        debug_assert_eq!(bitmap.count_ones() as usize, children.len());
        self.bitmap = bitmap;
        self.set_count(count);
        self.clear_digest();
        *self.slots_mut() = children;
    }

    /// Returns the digest, if it was computed for `kind` since the last edit.
    #[inline]
    pub(super) fn cached_digest(&self, kind: HashKind) -> Option<[u8; DIGEST_LEN]> {
        (self.state.load(Ordering::Acquire) == kind.number()).then(|| self.digest_bytes())
    }

    /// Caches the digest. If two threads call this at once, only one of them writes. Readers use the digest only after
    /// `state` contains its kind, so they never read a partly written digest.
    pub(super) fn cache_digest(&self, kind: HashKind, digest: &[u8; DIGEST_LEN]) {
        if self
            .state
            .compare_exchange(UNKNOWN, WRITING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            return;
        }
        for (word, bytes) in self.digest.iter().zip(digest.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        self.state.store(kind.number(), Ordering::Release);
    }

    /// Clears the cached digest before an edit.
    pub(super) fn clear_digest(&mut self) {
        *self.state.get_mut() = UNKNOWN;
    }

    /// Returns whether both branches have an equal cached digest of the same kind, so nothing below them differs.
    pub(super) fn has_same_digest(&self, other: &Self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        state > WRITING
            && state == other.state.load(Ordering::Acquire)
            && self.digest_bytes() == other.digest_bytes()
    }

    fn digest_bytes(&self) -> [u8; DIGEST_LEN] {
        let mut bytes = [0; DIGEST_LEN];
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.digest) {
            *chunk = word.load(Ordering::Relaxed).to_le_bytes();
        }
        bytes
    }
}

impl Clone for Branch {
    fn clone(&self) -> Self {
        self.touch_children();
        let state = self.state.load(Ordering::Acquire);
        // Omits a digest that another thread is writing; the copy computes it again.
        let known = if state == WRITING { UNKNOWN } else { state };
        Self {
            digest: std::array::from_fn(|word| AtomicU64::new(self.digest[word].load(Ordering::Relaxed))),
            children: self.children.clone(),
            count: self.count,
            state: AtomicU8::new(known),
            bitmap: self.bitmap,
        }
    }
}

/// Returns the position of the child of `nibble` among the children whose digits are the bits of `bitmap`, and true. If
/// there is no such child, returns the position at which to insert it, and false.
#[inline]
pub(super) fn position_in(bitmap: u16, nibble: usize) -> (usize, bool) {
    let bit = 1_u16 << nibble;
    ((bitmap & (bit - 1)).count_ones() as usize, bitmap & bit != 0)
}

impl Drop for Branch {
    fn drop(&mut self) {
        // Dropping the branch lowers the reference count of each child, so this call prefetches the children.
        self.touch_children();
    }
}
