//! Computes the vectors of new texts, after the verb that stored them gave its answer.
//!
//! The answer does not wait for the model. The process ends when the vectors are stored, so the next process finds the
//! texts by meaning.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Duration;

use signal_hook::consts::SIGINT;
use treering::agent::Agent;
use treering::{ErrorCode, Memory};

use super::context::Context;
use super::human::counted;

/// The time for the texts of one item.
pub(crate) const OF_ONE: Duration = Duration::from_millis(300);

/// The number of texts whose vectors take a few seconds.
const MANY: usize = 300;

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

    /// Computes the vectors that the verb left. Returns whether ctrl-c ended the work. No other failure is told by the exit
    /// code, because the next recall goes on.
    pub(crate) fn embed_new(&mut self) -> bool {
        let Some(work) = self.embedding.take() else {
            return false;
        };
        // From now on, ctrl-c only ends the work after the next text.
        let interrupt = work
            .limit
            .is_none()
            .then(|| signal_hook::flag::register(SIGINT, self.output.stop()));
        if work.limit.is_none() {
            self.note_work(&work.agent);
        }
        self.output.wait.begin();
        let embedded = work.agent.embed(work.limit);
        drop(work.agent.keep_indexes());
        self.output.wait.end();
        if let Some(Ok(id)) = interrupt {
            signal_hook::low_level::unregister(id);
        }
        match embedded {
            Ok(counts) => {
                let pending = counts.map_or(0, |counts| counts.pending);
                self.note_pending(pending);
                false
            }
            Err(error) if error.code() == ErrorCode::Interrupted => {
                let text = "stopped; all is stored, and the next run or recall computes the other vectors";
                self.output.note("vectors", text);
                true
            }
            Err(error) => {
                self.output.note("vectors", error.message());
                false
            }
        }
    }

    /// Says where no terminal shows it that computing the vectors of many texts takes a while.
    fn note_work(&mut self, agent: &Agent) {
        if self.output.shows_progress() {
            return;
        }
        // Only counts the texts.
        let counts = agent.embed(Some(Duration::ZERO)).ok().flatten();
        let pending = counts.map_or(0, |counts| counts.pending);
        if pending > MANY {
            let text = format!(
                "computing {pending} vectors; all is stored, so this may be stopped, and later recalls compute the rest"
            );
            self.output.note("vectors", text);
            drop(self.output.flush());
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
        if pending == 0 {
            return;
        }
        let texts = counted(pending as u64, "text");
        let text =
            format!("{texts} without a vector yet: found by words only until later recalls compute them");
        self.output.note("vectors", text);
    }
}

/// Ends the process as ctrl-c ends the other verbs.
pub(crate) fn end_by_interrupt(code: u8) -> u8 {
    drop(signal_hook::low_level::emulate_default_handler(SIGINT));
    code
}
