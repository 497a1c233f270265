//! Shared pointers to nodes. A branch is one piece of memory: its head with its digest, and its children behind it.
//!
//! A [`Child`] is one word that owns a leaf, a branch, or a branch in storage; its two lowest bits tell which. Nodes are
//! counted by their owners and freed with the last one. A lookup reads one piece of memory for each level: the word of a
//! child lies behind the head of its branch, and not behind another pointer.
//!
//! # Layer
//! Layer 3. Part of trie/. Besides disk/map.rs, this is the only unsafe code of the crate.
//!
//! # Invariants
//! - PTR-1: a child points to the number of owners of a live node of the kind in its tag, and is one of these owners.
//! - PTR-2: a branch has exactly one child behind its head for each bit of its bitmap, in the order of the bits.
//! - PTR-3: the bytes of a node change only while it has a single owner, except for its owners and its digest, which are
//!   atomic.
//!
//! # Format
//! None: storage uses another layout.
#![expect(
    unsafe_code,
    reason = "a node with its children behind its head, and the tag in a pointer, need raw memory; docs/decisions/0029"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, offset_of, size_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use super::entry::Entry;
use super::stored::StoredBranch;

/// The largest number of children of a branch.
pub(super) const CHILDREN_MAX: usize = 16;

/// The number of owners from which on a new owner aborts the process. The number leaves room for one owner of each
/// thread that is just being added.
const OWNERS_MAX: u32 = u32::MAX / 2;

const TAG_BITS: usize = 3;
const LEAF: usize = 0;
const BRANCH: usize = 1;
const STORED: usize = 2;

/// A leaf or a stored branch with the number of its owners.
#[repr(C)]
struct Owned<T> {
    owners: AtomicU32,
    node: T,
}

/// The start of a branch. The children follow it. A lookup reads from `owners` on, a hash reads the fields around it.
#[repr(C, align(8))]
pub(super) struct Head {
    /// The words of the digest.
    pub(super) digest: [AtomicU64; 4],
    owners: AtomicU32,
    /// The digits for which a child exists, as bits.
    bitmap: u16,
    /// The number of children for which there is room.
    room: u8,
    /// Tells whether the digest is known; see node.rs.
    pub(super) state: AtomicU8,
    /// The number of leaves below the branch.
    count: u64,
}

const HEAD_BYTES: usize = size_of::<Head>();
/// The distance from the start of a branch to its number of owners.
const OWNERS_OFFSET: usize = offset_of!(Head, owners);

const _: () = assert!(
    offset_of!(Owned<Entry>, owners) == 0
        && offset_of!(Owned<StoredBranch>, owners) == 0
        && OWNERS_OFFSET.is_multiple_of(align_of::<Head>())
        && HEAD_BYTES.is_multiple_of(size_of::<Child>())
        && align_of::<Owned<Entry>>() > TAG_BITS
        && align_of::<Owned<StoredBranch>>() > TAG_BITS
        && align_of::<Head>() >= align_of::<Child>()
);

/// An owner of a node.
#[repr(transparent)]
pub(super) struct Child(NonNull<AtomicU32>);

// SAFETY: a node is shared between threads as an `Arc` is. Its owners and its digest are atomic, a leaf is plain data, a
// stored branch is `Send` and `Sync`, and everything else changes only while there is a single owner (PTR-3).
unsafe impl Send for Child {}
// SAFETY: as for `Send`.
unsafe impl Sync for Child {}

const fn assert_send_and_sync<T: Send + Sync>() {}
const _: () = assert_send_and_sync::<Entry>();
const _: () = assert_send_and_sync::<StoredBranch>();

/// The node to which a [`Child`] points.
pub(super) enum Kind<'a> {
    Leaf(&'a Entry),
    Branch(Branch<'a>),
    Stored(&'a StoredBranch),
}

/// A branch in memory, borrowed from one of its owners.
#[derive(Clone, Copy)]
pub(super) struct Branch<'a> {
    head: NonNull<Head>,
    owner: PhantomData<&'a Child>,
}

impl Child {
    pub(super) fn leaf(entry: Entry) -> Self {
        Self::own(entry, LEAF)
    }

    pub(super) fn stored(branch: StoredBranch) -> Self {
        Self::own(branch, STORED)
    }

    fn own<T>(node: T, tag: usize) -> Self {
        let owners = AtomicU32::new(1);
        let node = NonNull::from(Box::leak(Box::new(Owned { owners, node })));
        // SAFETY: the node is longer than the tag.
        Self(unsafe { node.byte_add(tag).cast() })
    }

    #[inline]
    fn tag(&self) -> usize {
        self.0.addr().get() & TAG_BITS
    }

    /// Returns the pointer to the leaf or stored branch, without the tag.
    #[inline]
    fn node<T>(&self, tag: usize) -> NonNull<Owned<T>> {
        debug_assert_eq!(self.tag(), tag);
        // SAFETY: the address of the word is the address of the node, whose owners come first, plus the tag (PTR-1).
        unsafe { self.0.byte_sub(tag).cast() }
    }

    /// Returns the pointer to the branch.
    #[inline]
    fn head(&self) -> NonNull<Head> {
        debug_assert_eq!(self.tag(), BRANCH);
        // SAFETY: the address of the word is the address of the branch's owners plus the tag (PTR-1).
        unsafe { self.0.byte_sub(OWNERS_OFFSET + BRANCH).cast() }
    }

    #[inline]
    fn owners(&self) -> &AtomicU32 {
        // SAFETY: the word without its tag points to the number of owners of a node that lives as long as this owner
        // (PTR-1).
        unsafe { self.0.byte_sub(self.tag()).as_ref() }
    }

    /// Returns whether this is the only owner. If the caller has it by value, no other thread can clone it.
    #[inline]
    fn is_only_owner(&self) -> bool {
        self.owners().load(Ordering::Acquire) == 1
    }

    #[inline]
    pub(super) fn get(&self) -> Kind<'_> {
        match self.tag() {
            // SAFETY: the tag tells the kind of the node, which lives as long as this owner (PTR-1).
            LEAF => Kind::Leaf(unsafe { &self.node::<Entry>(LEAF).as_ref().node }),
            BRANCH => Kind::Branch(Branch {
                head: self.head(),
                owner: PhantomData,
            }),
            // SAFETY: as for a leaf.
            _ => Kind::Stored(unsafe { &self.node::<StoredBranch>(STORED).as_ref().node }),
        }
    }

    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.tag() == LEAF
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Reads a word of the node, so that the processor loads the node into its cache. Nodes are scattered in memory.
    /// Touching all siblings first lets the processor load them at the same time.
    #[inline]
    pub(super) fn touch(&self) {
        std::hint::black_box(self.owners().load(Ordering::Relaxed));
    }

    /// Returns the leaf of `entry`. Uses the memory of this leaf if it has no other owner.
    pub(super) fn with_entry(self, entry: Entry) -> Self {
        if !self.is_leaf() || !self.is_only_owner() {
            return Self::leaf(entry);
        }
        // SAFETY: the node is a leaf that this value alone owns, so nobody reads it (PTR-3).
        unsafe { self.node::<Entry>(LEAF).as_mut().node = entry };
        self
    }
}

impl Clone for Child {
    #[inline]
    fn clone(&self) -> Self {
        if self.owners().fetch_add(1, Ordering::Relaxed) > OWNERS_MAX {
            // A program that leaks two billion tries would make the number overflow.
            std::process::abort();
        }
        Self(self.0)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A single owner needs no atomic subtraction, which costs as much as freeing the node.
        if !self.is_only_owner() {
            if self.owners().fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        match self.tag() {
            // SAFETY: `own` leaked this box, and its last owner is gone.
            LEAF => drop(unsafe { Box::from_raw(self.node::<Entry>(LEAF).as_ptr()) }),
            BRANCH => {
                // SAFETY: the last owner of the branch is gone. The result drops the children and frees the memory.
                let children = unsafe { Children::taken_from(self.head()) };
                // Lowering the numbers of owners of all children then waits for memory only once.
                children.iter().for_each(Child::touch);
            }
            // SAFETY: as for a leaf.
            _ => drop(unsafe { Box::from_raw(self.node::<StoredBranch>(STORED).as_ptr()) }),
        }
    }
}

impl<'a> Branch<'a> {
    #[inline]
    pub(super) fn head(self) -> &'a Head {
        // SAFETY: the owner keeps the branch for 'a. Until then, no thread changes its head, except the atomic fields (PTR-3).
        unsafe { self.head.as_ref() }
    }

    #[inline]
    pub(super) fn bitmap(self) -> u16 {
        self.head().bitmap
    }

    pub(super) fn count(self) -> u64 {
        self.head().count
    }

    /// Returns the children in ascending order of their bits.
    #[inline]
    pub(super) fn slots(self) -> &'a [Child] {
        let count = self.bitmap().count_ones() as usize;
        // SAFETY: as many children as the bitmap has bits follow the head (PTR-2). They live for 'a, as in `head`.
        unsafe { std::slice::from_raw_parts(children_of(self.head).as_ptr(), count) }
    }

    /// Returns the size of the memory of this branch.
    #[cfg(test)]
    pub(super) fn bytes(self) -> usize {
        layout(self.head().room).size()
    }
}

/// Returns the memory of a branch with room for this many children.
fn layout(room: u8) -> Layout {
    let bytes = HEAD_BYTES + usize::from(room) * size_of::<Child>();
    Layout::from_size_align(bytes, align_of::<Head>()).expect("a branch is small")
}

fn children_of(head: NonNull<Head>) -> NonNull<Child> {
    // SAFETY: every branch is at least as long as its head.
    unsafe { head.byte_add(HEAD_BYTES).cast() }
}

/// The memory of a branch that has no owner and no children.
struct Allocation(NonNull<Head>);

impl Allocation {
    /// Allocates the memory for a branch of `count` children. The allocator rounds to 16 bytes, which leaves room for an
    /// odd number of children.
    fn for_children(count: usize) -> Self {
        let room = (count | 1).min(CHILDREN_MAX) as u8;
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout(room)) };
        let Some(head) = NonNull::new(memory).map(NonNull::cast::<Head>) else {
            handle_alloc_error(layout(room))
        };
        let empty = Head {
            digest: [const { AtomicU64::new(0) }; 4],
            owners: AtomicU32::new(1),
            bitmap: 0,
            room,
            state: AtomicU8::new(0),
            count: 0,
        };
        // SAFETY: the memory has the layout of a branch, which begins with a head.
        unsafe { head.write(empty) };
        Self(head)
    }

    fn room(&self) -> usize {
        // SAFETY: the head is initialised, and this value alone has its memory.
        usize::from(unsafe { self.0.as_ref() }.room)
    }

    /// Returns whether the memory fits `count` children without much waste.
    fn fits(&self, count: usize) -> bool {
        (count..=count + 1).contains(&self.room())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with the layout of its room, and has no children.
        unsafe { dealloc(self.0.as_ptr().cast(), layout(self.room() as u8)) };
    }
}

/// The children of a branch under construction, by their digits.
#[derive(Default)]
pub(super) struct Children {
    slots: [Option<Child>; CHILDREN_MAX],
    /// The memory of the branch from which the children were taken.
    allocation: Option<Allocation>,
}

impl Children {
    /// Takes the children out of `branch`, or copies them if the branch has other owners. Returns `None` if the child is
    /// no branch in memory.
    pub(super) fn of(branch: Child) -> Option<Self> {
        let Kind::Branch(shared) = branch.get() else {
            return None;
        };
        if branch.is_only_owner() {
            let branch = ManuallyDrop::new(branch);
            // SAFETY: this value was the only owner, and is not dropped.
            return Some(unsafe { Self::taken_from(branch.head()) });
        }
        let mut children = Self::default();
        shared.slots().iter().for_each(Child::touch);
        for (digit, child) in shared.digits() {
            children.slots[digit] = Some(child.clone());
        }
        Some(children)
    }

    /// Takes the children out of a branch.
    ///
    /// # Safety
    /// The branch has no owner and nobody borrows it.
    unsafe fn taken_from(head: NonNull<Head>) -> Self {
        let mut children = Self {
            allocation: Some(Allocation(head)),
            ..Self::default()
        };
        // SAFETY: the branch is alive, and each bit of its bitmap has a child (PTR-2), which is read once, because the
        // bitmap is then cleared.
        unsafe {
            let bitmap = std::mem::take(&mut (*head.as_ptr()).bitmap);
            for (place, digit) in digits_of(bitmap).enumerate() {
                children.slots[digit] = Some(children_of(head).add(place).read());
            }
        }
        children
    }

    #[inline]
    pub(super) fn child(&self, digit: usize) -> Option<&Child> {
        self.slots[digit].as_ref()
    }

    /// Removes the child from its slot.
    #[inline]
    pub(super) fn take(&mut self, digit: usize) -> Option<Child> {
        self.slots[digit].take()
    }

    #[inline]
    pub(super) fn put(&mut self, digit: usize, child: Option<Child>) {
        self.slots[digit] = child;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Child> {
        self.slots.iter().flatten()
    }

    /// Returns the only child, if there is exactly one.
    pub(super) fn take_only(&mut self) -> Option<Child> {
        let mut filled = self.slots.iter_mut().filter(|slot| slot.is_some());
        let (only, next) = (filled.next(), filled.next());
        only.filter(|_| next.is_none())?.take()
    }

    /// Returns the branch of these children, with `count` leaves below it and without a digest. Uses the memory of the
    /// branch from which the children were taken, if it fits.
    pub(super) fn into_branch(mut self, count: u64) -> Child {
        let children = self.iter().count();
        let memory = self.allocation.take().filter(|memory| memory.fits(children));
        let memory = ManuallyDrop::new(memory.unwrap_or_else(|| Allocation::for_children(children)));
        let (head, mut bitmap) = (memory.0, 0);
        let slots = self.slots.iter_mut().enumerate();
        let filled = slots.filter_map(|(digit, slot)| Some((digit, slot.take()?)));
        for (place, (digit, child)) in filled.enumerate() {
            bitmap |= 1 << digit;
            // SAFETY: the memory has room for all children, and nobody else has it.
            unsafe { children_of(head).add(place).write(child) };
        }
        // SAFETY: nobody else has the memory. As many children as the bitmap has bits were written (PTR-2).
        unsafe {
            let head = &mut *head.as_ptr();
            (head.bitmap, head.count) = (bitmap, count);
            *head.owners.get_mut() = 1;
            *head.state.get_mut() = 0;
        }
        // SAFETY: the owners lie in the head, and are longer than the tag.
        Child(unsafe { head.byte_add(OWNERS_OFFSET + BRANCH).cast() })
    }
}

/// Iterates the digits of a bitmap in ascending order.
#[inline]
pub(super) fn digits_of(mut bitmap: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let digit = bitmap.trailing_zeros() as usize;
        (bitmap != 0).then(|| {
            bitmap &= bitmap - 1;
            digit
        })
    })
}
