//! Computes the vectors of new texts, after the verb that stored them gave its answer.
//!
//! The answer does not wait for the model. The process ends when the vectors are stored, so the next process finds the
//! texts by meaning.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::{Duration, Instant};

use treering::agent::Agent;
use treering::{ErrorCode, Memory, Result};

use super::context::Context;
use super::human::counted;

/// The time for the texts of one item.
pub(crate) const OF_ONE: Duration = Duration::from_millis(300);
/// The time after which the vectors so far are stored.
const SLICE: Duration = Duration::from_secs(5);

/// The work that is left when a verb ends.
pub(crate) struct Embedding {
    agent: Agent,
    limit: Option<Duration>,
}

impl Context {
    /// Computes the vectors of new texts of `agent` when the verb has ended, for at most `limit`.
    pub(crate) fn embed_after(&mut self, agent: &Agent, limit: Option<Duration>) {
        self.embedding = Some(Embedding {
            agent: agent.clone(),
            limit,
        });
    }

    /// Computes the vectors of all new texts of a memory when the verb has ended.
    pub(crate) fn embed_all_after(&mut self, memory: &Memory) {
        let agent = self.agent_of(memory);
        self.embed_after(&agent, None);
    }

    /// Computes the vectors that the verb left. No failure fails the verb, because the next recall goes on.
    pub(crate) fn embed_new(&mut self) {
        let Some(work) = self.embedding.take() else { return };
        match embed(&work) {
            Ok(0) => {}
            Ok(pending) => self.note_pending(pending),
            Err(error) if error.code() == ErrorCode::Interrupted => {
                let text = "stopped; recall computes the other vectors, or goes by words";
                self.output.note("vectors", text);
            }
            Err(error) => self.output.note("vectors", error.message()),
        }
    }

    /// Says why texts have no vectors, if the model turned out to be at fault when the verb used it.
    pub(crate) fn note_fault(&mut self) {
        if let Some(fault) = self.embedder.take().and_then(|embedder| embedder.fault()) {
            let note = format!("{fault}; recall uses words only");
            self.output.note("meaning", note);
        }
    }

    /// Says how many texts are found by words only.
    pub(crate) fn note_pending(&mut self, pending: usize) {
        let texts = counted(pending as u64, "text");
        let text =
            format!("{texts} without a vector yet: found by words only until later recalls compute them");
        self.output.note("vectors", text);
    }
}

/// Returns the number of texts without a vector.
fn embed(work: &Embedding) -> Result<usize> {
    let begun = Instant::now();
    loop {
        let left = work.limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        let counts = work.agent.embed(Some(slice));
        // What was computed is stored, even if the work is stopped now.
        drop(work.agent.keep_indexes());
        let pending = counts?.map_or(0, |counts| counts.pending);
        if pending == 0 || left.is_some_and(|left| left <= slice) {
            return Ok(pending);
        }
    }
}
