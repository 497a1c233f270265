//! A check by another program, which reads the change as JSON. The exit code of the program decides.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::process::{Command, Stdio};

use super::policy::CommandCheck;
use super::report::Failure;
use super::turn::Turn;
use crate::agent::command::run;
use crate::agent::envelope::one_line;
use crate::error::{Error, Result};

/// The maximum number of bytes of the command's output that are read into memory.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// The maximum number of characters of the command's output that the report shows.
const OUTPUT_CHARS: usize = 400;
/// The hint of the report after the command refused the change.
const ADVICE: &str = "correct the problem that the command reports, then try again";

pub(super) fn check(turn: &Turn<'_>, check: &CommandCheck) -> Result<Option<Failure>> {
    let Some((program, arguments)) = check.run.split_first() else {
        return Err(Error::invalid(format!(
            "the check '{}' has an empty command",
            check.name
        )));
    };
    let mut command = Command::new(program);
    command.args(arguments).stderr(Stdio::piped());
    let document = turn.to_json()?.to_string();
    let ran = match run(&mut command, document, check.limit(), OUTPUT_BYTES_MAX) {
        Ok(ran) => ran,
        Err(error) => {
            let why = format!("cannot run '{program}': {error}");
            return Ok(Some(Failure::new(
                why,
                "write the path of an existing program in the policy",
            )));
        }
    };
    let why = match ran.status {
        Some(status) if status.success() => return Ok(None),
        Some(status) => {
            let said =
                [&ran.errors, &ran.output].map(|said| one_line(&String::from_utf8_lossy(said), OUTPUT_CHARS));
            let said = said.into_iter().find(|said| !said.is_empty());
            said.unwrap_or_else(|| format!("the command of the check ended with {status}"))
        }
        None => format!("the command of the check did not end within {} s", check.seconds),
    };
    Ok(Some(Failure::new(why, ADVICE)))
}
