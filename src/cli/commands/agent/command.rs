//! A command that answers a prompt: run without a shell, with the prompt on its standard input, for a limited time.
//!
//! # Layer
//! L9, part of cli.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// How often a command that has not ended is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Returns what `program` prints, at most `bytes_max` bytes of it; more ends it.
///
/// # Errors
/// `NotFound` if there is no such program; `Denied` (code `command_failed`) if it fails or takes longer than `time_limit`.
pub(super) fn reply(
    program: &str,
    arguments: &[String],
    prompt: &str,
    time_limit: Duration,
    bytes_max: u64,
) -> Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::not_found(format!("there is no program '{program}'")).with_code("no_program")
        }
        _ => Error::io(format_args!("running '{program}'"), error),
    })?;
    // A program may print before it has read everything, and read nothing at all.
    let prompt = prompt.to_owned();
    let writer = child
        .stdin
        .take()
        .map(|mut input| thread::spawn(move || drop(input.write_all(prompt.as_bytes()))));
    let reader = child.stdout.take().map(|output| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            output.take(bytes_max).read_to_end(&mut bytes).map(|_| bytes)
        })
    });
    let ended = wait(&mut child, program, time_limit);
    drop(writer);
    ended?;
    let read = reader
        .and_then(|reader| reader.join().ok())
        .unwrap_or(Ok(Vec::new()));
    let bytes = read.map_err(|error| Error::io(format_args!("reading from '{program}'"), error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn wait(child: &mut Child, program: &str, time_limit: Duration) -> Result<()> {
    let failed = |what: String| {
        Error::new(ErrorKind::Denied, format!("'{program}' {what}"))
            .with_code("command_failed")
            .with_hint("nothing was written; give its reply with --reply")
    };
    let since = Instant::now();
    loop {
        let status = child.try_wait();
        match status.map_err(|error| Error::io(format_args!("waiting for '{program}'"), error))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(failed(format!("failed: {status}"))),
            None if since.elapsed() >= time_limit => {
                // It may have ended just now; then there is nobody to end.
                drop(child.kill());
                drop(child.wait());
                return Err(failed(format!("took longer than {} s", time_limit.as_secs())));
            }
            None => thread::sleep(LOOK),
        }
    }
}
