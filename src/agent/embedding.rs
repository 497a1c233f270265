//! Computes the vectors of new texts in a thread of its own.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - EMB-1: the thread computes for at most half of the time, so that others get the processor.
//! - EMB-2: the thread ends when its [`Embedding`] is dropped.

use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};

use super::agent::Agent;

/// The time for which the thread computes at once.
const SLICE: Duration = Duration::from_millis(100);
/// The time after which the thread looks for texts that another process stored.
const LOOK: Duration = Duration::from_secs(2);

/// Computes the vectors of new texts until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it stops the work"]
pub struct Embedding {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Computes the vectors of new texts in a thread, until the result is dropped. Also stores the vectors. Does nothing
    /// without an embedder, or if the system starts no thread: then each recall computes some vectors.
    pub fn embed_in_background(&self) -> Embedding {
        let (stop, stopped) = bounded(0);
        let agent = self.clone();
        let work = move || run(&agent, &stopped);
        let named = std::thread::Builder::new().name("treering-embed".to_owned());
        Embedding {
            stop: Some(stop),
            thread: self.has_embedder().then(|| named.spawn(work).ok()).flatten(),
        }
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the host's embedder has ended the thread.
            drop(thread.join());
        }
    }
}

fn run(agent: &Agent, stopped: &Receiver<()>) {
    let heads = agent.memory().watch();
    loop {
        // An error stays until the store changes, so the thread waits as if nothing were left.
        let counts = agent.embed(Some(SLICE)).ok().flatten();
        let is_done = counts.is_none_or(|counts| counts.pending == 0);
        if is_done {
            // The vectors are derived. What is not stored is computed again.
            drop(agent.keep_indexes());
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
        // EMB-2: nobody computes the vector of a later text.
        remember(&agent, "The roof is red");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(agent.embed(Some(Duration::ZERO)).unwrap().unwrap().pending, 1);
    }
}
