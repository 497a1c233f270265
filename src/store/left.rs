//! The states that rollbacks left, for the cache of places.
//!
//! After a rollback, the states between its target and itself are no past of the newest state. Their records stay in the
//! log, and the cache may still have places of them.
//!
//! # Layer
//! Layer 4. Part of store/.
//!
//! # Invariants
//! - LFT-1: until [`Left::clear`], what was left only grows, also for a reader that sees half of a change. Only one thread at a
//!   time changes it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of rollbacks that are remembered. A reader compares a batch with each of them.
const ROLLBACKS_MAX: usize = 16;

/// The batches between the targets of rollbacks and those rollbacks.
#[derive(Default)]
pub(super) struct Left {
    count: AtomicUsize,
    rollbacks: [Between; ROLLBACKS_MAX],
}

/// The batches behind `target` and before `rollback`.
#[derive(Default)]
struct Between {
    target: AtomicU64,
    rollback: AtomicU64,
}

impl Left {
    /// Returns whether a rollback left the batch.
    pub(super) fn has(&self, batch: u64) -> bool {
        let known = &self.rollbacks[..self.count.load(Ordering::Acquire)];
        known.iter().any(|left| {
            left.target.load(Ordering::Acquire) < batch && batch < left.rollback.load(Ordering::Acquire)
        })
    }

    /// Adds a rollback whose target was not left. Returns `None` if there is no room.
    pub(super) fn add(&self, target: u64, rollback: u64) -> Option<()> {
        let count = self.count.load(Ordering::Relaxed);
        let goes_further = |left: &&Between| target <= left.target.load(Ordering::Relaxed);
        let left = self.rollbacks[..count].iter().find(goes_further);
        let is_new = left.is_none();
        // INVARIANT LFT-1: nobody reads a new one before it is counted, and a known one only grows.
        let left = left.or_else(|| self.rollbacks.get(count))?;
        left.rollback.store(rollback, Ordering::Release);
        left.target.store(target, Ordering::Release);
        self.count.store(count + usize::from(is_new), Ordering::Release);
        Some(())
    }

    /// Forgets all rollbacks.
    pub(super) fn clear(&self) {
        self.count.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_up_to(left: &Left, end: u64) -> Vec<u64> {
        (0..end).filter(|batch| left.has(*batch)).collect()
    }

    #[test]
    fn a_rollback_leaves_what_is_between() {
        let left = Left::default();
        left.add(2, 5).unwrap();
        assert_eq!(left_up_to(&left, 20), [3, 4]);
        left.add(6, 9).unwrap();
        assert_eq!(left_up_to(&left, 20), [3, 4, 7, 8], "5, 6 and 9 stay");
        left.add(1, 12).unwrap();
        assert_eq!(left_up_to(&left, 20), (2..12).collect::<Vec<_>>());
        left.add(1, 14).unwrap();
        assert_eq!(
            left_up_to(&left, 20),
            (2..14).collect::<Vec<_>>(),
            "to one target twice"
        );
        left.clear();
        assert!(left_up_to(&left, 20).is_empty());
    }

    #[test]
    fn there_is_room_for_some_rollbacks() {
        let left = Left::default();
        for number in 1..=ROLLBACKS_MAX as u64 {
            left.add(number * 10, number * 10 + 5).unwrap();
        }
        assert_eq!(left.add(1_000, 1_005), None);
        assert!(!left.has(1_002) && left.has(11));
        left.add(100, 1_005).unwrap();
        assert!(left.has(1_002), "one that goes further needs no room");
    }
}
