//! The `treering` program: arguments in, an exit code out.
//!
//! [`run`] parses the command line, runs the verb and returns its exit code. A verb reads and writes stores only
//! through the engine, and prints through `output.rs`.
//!
//! # Layer
//! Layer 10. Depends on all lower layers; no other module depends on it.
//!
//! # Invariants
//! - CLI-11: a hook never stops the agent of a client: any fault is one line on standard error, and the exit code is 0.

mod agent_context;
mod answer;
mod args;
#[cfg(feature = "remote")]
mod cached_remote;
mod capture;
mod commands;
mod context;
mod debug;
mod diagram;
mod embedding;
mod errors;
mod hints;
mod human;
mod input;
#[cfg(feature = "mcp")]
mod install;
#[cfg(feature = "mcp")]
mod json_edit;
mod nearest;
mod open_store;
mod output;
mod overview;
mod own_program;
mod paint;
mod parse;
#[cfg(feature = "mcp")]
mod plugin_folder;
#[cfg(feature = "remote")]
mod remote_keys;
#[cfg(feature = "remote")]
mod remotes;
#[cfg(feature = "signed")]
mod signing_keys;
mod time;
#[cfg(feature = "http")]
mod token_file;
mod tour;
mod trusted_stores;
mod turns;
mod verb;

use std::ffi::OsString;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use signal_hook::consts::SIGXFSZ;

use commands::GROUPS;
use context::Context;
use output::Output;
use parse::{Parsed, Unparsed};

/// Runs the program for a package of another language, and ends the process. The package's file `command` starts the program
/// again.
pub fn run_package(command: &Path, arguments: impl IntoIterator<Item = OsString>) -> ! {
    own_program::set_command(command);
    output::end(run(iter::once(command.into()).chain(arguments)))
}

/// Runs the program on a command line, whose first argument is the program's name. Returns the exit code.
///
/// A panic ends the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // With this handler, a write that exceeds the file size limit returns an error and does not end the process.
    drop(signal_hook::flag::register(SIGXFSZ, Arc::default()));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    output::report_bugs_in_one_line(arguments.clone());
    let json = output::wants_json(arguments.iter().skip(1).cloned());
    let is_hook = output::is_hook(arguments.iter().cloned());
    let read = |mut definition| Parsed::read(GROUPS, &mut definition, &arguments);
    // Defining all verbs takes longer than many verbs do, so a valid command line is read with the verb that it names.
    let is_typed = |name: &str| arguments.iter().any(|argument| argument == name);
    let names_verb = verb::all(GROUPS).any(|verb| is_typed(verb.name));
    let short = names_verb.then(|| read(parse::definition_of(GROUPS, is_typed)));
    let whole = || {
        let overview = overview::overview(GROUPS, output::help_width());
        read(parse::definition(GROUPS).override_help(overview))
    };
    let parsed = match short.and_then(Result::ok).map_or_else(whole, Ok) {
        Ok(parsed) => parsed,
        Err(unparsed) if is_hook && !unparsed.is_help() => {
            return output::fault(unparsed.into_error("").message());
        }
        Err(Unparsed::Refused(error)) => return Output::new(json).finish(Err(error)),
        Err(Unparsed::Clap(error)) => {
            let hint = parse::help_of(GROUPS, arguments.get(1..).unwrap_or_default());
            return output::answer_of_clap(&error, json, &hint);
        }
    };
    let mut context = Context::new(GROUPS, parsed.options.clone());
    let done = parsed.run(&mut context);
    let done = done.and_then(|code| context.output.flush().map(|()| code));
    let is_stopped = done.is_ok() && context.embed_new();
    if done.is_ok() {
        context.note_fault();
    }
    let code = match done {
        // INVARIANT CLI-11: a hook never stops the agent of a client.
        Err(error) if is_hook => output::fault(error.message()),
        done => context.output.finish(done),
    };
    if is_stopped {
        return embedding::end_by_interrupt(code);
    }
    code
}
