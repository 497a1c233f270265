//! The shell: its settings, and the execution of one line.
//!
//! # Layer
//! Layer 10, part of cli.

use std::ffi::OsString;
use std::time::Instant;

use clap::{CommandFactory as _, Parser as _};

use super::dot::Dot;
use super::words;
use crate::cli::commands::prelude::*;
use crate::cli::errors::clap_error;
use crate::cli::output::Mode;
use crate::cli::parse::{self, Parsed, Unparsed};

/// A parsed line: a verb of the program, or one of the shell's own commands.
pub(super) enum Command {
    Dot(Dot),
    Verb(Box<Parsed>),
    /// The text of a page of help.
    Help(String),
}

/// A running shell. The context contains the open store and the defaults of the verbs.
pub(super) struct Shell<'a> {
    pub(super) context: &'a mut Context,
    /// The verbs and their options.
    pub(super) definition: clap::Command,
    /// Whether the shell prints the time of each command.
    pub(super) timer: bool,
    /// Whether the shell prints each command before its answer.
    pub(super) echo: bool,
    /// Whether the user typed `.quit`.
    pub(super) ended: bool,
}

impl<'a> Shell<'a> {
    /// Returns a shell over the open store of the context.
    pub(super) fn new(context: &'a mut Context) -> Self {
        Self {
            definition: parse::definition(context.verbs),
            context,
            timer: false,
            echo: false,
            ended: false,
        }
    }

    /// Parses a line. Returns `None` for an empty line or a comment.
    pub(super) fn parse(&mut self, line: &str) -> Result<Option<Command>> {
        let mut words = words::split(line)?;
        // Hints name whole commands, which people paste.
        if words.len() > 1 && words[0] == "treering" {
            words.remove(0);
        }
        let Some(first) = words.first_mut() else {
            return Ok(None);
        };
        if matches!(first.as_str(), "quit" | "exit" | "help") {
            first.insert(0, '.');
        }
        self.parse_words(&words).map(Some)
    }

    /// Parses the words of a command: a verb of the program, or a shell command that begins with a dot.
    pub(super) fn parse_words(&mut self, words: &[String]) -> Result<Command> {
        let verbs = self.context.verbs;
        let program = std::iter::once(OsString::from("treering"));
        let arguments: Vec<OsString> = program.chain(words.iter().map(OsString::from)).collect();
        let parsed = if words[0].starts_with('.') {
            let dot = Dot::try_parse_from(words).map(Command::Dot);
            dot.map_err(|error| Unparsed::of(verbs, error, &arguments))
        } else {
            let parsed = Parsed::read(verbs, &mut self.definition, &arguments);
            parsed.map(|parsed| Command::Verb(Box::new(parsed)))
        };
        parsed.or_else(|unparsed| match unparsed {
            Unparsed::Clap(help) if !help.use_stderr() => Ok(Command::Help(help.render().to_string())),
            refused => Err(refused.into_error(&hint(&words[0]))),
        })
    }

    /// Parses and runs one line.
    pub(super) fn run(&mut self, line: &str) -> Done {
        match self.parse(line)? {
            Some(command) => self.carry_out(line, command),
            None => Ok(DONE),
        }
    }

    /// Runs a command after it reads the newest commits of the store.
    pub(super) fn carry_out(&mut self, line: &str, command: Command) -> Done {
        self.context.output.wait.begin();
        self.catch_up();
        if self.echo {
            let line = one_line(line.trim());
            self.context.output.line_for_people(format_args!("> {line}"))?;
        }
        let begun = Instant::now();
        let done = match command {
            Command::Dot(dot) => {
                let done = self.run_dot(dot);
                done.map_err(|error| self.context.with_nearest_name(error))
            }
            Command::Verb(parsed) => self.run_verb(&parsed),
            Command::Help(page) => self.print_page(&page),
        };
        self.context.output.wait.end();
        let ended = self.context.output.end_command();
        if self.timer {
            let seconds = begun.elapsed().as_secs_f64();
            self.context.output.note("timer", format!("took {seconds:.3} s"));
        }
        done.and_then(|code| ended.map(|()| code))
    }

    fn catch_up(&mut self) {
        let Some(kept) = &self.context.kept else {
            return;
        };
        if let Err(error) = kept.catch_up() {
            let newest = kept.memory().map(|memory| memory.view().commit().commit.seq);
            let seq = newest.unwrap_or_default();
            let note = format!("cannot read commits after seq:{seq}: {error}");
            self.context.output.note("stale", note);
        }
    }

    pub(super) fn print_page(&mut self, page: &str) -> Done {
        self.context.line(page.trim_end())?;
        Ok(DONE)
    }

    /// Runs a verb. Options on the line do not change the defaults of the shell.
    pub(super) fn run_verb(&mut self, parsed: &Parsed) -> Done {
        let options = &self.context.options;
        if parsed.options.store.is_some() {
            return Err(one_store());
        }
        if parsed.options.untrusted_store && !options.untrusted_store {
            return Err(usage_error(
                "a shell trusts its store for all commands, or for none",
                "start the shell with treering debug --untrusted-store",
            ));
        }
        let options = options.overlaid_by(&parsed.matches);
        let options = options.map_err(|error| clap_error(&error, ""))?;
        let options = std::mem::replace(&mut self.context.options, options);
        let mode = self.context.output.mode();
        let fork = self.context.kept.as_ref().and_then(|kept| kept.fork.clone());
        if parsed.options.json {
            self.context.output.set_mode(Mode::Json);
        } else if parsed.options.agent {
            self.context.output.set_mode(Mode::Agent);
        }
        let done = parsed.run(self.context);
        let ended = self.context.output.end_command();
        self.context.output.set_mode(mode);
        self.context.options = options;
        // A verb about the whole store does without the fork of the shell.
        if let Some(kept) = &mut self.context.kept {
            kept.fork = fork;
        }
        done.and_then(|code| ended.map(|()| code))
    }
}

/// Returns the error for a second store, or for a shell inside the shell.
pub(super) fn one_store() -> Error {
    usage_error(
        "a shell works on one store, and cannot start another shell",
        "run treering debug in another terminal",
    )
}

/// Returns the hint for an unknown command: the shell command with its dot, or the list of commands.
fn hint(word: &str) -> String {
    let dotted = format!(".{word}");
    match Dot::command().find_subcommand(&dotted) {
        Some(_) => format!("did you mean {dotted}?"),
        None => ".help lists all commands".to_owned(),
    }
}
