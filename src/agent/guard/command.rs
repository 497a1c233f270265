//! A check that another program makes: it gets the change as JSON and answers with its exit code.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - GRD-3: a command ends when its time is over, and whatever it writes, a bounded part of it is kept.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::policy::CommandCheck;
use super::report::Report;
use super::turn::Turn;
use crate::agent::envelope::one_line;
use crate::error::{Error, Result};
use crate::threads::{Builder, Mutex, sleep};

/// Bytes of its output that are kept.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
/// Characters of its output that the report shows.
const OUTPUT_CHARS: usize = 400;
/// How often it is asked whether it is done.
const STEP: Duration = Duration::from_millis(5);
/// How long its last words are waited for once it ended; what it started may go on and keep its output open.
const LAST_WORDS: Duration = Duration::from_millis(200);
const ADVICE: &str = "do what the check says, then try again";

/// What the program wrote so far, and whether it is at its end.
type Written = Arc<Mutex<(Vec<u8>, bool)>>;

pub(super) fn check(turn: &Turn<'_>, check: &CommandCheck, report: &mut Report) -> Result<()> {
    let Some((program, arguments)) = check.run.split_first() else {
        return Err(Error::invalid(format!("the check '{}' runs nothing", check.name)));
    };
    let failed = |doing: &str, error| Error::io(format_args!("{doing} the check '{}'", check.name), error);
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed("starting", error))?;
    let document = turn.to_json()?.to_string();
    feed(&mut child, document).map_err(|error| failed("starting", error))?;
    let said = [listen(child.stderr.take()), listen(child.stdout.take())];
    let status = wait(&mut child, check.limit()).map_err(|error| failed("waiting for", error))?;
    match status {
        Some(status) if status.success() => report.pass(&check.name),
        Some(status) => {
            let said = said.iter().map(last_words).find(|said| !said.is_empty());
            let why = said.unwrap_or_else(|| format!("it ended with {status}"));
            report.fail(&check.name, why, Vec::new(), ADVICE);
        }
        None => {
            let why = format!("it did not end within {} s", check.seconds);
            report.fail(&check.name, why, Vec::new(), ADVICE);
        }
    }
    Ok(())
}

/// Writes the document to the program, which may end without reading it.
fn feed(child: &mut Child, document: String) -> std::io::Result<()> {
    let Some(mut input) = child.stdin.take() else {
        return Ok(());
    };
    // Whether it wants to read all of it is its own business.
    let feeding = Builder::new().spawn(move || drop(input.write_all(document.as_bytes())));
    feeding.map(drop)
}

/// Takes down what the program writes, and lets it write on.
fn listen(output: Option<impl Read + Send + 'static>) -> Written {
    let written = Written::default();
    let taken = Arc::clone(&written);
    let listening = Builder::new().spawn(move || {
        let mut output = output;
        let mut buffer = [0; 4096];
        while let Some(read) = output.as_mut().and_then(|output| output.read(&mut buffer).ok()) {
            if read == 0 {
                break;
            }
            let (bytes, _) = &mut *taken.lock();
            // GRD-3
            let room = (OUTPUT_BYTES_MAX as usize).saturating_sub(bytes.len());
            bytes.extend_from_slice(&buffer[..read.min(room)]);
        }
        taken.lock().1 = true;
    });
    if listening.is_err() {
        written.lock().1 = true;
    }
    written
}

/// Waits until the program ends, or ends it when its time is over (GRD-3).
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(STEP);
    }
}

/// What it wrote, in one line.
fn last_words(written: &Written) -> String {
    let ended = Instant::now();
    while !written.lock().1 && ended.elapsed() < LAST_WORDS {
        sleep(STEP);
    }
    let bytes = written.lock().0.clone();
    one_line(&String::from_utf8_lossy(&bytes), OUTPUT_CHARS)
}
