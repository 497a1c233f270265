//! Provides the recall index for any state of the memory.
//!
//! Two indexes are in memory: one for the newest state, and one for the older state that was requested last. An index
//! is updated to another state by diff, so the cost of a commit or rollback depends only on its changes. If both
//! indexes differ much from a requested older state, a new index is built from all objects. While a reader uses an
//! index, an update changes a copy. Texts are embedded before any lock is taken, because an embedder may itself call
//! recall.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - RIX-1: the index of a view contains exactly the texts of its state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::indexed::{Content, Indexed};
use super::vectors::{Vectors, is_embedding};
use crate::agent::followed::Reached;
use crate::digest::HashSuite;
use crate::engine::{Derive as _, Memory, View};
use crate::error::Result;
use crate::threads::Mutex;
use treering_text::recall::{Embedder, Scratch};

/// The maximum number of changes that are applied to an index in place. More changes are applied to a copy, so that
/// readers do not wait.
const IN_PLACE_MAX: u64 = 500;
/// The maximum number of scratch buffers that are kept for later readers.
const SCRATCHES_KEPT: usize = 8;

/// The recall indexes of an agent.
#[derive(Default)]
pub(crate) struct RecallIndex {
    slots: Mutex<Slots>,
    /// The lock that a thread holds while it builds or updates an index. No embedder runs under this lock.
    making: Mutex<()>,
    scratches: Mutex<Vec<Scratch>>,
    vectors: Option<Arc<Vectors>>,
    /// The number of changes of the newest index at its last save.
    written: AtomicU64,
}

impl RecallIndex {
    /// Creates indexes that contain vectors in addition to words.
    pub(crate) fn with_vectors(vectors: Vectors) -> Self {
        Self {
            vectors: Some(Arc::new(vectors)),
            ..Self::default()
        }
    }

    /// Returns the index of the state of `view`, and how it was prepared.
    pub(crate) fn of(&self, memory: &Memory, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let at_hand = || self.slots.lock().at_hand(view);
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        if is_embedding() {
            // An embedder called recall. Build an index of words only, so that the embedder is not called again.
            let indexed = Indexed::build(view, Content::new(None))?;
            return Ok((Arc::new(indexed), Reached::Built));
        }
        if let Some(vectors) = &self.vectors {
            let newest = self.slots.lock().newest.clone();
            vectors.embed_new(memory, newest.as_deref().map(|newest| &newest.view), view)?;
        }
        let _alone = self.making.lock();
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        self.make(memory.suite(), view)
    }

    /// Calls `read` with the index of the state of `view`, and how it was prepared. If the index was read from a damaged
    /// file, builds it from all objects and calls `read` again.
    ///
    /// # Errors
    /// The errors of `read`; `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn read<T>(
        &self,
        memory: &Memory,
        view: &View,
        mut read: impl FnMut(&Indexed, Reached) -> Result<T>,
    ) -> Result<T> {
        let (indexed, reached) = self.of(memory, view)?;
        let done = read(&indexed, reached);
        if !indexed.value().is_damaged() {
            return done;
        }
        self.slots.lock().forget_damaged();
        self.written.store(0, Ordering::Relaxed);
        let built = Arc::new(Indexed::build(view, Content::new(None))?);
        self.slots.lock().newest.get_or_insert(Arc::clone(&built));
        read(&built, Reached::Built)
    }

    /// Returns the embedder for questions. Returns `None` if the host set no embedder, or if the embedder is the
    /// caller.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        let vectors = self.vectors.as_deref().filter(|_| !is_embedding())?;
        Some(vectors)
    }

    /// Runs `work` with a scratch buffer. Later calls reuse the buffer.
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.scratches.lock().pop().unwrap_or_default();
        let worked = work(&mut scratch);
        let mut kept = self.scratches.lock();
        if kept.len() < SCRATCHES_KEPT {
            kept.push(scratch);
        }
        worked
    }

    /// Saves the newest index to disk, or only the vectors if there is an embedder. Saves only if much has changed
    /// since the last save. Returns whether a file was written.
    ///
    /// # Errors
    /// `Io` if the file cannot be written, with the code `read_only` for a read-only handle.
    pub(crate) fn keep(&self, memory: &Memory) -> Result<bool> {
        if self.slots.lock().newest.is_none() {
            return Ok(false);
        }
        // Update the index to the head first, because the file must not contain an erased text.
        let (indexed, _) = self.of(memory, &memory.view())?;
        if let Some(vectors) = &self.vectors {
            return vectors.keep(memory, &indexed.view, &indexed.value().embedded);
        }
        // Hold no lock during the write, so that readers do not wait for the disk.
        indexed.keep(memory, &self.written)
    }
}

#[derive(Default)]
struct Slots {
    newest: Option<Arc<Indexed>>,
    past: Option<Arc<Indexed>>,
}

impl Slots {
    /// Drops the indexes that were read from a damaged file.
    fn forget_damaged(&mut self) {
        for slot in [&mut self.newest, &mut self.past] {
            let is_damaged = |kept: &mut Arc<Indexed>| kept.value().is_damaged();
            drop(slot.take_if(is_damaged));
        }
    }

    fn at_hand(&self, view: &View) -> Option<Arc<Indexed>> {
        let mut kept = [&self.newest, &self.past].into_iter().flatten();
        kept.find(|kept| kept.view.root() == view.root()).cloned()
    }
}

impl RecallIndex {
    /// Updates the index that differs least from the state of `view` to that state. Builds a new index if there is
    /// none, or if the state is older and every index differs much from it. Runs in one thread at a time.
    fn make(&self, suite: HashSuite, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let empty = || Content::new(self.vectors.clone());
        let seq = |view: &View| view.commit().commit.seq;
        let newest = self.slots.lock().newest.clone();
        let is_past = newest
            .as_ref()
            .is_some_and(|newest| seq(&newest.view) > seq(view));
        let past = is_past.then(|| self.slots.lock().past.take()).flatten();
        let kept = [past, newest].into_iter().flatten();
        let kept = kept.map(|kept| Ok((Memory::counts(&kept.view, view)?.total(), kept)));
        let near = kept.collect::<Result<Vec<_>>>()?;
        let near = near.into_iter().min_by_key(|(distance, _)| *distance);
        let near = near.filter(|(distance, _)| !is_past || *distance <= view.len() / 2);
        if !is_past
            && near
                .as_ref()
                .is_some_and(|(distance, _)| *distance <= IN_PLACE_MAX)
        {
            // Empty the slot, so that an index without readers changes in place, and so that no partly updated index
            // stays in the slot after a failed update.
            self.slots.lock().newest = None;
        }
        let (mut indexed, reached) = match near {
            // Do not load the file of an earlier process: it differs much from an older state, or lacks the vectors.
            None if is_past || self.vectors.is_some() => (Indexed::build(view, empty())?, Reached::Built),
            near => Indexed::reach(near.map(|(_, kept)| Arc::unwrap_or_clone(kept)), view, empty)?,
        };
        indexed.settle(suite)?;
        // The image of an index does not contain its vectors.
        if self.vectors.is_none() {
            indexed.pack();
        }
        if let Some(vectors) = self.vectors.as_ref().filter(|_| !is_past) {
            vectors.forget_others(&indexed.value().embedded);
        }
        let indexed = Arc::new(indexed);
        let mut slots = self.slots.lock();
        let slot = if is_past {
            &mut slots.past
        } else {
            &mut slots.newest
        };
        *slot = Some(Arc::clone(&indexed));
        Ok((indexed, reached))
    }
}

#[cfg(test)]
mod tests;
