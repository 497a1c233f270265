//! `debug`: a shell in which the store explains itself.
//!
//! It opens any store, also one that others write to and one that is damaged, and writes nothing unless it is
//! told that it may. Commands come from a person at a terminal, from `-f`, from `-c`, or from standard input;
//! [`table`] has all of them. Most are verbs of the program, run on the store that is open already.
//!
//! # Layer
//! L9, part of cli.

mod arguments;
mod changes;
mod complete;
mod files;
mod frames;
mod help;
mod hex;
mod history;
mod lineage;
mod lines;
mod objects;
mod pager;
mod recovery;
mod rows;
mod search;
mod settings;
mod shell;
mod state;
mod table;
mod tallies;
mod terminal;
mod tree;
mod words;

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::cli::commands::input_error;
use crate::cli::context::{Context, shown};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::output::Mode;

use lines::Lines;
use shell::Shell;

/// Ask the store anything
///
/// The shell writes nothing unless --write allows it.
#[derive(Args, Debug)]
#[command(
    args = args::reads_and_writes(),
    after_help = "At a terminal it reads commands with completion and history; otherwise it runs the commands of -f and \
                  -c, or those on standard input, a line each, and stops at the first that fails. Opens damaged \
                  stores too, and says what of them is served.\n\n\
                  Examples:\n  treering debug\n  treering debug -c 'changes' -c 'would rollback snap:0'\n  \
                  treering debug --mode markdown -f questions.txt\n  echo 'where tea' | treering debug --json"
)]
pub(crate) struct Debug {
    /// Run this command and leave; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
    /// Run the commands in FILE (- is standard input), a line each, and leave; may be repeated, and comes before -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Allow snapshot, rollback, undo, redo, put, remove, gc and erase
    #[arg(long)]
    pub(crate) write: bool,
    /// How answers are written
    #[arg(long, value_name = "MODE", conflicts_with = "json")]
    pub(crate) mode: Option<Mode>,
    /// Go on after a command that failed; the exit code is still that of the first failure
    #[arg(long)]
    pub(crate) keep_going: bool,
}

impl Verb for Debug {
    const NAME: &'static str = "debug";

    fn run(self, context: &mut Context) -> Done {
        debug(context, &self)
    }
}

/// Runs the shell until its commands, or the person, come to an end.
pub(super) fn debug(context: &mut Context, verb: &Debug) -> Done {
    context.input_is_taken = true;
    if let Some(mode) = verb.mode {
        if context.options.json {
            return Err(Failure::two_modes("--mode"));
        }
        context.output.set_mode(mode);
    }
    context.output.show_headings();
    let at = context.options.at.take();
    // At a terminal Ctrl-C sets it; a script just ends.
    let stop = Arc::new(AtomicBool::new(false));
    context.output.stop_when(Arc::clone(&stop));
    context.stop = Some(Arc::clone(&stop));
    let is_script = !(verb.files.is_empty() && verb.commands.is_empty());
    let interactive = !is_script && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut shell = Shell::open(context, verb.write, interactive)?;
    if let Some(at) = at {
        // A revision that does not exist is told before any command asks.
        let seq = shell.view_of(&at)?.commit().commit.seq;
        shell.context.options.at = Some(format!("seq:{seq}"));
    }
    if interactive {
        return terminal::converse(&mut shell, &stop);
    }
    let mut script = Script {
        shell,
        keep_going: verb.keep_going,
        code: DONE,
        failed: false,
    };
    for file in &verb.files {
        if file.as_os_str() == "-" {
            script.read("", io::stdin().lock())?;
            continue;
        }
        let opened = File::open(file).map_err(|error| input_error(file, error))?;
        script.read(&shown(file), BufReader::new(opened))?;
    }
    let many = verb.commands.len() > 1;
    for (index, command) in verb.commands.iter().enumerate() {
        let place = if many {
            format!("-c {}", index + 1)
        } else {
            String::new()
        };
        script.run(&place, command)?;
    }
    if !is_script {
        script.read("", io::stdin().lock())?;
    }
    Ok(script.code)
}

/// Commands that nobody types.
struct Script<'a> {
    shell: Shell<'a>,
    keep_going: bool,
    /// The code of the last answer, until a command fails: then of that failure.
    code: u8,
    failed: bool,
}

impl Script<'_> {
    /// Runs the lines of a file. `Err` ends the script.
    fn read(&mut self, name: &str, lines: impl BufRead) -> Result<(), Failure> {
        let mut lines = Lines::new(name.to_owned(), lines);
        while let Some(line) = lines.next()? {
            self.run(&lines.place(), &line)?;
            if self.shell.ended {
                break;
            }
        }
        Ok(())
    }

    fn run(&mut self, place: &str, line: &str) -> Result<(), Failure> {
        if self.shell.ended {
            return Ok(());
        }
        let failure = match self.shell.run(line) {
            Ok(code) => {
                if !self.failed {
                    self.code = code;
                }
                return Ok(());
            }
            Err(failure) if place.is_empty() => failure,
            Err(failure) => failure.at(place),
        };
        if !self.keep_going || matches!(failure, Failure::ClosedPipe) {
            return Err(failure);
        }
        self.shell.context.output.print_failure(&failure);
        if !std::mem::replace(&mut self.failed, true) {
            self.code = failure.exit_code();
        }
        Ok(())
    }
}
