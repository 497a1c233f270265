//! `debug`: a shell over one open store.
//!
//! The shell reads lines from a terminal, from `-f`, from `-c` or from standard input. The shell runs each line with
//! the parser and the verbs of the program. Shell commands begin with a dot and change the defaults of the verbs.
//!
//! # Layer
//! Layer 10, part of cli.

mod complete;
mod dot;
mod open;
mod pager;
mod shell;
mod terminal;
mod words;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};

use crate::cli::commands::prelude::*;
use crate::cli::errors::{exit_code, input_error, is_closed_pipe, two_modes};
use crate::cli::output::Mode;

use shell::Shell;

/// Run verbs in a shell on one store
///
/// The shell is read-only without --write.
///
/// # Notes
/// At a terminal, the shell reads commands with completion and history. Otherwise it runs the commands of -f and -c, or
/// of standard input, one per line, and stops at the first failure. The shell opens a damaged store at the newest state
/// before the damage.
///
/// # Examples
/// ```text
/// treering debug
/// treering debug -c 'show' -c 'undo --dry-run'
/// treering debug --mode markdown -f questions.txt
/// echo 'inspect frames' | treering debug --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_and_writes(), verbatim_doc_comment)]
pub(crate) struct Debug {
    /// Run this command and exit; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    commands: Vec<String>,
    /// Run the commands in FILE, one on each line, and exit; - is standard input; may be repeated; all files run before
    /// -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Allow verbs that write
    #[arg(long)]
    write: bool,
    /// The output mode
    #[arg(long, value_name = "MODE", conflicts_with = "json")]
    mode: Option<Mode>,
    /// Continue after a failed command; the exit code is the code of the first failure
    #[arg(long)]
    keep_going: bool,
}

impl Verb for Debug {
    fn run(self, context: &mut Context) -> Done {
        if context.kept.is_some() {
            return Err(shell::one_store());
        }
        if let Some(mode) = self.mode {
            if context.options.json {
                return Err(two_modes("--mode"));
            }
            context.output.set_mode(mode);
        }
        context.output.headings = true;
        // At a terminal, Ctrl-C sets this flag. In a script, Ctrl-C ends the process.
        let stop = context.output.stop();
        let is_script = !(self.files.is_empty() && self.commands.is_empty());
        let interactive = !is_script && io::stdin().is_terminal() && io::stdout().is_terminal();
        open::keep_open(context, self.write, interactive)?;
        let shell = Shell::new(context);
        if interactive {
            return terminal::converse(shell, &stop);
        }
        let mut script = Script {
            shell,
            keep_going: self.keep_going,
            code: DONE,
            failed: None,
        };
        for file in &self.files {
            if file.as_os_str() == "-" {
                script.read("", io::stdin().lock())?;
                continue;
            }
            let opened = File::open(file).map_err(|error| input_error(file, error))?;
            script.read(&shown(file), BufReader::new(opened))?;
        }
        for (number, command) in (1..).zip(&self.commands) {
            let place = match self.commands.len() {
                1 => String::new(),
                _ => format!("-c {number}"),
            };
            script.run(&place, command)?;
        }
        if !is_script {
            script.read("", io::stdin().lock())?;
        }
        Ok(script.failed.unwrap_or(script.code))
    }
}

/// Runs the commands of `-f` and `-c`, or of standard input.
struct Script<'a> {
    shell: Shell<'a>,
    keep_going: bool,
    /// The exit code of the last command.
    code: u8,
    /// The exit code of the first failure.
    failed: Option<u8>,
}

impl Script<'_> {
    /// Runs the lines of a file. An error ends the script.
    fn read(&mut self, name: &str, mut script: impl BufRead) -> Result<()> {
        let mut lines = Lines::of_script(name, &mut script);
        while let Some((_, line)) = lines.next_line()? {
            let line = line.to_owned();
            self.run(&lines.place(), &line)?;
            if self.shell.ended {
                break;
            }
        }
        Ok(())
    }

    fn run(&mut self, place: &str, line: &str) -> Result<()> {
        if self.shell.ended {
            return Ok(());
        }
        let failure = match self.shell.run(line) {
            Ok(code) => {
                self.code = code;
                return Ok(());
            }
            Err(failure) if place.is_empty() => failure,
            Err(failure) => failure.context(place),
        };
        if !self.keep_going || is_closed_pipe(&failure) {
            return Err(failure);
        }
        self.shell.context.output.print_failure(&failure);
        self.failed.get_or_insert(exit_code(&failure));
        Ok(())
    }
}
