//! The shell's own commands. These commands begin with a dot and change the defaults of the verbs.
//!
//! # Layer
//! Layer 10, part of cli.

use clap::{CommandFactory as _, Parser};
use serde_json::json;

use super::shell::{Command, Shell};
use crate::cli::commands::prelude::*;
use crate::cli::output::{Mode, help_width};
use crate::cli::overview::overview;
use treering::Writer;
use treering::inspect::engine::MAIN_LINE;

/// A command of the shell.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, bin_name = "", disable_help_subcommand = true)]
pub(super) enum Dot {
    /// Set the state that verbs read; @ is the head. Without REV, print the state
    #[command(name = ".at")]
    At {
        #[arg(value_name = "REV")]
        revision: Option<String>,
    },
    /// Set the lane of undo and snap:N. Without NAME, print the lane
    #[command(name = ".lane")]
    Lane { name: Option<String> },
    /// Read and write the fork NAME; main is the main line. Without NAME, print the fork
    #[command(name = ".fork")]
    Fork { name: Option<String> },
    /// List the forks
    #[command(name = ".forks")]
    Forks,
    /// Set the output mode. Without MODE, print the mode
    #[command(name = ".mode")]
    Mode { mode: Option<Mode> },
    /// Print the duration of each command
    #[command(name = ".timer")]
    Timer { switch: Option<Switch> },
    /// Print each command before its answer
    #[command(name = ".echo")]
    Echo { switch: Option<Switch> },
    /// List all commands, or show the help of one command
    #[command(name = ".help")]
    Help { command: Vec<String> },
    /// Exit the shell; Ctrl-D also exits
    #[command(name = ".quit", alias = ".exit")]
    Quit,
}

/// A setting that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Switch {
    On,
    Off,
}

impl Shell<'_> {
    /// Runs a command of the shell.
    pub(super) fn run_dot(&mut self, dot: Dot) -> Done {
        match dot {
            Dot::At { revision } => {
                if let Some(revision) = revision {
                    self.context.pin(&revision)?;
                }
                self.print_state()
            }
            Dot::Lane { name } => {
                if let Some(name) = name {
                    self.set_lane(name)?;
                }
                let lane = self.context.lane();
                self.print("lane", &lane)
            }
            Dot::Fork { name } => {
                if let Some(name) = name {
                    self.set_fork(name)?;
                }
                let fork = self.context.fork().unwrap_or(MAIN_LINE).to_owned();
                self.print("fork", &fork)
            }
            Dot::Forks => match self.parse_words(&["forks".to_owned()])? {
                Command::Verb(forks) => self.run_verb(&forks),
                Command::Dot(_) | Command::Help(_) => Ok(DONE),
            },
            Dot::Mode { mode: Some(mode) } => {
                self.context.output.set_mode(mode);
                Ok(DONE)
            }
            Dot::Mode { mode: None } => {
                let mode = self.context.output.mode();
                self.print("mode", mode.name())
            }
            Dot::Timer { switch } => self.switch("timer", |shell| &mut shell.timer, switch),
            Dot::Echo { switch } => self.switch("echo", |shell| &mut shell.echo, switch),
            Dot::Help { command } => self.help(&command),
            Dot::Quit => {
                self.ended = true;
                Ok(DONE)
            }
        }
    }

    fn set_lane(&mut self, name: String) -> Result<()> {
        Writer::user().session(&name).check()?;
        if let Some(kept) = &mut self.context.kept {
            kept.lane.session = Some(name);
        }
        Ok(())
    }

    fn set_fork(&mut self, name: String) -> Result<()> {
        let Some(kept) = &mut self.context.kept else {
            return Ok(());
        };
        let fork = Some(name).filter(|name| name != MAIN_LINE);
        if let Some(fork) = &fork {
            kept.memory()?.open_fork(fork)?;
        }
        // The pinned state is one of the line before.
        (kept.fork, kept.at) = (fork, None);
        Ok(())
    }

    fn print_state(&mut self) -> Done {
        let (_, view) = self.context.open_view()?;
        let (commit, pinned) = (view.commit().commit, self.context.at().map(str::to_owned));
        let what = if pinned.is_some() { "state" } else { "head" };
        let document = json!({
            "at": pinned, "seq": commit.seq, "root": commit.root.to_hex(),
            "time": commit.time.to_string(), "objects": view.len(),
        });
        self.context.answer(&document, |_, context| {
            let (seq, time, root) = (commit.seq, commit.time, short(commit.root.as_bytes()));
            let objects = counted(view.len(), "object");
            context.line(format_args!("{what} seq:{seq} of {time}, root {root}, {objects}"))
        })
    }

    /// Changes a setting, or prints its value if `to` is `None`.
    fn switch(&mut self, name: &str, setting: fn(&mut Self) -> &mut bool, to: Option<Switch>) -> Done {
        if let Some(to) = to {
            *setting(self) = to == Switch::On;
            return Ok(DONE);
        }
        let value = if *setting(self) { "on" } else { "off" };
        self.print(name, value)
    }

    fn print(&mut self, name: &str, value: &str) -> Done {
        let text = format!("{name} {value}");
        self.context
            .answer(&json!({ name: value }), |_, context| context.line(text))
    }

    /// Prints the help of a command, or lists all verbs and shell commands.
    fn help(&mut self, command: &[String]) -> Done {
        if command.is_empty() {
            return self.overview();
        }
        match self.parse_words(&[command, &["--help".to_owned()]].concat())? {
            Command::Help(page) => self.print_page(&page),
            Command::Dot(_) | Command::Verb(_) => Ok(DONE),
        }
    }

    fn overview(&mut self) -> Done {
        let output = &mut self.context.output;
        output.line(overview(self.context.verbs, help_width()).trim_end())?;
        output.line("")?;
        let heading = output.paint(Meaning::Heading, "Shell");
        output.line(heading)?;
        for dot in Dot::command().get_subcommands() {
            let name = output.paint(Meaning::Name, format_args!("{:<12}", dot.get_name()));
            let about = dot.get_about().map(ToString::to_string).unwrap_or_default();
            output.line(format_args!("  {name}{about}"))?;
        }
        Ok(DONE)
    }
}
