//! A model in another program: it reads one line of JSON for each text, and writes one with its vector.
//!
//! A line to the program is `{"text": "...", "kind": "text"}` or `"kind": "question"`. A line from it is
//! `{"vector": [0.1, ...]}`. The program runs until this one ends. It is started without a shell.
//!
//! # Layer
//! Layer 7, inside `agent/meaning`.
//!
//! # Invariants
//! - EMB-1: a program that fails, does not read, or takes too long is ended, and not started again by this process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::agent::Embedder;
use crate::threads::Mutex;
use serde_json::{Value, json};

use super::Named;
use super::outside::{Fault, cut, digest_of, readable, vector};

/// The times after which a program counts as hanging. A person waits for them at each recall.
#[derive(Clone, Copy)]
struct Patience {
    /// For the first vector. The program starts and reads its weights.
    first: Duration,
    later: Duration,
}

const PATIENCE: Patience = Patience {
    first: Duration::from_secs(10),
    later: Duration::from_secs(5),
};
/// The longest line of the program, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// A model in another program.
struct Program {
    command: Vec<String>,
    patience: Patience,
    state: Mutex<State>,
    fault: Fault,
}

enum State {
    NotStarted,
    Running(Running),
    Failed,
}

struct Running {
    child: Child,
    /// The lines to the program. A thread writes them, because the program may not read. Dropping it closes the pipe.
    questions: SyncSender<String>,
    lines: Receiver<Vec<u8>>,
}

/// Returns the model of a command, which is not started yet. The name is that of the program, with a digest of the whole
/// command: a program whose vectors change should have another argument then.
pub(super) fn embedder(command: &[String]) -> Named {
    with_patience(command, PATIENCE)
}

fn with_patience(command: &[String], patience: Patience) -> Named {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    let program = readable(&program.unwrap_or_default().to_string_lossy());
    let digest = digest_of(command.iter().map(String::as_str));
    let model = Program {
        command: command.to_vec(),
        patience,
        state: Mutex::new(State::NotStarted),
        fault: Fault::default(),
    };
    (format!("command:{program}@{digest}"), Arc::new(model))
}

impl Running {
    fn start(command: &[String]) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("it is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        Ok(Self {
            child,
            questions: writer(input),
            lines: reader(output),
        })
    }

    /// Returns the answer to a line. Writing the line and waiting for the answer have one limit together.
    fn ask(&self, line: String, patience: Duration) -> Result<Vec<f32>, String> {
        // A line that nobody asked for would be taken for the vector of this text.
        if self.lines.try_recv().is_ok() || self.questions.try_send(line).is_err() {
            return Err("it does not answer each line with one line".to_owned());
        }
        let line = self.lines.recv_timeout(patience);
        let line = line.map_err(|_| "it ended, or gave no answer in time".to_owned())?;
        let reply: Option<Value> = serde_json::from_slice(&line).ok();
        let found = reply.and_then(|reply| vector(&reply["vector"]));
        found.ok_or_else(|| "its answer has no vector".to_owned())
    }
}

/// Starts a thread that writes lines, until the sender is dropped or the pipe breaks.
fn writer(mut input: ChildStdin) -> SyncSender<String> {
    let (sender, questions) = sync_channel::<String>(1);
    thread::spawn(move || {
        for line in questions {
            if input.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
    });
    sender
}

/// Starts a thread that reads lines, until the receiver is dropped or the pipe breaks.
fn reader(output: ChildStdout) -> Receiver<Vec<u8>> {
    let mut output = BufReader::new(output);
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
    lines
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
        let mut patience = self.patience.later;
        if matches!(*state, State::NotStarted) {
            patience = self.patience.first;
            *state = match Running::start(&self.command) {
                Ok(running) => State::Running(running),
                Err(why) => self.failed(&why),
            };
        }
        let State::Running(running) = &*state else {
            return Vec::new();
        };
        let line = format!("{}\n", json!({ "text": cut(text), "kind": kind }));
        running.ask(line, patience).unwrap_or_else(|why| {
            *state = self.failed(&why);
            Vec::new()
        })
    }

    /// Keeps why the program gives no more vectors. Its arguments may have a key, so only its name is told.
    fn failed(&self, why: &str) -> State {
        let program = self.command.first().map_or("", String::as_str);
        self.fault
            .set(format!("the command {program} gives no vectors: {why}"));
        State::Failed
    }
}

impl Embedder for Program {
    fn embed(&self, text: &str) -> Vec<f32> {
        self.ask(text, "text")
    }

    fn embed_question(&self, question: &str) -> Vec<f32> {
        self.ask(question, "question")
    }

    fn fault(&self) -> Option<String> {
        self.fault.get()
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
        assert!(name.starts_with("command:sh@"));
        assert_eq!(embedder.embed("a \"quoted\" tea\n"), [0.0, 2.0]);
        assert_eq!(embedder.embed_question("tea?"), [1.0]);
        assert_eq!(embedder.embed("tea"), [0.0, 2.0]);
        assert_eq!(embedder.fault(), None);
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
            assert!(embedder.fault().is_some(), "{script}");
        }
        let (_, embedder) = embedder(&["/no/such/program".to_owned()]);
        assert!(embedder.embed("tea").is_empty());
        assert!(embedder.fault().unwrap().contains("/no/such/program"));
    }

    /// INVARIANT EMB-1: the limit also holds for writing, if the program never reads.
    #[test]
    fn a_program_that_does_not_read_is_ended() {
        let command = ["sh", "-c", "exec sleep 1000"].map(str::to_owned);
        let running = Running::start(&command).unwrap();
        let more_than_a_pipe_holds = "x".repeat(4 << 20);
        let answer = running.ask(more_than_a_pipe_holds, Duration::from_millis(20));
        assert!(answer.is_err());
        drop(running);

        let brief = Duration::from_millis(20);
        let patience = Patience {
            first: brief,
            later: brief,
        };
        let (_, embedder) = with_patience(&command, patience);
        assert!(embedder.embed("tea").is_empty());
        assert!(embedder.fault().is_some());
    }

    /// INVARIANT EMB-1: no line is taken for the vector of another text.
    #[test]
    fn a_program_that_answers_twice_is_ended() {
        let mut running = Running::start(&["cat".to_owned()]).unwrap();
        let (sender, lines) = sync_channel(2);
        running.lines = lines;
        for answer in ["{\"vector\":[1]}\n", "{\"vector\":[2]}\n"] {
            sender.send(answer.as_bytes().to_vec()).unwrap();
        }
        assert!(running.ask("{}\n".to_owned(), Duration::from_secs(1)).is_err());
    }

    #[test]
    fn a_program_gets_the_beginning_of_a_long_text() {
        let (_, embedder) = shell("read -r line; echo \"{\\\"vector\\\":[${#line}]}\"; cat");
        let length = embedder.embed(&"x".repeat(100_000))[0];
        assert!(length < 9_000.0, "{length}");
    }
}
