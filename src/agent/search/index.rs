//! Provides the recall index for any state of the memory.
//!
//! Two indexes are in memory: one for the newest state, and one for the older state that was requested last. The
//! [`Holder`] updates an index to another state by diff. The vectors of texts belong to no state, so they lie in a table of
//! their own (`vectors`).
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - RIX-1: the index of a view contains exactly the texts of its state.

use std::sync::Arc;
use std::time::Duration;

use super::indexed::{Content, Indexed, settle};
use super::vectors::{ComparedTexts, VectorCounts, Vectors, is_embedding};
use crate::engine::{Derived, Holder, Memory, Reached, View};
use crate::error::Result;
use crate::threads::Mutex;
use treering_text::recall::{Meaning, Scratch};

/// The number of states whose indexes are in memory.
const KEPT: usize = 2;
/// The maximum number of scratch buffers that are kept for later readers.
const SCRATCHES_KEPT: usize = 8;

/// The recall indexes of an agent.
#[derive(Default)]
pub(crate) struct RecallIndex {
    indexes: Holder<Content, KEPT>,
    scratches: Mutex<Vec<Scratch>>,
    vectors: Option<Vectors>,
}

impl RecallIndex {
    /// Creates indexes that are also searched by meaning.
    pub(crate) fn with_vectors(vectors: Vectors) -> Self {
        Self {
            vectors: Some(vectors),
            ..Self::default()
        }
    }

    /// Returns the index of the state of `view`, and how it was prepared.
    pub(crate) fn of(&self, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let (opened, state) = (view.opened(), view.state());
        if let Some(found) = self.indexes.at_hand(state) {
            return Ok((found, Reached::AtHand));
        }
        let load = || Derived::load(opened);
        self.indexes.reach(
            (opened, state),
            |_| true,
            load,
            |indexed| {
                settle(indexed, view)?;
                indexed.pack();
                Ok(())
            },
        )
    }

    /// Calls `read` with the index of the state of `view`, and how it was prepared. If the index was read from a damaged
    /// file, builds it from all objects and calls `read` again.
    ///
    /// # Errors
    /// The errors of `read`; `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn read<T>(&self, view: &View, read: impl FnMut(&Indexed, Reached) -> Result<T>) -> Result<T> {
        self.indexes.read(view, self.of(view)?, read)
    }

    /// Returns what a search by meaning needs. Returns `None` if the host set no embedder, or if the embedder is the
    /// caller.
    pub(crate) fn meaning(&self) -> Option<&dyn Meaning> {
        let vectors = self.vectors.as_ref().filter(|_| !is_embedding())?;
        Some(vectors)
    }

    /// Returns what compares new texts with those of `view` by meaning, if there is an embedder that is not the caller.
    pub(in crate::agent) fn comparing<'a>(
        &'a self,
        memory: &'a Memory,
        view: &'a View,
    ) -> Option<ComparedTexts<'a>> {
        let vectors = self.vectors.as_ref().filter(|_| !is_embedding())?;
        Some(ComparedTexts {
            vectors,
            memory,
            view,
        })
    }

    /// Computes vectors of texts of `view` that have none, for at most `limit`. Returns `None` without an embedder.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; `Io` (code `interrupted`) if the host stops the work.
    pub(crate) fn embed(
        &self,
        memory: &Memory,
        view: &View,
        limit: Option<Duration>,
    ) -> Result<Option<VectorCounts>> {
        let Some(vectors) = self.vectors.as_ref().filter(|_| !is_embedding()) else {
            return Ok(None);
        };
        let counts = self.read(view, |indexed, _| {
            vectors.embed_missing(memory, view, &indexed.value().index, limit)
        })?;
        Ok(Some(counts))
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

    /// Saves the newest index to disk if it changed much since the last save, and the new vectors. Returns whether a
    /// file was written.
    ///
    /// # Errors
    /// `Io` if the file cannot be written, with the code `read_only` for a read-only handle.
    pub(crate) fn keep(&self, memory: &Memory) -> Result<bool> {
        if self.indexes.newest().is_none() {
            return Ok(false);
        }
        // Update the index to the head first, because the file must not contain an erased text.
        let (indexed, _) = self.of(&memory.view())?;
        let has_kept = indexed.keep(memory, &self.indexes.written)?;
        let Some(vectors) = &self.vectors else {
            return Ok(has_kept);
        };
        Ok(vectors.keep(memory, indexed.state(), &indexed.value().index)? || has_kept)
    }
}

#[cfg(test)]
mod tests;
