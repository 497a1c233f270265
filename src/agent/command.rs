//! Runs another program without a shell, with a time limit, and returns a bounded part of its output.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - CMD-1: a run ends at its time limit, or shortly after the program ends, even if a child process of the program
//!   does not close the output. The size of the returned output is bounded.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::threads::{Builder, Mutex, sleep};

/// The pause between two checks of a running program.
const STEP: Duration = Duration::from_millis(5);
/// The maximum time to wait for the end of the output after the program has ended. The wait is limited because a child
/// process may never close the output.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The result of a run.
pub struct Ran {
    /// The exit status of the program; `None` if the program was killed at the time limit.
    pub status: Option<ExitStatus>,
    /// The first bytes of the program's standard output, up to the limit.
    pub output: Vec<u8>,
    /// The first bytes of the program's standard error, up to the limit. Empty if the caller does not pipe it.
    pub(crate) errors: Vec<u8>,
}

/// Runs `command` for at most the time `limit`, with `input` as its standard input. Returns at most `bytes_max` bytes
/// of each output.
///
/// # Errors
/// The error of the system if the program cannot be started or waited for.
pub fn run(command: &mut Command, input: String, limit: Duration, bytes_max: usize) -> io::Result<Ran> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let started = Instant::now();
    if let Some(mut pipe) = child.stdin.take() {
        // An error is ignored, because the program may end without reading all its input.
        Builder::new().spawn(move || drop(pipe.write_all(input.as_bytes())))?;
    }
    let errors = listen(child.stderr.take(), bytes_max);
    let output = listen(child.stdout.take(), bytes_max);
    let status = wait(&mut child, started, limit)?;
    let until = Instant::now() + LAST_WORDS;
    Ok(Ran {
        status,
        output: last_words(&output, until),
        errors: last_words(&errors, until),
    })
}

/// The collected output of the program, and whether the program has closed its output.
type Written = Arc<Mutex<(Vec<u8>, bool)>>;

/// Collects the output of the program in a thread. After `bytes_max` bytes, the thread reads and discards all further
/// bytes, so that the program does not block.
fn listen(pipe: Option<impl Read + Send + 'static>, bytes_max: usize) -> Written {
    let written = Written::default();
    let taken = Arc::clone(&written);
    let listening = Builder::new().spawn(move || {
        let mut pipe = pipe;
        let mut buffer = [0; 4096];
        while let Some(read) = pipe.as_mut().and_then(|pipe| pipe.read(&mut buffer).ok()) {
            if read == 0 {
                break;
            }
            let (bytes, _) = &mut *taken.lock();
            // CMD-1: the size of the returned output is bounded.
            let room = bytes_max.saturating_sub(bytes.len());
            bytes.extend_from_slice(&buffer[..read.min(room)]);
        }
        taken.lock().1 = true;
    });
    if listening.is_err() {
        written.lock().1 = true;
    }
    written
}

/// Waits until the program ends, and kills it at the time limit (CMD-1).
fn wait(child: &mut Child, started: Instant, limit: Duration) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limit {
            // An error is ignored, because the kill fails if the program has just ended.
            drop(child.kill());
            child.wait()?;
            return Ok(None);
        }
        sleep(STEP);
    }
}

/// Waits until the output ends, at most until the time `until`, and returns the collected output.
fn last_words(written: &Written, until: Instant) -> Vec<u8> {
    while !written.lock().1 && Instant::now() < until {
        sleep(STEP);
    }
    written.lock().0.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::piped());
        run(&mut command, "what to say\n".to_owned(), limit, 1_000).unwrap()
    }

    #[test]
    fn what_it_says_is_kept_in_part_and_how_it_ended() {
        let long = Duration::from_mins(1);
        let ran = shell("cat; echo oh >&2; exit 3", long);
        assert_eq!(ran.status.unwrap().code(), Some(3));
        assert_eq!(
            (&*ran.output, &*ran.errors),
            (&b"what to say\n"[..], &b"oh\n"[..])
        );
        let ran = shell("yes | head -c 100000", long);
        assert!(ran.status.unwrap().success());
        assert_eq!(ran.output.len(), 1_000);
    }

    /// INVARIANT CMD-1: a run does not wait for child processes of the program.
    #[test]
    fn what_it_leaves_behind_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!("echo done; (sleep 100; touch '{}') & exit 0", ended.display());
        let ran = shell(&script, Duration::from_mins(1));
        assert!(ran.status.unwrap().success());
        assert_eq!(ran.output, b"done\n");
        assert!(!ended.exists());
        let ran = shell("echo begun; sleep 100", Duration::from_millis(200));
        assert_eq!((ran.status, &*ran.output), (None, &b"begun\n"[..]));
    }
}
