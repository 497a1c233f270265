//! Nodes in memory: how leaves and branches lie, and the digest that a branch caches.
//!
//! A child is one word: a shared pointer to a leaf or to a branch, told apart by its lowest bit. A branch
//! holds only the children it has, in a box of exactly that many words. At a million entries an update under
//! a held snapshot copies about two branches, so their size decides what snapshots cost; tests pin it.
//!
//! # Layer
//! L3. Part of trie/.
//!
//! # Invariants
//! TRI-1 to TRI-3; see trie/mod.rs.
//!
//! # Format
//! None: nothing here is stored as it lies in memory.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use triomphe::{Arc, ArcBorrow, ArcUnion, ArcUnionBorrow};

use super::digest::HashKind;
use super::stored::StoredBranch;
use super::{Entry, LEVELS};
use crate::digest::DIGEST_LEN;

/// Bytes in which a branch counts its leaves: with them a branch and its count of owners are 64 bytes.
const COUNT_LEN: usize = 5;

/// The most entries a trie holds, 2^40 - 1: what has room in [`COUNT_LEN`] bytes.
pub(super) const COUNT_MAX: u64 = (1 << (8 * COUNT_LEN)) - 1;

/// A slot of a branch, or the top of a trie: never empty, except inside the edit that borrows its branch.
#[derive(Clone)]
pub(super) struct Child(Option<ArcUnion<Entry, Branch>>);

/// What a [`Child`] is.
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

    /// Whether the node has more than one owner.
    pub(super) fn is_shared(&self) -> bool {
        ArcUnion::strong_count(self.union()) > 1
    }

    /// Leaves at or below this child.
    pub(super) fn count(&self) -> u64 {
        match self.get() {
            Kind::Leaf(_) => 1,
            Kind::Branch(branch) => branch.count(),
        }
    }

    /// Reads a word of the node, so that it is on its way from memory while its siblings are read too.
    /// Nodes lie anywhere: what is done to siblings one after the other waits for each, unless all of them
    /// are touched first.
    #[inline]
    pub(super) fn touch(&self) {
        std::hint::black_box(ArcUnion::strong_count(self.union()));
    }

    /// The branch, shared, if this is one.
    pub(super) fn share_branch(&self) -> Option<Arc<Branch>> {
        self.union().as_second().as_ref().map(ArcBorrow::clone_arc)
    }

    /// Takes the branch out, so that it can be edited in place if nobody shares it. The caller puts a child
    /// back before it returns. `None`, with nothing taken, for a leaf.
    pub(super) fn take_branch(&mut self) -> Option<Arc<Branch>> {
        let branch = self.share_branch()?;
        self.0 = None;
        Some(branch)
    }

    /// Puts `entry` in the place of the leaf that this child is: in its memory if nobody shares it.
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

/// The children of a branch: in memory, or known by what their parent says of them.
#[derive(Clone)]
pub(super) enum Children {
    Loaded(Box<[Child]>),
    Stored(Box<StoredBranch>),
}

/// No digest is cached.
const UNKNOWN: u8 = 0;
/// A thread is writing the digest; others compute it for themselves.
const WRITING: u8 = 1;

/// An inner node. It does not know its level: whoever walks to it does.
pub(super) struct Branch {
    /// The cached digest, valid if `state` holds the number of a [`HashKind`].
    digest: [AtomicU64; 4],
    children: Children,
    /// Leaves below, little-endian.
    count: [u8; COUNT_LEN],
    state: AtomicU8,
    /// Which children there are; 0 while the branch is stored.
    bitmap: u16,
}

impl Branch {
    /// A branch of these children, which are in the order of the bits of `bitmap`.
    pub(super) fn new(bitmap: u16, count: u64, children: Box<[Child]>) -> Self {
        debug_assert_eq!(bitmap.count_ones() as usize, children.len());
        Self::with(bitmap, count, Children::Loaded(children))
    }

    /// A branch that is in storage. Its digest is known from its parent.
    pub(super) fn stored(stored: StoredBranch, kind: HashKind) -> Self {
        let node = stored.node();
        let branch = Self::with(0, node.count, Children::Stored(Box::new(stored)));
        branch.cache_digest(kind, &node.digest);
        branch
    }

    fn with(bitmap: u16, count: u64, children: Children) -> Self {
        // INVARIANT TRI-1.
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
        assert!(count <= COUNT_MAX, "a trie holds fewer than 2^40 entries");
        self.count.copy_from_slice(&count.to_le_bytes()[..COUNT_LEN]);
    }

    pub(super) fn children(&self) -> &Children {
        &self.children
    }

    /// The children in rising order of their bits. A stored branch shows none: load it first.
    #[inline]
    pub(super) fn slots(&self) -> &[Child] {
        match &self.children {
            Children::Loaded(slots) => slots,
            Children::Stored(_) => &[],
        }
    }

    /// The children of a loaded branch, to be edited or taken.
    pub(super) fn slots_mut(&mut self) -> &mut Box<[Child]> {
        match &mut self.children {
            Children::Loaded(slots) => slots,
            Children::Stored(_) => unreachable!("an edit loads a branch before it touches the children"),
        }
    }

    /// Where the child of `nibble` is among the children, or would be.
    #[inline]
    pub(super) fn position(&self, nibble: usize) -> (usize, bool) {
        let bit = 1_u16 << nibble;
        (
            (self.bitmap & (bit - 1)).count_ones() as usize,
            self.bitmap & bit != 0,
        )
    }

    /// The child of `nibble`.
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

    /// The children with the digit that leads to each.
    pub(super) fn digits(&self) -> impl Iterator<Item = (usize, &Child)> {
        (0..16)
            .filter(|digit| self.bitmap & (1 << digit) != 0)
            .zip(self.slots())
    }

    /// Adds the child of `nibble`, which is absent, in place.
    pub(super) fn add(&mut self, nibble: usize, child: Child) {
        let (position, present) = self.position(nibble);
        debug_assert!(!present);
        let slots = self.slots_mut();
        let mut grown = std::mem::take(slots).into_vec();
        grown.reserve_exact(1);
        grown.insert(position, child);
        *slots = grown.into_boxed_slice();
        self.bitmap |= 1 << nibble;
    }

    /// A copy of this branch with a child more: what [`Self::add`] does when the branch is shared.
    pub(super) fn with_child(&self, nibble: usize, child: Child) -> Self {
        let (position, present) = self.position(nibble);
        debug_assert!(!present);
        self.touch_children();
        let slots = self.slots();
        let mut grown = Vec::with_capacity(slots.len() + 1);
        grown.extend_from_slice(&slots[..position]);
        grown.push(child);
        grown.extend_from_slice(&slots[position..]);
        Self::new(
            self.bitmap | 1 << nibble,
            self.count() + 1,
            grown.into_boxed_slice(),
        )
    }

    /// Takes the child of `nibble` out.
    pub(super) fn cut(&mut self, nibble: usize) {
        let (position, present) = self.position(nibble);
        debug_assert!(present);
        let slots = self.slots_mut();
        let mut shrunk = std::mem::take(slots).into_vec();
        shrunk.remove(position);
        *slots = shrunk.into_boxed_slice();
        self.bitmap &= !(1 << nibble);
    }

    /// The digest, if it was computed for `kind` since the last edit.
    #[inline]
    pub(super) fn cached_digest(&self, kind: HashKind) -> Option<[u8; DIGEST_LEN]> {
        (self.state.load(Ordering::Acquire) == kind.number()).then(|| self.digest_bytes())
    }

    /// Keeps the digest. Two threads may come here at once: one of them writes, and what it writes is
    /// published by the state, so a reader never sees half a digest.
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

    /// Forgets the digest: the branch is about to differ.
    pub(super) fn clear_digest(&mut self) {
        *self.state.get_mut() = UNKNOWN;
    }

    /// Whether both have a digest of one kind, and it is the same: then nothing below differs.
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
        // A digest that another thread is just writing is left behind; it will be computed again.
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

/// The first level, from `level` on, at which the paths of two different keys part.
pub(super) fn parting(one: &Entry, two: &Entry, level: usize) -> usize {
    (level..LEVELS)
        .find(|&level| one.key.nibble(level) != two.key.nibble(level))
        .expect("two different key paths part somewhere")
}

impl Drop for Branch {
    fn drop(&mut self) {
        // Each child loses an owner next, which waits for its memory.
        self.touch_children();
    }
}
