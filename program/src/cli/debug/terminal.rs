//! The shell at a terminal: prompt, line editing, history, and pager. Ctrl-C stops only the running command.
//!
//! # Layer
//! Layer 10, part of cli.

use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};
use treering::inspect::disk::xdg_folder;

use anstream::{AutoStream, ColorChoice};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use signal_hook::consts::SIGINT;

use super::complete::Completion;
use super::pager::Pager;
use super::shell::Shell;
use crate::cli::commands::prelude::*;
use crate::cli::output::{Mode, paint};
use crate::cli::verb::Groups;

/// The largest number of lines in the history.
const HISTORY_LINES: usize = 5_000;

/// Verbs whose arguments may contain a secret, such as a search for a secret to erase. The history file never contains
/// a line with one of these verbs.
const PRIVATE_VERBS: [&str; 11] = [
    "put", "find", "bisect", "remember", "recall", "note", "session", "guard", "envelope", "import", "erase",
];

type LineEditor = Editor<Completion, DefaultHistory>;

/// Reads and runs commands until the user exits.
pub(super) fn converse(mut shell: Shell<'_>, stop: &Arc<AtomicBool>) -> Done {
    signal_hook::flag::register(SIGINT, Arc::clone(stop))
        .map_err(|error| Error::io("installing the Ctrl-C handler", error))?;
    let coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut editor = editor(shell.context.verbs, coloured)?;
    let history = history_file();
    if let Some(file) = &history {
        // The load fails in the first run of the shell, because no history file exists yet.
        drop(editor.load_history(file));
    }
    greet(shell.context)?;
    while !shell.ended {
        let state = shell.context.open_view().ok();
        let prompt = prompt(shell.context, state.as_ref(), coloured);
        if let (Some(completion), Some((memory, view))) = (editor.helper_mut(), state) {
            completion.look_at(memory, view);
        }
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(terminal_error(error)),
        };
        if is_kept(&line) {
            // The shell continues after a failed save of the history.
            drop(editor.add_history_entry(line.as_str()));
            if let Some(file) = &history {
                drop(editor.append_history(file));
            }
        }
        stop.store(false, Ordering::Relaxed);
        run(&mut shell, &line);
    }
    Ok(DONE)
}

/// Returns whether the history file may contain a line.
fn is_kept(line: &str) -> bool {
    let verb = line.split_whitespace().next();
    verb.is_some_and(|verb| !PRIVATE_VERBS.contains(&verb))
}

/// Runs one line. Prints a failure, which does not end the shell.
fn run(shell: &mut Shell<'_>, line: &str) {
    let done = shell.parse(line).and_then(|command| {
        let Some(command) = command else { return Ok(DONE) };
        let output = &mut shell.context.output;
        let is_paged = output.mode() == Mode::Table;
        let pager = is_paged.then(|| Pager::start(output)).flatten();
        let done = shell.carry_out(line, command);
        if let Some(pager) = pager {
            pager.finish(&mut shell.context.output);
        }
        done
    });
    if let Err(failure) = done {
        shell.context.output.print_failure(&failure);
    }
}

fn greet(context: &mut Context) -> Result<()> {
    let objects = match context.open_view() {
        Ok((_, view)) => counted(view.len(), "object"),
        Err(_) => "no state can be read".to_owned(),
    };
    let access = match &context.kept {
        Some(kept) if kept.writable => "writing allowed",
        _ => "read-only",
    };
    let store = shown(&context.store()?);
    context.line(format_args!("{store}: {objects}, {access}"))?;
    context.line("help lists the commands, Ctrl-D exits")?;
    context.output.flush()
}

/// Returns the prompt without and with colours: the lane, the fork if there is one, and the state that verbs read, such as
/// `default 5f0c81d2a1b3> `.
fn prompt(context: &Context, state: Option<&(Memory, View)>, coloured: bool) -> (String, String) {
    let fork = context.fork().map_or_else(String::new, |fork| format!(" {fork}"));
    let lane = one_line(&format!("{}{fork}", context.lane()));
    let root = match state {
        Some((_, view)) => short(view.root().as_bytes()),
        None => "unreadable".to_owned(),
    };
    let at = context.at().map_or_else(String::new, |at| format!(" at {at}"));
    let name = paint(coloured, Meaning::Name, &lane);
    let state = paint(coloured, Meaning::Quiet, format_args!("{root}{at}"));
    (format!("{lane} {root}{at}> "), format!("{name} {state}> "))
}

fn editor(verbs: Groups, coloured: bool) -> Result<LineEditor> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .max_history_size(HISTORY_LINES)
        .and_then(|builder| builder.history_ignore_dups(true))
        .map_err(terminal_error)?
        .build();
    let mut editor = LineEditor::with_config(config).map_err(terminal_error)?;
    editor.set_helper(Some(Completion::new(verbs, coloured)));
    Ok(editor)
}

fn terminal_error(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Io(error) => Error::io("reading from the terminal", error),
        other => Error::io("reading from the terminal", io::Error::other(other.to_string())),
    }
}

/// Returns the history file in the XDG state folder, never in the store.
fn history_file() -> Option<PathBuf> {
    let folder = xdg_folder("XDG_STATE_HOME", ".local/state")?;
    // The folder also contains the register of trusted stores, so no other user may write in it.
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder.join("debug-history"))
}
