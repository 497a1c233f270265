//! Provides the recall index for any state of the memory.
//!
//! Two indexes are in memory: one for the newest state, and one for the older state that was requested last. The
//! [`Holder`] updates an index to another state by diff. Texts are embedded before any lock is taken, because an embedder
//! may itself call recall.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - RIX-1: the index of a view contains exactly the texts of its state.

use std::sync::Arc;

use super::indexed::{Content, Indexed, settle};
use super::vectors::{Vectors, is_embedding};
use crate::engine::{Derived, Holder, Memory, Reached, View};
use crate::error::Result;
use crate::threads::Mutex;
use treering_text::recall::{Embedder, Scratch};

/// The number of states whose indexes are in memory.
const KEPT: usize = 2;
/// The maximum number of scratch buffers that are kept for later readers.
const SCRATCHES_KEPT: usize = 8;

/// The recall indexes of an agent.
#[derive(Default)]
pub(crate) struct RecallIndex {
    indexes: Holder<Content, KEPT>,
    scratches: Mutex<Vec<Scratch>>,
    vectors: Option<Arc<Vectors>>,
}

impl RecallIndex {
    /// Creates indexes that contain vectors in addition to words.
    pub(crate) fn with_vectors(vectors: Vectors) -> Self {
        let vectors = Some(Arc::new(vectors));
        Self {
            indexes: Holder::new(Content::new(vectors.clone())),
            vectors,
            ..Self::default()
        }
    }

    /// Returns the index of the state of `view`, and how it was prepared.
    pub(crate) fn of(&self, memory: &Memory, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let (opened, state) = (view.opened(), view.state());
        if let Some(found) = self.indexes.at_hand(state) {
            return Ok((found, Reached::AtHand));
        }
        if is_embedding() {
            // An embedder called recall. Build an index of words only, so that the embedder is not called again.
            let indexed = Derived::build(opened, state.clone(), Content::new(None))?;
            return Ok((Arc::new(indexed), Reached::Built));
        }
        if let Some(vectors) = &self.vectors {
            let newest = self.indexes.newest();
            vectors.embed_new(memory, newest.as_ref().map(|newest| newest.state()), view)?;
        }
        // The image of an index does not contain its vectors, so an index with vectors is neither loaded nor packed.
        let has_image = self.vectors.is_none();
        let load = || has_image.then(|| Derived::load(opened)).flatten();
        let reached = self.indexes.reach(
            (opened, state),
            |_| true,
            load,
            |indexed| {
                settle(indexed, view)?;
                if has_image {
                    indexed.pack();
                }
                Ok(())
            },
        )?;
        if let (Some(vectors), Some(newest)) = (&self.vectors, self.indexes.newest())
            && Arc::ptr_eq(&newest, &reached.0)
        {
            vectors.forget_others(&newest.value().embedded);
        }
        Ok(reached)
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
        read: impl FnMut(&Indexed, Reached) -> Result<T>,
    ) -> Result<T> {
        self.indexes.read(view, self.of(memory, view)?, read)
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
        if self.indexes.newest().is_none() {
            return Ok(false);
        }
        // Update the index to the head first, because the file must not contain an erased text.
        let (indexed, _) = self.of(memory, &memory.view())?;
        match &self.vectors {
            Some(vectors) => vectors.keep(memory, indexed.state(), &indexed.value().embedded),
            None => indexed.keep(memory, &self.indexes.written),
        }
    }
}

#[cfg(test)]
mod tests;
