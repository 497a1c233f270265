//! A model in another program: it reads one line of JSON for each text, and writes one with its vector.
//!
//! A line to the program is `{"text": "...", "kind": "text"}` or `"kind": "question"`. A line from it is
//! `{"vector": [0.1, ...]}`. The program runs until this one ends. It is started without a shell.
//!
//! # Layer
//! Layer 8, inside `meaning`.
//!
//! # Invariants
//! - EMB-1: a program that fails or takes too long is ended, and not started again by this process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use treering::agent::Embedder;
use treering::inspect::digest::{sha256, to_hex};

use super::Named;
use super::address::vector;

/// The longest time for a vector. The first one includes the start of the program.
const PATIENCE: Duration = Duration::from_mins(1);
/// The longest line of the program, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The longest part of the command that is a part of the name, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// A model in another program.
struct Program {
    command: Vec<String>,
    state: Mutex<State>,
}

enum State {
    NotStarted,
    Running(Running),
    Failed,
}

struct Running {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Vec<u8>>,
}

/// Returns the model of a command, which is not started yet. The name is the command: a program whose vectors change
/// should have another argument then.
pub(super) fn embedder(command: &[String]) -> Named {
    let whole = command.join(" ");
    let start = &whole[..whole.floor_char_boundary(NAME_BYTES_MAX)];
    // The digest tells long commands apart, and arguments with blanks from several arguments (MEA-3).
    let digest = to_hex(&sha256(command.join("\0").as_bytes()));
    let name = format!("command:{start}#{}", &digest[..16]);
    let program = Program {
        command: command.to_vec(),
        state: Mutex::new(State::NotStarted),
    };
    (name, Arc::new(program))
}

impl Running {
    fn start(command: &[String]) -> Option<Self> {
        let (program, arguments) = command.split_first()?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let input = child.stdin.take()?;
        let mut output = BufReader::new(child.stdout.take()?);
        let (sender, lines) = sync_channel(1);
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                let read = output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
                if read.is_err() || !line.ends_with(b"\n") || sender.send(line).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, input, lines })
    }

    fn ask(&mut self, text: &str, kind: &str) -> Option<Vec<f32>> {
        let line = format!("{}\n", json!({ "text": text, "kind": kind }));
        self.input.write_all(line.as_bytes()).ok()?;
        self.input.flush().ok()?;
        let line = self.lines.recv_timeout(PATIENCE).ok()?;
        let reply: Value = serde_json::from_slice(&line).ok()?;
        vector(&reply["vector"])
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Program {
    fn ask(&self, text: &str, kind: &str) -> Vec<f32> {
        let mut state = self.state.lock();
        if matches!(*state, State::NotStarted) {
            *state = Running::start(&self.command).map_or(State::Failed, State::Running);
        }
        let State::Running(running) = &mut *state else {
            return Vec::new();
        };
        running.ask(text, kind).unwrap_or_else(|| {
            *state = State::Failed;
            Vec::new()
        })
    }
}

impl Embedder for Program {
    fn embed(&self, text: &str) -> Vec<f32> {
        self.ask(text, "text")
    }

    fn embed_question(&self, question: &str) -> Vec<f32> {
        self.ask(question, "question")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Named {
        embedder(&["sh", "-c", script].map(str::to_owned))
    }

    #[test]
    fn a_program_answers_texts_and_questions() {
        let script = "while read -r line; do case $line in *question*) echo '{\"vector\":[1]}';; \
                      *) echo '{\"vector\":[0,2]}';; esac; done";
        let (name, embedder) = shell(script);
        assert!(name.starts_with("command:sh -c while"));
        assert_eq!(embedder.embed("a \"quoted\" tea\n"), [0.0, 2.0]);
        assert_eq!(embedder.embed_question("tea?"), [1.0]);
        assert_eq!(embedder.embed("tea"), [0.0, 2.0]);
    }

    /// INVARIANT EMB-1: a program that fails is not asked again.
    #[test]
    fn a_program_that_fails_gives_no_vector() {
        for script in [
            "exit 1",
            "read -r line; echo nonsense; read -r line; echo '{\"vector\":[1]}'",
        ] {
            let (_, embedder) = shell(script);
            assert!(embedder.embed("tea").is_empty(), "{script}");
            assert!(embedder.embed("tea").is_empty(), "{script}");
        }
        let (_, embedder) = embedder(&["/no/such/program".to_owned()]);
        assert!(embedder.embed("tea").is_empty());
    }
}
