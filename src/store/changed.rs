//! The ids that a commit changes, and those that a line has changed since its base.
//!
//! An id that a line has not changed has the version that the base has, so a reader may ask the cache of places of the main
//! line for it.
//!
//! # Layer
//! Layer 4. Part of store/.
//!
//! # Invariants
//! - CHD-1: before a commit of a line is published, the line's [`ChangedIds`] contain every id of the base whose
//!   version differs from that in the base, or are not known. They may contain other ids.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::codec;
use crate::digest::KeyPath;
use crate::log::{Batch, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED};
use crate::object::Object;
use crate::trie::{NodeSource, Trie};

use super::places::IdHash;
use super::records::Records;

/// A commit that is about to be published.
pub(super) struct Coming<'a> {
    pub(super) batch: &'a Batch,
    /// The ids that its batch links or unlinks, if the writer knows them.
    pub(super) named: Option<&'a [IdHash]>,
    /// The newest state before it.
    pub(super) before: &'a Trie,
    pub(super) records: &'a Records,
    pub(super) nodes: &'a dyn NodeSource,
}

impl Coming<'_> {
    /// Calls `change` with each id whose version `record` may change. An id that the state before lacks may be missing, if the
    /// record links it. Returns `None` if the ids are not known.
    pub(super) fn ids_of(&self, record: &Record, change: &mut dyn FnMut(IdHash)) -> Option<()> {
        match (record.kind, self.named) {
            (RecordKind::Object, _) if record.flags & UNLINKED == 0 => {
                change(IdHash::of(Object::id_in(&record.body)?));
            }
            (RecordKind::Link | RecordKind::Unlink, Some(named)) => named.iter().copied().for_each(change),
            (RecordKind::Link, None) => {
                for link in codec::as_arrays::<LINK_BYTES>(&record.body).ok()? {
                    let (key, _) = link.split_first_chunk()?;
                    self.id_at(&KeyPath::from_bytes(*key), change)?;
                }
            }
            (RecordKind::Unlink, None) => {
                for key in codec::as_arrays::<UNLINK_BYTES>(&record.body).ok()? {
                    self.id_at(&KeyPath::from_bytes(key), change)?;
                }
            }
            (RecordKind::Base | RecordKind::Delta | RecordKind::Gap | RecordKind::Erased, _) => return None,
            _ => {}
        }
        Some(())
    }

    fn id_at(&self, key: &KeyPath, change: &mut dyn FnMut(IdHash)) -> Option<()> {
        if let Some(entry) = self.before.get(key, self.nodes).ok()? {
            let record = self.records.record(Locator::from_u64(entry.place)).ok()?;
            // Nothing else than objects is ever cached.
            if record.kind == RecordKind::Object {
                change(IdHash::of(Object::id_in(&record.body)?));
            }
        }
        Some(())
    }
}

/// The number of ids for which the first part has room. Each further part has room for eight times as many.
const IDS_MIN: u64 = 128;
const GROWTH: u64 = 8;
/// With 16 bits an id, and two of them set, at most one other id in 70 seems changed.
const BITS_AN_ID: u64 = 16;

/// The ids that a line has changed since its base (CHD-1): Bloom filters, each larger than the one before. Readers need no
/// lock, because bits are only ever set.
pub(super) struct ChangedIds {
    is_known: AtomicBool,
    first: OnceLock<Part>,
}

struct Part {
    bits: Box<[AtomicU64]>,
    /// The number of ids that were added.
    ids: AtomicU64,
    next: OnceLock<Box<Self>>,
}

impl Part {
    fn for_ids(ids: u64) -> Self {
        let words = ids * BITS_AN_ID / u64::from(u64::BITS);
        Self {
            bits: std::iter::repeat_with(AtomicU64::default)
                .take(words as usize)
                .collect(),
            ids: AtomicU64::new(0),
            next: OnceLock::new(),
        }
    }

    fn room(&self) -> u64 {
        self.bits.len() as u64 * u64::from(u64::BITS) / BITS_AN_ID
    }

    /// Returns the words and the bits of an id.
    fn bits_of(&self, hash: IdHash) -> [(&AtomicU64, u64); 2] {
        hash.halves().map(|half| {
            let bit = (u64::from(half) * self.bits.len() as u64 * u64::from(u64::BITS)) >> u32::BITS;
            let word = &self.bits[(bit / u64::from(u64::BITS)) as usize];
            (word, 1 << (bit % u64::from(u64::BITS)))
        })
    }

    fn may_have(&self, hash: IdHash) -> bool {
        self.bits_of(hash)
            .iter()
            .all(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }
}

impl ChangedIds {
    /// Returns the changed ids of a line without commits.
    pub(super) fn new() -> Self {
        Self {
            is_known: AtomicBool::new(true),
            first: OnceLock::new(),
        }
    }

    /// Returns whether the ids are known: not after [`Self::give_up`].
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Returns whether the line may have changed the id.
    pub(super) fn may_have(&self, hash: IdHash) -> bool {
        if !self.is_known() {
            return true;
        }
        let mut part = self.first.get();
        while let Some(found) = part {
            if found.may_have(hash) {
                return true;
            }
            part = found.next.get().map(Box::as_ref);
        }
        false
    }

    /// Adds an id. Must not be called by two threads at once.
    fn add(&self, hash: IdHash) {
        let mut part = self.first.get_or_init(|| Part::for_ids(IDS_MIN));
        while part.ids.load(Ordering::Relaxed) >= part.room() {
            part = part
                .next
                .get_or_init(|| Box::new(Part::for_ids(part.room() * GROWTH)));
        }
        if !part.may_have(hash) {
            part.ids.fetch_add(1, Ordering::Relaxed);
            for (word, bit) in part.bits_of(hash) {
                word.fetch_or(bit, Ordering::Release);
            }
        }
    }

    /// Adds what a commit changes, before it is published (CHD-1). Returns `None` if that is not known. Must not be called by two
    /// threads at once.
    pub(super) fn take_in(&self, coming: &Coming<'_>) -> Option<()> {
        let mut records = coming.batch.records.iter();
        records.try_for_each(|record| coming.ids_of(record, &mut |id| self.add(id)))
    }

    /// Notes that the line may have changed any id, from now on.
    pub(super) fn give_up(&self) {
        self.is_known.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_misses_no_id_and_names_few_others() {
        let changed = ChangedIds::new();
        let hash = |number: u64| IdHash::of(&format!("notes/{number}"));
        let (ids, others) = (20_000, 40_000);
        for number in 0..ids {
            changed.add(hash(number));
        }
        assert!((0..ids).all(|number| changed.may_have(hash(number))));
        let wrong = (ids..ids + others).filter(|number| changed.may_have(hash(*number)));
        // Two full parts, and two that are not.
        assert!(wrong.count() as u64 <= others / 20);
        changed.give_up();
        assert!(changed.may_have(hash(ids)));
    }
}
