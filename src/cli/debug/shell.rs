//! The shell: its settings, and the execution of one line.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Instant;

use super::command::Command;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human;
use crate::cli::output::Mode;
use crate::cli::parse::{self, Parsed};

/// A running shell. The context holds the open store and the defaults of the verbs.
pub(super) struct Shell<'a> {
    pub(super) context: &'a mut Context,
    /// The verbs and their options.
    pub(super) definition: clap::Command,
    /// Whether the shell prints the time of each command.
    pub(super) timer: bool,
    /// Whether the shell prints each command before its answer.
    pub(super) echo: bool,
    /// Whether `.quit` was given.
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

    /// Parses a line; `None` for an empty line or a comment.
    pub(super) fn parse(&mut self, line: &str) -> Result<Option<Command>, Failure> {
        Command::parse(self.context.verbs, &mut self.definition, line)
    }

    /// Parses and runs one line.
    pub(super) fn run(&mut self, line: &str) -> Done {
        match self.parse(line)? {
            Some(command) => self.carry_out(line, command),
            None => Ok(DONE),
        }
    }

    /// Runs a command on the newest state of the store.
    pub(super) fn carry_out(&mut self, line: &str, command: Command) -> Done {
        self.context.output.set_awaited(true);
        self.catch_up();
        if self.echo {
            let line = human::one_line(line.trim());
            self.context.output.line_for_people(format_args!("> {line}"))?;
        }
        let begun = Instant::now();
        let done = match command {
            Command::Dot(dot) => self.run_dot(dot),
            Command::Verb(parsed) => self.run_verb(&parsed),
            Command::Help(page) => self.print_page(&page),
        };
        self.context.output.set_awaited(false);
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
            let note = format!("cannot read beyond seq:{seq}: {error}");
            self.context.output.note("stale", note);
        }
    }

    pub(super) fn print_page(&mut self, page: &str) -> Done {
        self.context.line(page.trim_end())?;
        Ok(DONE)
    }

    /// Runs a verb. Options on the line apply to this line only.
    fn run_verb(&mut self, parsed: &Parsed) -> Done {
        let typed = parsed.options.clone();
        if typed.store.is_some() {
            return Err(one_store());
        }
        let options = self.context.options.clone();
        let mode = self.context.output.mode();
        if typed.json {
            self.context.output.set_mode(Mode::Json);
        }
        self.context.options = options.clone().overlaid_by(typed);
        let done = parsed.run(self.context);
        let ended = self.context.output.end_command();
        self.context.output.set_mode(mode);
        self.context.options = options;
        done.and_then(|code| ended.map(|()| code))
    }
}

/// Returns the error for a second store, or for a shell inside the shell.
pub(super) fn one_store() -> Failure {
    Failure::usage(
        "a shell works on one store, and cannot start another shell",
        "run treering debug in another terminal",
    )
}
