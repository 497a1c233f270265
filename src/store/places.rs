//! A cache from ids to the places of their versions in the newest state, for readers that ask by id.
//!
//! A reader that knows the place needs neither the key path, which is a hash of the id, nor the trie. Readers fill the cache
//! with what they found in the trie, so opening and writing cost nothing until somebody reads. In a store that is read much,
//! they also note what is beside it in the trie. The cache knows no absent ids.
//!
//! # Layer
//! Layer 4. Part of store/.
//!
//! # Invariants
//! - PCH-1: let a cached place have a record of the batch `b`. In each state of the main line that is not older than `b` and
//!   the floor, this record is the version of its id, unless a rollback left that state or the batch `b` (PCH-5).
//! - PCH-2: before a commit is published, the cache has forgotten the ids that it changes. If the commit takes an older
//!   version, the floor rises to the commit.
//! - PCH-3: a reader loads a place before it loads what was left and then the floor, so it sees each that the place needs.
//! - PCH-4: a block counts only if its epoch is that of the cache. A reader loads both before it loads a place, and a block gets
//!   the epoch after its slots are empty.
//! - PCH-5: a rollback whose target the cache serves keeps all places. The cache serves no state that it left, and no record
//!   of a batch that it left. It forgets rollbacks only after a new epoch begins, and a reader compares the epochs again.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};

use crate::log::{Record, RecordKind};
use crate::threads::Mutex;

use super::changed::Coming;
use super::commits::CommitEntry;
use super::left::Left;

/// The number of places in a line, which a processor loads at once.
const PLACES_A_LINE: usize = 8;
/// The number of objects for each line of a new cache. Ids meet at random: with four a line, one id in 200 has no room.
const OBJECTS_A_LINE: u64 = 4;
/// A cache serves up to this number of objects for each line. Then one id in 20 has no room.
const OBJECTS_A_LINE_MAX: u64 = 6;
/// The number of lines that are allocated together.
const LINES_A_BLOCK: usize = 128;
/// After this number of reads that the cache did not answer, readers also note what is beside.
const MISSES_MIN: u64 = 256;
/// If few records beside were in memory, this number of reads does not look beside.
const MISSES_PAUSE: u64 = 64;

/// The bits of a slot: the step in the segment, the segment, and a tag of the id. Other places are not cached.
const STEP_BITS: u32 = 24;
const SEGMENT_BITS: u32 = 20;
const TAG_SHIFT: u32 = STEP_BITS + SEGMENT_BITS;

/// A fast hash of an id. The seed is drawn once for each process, so nobody can choose ids that meet in one line.
#[derive(Clone, Copy)]
pub(crate) struct IdHash(u64);

impl IdHash {
    pub(crate) fn of(id: &str) -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);
        let seed = *SEED;
        let mut state = seed ^ id.len() as u64;
        let mut mix = |word: u64| {
            let product = u128::from(state ^ word) * u128::from(seed);
            state = (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(32));
        };
        let (words, rest) = id.as_bytes().as_chunks::<8>();
        for word in words {
            mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mix(u64::from_le_bytes(last));
        mix(0);
        Self(state)
    }

    fn tag(self) -> u64 {
        self.0 << TAG_SHIFT
    }

    pub(super) fn halves(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> u32::BITS) as u32]
    }
}

/// Returns the place as the lower bits of a slot.
fn packed(place: u64) -> Option<u64> {
    let (segment, step) = (place >> 32, place & u64::from(u32::MAX));
    let fits = segment >> SEGMENT_BITS == 0 && step >> STEP_BITS == 0;
    fits.then_some(segment << STEP_BITS | step)
}

fn unpacked(slot: u64) -> u64 {
    let place = slot & ((1 << TAG_SHIFT) - 1);
    place >> STEP_BITS << 32 | place & ((1 << STEP_BITS) - 1)
}

/// The slots of some ids. An empty slot is 0, which is no place, because a segment begins with its header.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; PLACES_A_LINE]);

impl Line {
    fn slot(&self, tag: u64) -> Option<&AtomicU64> {
        let is_it = |slot: &&AtomicU64| {
            let slot = slot.load(Ordering::Acquire);
            slot != 0 && slot >> TAG_SHIFT == tag >> TAG_SHIFT
        };
        self.0.iter().find(is_it)
    }

    /// Returns the slot for a new place: that of the tag, else an empty one, else any. Also returns whether there was room.
    fn slot_for(&self, tag: u64) -> (&AtomicU64, bool) {
        let is_empty = |slot: &&AtomicU64| slot.load(Ordering::Relaxed) == 0;
        let free = || self.0.iter().find(is_empty);
        let any = (tag >> TAG_SHIFT) as usize % PLACES_A_LINE;
        match self.slot(tag).or_else(free) {
            Some(slot) => (slot, true),
            None => (&self.0[any], false),
        }
    }
}

/// The places of the newest versions of ids that somebody has read in the main line, or in a line that has not changed them.
pub(super) struct PlaceCache {
    /// The first batch whose state the cache may serve (PCH-1).
    floor: AtomicU64,
    /// The newest batch that the cache has taken in. A thread must hold this lock to change a slot.
    newest: Mutex<Option<u64>>,
    /// Rises when all places become wrong at once, as by a rollback. Freeing the blocks would take longer than a rollback.
    epoch: AtomicU64,
    left: Left,
    /// The number of reads that the cache did not answer, up to a limit ([`Self::looks_beside`]).
    misses: AtomicU64,
    lines: OnceLock<Lines>,
}

/// A cached place, and the epoch in which it was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) place: u64,
    epoch: u64,
}

/// All lines. Each block is allocated when somebody reads an id of it, so no reader waits for all of them.
struct Lines {
    count: u64,
    blocks: Box<[OnceLock<Block>]>,
}

/// Lines that are allocated together.
struct Block {
    epoch: AtomicU64,
    lines: Box<[Line]>,
}

impl Block {
    fn of_epoch(epoch: u64) -> Self {
        Self {
            epoch: AtomicU64::new(epoch),
            lines: std::iter::repeat_with(Line::default)
                .take(LINES_A_BLOCK)
                .collect(),
        }
    }

    /// Empties the block if it is of an earlier epoch (PCH-4).
    fn enter(&self, epoch: u64) {
        if self.epoch.load(Ordering::Relaxed) != epoch {
            let slots = self.lines.iter().flat_map(|line| &line.0);
            slots.for_each(|slot| slot.store(0, Ordering::Relaxed));
            self.epoch.store(epoch, Ordering::Release);
        }
    }
}

impl Lines {
    fn for_objects(objects: u64) -> Self {
        let count = objects / OBJECTS_A_LINE + 1;
        let blocks = count.div_ceil(LINES_A_BLOCK as u64);
        Self {
            count,
            blocks: std::iter::repeat_with(OnceLock::new)
                .take(blocks as usize)
                .collect(),
        }
    }

    /// Returns the block of an id, and the index of its line there.
    fn find(&self, hash: IdHash) -> (&OnceLock<Block>, usize) {
        let line = ((u128::from(hash.0) * u128::from(self.count)) >> 64) as usize;
        (&self.blocks[line / LINES_A_BLOCK], line % LINES_A_BLOCK)
    }
}

impl PlaceCache {
    /// Returns a cache that knows nothing yet, not even the newest batch.
    pub(super) fn new() -> Self {
        Self {
            floor: AtomicU64::new(u64::MAX),
            newest: Mutex::new(None),
            epoch: AtomicU64::new(0),
            left: Left::default(),
            misses: AtomicU64::new(0),
            lines: OnceLock::new(),
        }
    }

    /// Returns an empty cache behind a batch, in place of this one.
    fn behind(&self, batch: u64) -> Self {
        Self {
            floor: AtomicU64::new(batch),
            newest: Mutex::new(Some(batch)),
            misses: AtomicU64::new(self.misses.load(Ordering::Relaxed)),
            ..Self::new()
        }
    }

    /// Returns the place of the version of an id in the state of the batch `batch`, if the cache has it.
    /// The caller must check the record ([`Self::serves`]).
    pub(super) fn find(&self, hash: IdHash, batch: u64) -> Option<Found> {
        let (block, index) = self.lines.get()?.find(hash);
        let block = block.get()?;
        // INVARIANT PCH-4: the epochs are loaded before the place.
        let epoch = self.epoch.load(Ordering::Acquire);
        if block.epoch.load(Ordering::Acquire) != epoch {
            return None;
        }
        // Another id may have taken the slot meanwhile, which the caller sees in the record.
        let slot = block.lines[index].slot(hash.tag())?.load(Ordering::Acquire);
        if slot == 0 || self.left.has(batch) {
            return None;
        }
        // INVARIANT PCH-3: the floor is loaded after the place and what was left.
        (self.floor.load(Ordering::Acquire) <= batch).then(|| Found {
            place: unpacked(slot),
            epoch,
        })
    }

    /// Returns whether a record of the batch `batch`, at a place that was found, is of a state that nobody left.
    pub(super) fn serves(&self, found: Found, batch: u64) -> bool {
        // INVARIANT PCH-5: the epoch is compared after what was left.
        !self.left.has(batch) && self.epoch.load(Ordering::Acquire) == found.epoch
    }

    fn forget(&self, hash: IdHash) {
        let found = self.lines.get().map(|lines| lines.find(hash));
        if let Some((block, index)) = found
            && let Some(slot) = block.get().and_then(|block| block.lines[index].slot(hash.tag()))
        {
            slot.store(0, Ordering::Release);
        }
    }
}

impl PlaceCache {
    /// Notes the places of ids in the state of the batch `batch`, which has `objects` objects. `head` is the newest batch that
    /// is published. Does nothing if that is not the newest state, or if another thread changes the cache. Returns whether there
    /// was room for all.
    pub(super) fn keep(
        &self,
        places: impl IntoIterator<Item = (IdHash, u64)>,
        (batch, objects): (u64, u64),
        head: u64,
    ) -> bool {
        let Some(mut newest) = self.newest.try_lock() else {
            return false;
        };
        if newest.is_none() && head == batch {
            *newest = Some(batch);
            self.floor.store(batch, Ordering::Release);
        }
        if *newest != Some(batch) {
            return false;
        }
        let mut has_room = true;
        let lines = self.lines.get_or_init(|| Lines::for_objects(objects));
        let epoch = self.epoch.load(Ordering::Relaxed);
        for (hash, place) in places {
            let Some(packed) = packed(place) else { continue };
            let (block, index) = lines.find(hash);
            let block = block.get_or_init(|| Block::of_epoch(epoch));
            block.enter(epoch);
            let (slot, is_free) = block.lines[index].slot_for(hash.tag());
            slot.store(hash.tag() | packed, Ordering::Release);
            has_room &= is_free;
        }
        has_room
    }

    /// Counts a read that the cache did not answer. Returns whether the reader shall note what is beside.
    pub(super) fn looks_beside(&self) -> bool {
        // Two readers may count one read, which does no harm.
        let misses = self.misses.load(Ordering::Relaxed);
        if misses < MISSES_MIN {
            self.misses.store(misses + 1, Ordering::Relaxed);
        }
        misses >= MISSES_MIN
    }

    /// Notes that few records beside were in memory.
    pub(super) fn found_little(&self) {
        self.misses.store(MISSES_MIN - MISSES_PAUSE, Ordering::Relaxed);
    }

    /// Takes in a commit before it is published (PCH-2), whose state has `objects` objects. Calls `change` with the cache, which
    /// forgets what the commit changes, or returns `None`: then all places become wrong. Returns the cache that must take the
    /// place of this one, if this one is too small.
    pub(super) fn take_in(
        &self,
        (batch, objects): (u64, u64),
        change: impl FnOnce(&Self) -> Option<()>,
    ) -> Option<Self> {
        let mut newest = self.newest.lock();
        let is_used = newest.replace(batch).is_some();
        let lines = self.lines.get().map(|lines| lines.count);
        match lines.filter(|_| is_used) {
            None => self.floor.store(batch, Ordering::Release),
            Some(lines) if objects > lines * OBJECTS_A_LINE_MAX => return Some(self.behind(batch)),
            Some(_) if change(self).is_some() => {}
            Some(_) => {
                self.floor.store(batch, Ordering::Release);
                self.epoch.fetch_add(1, Ordering::Release);
                // INVARIANT PCH-5: behind the new epoch.
                self.left.clear();
            }
        }
        None
    }

    /// Forgets what a commit changes. Returns `None` if to forget all is quicker, or if the changed ids are not known.
    pub(super) fn forget_changes(&self, coming: &Coming<'_>, next: &CommitEntry) -> Option<()> {
        let is_small = coming.batch.records.len() as u64 <= self.lines.get()?.count;
        if next.takes_state || !is_small {
            return None;
        }
        let mut records = coming.batch.records.iter();
        records.try_for_each(|record| self.forget_change(coming, record))
    }

    /// Takes in a rollback to the state of the batch `target`. Returns `None` if the cache does not serve that state.
    pub(super) fn go_back(&self, target: u64, rollback: u64) -> Option<()> {
        let is_served = self.floor.load(Ordering::Relaxed) <= target && !self.left.has(target);
        is_served.then(|| self.left.add(target, rollback))?
    }

    fn forget_change(&self, coming: &Coming<'_>, record: &Record) -> Option<()> {
        if record.kind == RecordKind::Link {
            self.floor.store(coming.batch.number, Ordering::Release);
        }
        coming.ids_of(record, &mut |id| self.forget(id))
    }
}
