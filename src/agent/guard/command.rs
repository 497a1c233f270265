//! A check that another program makes: it gets the change as JSON and answers with its exit code.
//!
//! # Layer
//! L7, inside `agent`.

use std::process::{Command, Stdio};

use super::policy::CommandCheck;
use super::report::Report;
use super::turn::Turn;
use crate::agent::command::run;
use crate::agent::envelope::one_line;
use crate::error::{Error, Result};

/// Bytes of its output that are kept.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Characters of its output that the report shows.
const OUTPUT_CHARS: usize = 400;
const ADVICE: &str = "do what the check says, then try again";

pub(super) fn check(turn: &Turn<'_>, check: &CommandCheck, report: &mut Report) -> Result<()> {
    let Some((program, arguments)) = check.run.split_first() else {
        return Err(Error::invalid(format!("the check '{}' runs nothing", check.name)));
    };
    let mut command = Command::new(program);
    command.args(arguments).stderr(Stdio::piped());
    let document = turn.to_json()?.to_string();
    let ran = match run(&mut command, document, check.limit(), OUTPUT_BYTES_MAX) {
        Ok(ran) => ran,
        Err(error) => {
            let why = format!("'{program}' cannot be run: {error}");
            report.fail(&check.name, why, Vec::new(), "name a program that is there");
            return Ok(());
        }
    };
    match ran.status {
        Some(status) if status.success() => report.pass(&check.name),
        Some(status) => {
            let said =
                [&ran.errors, &ran.output].map(|said| one_line(&String::from_utf8_lossy(said), OUTPUT_CHARS));
            let said = said.into_iter().find(|said| !said.is_empty());
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
