//! Computes the vectors of new texts in a thread of its own.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - BGE-1: the thread ends when its [`Embedding`] is dropped.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};

use super::agent::Agent;
use crate::threads::Builder;

/// The time for which the thread computes at once.
const SLICE: Duration = Duration::from_millis(100);
/// The longest time for which vectors are in memory only.
const KEEP: Duration = Duration::from_secs(5);
/// The time after which the thread looks for texts that another process stored.
const LOOK: Duration = Duration::from_secs(2);

/// Computes the vectors of new texts until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it stops the work"]
pub struct Embedding {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    /// Disconnected when the thread has ended.
    end: Receiver<()>,
    is_running: bool,
}

impl Embedding {
    /// Starts the thread. Starts none if the agent has no embedder.
    pub(super) fn of(agent: &Agent) -> Self {
        let ((stop, stopped), (ended, end)) = (bounded(0), bounded(0));
        let own = agent.clone();
        let work = move || {
            run(&own, &stopped);
            drop(ended);
        };
        let named = Builder::new().name("treering-embed".to_owned());
        Self {
            is_running: agent.embedder().is_some() && named.spawn(work).is_ok(),
            stop: Some(stop),
            end,
        }
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        self.stop = None;
        if self.is_running {
            // Waits until the thread drops its end. A panic of the host's embedder drops it, too.
            let _ended = self.end.recv();
        }
    }
}

fn run(agent: &Agent, stopped: &Receiver<()>) {
    let (heads, mut kept) = (agent.memory().watch(), Instant::now());
    loop {
        // After an error, the thread waits as if nothing were left, and tries again.
        let counts = agent.embed(Some(SLICE)).ok().flatten();
        let is_done = counts.is_none_or(|counts| counts.pending == 0);
        if is_done || kept.elapsed() > KEEP {
            // The vectors are derived. What is not stored is computed again.
            drop(agent.keep_indexes());
            kept = Instant::now();
        }
        if agent.embedder().is_none_or(|embedder| embedder.fault().is_some()) {
            return;
        }
        let pause = if is_done { LOOK } else { SLICE };
        if !is_done {
            if stopped.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            continue;
        }
        select! {
            recv(stopped) -> _ => return,
            recv(heads) -> moved => if moved.is_err() { return },
            default(pause) => drop(agent.memory().refresh()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::agent::{NewItem, RememberOptions, Settings};
    use crate::engine::{Memory, Writer};
    use treering_text::recall::Embedder;

    struct Length;

    impl Embedder for Length {
        fn embed(&self, text: &str) -> Vec<f32> {
            vec![1.0, text.len() as f32]
        }
    }

    fn remember(agent: &Agent, text: &str) {
        let options = RememberOptions::default();
        drop(
            agent
                .remember(NewItem::new(text), &options, &Writer::user())
                .unwrap(),
        );
    }

    #[test]
    fn what_is_stored_gets_its_vector_without_a_recall() {
        let memory = Memory::in_memory().unwrap();
        let agent = Agent::new(memory, Settings::default());
        let agent = agent.with_embedder("length", Arc::new(Length)).unwrap();
        remember(&agent, "The kettle is green");
        let work = agent.embed_in_background();
        let is_embedded = |count: usize| {
            let begun = Instant::now();
            loop {
                let counts = agent.embed(Some(Duration::ZERO)).unwrap().unwrap();
                if (counts.embedded, counts.pending) == (count, 0) {
                    return true;
                }
                if begun.elapsed() > Duration::from_mins(1) {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        assert!(is_embedded(1));
        remember(&agent, "The door is blue");
        assert!(is_embedded(2));
        drop(work);
        // BGE-1: nobody computes the vector of a later text.
        remember(&agent, "The roof is red");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(agent.embed(Some(Duration::ZERO)).unwrap().unwrap().pending, 1);
    }
}
