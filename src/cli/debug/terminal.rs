//! The shell at a terminal: prompt, line editing, history, paging, and Ctrl-C for the command alone.
//!
//! # Layer
//! L9, part of cli.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use signal_hook::consts::SIGINT;

use super::complete::Completion;
use super::pager::Pager;
use super::search;
use super::shell::{Shell, is_endless};
use crate::cli::context::shown;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{counted, short};
use crate::cli::output::Mode;
use crate::error::Error;

/// Lines of history that are kept.
const HISTORY_LINES: usize = 5_000;

type LineEditor = Editor<Completion, DefaultHistory>;

/// Reads and runs commands until the person leaves.
pub(super) fn converse(shell: &mut Shell<'_>, stop: &Arc<AtomicBool>) -> Done {
    signal_hook::flag::register(SIGINT, Arc::clone(stop))
        .map_err(|error| Error::io("preparing for Ctrl-C", error))?;
    let coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut editor = editor(coloured)?;
    let history = history_file();
    if let Some(file) = &history {
        // The first time there is none.
        drop(editor.load_history(file));
    }
    greet(shell)?;
    while !shell.ended {
        if let (Some(completion), Ok(memory), Ok(view)) = (editor.helper_mut(), shell.memory(), shell.view())
        {
            completion.look_at(memory, view);
        }
        let line = match editor.readline(&prompt(shell, coloured)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(terminal_error(error).into()),
        };
        if line.trim().is_empty() {
            continue;
        }
        if is_kept(&line) {
            // A history that cannot be kept is no reason to stop working.
            drop(editor.add_history_entry(line.as_str()));
            if let Some(file) = &history {
                drop(editor.append_history(file));
            }
        }
        stop.store(false, Ordering::Relaxed);
        run(shell, &line)?;
    }
    Ok(DONE)
}

/// Whether a line may be written into the file of lines that were typed: what is looked for, or put, may be what should be
/// in no file. A line that begins with a blank is never kept either.
fn is_kept(line: &str) -> bool {
    let command = line.split_whitespace().next().unwrap_or_default();
    ![search::FIND, "put"].contains(&command)
}

/// Runs one line, paged if that is wanted.
fn run(shell: &mut Shell<'_>, line: &str) -> Result<(), Failure> {
    let paged = shell.pager && shell.context.output.mode() == Mode::Table && !is_endless(line);
    let paging = match screen_lines().filter(|_| paged) {
        Some(lines) => {
            let (pager, paging) = Pager::new(lines, shell.context.output.screen());
            shell.context.output.redirect(Some(Box::new(pager)))?;
            Some(paging)
        }
        None => None,
    };
    let done = shell.run(line);
    if let Some(paging) = paging {
        // Who left the pager early wanted no more.
        drop(shell.context.output.redirect(None));
        paging.wait();
    }
    match done {
        Ok(_) | Err(Failure::ClosedPipe) => {}
        Err(failure) => shell.context.output.print_failure(&failure),
    }
    Ok(())
}

fn greet(shell: &mut Shell<'_>) -> Result<(), Failure> {
    let what = match shell.view() {
        Ok(view) => counted(view.len(), "object"),
        Err(_) => "no state can be read".to_owned(),
    };
    let mode = if shell.writable {
        "writing allowed"
    } else {
        "read-only"
    };
    let store = shown(&shell.path);
    shell
        .context
        .output
        .line(format_args!("{store}: {what}, {mode}"))?;
    shell
        .context
        .output
        .line("help lists the commands, Ctrl-D leaves")?;
    shell.context.output.flush()
}

/// The lane and the state that is looked at: `default 5f0c81d2a1b3> `.
fn prompt(shell: &Shell<'_>, coloured: bool) -> (String, String) {
    let lane = crate::cli::human::one_line(&shell.context.lane());
    let state = match shell.view() {
        Ok(view) => short(view.root().as_bytes()),
        Err(_) => "unreadable".to_owned(),
    };
    let at = shell
        .context
        .options
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(" at {at}"));
    let plain = format!("{lane} {state}{at}> ");
    if !coloured {
        return (plain.clone(), plain);
    }
    let (name, quiet) = (
        anstyle::AnsiColor::Cyan.on_default(),
        anstyle::Style::new().dimmed(),
    );
    let styled = format!("{name}{lane}{name:#} {quiet}{state}{at}{quiet:#}> ");
    (plain, styled)
}

fn editor(coloured: bool) -> Result<LineEditor, Error> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .max_history_size(HISTORY_LINES)
        .and_then(|builder| builder.history_ignore_dups(true))
        .map_err(terminal_error)?
        .build();
    let mut editor = LineEditor::with_config(config).map_err(terminal_error)?;
    editor.set_helper(Some(Completion::new(coloured)));
    Ok(editor)
}

fn terminal_error(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Io(error) => Error::io("reading from the terminal", error),
        other => Error::io("reading from the terminal", io::Error::other(other.to_string())),
    }
}

/// Where the lines typed are kept: the XDG state folder. Never in the store.
fn history_file() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let folder = state.join("treering");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("debug-history"))
}

fn screen_lines() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|lines| *lines > 1)
}
