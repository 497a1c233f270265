//! The recall index follows the states of memory.
//!
//! One index stands for the newest state of a question, another for the last older one. Each follows to the state of a
//! question by the difference, so a commit costs its changes and a rollback costs as much. Without a near state, the index
//! is built of the whole state. A reader holds the index that it was given, and nobody waits for readers: a follower
//! moves a copy. The index of a new state is made beside the old one, and texts are embedded before any lock is taken, so
//! a question about a state at hand waits for neither. An embedder may itself recall.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping it costs time only.
//!
//! # Invariants
//! - RIX-1: an index for a view holds the texts of that view's state and no other, whatever was indexed before.
//! - RIK-1: an index that was read from disk and followed equals one that was built.

use std::sync::Arc;

use super::indexed::{Indexed, Reached};
use super::vectors::{Vectors, is_embedding};
use crate::agent::cache;
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::recall::{Embedder, Scratch};
use crate::threads::Mutex;

/// The names of the derived files.
const INDEX: &str = "recall";
const VECTORS: &str = "vectors";
/// An index takes up to so many changes in place. More go to a copy, so that no reader waits.
const IN_PLACE_MAX: usize = 500;
/// Scratches for the next readers.
const SCRATCHES_KEPT: usize = 8;

/// The indexes of an agent.
#[derive(Default)]
pub(crate) struct RecallIndex {
    slots: Mutex<Slots>,
    /// Held while an index is made. No embedder runs meanwhile.
    making: Mutex<()>,
    scratches: Mutex<Vec<Scratch>>,
    vectors: Option<Arc<Vectors>>,
}

impl RecallIndex {
    /// Indexes with vectors beside words.
    pub(crate) fn with_vectors(vectors: Vectors) -> Self {
        Self {
            vectors: Some(Arc::new(vectors)),
            ..Self::default()
        }
    }

    /// The index of the state of `view`, and how it got there.
    pub(crate) fn of(&self, memory: &Memory, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let at_hand = || {
            let mut slots = self.slots.lock();
            if !std::mem::replace(&mut slots.was_loaded, true) {
                let loaded = self.load(memory);
                slots.newest = loaded.map(Arc::new);
            }
            slots.at_hand(view)
        };
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        let vectors = self.vectors.clone();
        if is_embedding() {
            // The embedder itself recalls while it embeds: the answer uses words alone.
            return Indexed::empty(view, None).build(memory);
        }
        let newest = self.slots.lock().newest.clone();
        if let Some(vectors) = &vectors {
            vectors.embed_new(memory, newest.as_deref().map(|newest| &newest.view), view)?;
        }
        drop(newest);
        let _alone = self.making.lock();
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        self.make(memory, view, &|| Indexed::empty(view, vectors.clone()))
    }

    /// The embedder of questions, if the host gave one and the caller is not that embedder.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        let vectors = self.vectors.as_deref();
        vectors
            .filter(|_| !is_embedding())
            .map(|vectors| vectors as &dyn Embedder)
    }

    /// Lends a scratch.
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.scratches.lock().pop().unwrap_or_default();
        let worked = work(&mut scratch);
        let mut kept = self.scratches.lock();
        if kept.len() < SCRATCHES_KEPT {
            kept.push(scratch);
        }
        worked
    }

    /// Keeps the newest index on disk if much changed since it was kept; with an embedder, the vectors. Returns whether
    /// it did.
    ///
    /// # Errors
    /// As [`cache::keep`].
    pub(crate) fn keep(&self, memory: &Memory) -> Result<bool> {
        let (unkept, newest) = {
            let slots = self.slots.lock();
            (slots.unkept, slots.newest.clone())
        };
        let count = newest.map_or(0, |newest| newest.content.index.len() as u64);
        if !cache::is_worth_keeping(unkept, count) {
            return Ok(false);
        }
        // An erased text must not be written: the index follows the head first.
        let (indexed, _) = self.of(memory, &memory.view())?;
        let kept = match &self.vectors {
            Some(vectors) => cache::keep(
                memory,
                VECTORS,
                &indexed.view,
                &vectors.rows(indexed.embedded.values()),
            ),
            None => cache::keep(memory, INDEX, &indexed.view, &indexed.content),
        }?;
        if kept {
            self.slots.lock().unkept = 0;
        }
        Ok(kept)
    }

    /// The index that an earlier process kept. With an embedder, its vectors are read instead.
    fn load(&self, memory: &Memory) -> Option<Indexed> {
        if let Some(vectors) = &self.vectors {
            let (_, rows) = cache::load(memory, VECTORS)?;
            vectors.add(rows);
            return None;
        }
        let (commit, content) = cache::load(memory, INDEX)?;
        let view = cache::view_of(memory, commit)?;
        let mut indexed = Indexed::empty(&view, None);
        indexed.content = content;
        Some(indexed)
    }
}

#[derive(Default)]
struct Slots {
    newest: Option<Arc<Indexed>>,
    past: Option<Arc<Indexed>>,
    /// Whether the file of an earlier process was read.
    was_loaded: bool,
    /// Changes of the newest index since it was kept on disk.
    unkept: u64,
}

impl Slots {
    fn at_hand(&self, view: &View) -> Option<Arc<Indexed>> {
        let mut kept = [&self.newest, &self.past].into_iter().flatten();
        kept.find(|kept| kept.view.root() == view.root()).cloned()
    }
}

impl RecallIndex {
    /// Makes the index of another state. One thread at a time.
    fn make(
        &self,
        memory: &Memory,
        view: &View,
        empty: &dyn Fn() -> Indexed,
    ) -> Result<(Arc<Indexed>, Reached)> {
        let seq = |view: &View| view.commit().commit.seq;
        let newest = self.slots.lock().newest.clone();
        let is_newest = newest
            .as_ref()
            .is_none_or(|newest| seq(&newest.view) <= seq(view));
        if !is_newest {
            let past = self.slots.lock().past.take();
            let (indexed, reached) = reach_past(memory, view, [past, newest], empty)?;
            self.slots.lock().past = Some(Arc::clone(&indexed));
            return Ok((indexed, reached));
        }
        let (indexed, reached) = match newest {
            Some(newest) => {
                let changes = memory.diff(&newest.view, view)?;
                if changes.len() <= IN_PLACE_MAX {
                    // Taken out: without other readers it changes in place, and an index that failed half-way does not
                    // stay.
                    self.slots.lock().newest = None;
                }
                Indexed::follow(newest, memory, view, &changes)?
            }
            None => empty().build(memory)?,
        };
        let mut slots = self.slots.lock();
        slots.newest = Some(Arc::clone(&indexed));
        slots.unkept += match reached {
            Reached::AtHand => 0,
            Reached::Followed(changes) | Reached::Built(changes) => changes,
        };
        drop(slots);
        if let Some(vectors) = &self.vectors {
            vectors.forget_others(&indexed.embedded);
        }
        Ok((indexed, reached))
    }
}

/// Brings the nearest index of `kept` to an older state, or builds one if all are far.
fn reach_past(
    memory: &Memory,
    view: &View,
    kept: [Option<Arc<Indexed>>; 2],
    empty: &dyn Fn() -> Indexed,
) -> Result<(Arc<Indexed>, Reached)> {
    let mut nearest: Option<(u64, Arc<Indexed>)> = None;
    for kept in kept.into_iter().flatten() {
        let counts = memory.counts(&kept.view, view)?;
        let distance = counts.added + counts.changed + counts.removed;
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, kept));
        }
    }
    match nearest {
        Some((distance, kept)) if distance <= view.len() / 2 => {
            let changes = memory.diff(&kept.view, view)?;
            Indexed::follow(kept, memory, view, &changes)
        }
        _ => empty().build(memory),
    }
}

#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod tests;
