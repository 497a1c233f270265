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

use super::compared::ComparedTexts;
use super::indexed::{Content, Indexed, settle};
use super::vectors::{Asking, VectorCounts, Vectors, is_embedding};
use crate::engine::{self, Derived, Holder, Keep as _, Memory, Reached, View};
use crate::error::Result;
use crate::threads::Mutex;
use treering_text::recall::{Embedder, Scratch};

/// The number of states whose indexes are in memory.
const KEPT: usize = 2;
/// The maximum number of scratch buffers that are kept for later readers.
const SCRATCHES_KEPT: usize = 8;

/// The time after which the vectors so far are stored.
const SLICE: Duration = Duration::from_secs(5);

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

    /// Returns the vectors. Returns `None` if the host set no embedder, or if the embedder is the caller.
    fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_ref().filter(|_| !is_embedding())
    }

    /// Returns the embedder of the host.
    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder + Send + Sync>> {
        self.vectors.as_ref().map(Vectors::embedder)
    }

    /// Returns the name of the embedder.
    pub(in crate::agent) fn name(&self) -> Option<&str> {
        self.vectors.as_ref().map(Vectors::name)
    }

    /// Returns what compares new texts with those of `view` by meaning, if there is an embedder that is not the caller.
    pub(in crate::agent) fn comparing<'a>(
        &'a self,
        memory: &'a Memory,
        view: &'a View,
    ) -> Option<ComparedTexts<'a>> {
        let vectors = self.vectors()?;
        Some(ComparedTexts {
            vectors,
            memory,
            view,
        })
    }

    /// Forgets and removes the vectors if a recall found a damaged file. Returns whether it did.
    pub(crate) fn drop_damaged_vectors(&self, memory: &Memory) -> bool {
        self.vectors().is_some_and(|vectors| vectors.drop_damaged(memory))
    }

    /// Returns what a search by meaning needs for a question, if there is an embedder.
    pub(crate) fn meaning<'a>(&'a self, asked: &'a str) -> Option<Asking<'a>> {
        let vectors = self.vectors()?;
        Some(Asking { vectors, asked })
    }

    /// Returns the embedder if it knows the language of a question that was not asked before.
    pub(crate) fn needed_for(
        &self,
        memory: &Memory,
        question: &str,
    ) -> Option<Arc<dyn Embedder + Send + Sync>> {
        self.vectors()?.needed_for(memory, question)
    }

    /// Computes vectors of texts of `view` that have none, for at most `limit`. Without a limit, stores them from time to
    /// time. Returns `None` without an embedder.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; `Io` (code `interrupted`) if the host stops the work.
    pub(crate) fn embed(
        &self,
        memory: &Memory,
        view: &View,
        limit: Option<Duration>,
    ) -> Result<Option<VectorCounts>> {
        let Some(vectors) = self.vectors() else {
            return Ok(None);
        };
        let mut done = 0;
        loop {
            let slice = limit.unwrap_or(SLICE);
            let counts = self.read(view, |indexed, _| {
                vectors.embed_missing((memory, view), &indexed.value().index, slice, &mut done)
            });
            // What was computed is stored, even if the host stops the work now.
            if limit.is_none() && counts.as_ref().map_or(true, |counts| counts.pending > 0) {
                drop(self.keep(memory));
            }
            let counts = counts?;
            if limit.is_some() || counts.pending == 0 || vectors.is_at_fault() {
                return Ok(Some(counts));
            }
        }
    }

    /// Calls `erase`, which removes all derived files, and writes those of this index again, without what was erased. `view`
    /// is of the state before.
    ///
    /// # Errors
    /// The errors of `erase`. What cannot be written is computed again when it is needed.
    pub(crate) fn keep_over<T>(
        &self,
        memory: &Memory,
        view: &View,
        erase: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // Without a file, nothing is lost, and reading all objects would only cost time.
        let has_file = matches!(memory.derived(Content::NAME), Ok(Some(_)));
        let vectors = self.vectors();
        vectors.inspect(|vectors| vectors.load(memory, view));
        let is_worth = has_file || vectors.is_some_and(|vectors| !vectors.is_empty());
        let is_read = is_worth && self.of(view).is_ok();
        let done = erase()?;
        if is_read && let Ok((indexed, _)) = self.of(&memory.view()) {
            if has_file {
                drop(indexed.write(memory, &self.indexes.written));
            }
            let index = &indexed.value().index;
            vectors.inspect(|vectors| drop(vectors.keep_rest(memory, indexed.state(), index)));
        }
        Ok(done)
    }

    /// Removes the files with the vectors of other models, if this model has the vectors of all texts. Returns how many
    /// were removed.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; `Io` if a file cannot be removed.
    pub(crate) fn drop_other_vectors(&self, memory: &Memory) -> Result<usize> {
        let Some(vectors) = self.vectors() else {
            return Ok(0);
        };
        let is_old = |name: &str| vectors.is_of_another(name);
        if !engine::derived_names(memory)?.iter().any(|name| is_old(name)) {
            return Ok(0);
        }
        let counts = self.embed(memory, &memory.view(), Some(Duration::ZERO))?;
        if counts.is_none_or(|counts| counts.pending > 0) {
            return Ok(0);
        }
        engine::remove_derived(memory, is_old)
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
