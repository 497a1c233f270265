//! Runs a command that answers a prompt. The command runs without a shell, with the prompt on
//! standard input and a time limit.
//!
//! # Layer
//! Layer 10, part of cli.

use std::process::Command;
use std::time::Duration;

use crate::cli::commands::prelude::*;
use treering::inspect::agent::command::run;

/// Returns the output of `program`, at most `bytes_max` bytes.
///
/// # Errors
/// Returns `NotFound` if the program does not exist, and `InvalidInput` (code `command_failed`) if the program fails or
/// exceeds `time_limit`.
pub(super) fn reply(
    program: &str,
    arguments: &[String],
    prompt: String,
    time_limit: Duration,
    bytes_max: usize,
) -> Result<String> {
    let failed = |what: String| {
        Error::invalid(format!("'{program}' {what}"))
            .with_code(ErrorCode::CommandFailed)
            .with_hint("nothing was written; run the command yourself, and pass its reply with --reply")
    };
    let mut command = Command::new(program);
    let ran = run(command.args(arguments), prompt, time_limit, bytes_max);
    let ran = ran.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("the program '{program}' does not exist"))
            .with_code(ErrorCode::NoProgram),
        _ => Error::io(format_args!("running '{program}'"), error),
    })?;
    match ran.status {
        Some(status) if status.success() => Ok(String::from_utf8_lossy(&ran.output).into_owned()),
        Some(status) => Err(failed(format!("failed: {status}"))),
        None => Err(failed(format!("took longer than {} s", time_limit.as_secs()))),
    }
}
